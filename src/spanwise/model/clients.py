"""Model calls that several instrumentations recorded: each is one call, wherever its spans stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spanwise.model.span import Span

_CLIENTS = frozenset({"com.anthropic.sdk.python"})
"""Clients of providers that record their requests by themselves, whatever else records them."""


def by_response(groups: list[list[Span]], spans: Sequence[Span]) -> list[list[Span]]:
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
    return out if scopes.isdisjoint(_CLIENTS) else _with_clients(out, spans)


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
