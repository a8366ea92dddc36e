"""The canonical trace: spans by start, linked by index, and the runs in it.

Spans are many, so a `Span` is a small Struct around the raw record. Runs are few, and what a run tells (tool calls,
model calls, documents, query and answer) is read when it is first asked for, by the `Facts` that assembly gives to the
trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Protocol, TypeVar, cast

import msgspec

from spanwise.model.calls import (
    Agent,
    Completeness,
    Given,
    Handoff,
    LLMCall,
    Missing,
    Retrieval,
    Said,
    Tokens,
    Told,
    ToolCall,
    Who,
)
from spanwise.model.clients import calls_of
from spanwise.model.content import Memo, ToolDefinition
from spanwise.model.effects import has_effect
from spanwise.model.episodes import Episode, episodes_of
from spanwise.model.lazy import lazy
from spanwise.model.raw import Key, SpanRecord, hex_trace_id
from spanwise.model.repeats import Asked, Repeats, asked_of, near_repeats_of, repeats_of
from spanwise.model.span import SPANS, TIMES, Span, SpanError, SpanStatus
from spanwise.model.tally import Tally, tally_of

T = TypeVar("T")
_PACE = 16
_INDEX = attrgetter("index")


class Facts(Protocol):
    """How the content of a run is read out of its spans; assembly gives one to each trace."""

    def query(self, run: Run, /) -> str | None: ...
    def answer(self, run: Run, /) -> str | None: ...
    def agents(self, run: Run, /) -> tuple[Agent, ...]: ...
    def tool_calls(self, run: Run, /) -> tuple[ToolCall, ...]: ...
    def llm_calls(self, run: Run, /) -> tuple[LLMCall, ...]: ...
    def said(self, run: Run, /) -> tuple[Said, ...]: ...
    def told(self, run: Run, group: Sequence[Span], /) -> Told | None: ...
    def retrievals(self, run: Run, /) -> tuple[Retrieval, ...]: ...
    def given(self, run: Run, /) -> tuple[Given, ...]: ...
    def handoffs(self, run: Run, /) -> tuple[Handoff, ...]: ...
    def tool_definitions(self, run: Run, /) -> tuple[ToolDefinition, ...] | None: ...
    def tokens(self, run: Run, /) -> Tokens | None: ...
    def stated_usd(self, run: Run, /) -> float | None: ...
    def models(self, run: Run, /) -> tuple[str, ...]: ...
    def who(self, run: Run, /) -> Who: ...
    def missing(self, run: Run, /) -> tuple[Missing, ...]: ...
    def lacking(self, run: Run, fields: Sequence[str], /) -> Missing | None: ...
    def content_switch(self, run: Run, /) -> str: ...
    def span_error(self, span: Span, /) -> SpanError | None: ...
    def status(self, span: Span, /) -> SpanStatus: ...


class Trace(msgspec.Struct, eq=False):
    """All spans of one trace id, by start; parents and runs as indices into them."""

    key: Key
    spans: Sequence[Span]
    facts: Facts
    roots: Sequence[int]
    run_roots: Sequence[int]
    completeness: Completeness
    repairs: tuple[str, ...] = ()
    torn: Collection[int] = ()
    """Those of `run_roots` that are only the first part of a run, whose own span was lost."""
    memo: Memo = msgspec.field(default_factory=Memo)
    source: str = ""
    bytes: int = 0
    """About how much memory its records take; 0 where whoever assembled it did not count."""
    revision: int = 1
    late: Collection[Key] | None = None
    """Of a trace that was handed out before, perhaps by another process, the spans that came since; None of new."""
    records: Mapping[Key, SpanRecord] | None = None
    """The spans as they came, where whoever assembled it was asked to keep them."""
    pause: Callable[[], None] | None = None
    """Called between small pieces of what is read out of the spans, by whoever wants to let others run."""

    def __repr__(self) -> str:
        return f"<trace {self.trace_id}, spans: {len(self.spans)}>"

    @property
    def trace_id(self) -> str:
        """The id as hex text."""
        return hex_trace_id(self.key)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs, by start. A trace without an agent or workflow span is one run without a root span."""
        if len(self.run_roots) == 1:
            return (Run(self, self.run_roots[0]),)
        return tuple([Run(self, root) for root in self.run_roots])

    def children(self) -> list[list[int]]:
        """For each span the indices of its children, by start."""
        table: list[list[int]] = [[] for _ in self.spans]
        for span in self.spans:
            if span.parent >= 0:
                table[span.parent].append(span.index)
        return table

    def paced(self, items: Iterable[T], /, every: int = _PACE) -> Iterable[T]:
        """The items, with a pause before every few of them where there is one."""
        return items if self.pause is None else paced(items, self.pause, every)

    def ancestors(self, index: int, /) -> Iterator[Span]:
        """The spans above one, nearest first."""
        spans = self.spans
        parent = spans[index].parent
        while parent >= 0:
            span = spans[parent]
            yield span
            parent = span.parent


def paced(items: Iterable[T], pause: Callable[[], None], every: int = _PACE) -> Iterator[T]:
    """The items, with a pause before every few of them."""
    for number, item in enumerate(items):
        if not number % every:
            pause()
        yield item


def _by_kind(spans: Iterable[Span]) -> Mapping[str, Sequence[Span]]:
    table: dict[str, list[Span]] = {}
    for span in spans:
        table.setdefault(span.kind, []).append(span)
    return table


class Run:
    """One agent run, the unit of evaluation: an outermost agent or workflow span and all below it.

    `root` is the index of that span, or -1 where there is none: the trace is one run as a whole, or the span was lost.
    `mark` is what the run's spans bear as theirs: that index, of a span that was lost the first part's, or -1 for all.
    """

    def __init__(self, trace: Trace, root: int) -> None:
        self.trace = trace
        self.mark = root
        self.root = -1 if root in trace.torn else root
        self._held: dict[Callable[[Run], object], object] = {}
        self.read_calls: tuple[list[LLMCall], list[Sequence[Span]]] | None = None
        """The model calls, and which of them are not plain, where another fact was read with them."""

    @property
    def root_span(self) -> Span | None:
        """The run's own span, if it has one."""
        return self.trace.spans[self.root] if self.root >= 0 else None

    @property
    def run_id(self) -> str:
        """The root span's id, or the first part's; empty where the whole trace is the run."""
        return self.trace.spans[self.mark].span_id if self.mark >= 0 else ""

    def of_kinds(self, kinds: Collection[str], /) -> Sequence[Span]:
        """The spans of any of some kinds, by start."""
        groups = [spans for kind, spans in self.by_kind.items() if kind in kinds]
        if len(groups) == 1:
            return groups[0]
        return sorted([span for spans in groups for span in spans], key=_INDEX) if groups else ()

    @lazy
    def spans(self) -> Sequence[Span]:
        """The spans of this run, by start."""
        mark = self.mark
        if mark < 0 or (len(self.trace.run_roots) == 1 == len(self.trace.roots) and mark == self.trace.roots[0]):
            return self.trace.spans
        return [span for span in self.trace.spans if span.run == mark]

    @lazy
    def by_kind(self) -> Mapping[str, Sequence[Span]]:
        """The spans of each kind, by start."""
        spans = self.spans
        found = SPANS.kinds(spans, self.trace.pause) if SPANS is not None else None
        return _by_kind(self.trace.paced(spans)) if found is None else found

    @lazy
    def llm_groups(self) -> Sequence[Sequence[Span]]:
        """The spans of each logical model call, outermost first, by start of the outermost.

        A wrapper around one model span is the same call; around several it is none, only they are. Spans of two
        instrumentations that name the same response are the same call, wherever they stand.
        """
        kinds = self.by_kind
        members = kinds.get("llm", ())
        if not members and "generation" not in kinds:
            return ()
        if "generation" in kinds:
            members = sorted((*members, *kinds["generation"]), key=lambda span: span.index)
        return calls_of(members, self.trace.spans)

    @lazy
    def start_ns(self) -> int:
        """When the run began."""
        if self.root >= 0:
            return self.trace.spans[self.root].raw.start_ns
        return min((span.start_ns for span in self.spans), default=0)

    @lazy
    def end_ns(self) -> int:
        """When the run ended: its root's end, or the last end of all where there is no root."""
        if self.root >= 0:
            return self.trace.spans[self.root].end_ns
        return max((span.end_ns for span in self.spans), default=0)

    @property
    def duration_ms(self) -> float | None:
        """How long the run took; None where no end behind its start is recorded, and of a transcript."""
        took = self.end_ns - self.start_ns
        return took / 1e6 if took > 0 and self.timed else None

    @lazy
    def timed(self) -> bool:
        """Whether the times are recorded ones; a chat transcript has none, its spans are only in order."""
        spans = self.spans
        return not spans or spans[0].raw.attributes.get(TIMES) != "none"

    @property
    def completeness(self) -> Completeness:
        """Whether the whole tree was seen."""
        return self.trace.completeness

    @lazy
    def query(self) -> str | None:
        """What the user asked."""
        return self.trace.facts.query(self)

    @lazy
    def answer(self) -> str | None:
        """What the run answered in the end."""
        return self.trace.facts.answer(self)

    @lazy
    def agents(self) -> tuple[Agent, ...]:
        """The agents, by first appearance."""
        return self.trace.facts.agents(self)

    @lazy
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The logical tool calls, by start, control tools among them."""
        return self.trace.facts.tool_calls(self)

    @lazy
    def work(self) -> Sequence[ToolCall]:
        """The calls that evaluators judge: no control tools, none that never ran."""
        return [call for call in self.tool_calls if not call.control and call.status != "not_run"]

    @lazy
    def tally(self) -> Tally:
        """What they were of and how long they took, told of all of them together."""
        return tally_of(self.work, paced=self.trace.paced, pause=self.trace.pause)

    @lazy
    def acting(self) -> frozenset[str]:
        """The names of the called tools that change something: by their definitions, else by their names."""
        hints = {tool.name: tool.hints for tool in self.tool_definitions or ()}
        return frozenset(name for name in set(self.tally.names) if has_effect(name, hints.get(name)))

    @lazy
    def asked(self) -> Asked:
        """What each of those calls asked for."""
        return asked_of(self.work, self.tally)

    @lazy
    def repeats(self) -> Repeats:
        """Which of the calls repeat an earlier one."""
        return repeats_of(self.work, self.asked, lambda: self.acting)

    @lazy
    def near_repeats(self) -> tuple[tuple[ToolCall, ToolCall], ...]:
        """Which of the calls ask nearly the same as an earlier one, each with it."""
        return near_repeats_of(self.work, self.asked, self.repeats, lambda: self.acting)

    @lazy
    def episodes(self) -> tuple[Episode, ...]:
        """Failures of tools, each with its retries."""
        return episodes_of(self.work, in_turn=not self.llm_groups) if self.tally.failed else ()

    @lazy
    def llm_calls(self) -> tuple[LLMCall, ...]:
        """The logical model calls, by start."""
        return self.trace.facts.llm_calls(self)

    @lazy
    def failed_llm_calls(self) -> Sequence[LLMCall]:
        """Those of them that failed."""
        calls = self.llm_calls
        return [call for call in calls if call.failed] if calls else ()

    @lazy
    def said(self) -> tuple[Said, ...]:
        """What the models said in their calls, by start; where no call left a span, what agents record as answers."""
        return self.trace.facts.said(self)

    def told(self, group: Sequence[Span], /) -> Told | None:
        """What a model was told in one of `llm_groups`; None where that is not recorded whole, or no user speaks."""
        return self.trace.facts.told(self, group)

    @lazy
    def retrievals(self) -> tuple[Retrieval, ...]:
        """The logical retrievals, by start."""
        return self.trace.facts.retrievals(self)

    @lazy
    def given(self) -> tuple[Given, ...]:
        """What the first model call was given besides the question: instructions, what was said and found before."""
        return self.trace.facts.given(self)

    @lazy
    def handoffs(self) -> tuple[Handoff, ...]:
        """Control passed between agents, by start."""
        return self.trace.facts.handoffs(self)

    @lazy
    def tool_definitions(self) -> tuple[ToolDefinition, ...] | None:
        """The tools that the model was offered; None where not recorded."""
        return self.trace.facts.tool_definitions(self)

    @lazy
    def tokens(self) -> Tokens | None:
        """Tokens of the leaf model calls, else the agents' own sums; None where nothing counts any."""
        return self.trace.facts.tokens(self)

    @lazy
    def models(self) -> tuple[str, ...]:
        """The models at work, by first appearance; where no model call left a span, those that agents name."""
        return self.trace.facts.models(self)

    @lazy
    def who(self) -> Who:
        """Whose request the run served."""
        return self.trace.facts.who(self)

    @lazy
    def missing(self) -> tuple[Missing, ...]:
        """What the spans do not tell, and the switch that would record it."""
        return self.trace.facts.missing(self)

    def lacks(self, *fields: str) -> Missing | None:
        """The entry in `missing` of the first of some fields that is there; the others are not looked at."""
        return self.trace.facts.lacking(self, fields)

    @lazy
    def content_switch(self) -> str:
        """The setting that would make the instrumentation record content; empty where none is known."""
        return self.trace.facts.content_switch(self)

    def once(self, read: Callable[[Run], T], /) -> T:
        """What a function reads out of this run, read only once."""
        held = self._held
        if read not in held:
            held[read] = read(self)
        return cast("T", held[read])

    @property
    def cost_usd(self) -> float | None:
        """Recorded or estimated dollars; None where the cost of a call that came to something cannot be known."""
        calls = self.llm_calls
        costs = [cost for call in calls if (cost := call.cost_usd) is not None]
        unknown = len(calls) - len(costs)
        if unknown:
            unknown -= sum(call.came_to_nothing for call in self.failed_llm_calls)
        return math.fsum(costs) if costs and not unknown else self.trace.facts.stated_usd(self)

    @property
    def cost_estimated(self) -> bool:
        """Some of the cost was computed from tokens and list prices."""
        known = all(call.cost_usd is not None or call.came_to_nothing for call in self.llm_calls)
        return known and any(call.cost_estimated for call in self.llm_calls)
