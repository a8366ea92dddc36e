"""Logical model calls: wrappers and providers of one call merged, tokens counted once.

A framework's span around a client's span is one call: the outer one says when, the innermost that counts tokens says
how many. A span around several model spans is no call of its own, only its leaves are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from spanwise import conventions, pricing
from spanwise.assembly import plain, running
from spanwise.conventions._genai_scopes import GOOGLE, OPENLLMETRY_GOOGLE
from spanwise.model.calls import LLMCall, Tokens, ToolCall
from spanwise.model.content import LLMFields, Message, Messages
from spanwise.model.span import RUN_KINDS, Span
from spanwise.model.trace import Run


def llm_calls(run: Run) -> tuple[LLMCall, ...]:
    """The logical model calls, by start; none where a span holds a number of them that it does not tell."""
    found, odd = _calls(run)
    if odd:  # what is plain is none of these
        if any(group[0].raw.scope.name in GOOGLE and _calls_by_itself(run, group) for group in odd):
            return ()
        if not conventions.SUMMING.isdisjoint([group[0].dialect for group in odd]):
            for call in running.take_apart(run, found):
                call.cost_usd, call.cost_estimated = _cost(call.usage, call.start_ns)
    held: list[LLMCall] = []
    for span in run.by_kind.get("agent", ()):
        if span.dialect in conventions.HOLDING:
            calls = list(_held(run, span))
            if not _have_spans([call for call in found if call.agent == span.index], calls):
                held += calls
    return tuple(sorted((*found, *held), key=lambda call: call.start_ns) if held else found)


def _calls(run: Run) -> tuple[list[LLMCall], list[Sequence[Span]]]:
    """The calls of the run's groups of spans, and those groups that take a closer look than plain ones."""
    held, run.read_calls = run.read_calls, None
    if held is not None:
        return held
    odd: list[Sequence[Span]] = []
    look, groups = _looking(run, odd), run.llm_groups
    if plain.READER is not None:
        return plain.READER.llm_calls(groups, look, run.trace.pause), odd
    return [look(group) for group in run.trace.paced(groups)], odd


def _looking(run: Run, odd: list[Sequence[Span]]) -> Callable[[Sequence[Span]], LLMCall]:
    """Makes the call of a group of spans, which is noted among the odd ones."""

    def look(group: Sequence[Span]) -> LLMCall:
        odd.append(group)
        return _call(run, group)

    return look


def have_spans(
    run: Run, calls: list[ToolCall], asking: Callable[[Span], object], is_whole: Callable[[object], bool]
) -> bool | None:
    """Whether the run's models asked for exactly these calls; None where it is not plain.

    Their own calls are read on the way and kept until they are asked for: of a long run nothing of their spans is in
    the processor's caches when they are read again.
    """
    if plain.READER is None:
        return None
    odd: list[Sequence[Span]] = []
    made: list[LLMCall] = []
    groups = run.llm_groups
    told = plain.READER.all_have_spans(groups, calls, asking, is_whole, run.trace.pause, _looking(run, odd), made)
    if len(made) == len(groups):
        run.read_calls = made, odd
    return told


def _calls_by_itself(run: Run, group: Sequence[Span]) -> bool:
    """Google's client ran the tools and asked the model again: one span for all, with the usage of the last call."""
    ran = any(tool.holder == span.index for tool in run.by_kind.get("tool", ()) for span in group)
    return ran or may_have_called(run, group[0])


def may_have_called(run: Run, span: Span) -> bool:
    """OpenLLMetry's span of a client that runs Python functions, whose calls leave no trace: they have a name only."""
    memo, raw = run.trace.memo, span.raw
    if raw.scope.name != OPENLLMETRY_GOOGLE or "gen_ai.tool.definitions" not in raw.attributes:
        return False
    offered = conventions.definitions(raw, memo, span.dialect) or ()
    if not any(tool.schema is None and not tool.description for tool in offered):
        return False
    said = conventions.messages(raw, memo, span.dialect)
    parts = (part for message in (*(said.input or ()), *(said.output or ())) for part in message.parts)
    return not any(part.type in {"tool_call", "tool_result"} for part in parts)  # who sees those runs the tools himself


def _call(run: Run, group: Sequence[Span]) -> LLMCall:
    outer = group[0]
    raw = outer.raw
    if len(group) == 1:
        said = conventions.llm(raw, run.trace.memo, outer.dialect)
        failed = conventions.failed(raw, outer.dialect)
    else:
        said = _merged(run, group)
        failed = any(conventions.failed(span.raw, span.dialect) for span in group)
    cost, estimated = _cost(said, raw.start_ns)
    end_ns = raw.end_ns
    return LLMCall(
        said,
        cost,
        estimated,
        failed,
        outer.index,
        outer.agent,
        raw.start_ns,
        end_ns if end_ns > raw.start_ns else raw.start_ns,
        raw.span_id,
    )


def _have_spans(found: Sequence[LLMCall], held: Sequence[LLMCall]) -> bool:
    """The model's client is instrumented as well: each held call is over when one with a span is, in their turn."""
    begun = (0, *(call.end_ns for call in held))
    return len(found) == len(held) and all(
        before <= call.start_ns and call.end_ns <= one.end_ns
        for before, call, one in zip(begun, found, held, strict=False)
    )


def _held(run: Run, span: Span) -> Iterable[LLMCall]:
    """The calls that an agent's span holds; each known by its end only."""
    for call in conventions.model_calls(span.raw, run.trace.memo, span.dialect):
        at_ns = max(call.end_ns, span.start_ns)
        cost, estimated = _cost(call.usage, at_ns)
        yield LLMCall(
            call.usage, cost, estimated, call.failed, span.index, span.agent, at_ns, at_ns, span.raw.span_id
        )  # fmt: skip


def _cost(said: LLMFields, at_ns: int) -> tuple[float | None, bool]:
    """The recorded cost, else one estimated from the tokens; whether it was estimated."""
    sent, got = said.input_tokens, said.output_tokens
    if said.cost_usd is not None or said.model is None or (sent is None and got is None):
        return said.cost_usd, False
    cost = pricing.estimate(
        said.model,
        said.provider,
        sent or 0,
        got or 0,
        said.cache_read_tokens or 0,
        said.cache_write_tokens or 0,
        at_ns // pricing.HOUR_NS,
    )
    return cost, cost is not None


def _merged(run: Run, group: Sequence[Span]) -> LLMFields:
    """What the spans of one call say, each thing from the innermost that says it."""
    said = [conventions.llm(span.raw, run.trace.memo, span.dialect) for span in reversed(group)]
    counted = next((one for one in said if one.input_tokens is not None or one.output_tokens is not None), said[0])
    thought = next((one for one in said if one.reasoning_tokens is not None), counted)
    if counted.reasoning_tokens is None and thought.output_tokens is not None:  # ADK's inner span leaves thoughts out
        counted.output_tokens, counted.reasoning_tokens = thought.output_tokens, thought.reasoning_tokens
    for name in ("model", "provider", "cost_usd", "ttft_ms"):
        if getattr(counted, name) is None:
            setattr(counted, name, next((getattr(one, name) for one in said if getattr(one, name) is not None), None))
    return counted


def messages(run: Run, group: Sequence[Span]) -> Messages:
    """The messages of one logical call, each side from the innermost span that records it."""
    sent = got = None
    for span in reversed(group):
        said = conventions.messages(span.raw, run.trace.memo, span.dialect)
        sent = sent or said.input
        got = got or said.output
        if sent and got:
            break
    return Messages(sent, got)


def output(run: Run, group: Sequence[Span]) -> tuple[Message, ...]:
    """What one logical call answered, from the innermost span that records it."""
    memo = run.trace.memo
    return next((got for span in reversed(group) if (got := conventions.output(span.raw, memo, span.dialect))), ())


def models(run: Run) -> tuple[str, ...]:
    """The models of the calls; where no call left a span, those that agent spans name."""
    used = [call.usage for call in run.llm_calls] or [
        conventions.llm(span.raw, run.trace.memo, span.dialect)
        for span in run.spans
        if span.kind in RUN_KINDS or span.kind == "llm"
    ]
    return tuple(dict.fromkeys(one.model for one in used if one.model))


def tokens(run: Run) -> Tokens | None:
    """Tokens summed over the calls; where no call counts any, over the topmost agent spans that do.

    None also where one of those counts more than this run.
    """
    sums = None if plain.READER is None else plain.READER.tokens(run.llm_calls)
    if sums is not None:
        return Tokens(*sums)
    counted = [call.usage for call in run.llm_calls]
    if not any(used.input_tokens is not None or used.output_tokens is not None for used in counted):
        counted = aggregates(run)
    if not counted or any(used.overcounted for used in counted):
        return None
    return Tokens(
        _sum([used.input_tokens for used in counted]),
        _sum([used.output_tokens for used in counted]),
        _sum([used.cache_read_tokens for used in counted]),
        _sum([used.cache_write_tokens for used in counted]),
        _sum([used.reasoning_tokens for used in counted]),
    )


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def stated_usd(run: Run) -> float | None:
    """The cost that agent spans state; None where one that states tokens has none, or counts more than this run."""
    stated = aggregates(run)
    costs = [said.cost_usd for said in stated if said.cost_usd is not None and not said.overcounted]
    return math.fsum(costs) if stated and len(costs) == len(stated) else None


def aggregates(run: Run) -> list[LLMFields]:
    """Totals that agent spans state; a span below one that states them is part of it, unless those are its own only."""
    out: list[LLMFields] = []
    covered: set[int] = set()
    for span in run.spans:
        if span.parent in covered:
            covered.add(span.index)
            continue
        if span.kind not in RUN_KINDS:
            continue
        said = conventions.llm(span.raw, run.trace.memo, span.dialect)
        if said.input_tokens is not None or said.output_tokens is not None or said.overcounted:
            out.append(said)
            if not said.own:
                covered.add(span.index)
    return out
