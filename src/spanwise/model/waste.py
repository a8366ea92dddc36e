"""What work cost that led nowhere: time of the calls, tokens and dollars of the model calls that asked for them.

A tool call is taken to have been asked for by the model span that it lies in, else by the model call of the same agent
that began last before it, if that one was over by then. What the model call used is shared equally among all the calls
that it asked for. Where no such model call is there, or two of them overlap, nobody can tell: then there is no number.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spanwise.model.calls import LLMCall, ToolCall
from spanwise.model.span import LLM_KINDS
from spanwise.model.trace import Run

_HOPS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Waste:
    """Milliseconds, tokens and dollars; None where not known of all the calls that are meant."""

    ms: float | None = 0.0
    tokens: float | None = 0.0
    usd: float | None = 0.0


_NONE = Waste()


def waste_of(run: Run) -> Waste:
    """What the repeated calls of a run cost, all together; zeros for a run that repeats nothing.

    Nothing is known where it cannot be told which calls are repeats.
    """
    if run.asked.untold:
        return Waste(ms=None, tokens=None, usd=None)
    if not run.repeats.duplicates:
        return _NONE
    return Waster(run).of([again for _, again in run.repeats.duplicates])


class Waster:
    """Tells what calls of one run cost. The model calls are laid against the tool calls when it is first asked."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def of(self, calls: Sequence[ToolCall]) -> Waste:
        """What these calls cost, all together."""
        if not calls:
            return _NONE
        askers = self._run.once(_askers_of)
        ms: list[float | None] = []
        tokens: list[float | None] = []
        usd: list[float | None] = []
        for call in calls:
            asker = askers.by_call.get(id(call))
            share = askers.asked[id(asker)] if asker is not None else 1
            ms.append(_ms(self._run, call))
            tokens.append(_shared(None if asker is None else tokens_of(asker), share))
            usd.append(_shared(None if asker is None else asker.cost_usd, share))
        return Waste(ms=_sum(ms), tokens=_sum(tokens), usd=_sum(usd))


class _Askers(NamedTuple):
    """The model call that asked for each tool call, where that can be told, and how many calls each asked for."""

    by_call: Mapping[int, LLMCall]
    asked: Mapping[int, int]


def _askers_of(run: Run) -> _Askers:
    by_call: dict[int, LLMCall] = {}
    asked: dict[int, int] = {}
    by_agent: dict[int, list[LLMCall]] = {}
    by_span: dict[int, LLMCall] = {}
    for model_call in run.trace.paced(run.llm_calls):
        by_span[model_call.span] = model_call
        if not model_call.failed:
            by_agent.setdefault(model_call.agent, []).append(model_call)
    starts = {agent: [one.start_ns for one in calls] for agent, calls in by_agent.items()}
    spans = run.trace.spans
    for call in run.trace.paced(run.tool_calls):
        holder = spans[call.span].holder if call.span >= 0 else -1
        asker = _around(run, holder, by_span) if holder >= 0 else None
        if asker is None and call.agent in by_agent:
            asker = _before(call, by_agent[call.agent], starts[call.agent])
        if asker is not None:
            by_call[id(call)] = asker
            asked[id(asker)] = asked.get(id(asker), 0) + 1
    return _Askers(by_call, asked)


def _around(run: Run, at: int, by_span: Mapping[int, LLMCall]) -> LLMCall | None:
    """The model call whose span a span is or lies in."""
    spans = run.trace.spans
    for _ in range(_HOPS):
        if at < 0:
            return None
        if spans[at].kind in LLM_KINDS and at in by_span:
            return by_span[at]
        at = spans[at].holder
    return None


def tokens_of(call: LLMCall) -> int | None:
    """All tokens of a model call; None where it counts none."""
    used = call.usage
    if used.input_tokens is None and used.output_tokens is None:
        return None
    return (used.input_tokens or 0) + (used.output_tokens or 0)


def told(waste: Waste) -> str:
    """The amounts that are known, in words: `1.2 s, 340 tokens and $0.0012`; empty where none is."""
    words = [] if waste.ms is None else [duration(waste.ms)]
    if waste.tokens is not None:
        words.append(f"{round(waste.tokens):,} tokens")
    if waste.usd is not None:
        words.append(dollars(waste.usd))
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def duration(ms: float) -> str:
    """Milliseconds as people read them."""
    if ms >= 60_000:
        return f"{ms / 60_000:.1f} min"
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms:.0f} ms" if ms >= 1 else "under 1 ms"


def dollars(usd: float) -> str:
    """Dollars and cents; small amounts with two digits that say something."""
    places = 2 if usd >= 0.1 or usd <= 0 else 1 - math.floor(math.log10(usd))
    return f"${usd:.{min(places, 12)}f}"


def _before(call: ToolCall, model_calls: Sequence[LLMCall], starts: Sequence[int]) -> LLMCall | None:
    at = bisect_right(starts, call.start_ns) - 1
    return model_calls[at] if at >= 0 and model_calls[at].end_ns <= call.start_ns else None


def _ms(run: Run, call: ToolCall) -> float | None:
    return call.duration_ns / 1e6 if call.origin == "span" and run.timed else None


def _shared(amount: float | None, share: int) -> float | None:
    return None if amount is None else amount / share


def _sum(amounts: Sequence[float | None]) -> float | None:
    return None if None in amounts else math.fsum(amount or 0.0 for amount in amounts)
