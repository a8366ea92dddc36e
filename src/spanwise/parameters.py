"""Values made of the parameters that a user wrote in a file: each checked by name and type, all errors told at once."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import InitVar, dataclass
from typing import Literal, TypeVar, Union, cast, get_args, get_origin

from spanwise.errors import SpanwiseError

_WORDS: Mapping[object, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_SCALARS: Mapping[object, Collection[str]] = {bool: ["bool"], int: ["int"], float: ["int", "float"], str: ["str"]}
_UNIONS: Sequence[object] = (Union, types.UnionType)
_SETS: Sequence[object] = (set, frozenset, AbstractSet)
_ANY: Sequence[object] = (object, typing.Any)
_LISTS: Sequence[object] = (tuple, list, Sequence, Collection, Iterable, *_SETS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parameter:
    annotation: object
    required: bool


def built(
    make: Callable[..., object],
    given: Mapping[str, object],
    where: str,
    errors: list[str],
    *,
    read: Mapping[str, object] | None = None,
) -> object | None:
    """What a class or function makes of some parameters; None, and the reasons among the errors, where it cannot.

    Args:
        make: What is called.
        given: Its parameters as read from a file: text, numbers, lists and tables.
        where: The place of the table, which errors name.
        errors: Where errors are put.
        read: Parameters that are values already.
    """
    known = _parameters(make)
    values = dict(read or {})
    before = len(errors)
    for name, value in given.items():
        if name in known:
            values[name] = fitted(value, known[name].annotation, f"{where}.{name}", errors)
        else:
            errors.append(f"{where}.{name}: unknown key; known: {', '.join(known) or 'none'}")
    errors += [
        f"{where}.{name}: missing, expected {words_of(parameter.annotation)}"
        for name, parameter in known.items()
        if parameter.required and name not in values
    ]
    if len(errors) > before:
        return None
    try:
        return make(**values)
    except SpanwiseError as error:
        errors.append(f"{where}: {error}")
    except Exception as error:  # noqa: BLE001  (a class of anybody's refuses its parameters in its own way)
        errors.append(f"{where}: {type(error).__name__}: {error}")
    return None


def _parameters(make: Callable[..., object]) -> dict[str, _Parameter]:
    """The parameters that can be given by name, with their types as far as they can be told."""
    try:
        signature = inspect.signature(make)
    except (ValueError, TypeError):  # a built-in without a signature
        return {}
    return {
        one.name: _Parameter(annotation=_bare(_hint(one, make)), required=one.default is one.empty)
        for one in signature.parameters.values()
        if one.kind in {one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY}
    }


def _hint(parameter: inspect.Parameter, make: Callable[..., object]) -> object:
    """The type of a parameter; any, where it is a name that only a type checker knows."""
    owners = (
        [kind for kind in make.__mro__ if parameter.name in inspect.get_annotations(kind)]
        if isinstance(make, type)
        else []
    )
    module = sys.modules.get((owners[0] if owners else make).__module__)

    def holder() -> None: ...

    holder.__annotations__ = {} if parameter.annotation is parameter.empty else {"it": parameter.annotation}
    try:
        return typing.get_type_hints(holder, globalns=vars(module) if module else None).get("it", object)
    except Exception:  # noqa: BLE001  (whatever somebody's annotation does when it is evaluated)
        return object


def _bare(annotation: object) -> object:
    return getattr(cast("object", annotation), "type", object) if isinstance(annotation, InitVar) else annotation


def _sort(wanted: object) -> tuple[str, object, Sequence[object]]:
    """Which sort of type this is, without what it holds, and what it holds."""
    kind: object = get_origin(wanted) or wanted
    inner: Sequence[object] = get_args(wanted)
    if kind in _UNIONS:
        return "union", kind, inner
    if kind is Literal:
        return "literal", kind, inner
    if kind in _WORDS:
        return "scalar", kind, inner
    if kind in _LISTS:
        return "list", kind, inner
    if _is_mapping(kind):
        return "table", kind, inner
    if dataclasses.is_dataclass(kind):
        return "record", kind, inner
    return "any" if kind in _ANY or isinstance(kind, TypeVar) else "code", kind, inner


def _is_mapping(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Mapping)


def fitted(value: object, wanted: object, where: str, errors: list[str]) -> object:
    """The value as the type has it: lists as tuples or sets, tables as dataclasses where those are wanted.

    Where anything is wanted it stays as it was read: it may be data that is compared with a trace's.
    Where the value does not fit, the reasons are among the errors.
    """
    sort, kind, inner = _sort(wanted)
    if sort == "any":
        return value
    if sort == "union":
        return _one_of(value, wanted, inner, where, errors)
    if sort == "literal" and repr(value) in map(repr, inner):
        return value
    if sort == "scalar" and type(value).__name__ in _SCALARS[kind]:
        return float(cast("float", value)) if kind is float else value
    if sort == "list" and isinstance(value, list):
        return _listed(cast("list[object]", value), kind, inner, where, errors)
    if isinstance(value, Mapping):
        table = cast("Mapping[str, object]", value)
        if sort == "table":
            held = inner[1] if len(inner) == 2 else object
            return {key: fitted(item, held, f"{where}.{key}", errors) for key, item in table.items()}
        if sort == "record":
            return built(cast("Callable[..., object]", kind), table, where, errors)
    errors.append(f"{where}: read {value!r}, expected {words_of(wanted)}")
    return None


def _one_of(value: object, wanted: object, kinds: Sequence[object], where: str, errors: list[str]) -> object:
    """The value as the first of several types has it that it fits."""
    told: list[str] = []
    for kind in kinds:
        said: list[str] = []
        found = fitted(value, kind, where, said)
        if not said:
            return found
        # A list of the wrong things says more than that the value is no number.
        told = said if not said[0].startswith(f"{where}: read ") else told
    errors += told or [f"{where}: read {value!r}, expected {words_of(wanted)}"]
    return None


def _listed(value: list[object], kind: object, inner: Sequence[object], where: str, errors: list[str]) -> object:
    if kind is tuple and inner and inner[-1] is not Ellipsis:
        if len(value) != len(inner):
            errors.append(f"{where}: read {value!r}, expected [{', '.join(map(words_of, inner))}]")
            return None
        pairs = list(zip(value, inner, strict=True))
    else:
        pairs = [(item, inner[0] if inner else object) for item in value]
    items = tuple(fitted(item, wanted, f"{where}[{at}]", errors) for at, (item, wanted) in enumerate(pairs, start=1))
    return frozenset(items) if kind in _SETS else items


def words_of(wanted: object) -> str:
    """A type in the words of a file of settings."""
    sort, kind, inner = _sort(wanted)
    if sort == "union":
        return " or ".join(words_of(one) for one in inner if one is not type(None))
    if sort == "literal":
        return " or ".join(map(repr, inner))
    if sort == "scalar":
        return _WORDS[kind]
    if sort == "list":
        if kind is tuple and inner and inner[-1] is not Ellipsis:
            return f"[{', '.join(map(words_of, inner))}]"
        return f"a list of {_several(words_of(inner[0]))}" if inner and inner[0] is not object else "a list"
    if sort == "code":
        return f"a {getattr(kind, '__name__', kind)}, which only code can give"
    return "a value" if sort == "any" else "a table"


def _several(words: str) -> str:
    return f"{words[2:]}s" if words in {"a table", "a number", "a whole number", "a value"} else words
