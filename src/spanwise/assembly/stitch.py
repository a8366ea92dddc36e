"""Fragments of one run put together again: async code that lost its context leaves one run as several traces.

Fragments belong together where one proves it of the other: a span links to a span of the other, or the messages of
one request a tool call by an id that a tool span of the other carries. A shared conversation id alone joins them only
while they overlap in time, since the turns of a conversation are runs of their own. The joined trace bears the id of
the fragment that began first, and the roots of the others hang below that fragment's root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from spanwise import conventions
from spanwise.model.content import Memo
from spanwise.model.raw import Key, RawSpan


def stitch(fragments: Mapping[Key, Sequence[RawSpan]]) -> dict[Key, list[RawSpan]]:
    """The fragments, those that belong together merged; a fragment that belongs to none stays as it is."""
    keys = list(fragments)
    leader = dict(zip(keys, keys, strict=True))

    def find(key: Key) -> Key:
        while leader[key] != key:
            leader[key] = leader[leader[key]]
            key = leader[key]
        return key

    for one, other in _ties(fragments):
        leader[find(one)] = find(other)
    groups: dict[Key, list[Key]] = {}
    for key in keys:
        groups.setdefault(find(key), []).append(key)
    return {
        first: merged for members in groups.values() for first, merged in [_merge([(k, fragments[k]) for k in members])]
    }


def _ties(fragments: Mapping[Key, Sequence[RawSpan]]) -> Iterator[tuple[Key, Key]]:
    requested: dict[str, set[Key]] = {}
    ran: dict[str, set[Key]] = {}
    talks: dict[str, list[tuple[int, int, Key]]] = {}
    for key, spans in fragments.items():
        memo = Memo()
        for span in spans:
            for link in span.links:
                if link.trace_id in fragments and link.trace_id != key:
                    yield key, link.trace_id
            _note_calls(span, key, memo, requested, ran)
        session = next((s for span in spans if (s := conventions.context(span, memo).session_id)), None)
        if session is not None:
            begun, ended = min(s.start_ns for s in spans), max(s.end_ns for s in spans)
            talks.setdefault(session, []).append((begun, ended, key))
    yield from _by_call(requested, ran)
    for pieces in talks.values():
        yield from _overlapping(pieces)


def _by_call(requested: Mapping[str, set[Key]], ran: Mapping[str, set[Key]]) -> Iterator[tuple[Key, Key]]:
    """Ties between a call and its request; an id that several fragments asked for (`call_1`) proves nothing."""
    for call_id, keys in ran.items():
        askers = requested.get(call_id, set[Key]())
        if len(askers) == 1:
            (asker,) = askers
            for key in keys - askers:
                yield key, asker


def _overlapping(pieces: list[tuple[int, int, Key]]) -> Iterator[tuple[Key, Key]]:
    """Ties between pieces of one conversation that overlap in time."""
    pieces.sort(key=lambda piece: piece[:2])
    _, until, last = pieces[0]
    for begun, ended, key in pieces[1:]:
        if begun < until:
            yield last, key
        if ended > until:
            until, last = ended, key


def _note_calls(span: RawSpan, key: Key, memo: Memo, requested: dict[str, set[Key]], ran: dict[str, set[Key]]) -> None:
    dialect, kind = conventions.classify(span)
    if kind == "tool":
        call_id = conventions.tool(span, memo, dialect).call_id
        if call_id:
            ran.setdefault(call_id, set()).add(key)
    elif kind in {"llm", "generation"}:
        for message in conventions.output(span, memo, dialect) or ():
            for part in message.parts:
                if part.type == "tool_call" and part.id:
                    requested.setdefault(part.id, set()).add(key)


def _merge(members: list[tuple[Key, Sequence[RawSpan]]]) -> tuple[Key, list[RawSpan]]:
    members.sort(key=lambda member: min((span.start_ns for span in member[1]), default=0))
    first, spans = members[0]
    merged = list(spans)
    if len(members) == 1:
        return first, merged
    known = {span.span_id for span in spans}
    roots = [span for span in spans if span.parent_id is None or span.parent_id not in known]
    top = min(roots or spans, key=lambda span: span.start_ns).span_id
    for _, others in members[1:]:
        known = {span.span_id for span in others}
        merged += [
            replace(span, trace_id=first, parent_id=span.parent_id if span.parent_id in known else top)
            for span in others
        ]
    return first, merged
