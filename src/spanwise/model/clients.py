"""Model calls that several instrumentations recorded: each is one call, wherever its spans stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from spanwise.model.span import LLM_KINDS, SPANS, Span, is_after

_CLIENTS = frozenset({"com.anthropic.sdk.python", "com.anthropic.sdk.typescript"})
"""Clients of providers that record their requests by themselves, whatever else records them."""
_STACKING = frozenset({"org.springframework.boot"})
"""Scopes that put a stream's next call inside the span of the one before it."""
_LEAVING = ("openinference.instrumentation.llama_index", "stream_")
"""The scope whose spans of streams are over before the request is sent, and what stands in their names."""
_SENT = ("gen_ai.usage.input_tokens", "llm.token_count.prompt", "gen_ai.usage.prompt_tokens")
_GOT = ("gen_ai.usage.output_tokens", "llm.token_count.completion", "gen_ai.usage.completion_tokens")
_HOPS = 16
_OPEN = 32
_MS = 1_000_000


def calls_of(members: Sequence[Span], spans: Sequence[Span]) -> list[list[Span]]:
    """Some model spans of a trace, by start, those of each logical call together, the outermost first."""
    alone = SPANS.calls(members, spans) if SPANS is not None else None
    return _calls_of(members, spans) if alone is None else alone


def _calls_of(members: Sequence[Span], spans: Sequence[Span]) -> list[list[Span]]:
    inside = [span for span in members if (h := span.holder) >= 0 and spans[h].kind in LLM_KINDS]
    holders = [span.holder for span in inside if not _is_next(span, spans[span.holder])]
    if not holders:
        return _by_response([[span] for span in members], spans)
    inner = Counter(holders)
    groups: dict[int, list[Span]] = {}
    group_of: dict[int, int] = {}
    for span in members:
        if inner[span.index] > 1:
            continue
        at = group_of.get(span.holder, span.index) if inner.get(span.holder) == 1 else span.index
        group_of[span.index] = at
        groups.setdefault(at, []).append(span)
    return _by_response(list(groups.values()), spans)


def _is_next(span: Span, outer: Span) -> bool:
    """Whether a model span inside another is the call after it, not a part of it."""
    scope = span.raw.scope.name
    return (scope in _STACKING and scope == outer.raw.scope.name) or is_after(span, outer)


def _by_response(groups: list[list[Span]], spans: Sequence[Span]) -> list[list[Span]]:
    """The groups of a trace's spans, those of different instrumentations that carry one response id merged."""
    scopes = {group[0].raw.scope.name for group in groups}
    if len(scopes) < 2:
        return groups
    out: list[list[Span]] = []
    first: dict[object, list[Span]] = {}
    for group in groups:
        answered = next((found for span in group if (found := span.attributes.get("gen_ai.response.id"))), None)
        held = first.get(answered) if isinstance(answered, str) else None
        if held is not None and all(span.raw.scope.name != group[0].raw.scope.name for span in held):
            held.extend(group)
            continue
        out.append(group)
        if isinstance(answered, str):
            first[answered] = group
    out = _with_inner(out, spans)
    return out if scopes.isdisjoint(_CLIENTS) else _with_clients(out, spans)


def _with_inner(groups: list[list[Span]], spans: Sequence[Span]) -> list[list[Span]]:
    """The groups, a client's span put to the framework's around it where the framework's is not made the current span.

    The client's lies within the other's time then, as far as clocks tell, and below the same span or one further up.
    They are one call unless their tokens say otherwise; of calls at the same time each has its own. Where the
    framework's is over when its stream begins, the client's is the next one below the same span.
    """
    out: list[list[Span]] = []
    open_: list[list[Span]] = []
    begun: dict[int, list[Span]] = {}
    for group in sorted(groups, key=lambda group: (group[0].start_ns, -group[0].end_ns)):
        first = group[0]
        if first.raw.scope.name == _LEAVING[0]:
            begun[first.parent] = group if _LEAVING[1] in first.raw.name else []
        elif first.parent >= 0 and (stream := begun.pop(first.parent, None)):
            stream.extend(group)
            continue
        open_ = [one for one in open_[-_OPEN:] if one[0].end_ns >= first.start_ns]
        apart = first.parent < 0 or _is_client(first)
        around = [] if apart else [one for one in open_ if _may_hold(one, first, spans)]
        held = next((one for one in around if _counted(one[0]) == _counted(first)), around[0] if around else None)
        if held is not None:
            held.extend(group)
        else:
            out.append(group)
            open_.append(group)
    return out


def _may_hold(group: Sequence[Span], span: Span, spans: Sequence[Span]) -> bool:
    outer, counts, others = group[0], _counted(group[0]), _counted(span)
    if not (outer.start_ns <= span.start_ns and span.end_ns <= outer.end_ns + _error_of(outer, span)):
        return False
    if any(one.raw.scope.name == span.raw.scope.name for one in group):
        return False
    if outer.parent == span.parent:
        return all(a is None or b is None or a == b for a, b in zip(counts, others, strict=True))
    return None not in counts and counts == others and _is_below(outer, span.parent, spans)


def _error_of(*spans: Span) -> int:
    """How far an end may be off: a clock that begins spans at whole milliseconds and measures how long they take."""
    return 0 if any(span.start_ns % _MS for span in spans) else _MS


def _is_below(span: Span, above: int, spans: Sequence[Span]) -> bool:
    at = span.parent
    for _ in range(_HOPS):
        if at < 0 or at == above:
            return at == above
        at = spans[at].parent
    return False


def _counted(span: Span) -> tuple[object, object]:
    """Tokens sent and got, as the instrumentations of clients and frameworks name them."""
    get = span.attributes.get
    sent = (found for key in _SENT if (found := get(key)) is not None)
    got = (found for key in _GOT if (found := get(key)) is not None)
    return next(sent, None), next(got, None)


def _with_clients(groups: list[list[Span]], spans: Sequence[Span]) -> list[list[Span]]:
    """The groups, a client's own record of a call put to the instrumentation's that stands beside it.

    The span of a streamed call may not be current while the client works, or be no call at all where a log stands for
    the call: then the client's span is not inside the call's.
    """
    beside: dict[int, list[list[Span]]] = {}
    for group in groups:
        if not _is_client(group[0]):
            beside.setdefault(group[0].parent, []).append(group)
    out: list[list[Span]] = []
    for group in groups:
        client = group[0]
        if not _is_client(client):
            out.append(group)
            continue
        around = [one for one in beside.get(client.parent, ()) if one[0].start_ns <= client.start_ns <= one[0].end_ns]
        if around:
            alone = [one for one in around if not any(_is_client(span) for span in one)]
            (alone or around)[-1].extend(group)
        elif not _is_in_a_request(client, beside, spans):
            out.append(group)
    return out


def _is_client(span: Span) -> bool:
    return span.raw.scope.name in _CLIENTS


def _is_in_a_request(client: Span, beside: Mapping[int, object], spans: Sequence[Span]) -> bool:
    above = spans[client.parent] if client.parent >= 0 else None
    return above is not None and "gen_ai.request.model" in above.attributes and above.parent in beside
