"""What calls should not do: repeat a tool at once, call one before or after another, call one too often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from spanwise.errors import ModelError
from spanwise.model.calls import ToolCall

Kind: TypeAlias = Literal["repeat", "before", "after", "more_than"]
Times: TypeAlias = Sequence[tuple[int, int]]

FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "repeat": ((), ("tool",)),
    "before": (("first", "then"), ("first", "then")),
    "after": (("first", "then"), ("first", "then")),
    "more_than": (("tool",), ("tool", "n")),
}
"""For each kind the fields that it needs, and those that it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AntiPattern:
    """Something that calls should not do; each time they do, it costs `penalty`.

    `repeat`: a tool (any, or `tool`) called right after it had been called. `before` and `after`: the first call of
    `first` comes before, or after, the first call of `then`. `more_than`: each call of `tool` beyond `n`.
    """

    kind: Kind
    penalty: float = 0.1
    tool: str = ""
    first: str = ""
    then: str = ""
    n: int = 0

    def __post_init__(self) -> None:
        if self.kind not in FIELDS:
            raise ModelError(f"AntiPattern: kind: read {self.kind!r}, expected one of {', '.join(FIELDS)}")
        place = f"AntiPattern {self.kind!r}"
        if not 0.0 < self.penalty <= 1.0:
            raise ModelError(f"{place}: penalty: read {self.penalty!r}, expected a number above 0, at most 1")
        needed, taken = FIELDS[self.kind]
        given = [name for name in ("tool", "first", "then", "n") if getattr(self, name)]
        strange = [name for name in given if name not in taken]
        absent = [name for name in needed if name not in given]
        if strange or absent:
            wrong = f"{' and '.join(strange)} given" if strange else f"{' and '.join(absent)} not given"
            raise ModelError(f"{place}: {wrong}, expected {' and '.join(taken)}")
        if self.n < 0:
            raise ModelError(f"{place}: n: read {self.n!r}, expected 0 or more")
        if self.first and self.first == self.then:
            raise ModelError(f"{place}: read {self.first!r} twice, expected two tools")

    @property
    def named(self) -> tuple[str, ...]:
        """The tools that it names."""
        return tuple(name for name in (self.tool, self.first, self.then) if name)

    def found(self, calls: Sequence[ToolCall], times: Times) -> list[ToolCall]:
        """The calls, among those given by start, that do it; `times` says from when to when each ran."""
        if self.kind == "repeat":
            return _repeats(calls, times, self.tool)
        if self.kind == "more_than":
            return [call for call in calls if call.name == self.tool][self.n :]
        first, then = _first(calls, self.first), _first(calls, self.then)
        if first < 0 or then < 0:
            return []
        early, late = (first, then) if self.kind == "before" else (then, first)
        return [calls[first]] if times[early][1] <= times[late][0] else []

    def told(self, where: Sequence[ToolCall]) -> tuple[str, ...]:
        """What the calls that do it did, in words: one sentence per tool."""
        if self.kind == "more_than" and where:
            return (f"{self.tool} was called {self.n + len(where)} times, more than {self.n}.",)
        if self.kind == "repeat":
            names = Counter(call.name for call in where)
            return tuple(f"{name} was called again at once{_times(count)}." for name, count in names.items())
        return tuple(f"{self.first} was called {self.kind} {self.then}." for _ in where)


def _first(calls: Sequence[ToolCall], name: str) -> int:
    return next((at for at, call in enumerate(calls) if call.name == name), -1)


def _repeats(calls: Sequence[ToolCall], times: Times, tool: str) -> list[ToolCall]:
    """The calls that follow one of the same tool and began when that had ended: side by side is no repeat."""
    return [
        calls[at]
        for at in range(1, len(calls))
        if calls[at].name == calls[at - 1].name
        and (not tool or calls[at].name == tool)
        and times[at][0] >= times[at - 1][1]
    ]


def _times(count: int) -> str:
    return f", {count} times" if count > 1 else ""
