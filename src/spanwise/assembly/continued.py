"""What is left of one run whose own span was lost, put together by what its models were told.

Agents that stand side by side below a parent that nobody saw are runs of their own, unless one goes on where another
stopped: its first model call was told, since the user spoke, of a call that a model of the other asked for; or a tool
ran that the other asked for; or its agent is said to have taken over from the other's. Where control was passed, what
the user is said to have said may be the framework's word. Where model calls themselves go on with each other below one
lost parent, that was a run, and all that stands beside them was of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from spanwise import conventions
from spanwise.assembly.results import since_asked
from spanwise.model.content import Memo, Message
from spanwise.model.effects import passes_control
from spanwise.model.span import RUN_KINDS, Span

_MODELS = frozenset({"llm", "generation"})


def continued(spans: Sequence[Span], run_roots: Sequence[int]) -> dict[int, int]:
    """By the topmost span of each piece of a run the run's first piece: a run, or a topmost span that is in none."""
    top_of: list[int] = []
    for span in spans:
        top_of.append(top_of[span.parent] if 0 <= span.parent < span.index else span.index)
    pieces: dict[int, list[Span]] = {}
    around: dict[int, int] = {}
    for span in spans:
        top = spans[top_of[span.index]]
        if top.raw.parent_id is not None and not top.raw.parent_remote:
            piece = span.run if span.run >= 0 else top.index
            if top.kind not in RUN_KINDS and spans[top_of[piece]].raw.parent_id != top.raw.parent_id:
                around[top.index] = piece  # it only lay in that run's time
                piece = top.index
            pieces.setdefault(piece, []).append(span)
    if len(pieces) < 2 or pieces.keys().isdisjoint(run_roots):
        return {}
    first = {**_sent_on(pieces), **_told_of(pieces)}
    _add_loops(first, spans, pieces)
    told = first.keys() | set(first.values())
    first.update((piece, likely) for piece, likely in around.items() if piece not in told)
    joined = _by_top(pieces, top_of, _heads(first))
    heads = {joined.get(top_of[at]) for at in run_roots} | set(run_roots)
    return {top: head for top, head in joined.items() if head in heads}  # else no run is among what is joined


def _told_of(pieces: Mapping[int, Iterable[Span]]) -> dict[int, int]:
    """For each piece that tells of a call the one that asked for it."""
    found: dict[int, int] = {}
    memo = Memo()
    askers = _askers(pieces, memo)
    for piece, own in pieces.items():
        for call_id, passed in _told(own, memo):
            asked = askers.get(call_id, {})
            if len(asked) == 1 and piece not in asked:
                ((asker, passing),) = asked.items()
                if passing or not passed:
                    found[piece] = asker
                    break
    return found


def _add_loops(first: dict[int, int], spans: Sequence[Span], pieces: Iterable[int]) -> None:
    """Put what stands beside models that were asked one after the other into their run."""
    before = _heads(first)
    loops = {
        spans[piece].raw.parent_id: before[piece]
        for piece, asker in first.items()
        if spans[piece].kind in _MODELS
        and spans[asker].kind in _MODELS
        and spans[piece].raw.parent_id == spans[asker].raw.parent_id
    }
    for piece in pieces:
        if spans[piece].parent < 0 and (head := loops.get(spans[piece].raw.parent_id, piece)) != piece:
            first.setdefault(piece, head)


def _by_top(pieces: Mapping[int, Iterable[Span]], top_of: Sequence[int], first: Mapping[int, int]) -> dict[int, int]:
    """The first piece by topmost span, not of one below which pieces of several runs stand."""
    heads: dict[int, set[int]] = {}
    for piece, own in pieces.items():
        for top in {top_of[span.index] for span in own}:
            if piece in first or (piece != top and top not in first):
                heads.setdefault(top, set()).add(first.get(piece, piece))
    joined = {head: top_of[head] for head in first.values()}
    only = {top: min(found) for top, found in heads.items() if len(found) == 1}
    return {top: head for top, head in only.items() if head in joined and (top == head or top != joined[head])}


def _sent_on(pieces: Mapping[int, Iterable[Span]]) -> dict[int, int]:
    """By OpenInference's graph of agents: the piece whose agent was the one from which this one's took over."""
    found: dict[int, int] = {}
    last: dict[object, int] = {}
    for piece, own in pieces.items():
        for span in own:
            before = last.get(span.attributes.get("graph.node.parent_id"), piece)
            if before != piece:
                found.setdefault(piece, before)
            node = span.attributes.get("graph.node.id")
            if isinstance(node, str):
                last[node] = piece
    return found


def _heads(first: Mapping[int, int]) -> dict[int, int]:
    """For each piece the first of those that go on with each other up to it, and for that itself."""
    heads: dict[int, int] = {}
    for piece in first:
        way: dict[int, None] = {}
        while piece in first and piece not in heads and piece not in way:
            way[piece] = None
            piece = first[piece]
        head = heads.setdefault(piece, piece)
        heads.update(dict.fromkeys(way, head))
    return heads


def _askers(pieces: Mapping[int, Iterable[Span]], memo: Memo) -> dict[str, dict[int, bool]]:
    """By the id of a call who asked for it, and whether it passes control; an id of several proves nothing."""
    found: dict[str, dict[int, bool]] = {}
    for piece, own in pieces.items():
        for span in own:
            if span.kind in _MODELS:
                for part in conventions.requests(span.raw, memo, span.dialect) or ():
                    if part.id:
                        found.setdefault(part.id, {})[piece] = passes_control(part.name or "")
    return found


def _told(own: Iterable[Span], memo: Memo) -> Iterator[tuple[str, bool]]:
    """The ids of calls of which a piece tells, and whether only what was said before the user spoke does."""
    asked = False
    for span in own:
        if span.kind == "tool":
            call_id = conventions.tool(span.raw, memo, span.dialect).call_id
            if call_id:
                yield call_id, False
        elif span.kind in _MODELS and not asked:
            asked = True
            sent = conventions.messages(span.raw, memo, span.dialect).input or ()
            since = since_asked(sent)
            yield from ((call_id, False) for call_id in _ids(since))
            yield from ((call_id, True) for call_id in _ids(sent[: len(sent) - len(since)]))


def _ids(said: Iterable[Message]) -> Iterator[str]:
    for message in said:
        for part in message.parts:
            if part.type in {"tool_call", "tool_result"} and part.id:
                yield part.id
