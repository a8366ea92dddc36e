"""A run as people think of it: its spans as an outline of agents, model calls, tool calls and retrievals.

Spans that only carry the others (chains, tasks, HTTP) are left out unless asked for, and what hung below them hangs
below the nearest span that is shown. Several spans of one logical call are one line. A tool call that left no span
stands below the model call that asked for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from spanwise.model.calls import LLMCall, Retrieval, ToolCall
from spanwise.model.span import LLM_KINDS, Span, SpanError
from spanwise.model.trace import Run

SHOWN_KINDS = frozenset(
    {
        "agent",
        "planning",
        "llm",
        "generation",
        "tool",
        "retrieval",
        "embedding",
        "rerank",
        "guardrail",
        "handoff",
        "evaluation",
    }
)
WORDS: Mapping[str, str] = {"llm": "model", "generation": "model", "other": "span"}
"""How a kind is called where its own name is not the word that people use."""


@dataclass(slots=True, kw_only=True)
class Entry:
    """One line of the outline: a span, several spans of one call, or a tool call without a span (`span` is None)."""

    word: str
    name: str
    span: Span | None = None
    merged: int = 0
    """How many further spans of the same call the line stands for."""
    call: ToolCall | None = None
    llm: LLMCall | None = None
    retrieval: Retrieval | None = None
    error: SpanError | None = None
    children: list[Entry] = field(default_factory=list["Entry"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The topmost entries of a run, and how many spans are left out."""

    entries: tuple[Entry, ...]
    hidden: int


class _Doubles:
    """Which spans stand for a call that another span of the run shows."""

    def __init__(self, run: Run) -> None:
        self._spans = run.trace.spans
        self.calls: dict[int, ToolCall] = {}
        self.more: dict[int, list[ToolCall]] = {}  # the further calls of a span that ran several
        for call in run.tool_calls:
            if call.span >= 0 and self.calls.setdefault(call.span, call) is not call:
                self.more.setdefault(call.span, []).append(call)
        self.retrievals = {item.span: item for item in run.retrievals if item.span >= 0}
        self.names = {index: agent.name for agent in run.agents for index in agent.spans}
        self.llms: dict[int, LLMCall | None] = {}  # no call where the span stands for a number of them
        self._outer: dict[int, int] = {}
        calls = {call.span: call for call in run.llm_calls}
        for group in run.llm_groups:
            self.llms[group[0].index] = calls.get(group[0].index)
            self._outer.update((span.index, group[0].index) for span in group[1:])

    def of(self, span: Span) -> int:
        """The index of the span that shows the same call; -1 for a span that shows its own."""
        if span.kind == "tool":
            return -1 if span.index in self.calls else self._held(span, self.calls)
        if span.kind == "retrieval":
            return -1 if span.index in self.retrievals else self._held(span, self.retrievals)
        if span.kind == "agent":
            return self._same_agent(span)
        return self._outer.get(span.index, -1)

    def _held(self, span: Span, owners: Mapping[int, object]) -> int:
        at = span.holder
        while at >= 0 and at not in owners:
            at = self._spans[at].holder
        return at

    def _same_agent(self, span: Span) -> int:
        """The agent span of the same name around this one, unless a call stands between them."""
        if span.parent < 0 or span.holder >= 0:
            return -1
        above = self._spans[span.parent].agent
        name = self.names.get(span.index)
        return above if above >= 0 and name is not None and self.names.get(above) == name else -1


def outline(run: Run, *, everything: bool = False) -> Outline:
    """The run's outline; with `everything`, also the spans that only carry others."""
    doubles = _Doubles(run)
    entries: dict[int, Entry] = {}
    owners: dict[int, int] = {}
    hidden = 0
    for span in run.spans:
        owner = doubles.of(span)
        if owner >= 0:
            owners[span.index] = owner
        elif everything or span.index == run.root or _is_shown(span, doubles):
            entries[span.index] = _entry(run, span, doubles)
        else:
            hidden += 1
    homes = _Homes(run, entries, owners)
    top: list[Entry] = []
    for index, entry in entries.items():
        home = homes.of(run.trace.spans[index].parent)
        beside = home.children if home else top
        beside.append(entry)
        beside += [
            Entry(word=entry.word, name=call.name, span=entry.span, call=call, error=call.error)
            for call in doubles.more.get(index, ())
        ]
    for index, owner in owners.items():
        shown = homes.of(owner)
        if shown is not None:
            shown.merged += 1
            shown.error = shown.error or run.trace.facts.span_error(run.trace.spans[index])
    for call in run.tool_calls:
        if call.span < 0:
            entry = Entry(word="tool", name=call.name, call=call, error=call.error)
            home = homes.of(_asking(run, call))
            (home.children if home else top).append(entry)
    return Outline(entries=tuple(top), hidden=hidden)


class _Homes:
    """The entry that a span stands below: its own, that of the span which shows the same call, or the next above."""

    def __init__(self, run: Run, entries: Mapping[int, Entry], owners: Mapping[int, int]) -> None:
        self._spans = run.trace.spans
        self._entries = entries
        self._owners = owners
        self._above = {span.index: span.parent for span in run.spans}

    def of(self, index: int) -> Entry | None:
        """The entry for a span; None where nothing above it is shown. Ways are shortened as they are walked."""
        passed: list[int] = []
        at = index
        while at in self._above and at not in self._entries:
            passed.append(at)
            at = self._owners.get(at, self._above[at])
        for one in passed:
            self._above[one] = at
        return self._entries.get(at)


def _is_shown(span: Span, doubles: _Doubles) -> bool:
    """A wrapper around several model calls is none itself; a tool's span that is no call's echoes one elsewhere."""
    if span.kind == "tool":
        return span.index in doubles.calls
    return span.kind in SHOWN_KINDS and (span.kind not in LLM_KINDS or span.index in doubles.llms)


def _entry(run: Run, span: Span, doubles: _Doubles) -> Entry:
    call = doubles.calls.get(span.index)
    llm = doubles.llms.get(span.index)
    name = call.name if call else (llm.model if llm else None) or doubles.names.get(span.index) or span.name
    return Entry(
        word=WORDS.get(span.kind, span.kind),
        name=name,
        span=span,
        call=call,
        llm=llm,
        retrieval=doubles.retrievals.get(span.index),
        error=call.error if call else run.trace.facts.span_error(span),
    )


def _asking(run: Run, call: ToolCall) -> int:
    """The model call that asked for a call without a span, and ended when it had; else the call's agent."""
    for group in reversed(run.llm_groups):
        if any(span.end_ns == call.start_ns and span.agent == call.agent for span in group):
            return group[0].index
    return call.agent


def walk(entries: tuple[Entry, ...] | list[Entry]) -> Iterator[tuple[int, Entry]]:
    """Every entry with its depth, from the top down."""
    waiting = [(0, entry) for entry in reversed(entries)]
    while waiting:
        depth, entry = waiting.pop()
        yield depth, entry
        waiting.extend((depth + 1, child) for child in reversed(entry.children))
