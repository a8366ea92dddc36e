"""What was expected of a run: the tools named for it, or those that rules name for its query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import cast

from spanwise.errors import ModelError
from spanwise.model.calls import ToolCall
from spanwise.model.effects import has_effect
from spanwise.model.trace import Run


def tool_names(value: object, place: str) -> None:
    """Refuse what is no tuple of names of tools.

    Raises:
        ModelError: The value is something else.
    """
    listed = cast("tuple[object, ...]", value) if isinstance(value, tuple) else None
    if listed is None or not all(isinstance(name, str) and name for name in listed):
        raise ModelError(f"{place}: read {value!r}, expected a tuple of names of tools")


def all_of(value: object, kind: type, place: str) -> None:
    """Refuse what is no tuple of values of a type.

    Raises:
        ModelError: The value is something else.
    """
    listed = cast("tuple[object, ...]", value) if isinstance(value, tuple) else None
    if listed is None or not all(isinstance(one, kind) for one in listed):
        raise ModelError(f"{place}: read {value!r}, expected a tuple of {kind.__name__}")


def no_overlap(expected: Collection[str], forbidden: Collection[str], place: str) -> None:
    """Refuse an expectation of tools that are forbidden.

    Raises:
        ModelError: A tool is both.
    """
    both = sorted(set(expected) & set(forbidden))
    if both:
        raise ModelError(f"{place}: {', '.join(both)} both expected and forbidden; expected one of the two")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which tools a kind of query calls for.

    A query is of the kind if one of `words` occurs in it as a whole word, whatever the case (`forecast*` is found at
    the start of a word), or if `matches` says so, which runs `pattern`. `expected` is None for a rule that says
    nothing of what is expected, and empty for one that expects no tool. Rules out of a file are made by
    `spanwise.rules`, which gives `matches`.
    """

    name: str
    words: tuple[str, ...] = ()
    pattern: str = ""
    expected: tuple[str, ...] | None = None
    forbidden: tuple[str, ...] = ()
    matches: Callable[[str], bool] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        place = f"Rule {self.name!r}"
        tool_names(self.words, f"{place}: words")
        tool_names(self.expected or (), f"{place}: expected")
        tool_names(self.forbidden, f"{place}: forbidden")
        no_overlap(self.expected or (), self.forbidden, place)
        if self.pattern and self.matches is None:
            raise ModelError(f"{place}: pattern {self.pattern!r} without `matches`; spanwise.patterns compiles one")
        if not self.words and self.matches is None:
            raise ModelError(f"{place}: matches no query; give words or a pattern")
        spelt = tuple(_plain(word) for word in self.words)
        pairs = zip(self.words, spelt, strict=True)
        unfit = [word for word, plain in pairs if not plain.rstrip("*") or "*" in plain[:-1]]
        if unfit:
            raise ModelError(f"{place}: words: read {unfit[0]!r}, expected a word, with `*` at its end or nowhere")
        object.__setattr__(self, "words", spelt)

    def fits(self, query: str) -> bool:
        """The query is of this rule's kind."""
        if self.words:
            text = _plain(query)
            if any(_has_word(text, word) for word in self.words):
                return True
        return self.matches is not None and self.matches(query)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """What the matching rules say together; `expected` is None where none of them says what is expected."""

    names: tuple[str, ...] = ()
    expected: tuple[str, ...] | None = None
    forbidden: tuple[str, ...] = ()

    @property
    def query_type(self) -> str:
        """The name of the first rule that matches; empty where none does."""
        return self.names[0] if self.names else ""


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules in their order."""

    rules: tuple[Rule, ...] = ()

    def match(self, query: str) -> Matched:
        """What the rules that match a query say together, in order.

        A tool is expected as often as the rule says that expects it most often. What one rule forbids and another
        expects is forbidden.
        """
        met = [rule for rule in self.rules if rule.fits(query)]
        if not met:
            return Matched()
        forbidden = tuple(dict.fromkeys(name for rule in met for name in rule.forbidden))
        said = [rule.expected for rule in met if rule.expected is not None]
        wanted: Counter[str] = Counter()
        for expected in said:
            wanted |= Counter(expected)
        names = tuple(name for name in wanted.elements() if name not in forbidden)
        return Matched(names=tuple(rule.name for rule in met), expected=names if said else None, forbidden=forbidden)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _has_word(text: str, word: str) -> bool:
    """Whether a word stands in a text by itself, or begins one if it ends in `*`."""
    opening = word.endswith("*")
    stem = word.rstrip("*")
    at = text.find(stem)
    while at >= 0:
        end = at + len(stem)
        begins = at == 0 or not _one_word(text[at - 1], stem[0])
        if begins and (opening or end == len(text) or not _one_word(stem[-1], text[end])):
            return True
        at = text.find(stem, at + 1)
    return False


def _one_word(left: str, right: str) -> bool:
    return (left.isalnum() or left == "_") and (right.isalnum() or right == "_")


# What a run did about an expectation


def effecting(run: Run, names: Collection[str], effect_tools: Collection[str] | None) -> frozenset[str]:
    """Those of the named tools that change something: as configured, else by their definitions, else by their names."""
    if effect_tools is not None:
        return frozenset(effect_tools).intersection(names)
    hints = {tool.name: tool.hints for tool in run.tool_definitions or ()}
    return frozenset(name for name in names if has_effect(name, hints.get(name)))


def candidates(run: Run, named: Collection[str]) -> Sequence[ToolCall]:
    """The calls that ran and that a path is made of: a tool that only steers the run counts where it is named."""
    if not named or len(run.work) == len(run.tool_calls):
        return run.work
    return [call for call in run.tool_calls if call.status != "not_run" and (not call.control or call.name in named)]


def never_ran(run: Run) -> list[ToolCall]:
    """The calls that a model asked for and that were not made, tools that only steer the run left out."""
    if len(run.work) == len(run.tool_calls):
        return []
    return [call for call in run.tool_calls if call.status == "not_run" and not call.control]


def unseen(run: Run) -> str:
    """Why seeing no tool call does not say that none was made; empty where it does say so.

    It does in a complete trace in which calls of any kind are recorded, or in which every model call left a span with
    its answer: a request for a tool would stand there.
    """
    if not run.completeness.complete:
        return f"The trace is partial: {'; '.join(run.completeness.reasons)}."
    if run.tool_calls:
        return ""
    return str(run.lacks("spans", "llm_calls", "tool_calls") or "")


def told_missing(name: str, wanted: int, done: int, *, failed: bool) -> str:
    """That a tool was called less often than expected, in words."""
    if done:
        return f"{name} was expected {times(wanted)} and called {times(done)}."
    return f"{name} was expected; every call of it failed." if failed else f"{name} was expected and never called."


def told_surplus(name: str, wanted: int, done: int) -> str:
    """That a tool was called more often than expected, in words."""
    if wanted:
        return f"{name} was expected {times(wanted)} and called {times(done)}."
    return f"{name} was called{again(done)} and is not expected."


def times(count: int) -> str:
    """How often, in words."""
    return "once" if count == 1 else f"{count} times"


def again(count: int) -> str:
    """How often, in words that follow a verb; nothing for once."""
    return f" {count} times" if count > 1 else ""
