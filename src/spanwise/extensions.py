"""Evaluators and sinks of other packages: by dotted path, or announced as an entry point.

    [project.entry-points."spanwise.evaluators"]
    refund = "acme.checks:Refund"

    [project.entry-points."spanwise.sinks"]
    ledger = "acme.ledger:LedgerSink"

Nothing of another package is loaded before it is named, or all are to be listed.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias

from spanwise.errors import SpecError

Adapt: TypeAlias = Callable[[object], object]
GROUP = "spanwise.evaluators"
SINKS = "spanwise.sinks"
EXPECTED = "a value that is called on a run and returns a Score, or has `steps(run)`"
EXPECTED_SINK = "a class or a function that makes an object with `emit(results)` and `close()`, or such an object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An evaluator that a package announces; `problem` says why it cannot be loaded, empty where it can."""

    name: str
    origin: str
    made: object = None
    problem: str = ""


def announced(group: str = GROUP) -> dict[str, EntryPoint]:
    """What installed packages announce, by name; of two of a name the one that Python finds first."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        found.setdefault(point.name, point)
    return dict(sorted(found.items()))


def listed() -> Sequence[Listed]:
    """Every announced evaluator, loaded; one that is broken is listed with the reason."""
    out: list[Listed] = []
    for name, point in announced().items():
        origin = f"{point.dist.name} {point.dist.version}" if point.dist else "an entry point"
        try:
            out.append(Listed(name=name, origin=origin, made=load(point.value)))
        except SpecError as error:
            out.append(Listed(name=name, origin=origin, problem=str(error)))
    return out


def _as_it_is(found: object, /) -> object:
    return found


def load(path: str, adapt: Adapt = _as_it_is) -> object:
    """What a dotted path such as `acme.checks:Refund` leads to: an evaluator, or a class of evaluators.

    `adapt` makes one of what is there, where that is the evaluator of another library.

    Raises:
        SpecError: The path is none, nothing is there, its import fails, or what is there is no evaluator.
    """
    found = _at(path, "acme.checks:Refund", adapt)
    if isinstance(found, type):
        problem = "" if _makes_evaluators(found) else "its values cannot be called and have no steps"
    else:
        problem = problem_of(found)
    if problem:
        raise SpecError(f"{path!r} is no evaluator, {problem}; expected {EXPECTED}")
    return found


def load_sink(path: str) -> object:
    """What a dotted path such as `acme.ledger:LedgerSink` leads to: a sink, or what makes one.

    Raises:
        SpecError: The path is none, nothing is there, its import fails, or what is there makes no sink.
    """
    found = _at(path, "acme.ledger:LedgerSink")
    makes = callable(found) and not isinstance(found, type)
    if not makes and not is_sink(found):
        raise SpecError(f"{path!r} is no sink; expected {EXPECTED_SINK}")
    return found


def is_sink(value: object) -> bool:
    """The value, or those of a class, have `emit` and `close`."""
    return all(callable(getattr(value, name, None)) for name in ("emit", "close"))


def _at(path: str, example: str, adapt: Adapt = _as_it_is) -> object:
    """What stands at a dotted path, adapted."""
    module, separator, name = path.partition(":")
    if not separator or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise SpecError(f"read {path!r}, expected a path such as {example!r}")
    try:
        found: object = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return adapt(found)
    except SpecError:
        raise
    except Exception as error:
        raise SpecError(f"{path!r} cannot be loaded: {type(error).__name__}: {error}") from error


def _makes_evaluators(kind: type) -> bool:
    """The values of a class can be called, or have steps: that a class itself can be called does not count."""
    return any("__call__" in vars(base) or "steps" in vars(base) for base in kind.__mro__)


def problem_of(evaluator: object) -> str:
    """Why a value is no evaluator; empty if it is one."""
    steps: object = getattr(evaluator, "steps", None)
    call = steps if callable(steps) else evaluator
    if not callable(call):
        return f"it is of type {type(evaluator).__name__}, cannot be called and has no steps"
    if inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__):
        return "it is asynchronous"
    return _takes_a_run(call)


def _takes_a_run(call: Callable[..., object]) -> str:
    try:
        inspect.signature(call).bind(None)
    except TypeError as error:
        return f"it cannot be called with a run alone ({error})"
    except ValueError:  # a built-in without a signature
        return ""
    return ""
