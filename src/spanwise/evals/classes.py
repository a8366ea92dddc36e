"""One evaluator class of pydantic-evals per built-in: made of the built-in, so that each is defined once.

Their signatures stand in classes.pyi, which `scripts/evals_stub.py` writes and a test compares.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable, Mapping, Sequence
from types import GenericAlias, MappingProxyType, UnionType
from typing import Literal, NotRequired, Union, cast, get_args, get_origin

from typing_extensions import TypedDict  # pydantic takes that of `typing` from Python 3.12 on only

from spanwise.catalog import EVALUATORS
from spanwise.evals.evaluator import OWN, RunEvaluator
from spanwise.evals.overall import Overall
from spanwise.model.antipatterns import AntiPattern, Kind
from spanwise.model.expectation import Rule
from spanwise.model.expected_call import ExpectedCall
from spanwise.model.ports import Evaluator


class RuleTable(TypedDict):
    """A rule as a file has it."""

    name: str
    words: NotRequired[list[str]]
    pattern: NotRequired[str]
    expected: NotRequired[list[str] | None]
    forbidden: NotRequired[list[str]]


class AntiPatternTable(TypedDict):
    """An anti-pattern as a file has it."""

    kind: Kind
    penalty: NotRequired[float]
    tool: NotRequired[str]
    first: NotRequired[str]
    then: NotRequired[str]
    n: NotRequired[int]


class ExpectedCallTable(TypedDict):
    """An expected call as a file has it."""

    tool: str
    arguments: NotRequired[dict[str, object]]


_TABLES: Mapping[object, object] = {Rule: RuleTable, AntiPattern: AntiPatternTable, ExpectedCall: ExpectedCallTable}


def in_files(wanted: object) -> object:
    """The type of a parameter as files have it: lists for tuples, tables for what has fields."""
    if wanted in _TABLES:
        return _TABLES[wanted]
    inner = get_args(wanted)
    kind = get_origin(wanted)
    if not inner or kind is Literal:
        return wanted
    if kind in {Union, UnionType}:
        return _either(inner)
    if kind is tuple:
        return GenericAlias(list, (in_files(inner[0]) if inner[-1] is Ellipsis else _either(inner),))
    return GenericAlias(dict, (str, in_files(inner[1])))  # what is left are mappings by name


def _either(kinds: Sequence[object]) -> object:
    listed = dict.fromkeys(cast("type", in_files(one)) for one in kinds)
    return functools.reduce(lambda one, other: cast("type", one | other), listed)


def made_of(name: str, built_in: Callable[..., Evaluator]) -> type[RunEvaluator]:
    """The evaluator class of a built-in: its fields, and what the score is to be called."""
    kind = cast("type", built_in)
    hints: Mapping[str, object] = typing.get_type_hints(kind)
    held = dataclasses.fields(kind)
    types = MappingProxyType({one.name: hints[one.name] for one in held})
    fields = [(one.name, in_files(hints[one.name]), _like(one)) for one in held]
    made = dataclasses.make_dataclass(
        kind.__name__,
        [*fields, (OWN, str | None, dataclasses.field(default=None, kw_only=True))],
        bases=(RunEvaluator,),
        namespace={
            "__doc__": kind.__doc__,
            "__module__": __name__,
            "made_of": kind,
            "asked": name,
            "parameters": classmethod(lambda cls: types),
        },
        repr=False,
    )
    return cast("type[RunEvaluator]", made)


def _like(one: dataclasses.Field[object]) -> object:
    """A field with the same default; the parameter may be given by place, as the short form of files does."""
    if one.default_factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=one.default_factory)
    return dataclasses.field(default=one.default)


_MADE = {kind.__name__: kind for kind in (made_of(name, built_in) for name, built_in in EVALUATORS.items())}
globals().update(_MADE)

ALL: Sequence[type[object]] = (*_MADE.values(), Overall)
"""Every class, for `custom_evaluator_types=` of `Dataset.from_file` and `to_file`."""
