"""Spans of OTLP requests kept as their bytes: for whoever holds many and reads each once, later.

The compiled reader takes ids, times and the bytes of each span in one walk that looks whether all is sound, down to
the attributes. Where it is not at hand or declines, a request is decoded twice, both times in C: into messages, which
shows the same, and into the bytes of each span. What a span holds becomes Python's only when it is unpacked.
What a span stood in, its resource and scope with all that they say, is kept too, once for all spans of a scope: so
what was packed can go out again as it came.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

from spanwise.model.raw import EMPTY, Frame, PackedSpan, RawSpan, Scope
from spanwise.sources._otlp_binary import DOUBTS, NO_SPAN, NO_TRACE, BinaryReader, Odd, span_of
from spanwise.sources._otlp_compiled import WIRE
from spanwise.sources._otlp_mend import Unusable
from spanwise.sources._otlp_messages import decode_packed, decode_span, decode_traces
from spanwise.sources._otlp_slow import SlowReader
from spanwise.sources._source import Intake
from spanwise.sources._wire import Broken, sized

_REMOTE = 0x300
_TRACE_SIZES, _SPAN_SIZES = {16}, {8}
_CONTENT, _SCHEMA_URL = 1, 3
_MOST_FRAMES = 1024


class Packer:
    """Packs the spans of requests; equal resources and scopes become one `Scope`, also across requests."""

    def __init__(self) -> None:
        self._reader = BinaryReader(_silent())
        self._frames: dict[tuple[bytes, bytes, bytes, bytes], Frame] = {}

    def pack(self, message: bytes, skip: Callable[[Scope], bool]) -> tuple[list[PackedSpan], int]:
        """The spans of an encoded ExportTraceServiceRequest, and how many were skipped for their scope.

        Raises:
            DOUBTS: Something in it is unusual.
        """
        found = None if WIRE is None else WIRE.pack(message, partial(self._group, skip))
        return self._packed(message, skip) if found is None else cast("tuple[list[PackedSpan], int]", found)

    def _packed(self, message: bytes, skip: Callable[[Scope], bool]) -> tuple[list[PackedSpan], int]:
        packed: list[PackedSpan] = []
        skipped = 0
        decoded, as_bytes = decode_traces(message).resources, decode_packed(message).resources
        for of_resource, resource in zip(decoded, as_bytes, strict=True):
            if resource.libraries:
                raise Odd
            for of_scope, contents in zip(of_resource.scopes, resource.scopes, strict=True):
                scope = self._reader.scope(resource.resource, contents.scope)
                if skip(scope):
                    skipped += len(contents.items)
                    continue
                frame = self._frame((resource.resource, resource.schema_url, contents.scope, contents.schema_url))
                packed += [
                    PackedSpan(
                        span.trace_id,
                        span.span_id,
                        span.parent_id or None,
                        span.start or span.end,
                        span.end,
                        span.flags & _REMOTE == _REMOTE,
                        scope,
                        content,
                        frame,
                    )
                    for span, content in zip(of_scope.items, contents.items[:], strict=True)
                ]
        _check_ids(packed)
        return packed, skipped

    def _group(
        self, skip: Callable[[Scope], bool], resource: bytes, schema: bytes, scope: bytes, scope_schema: bytes
    ) -> tuple[Scope, Frame] | None:
        named = self._reader.scope(resource, scope)
        return None if skip(named) else (named, self._frame((resource, schema, scope, scope_schema)))

    def _frame(self, key: tuple[bytes, bytes, bytes, bytes]) -> Frame:
        found = self._frames.get(key)
        if found is None:
            if len(self._frames) >= _MOST_FRAMES:
                self._frames.clear()
            found = self._frames[key] = Frame(_unpack, _around(*key[:2]), _around(*key[2:]), whole=True)
        return found


def _around(content: bytes, schema_url: bytes) -> bytes:
    """A resource or a scope as the fields that it is among others, with the address of its schema."""
    return (sized(_CONTENT, content) if content else b"") + (sized(_SCHEMA_URL, schema_url) if schema_url else b"")


def _check_ids(packed: list[PackedSpan]) -> None:
    trace_ids = {span.trace_id for span in packed}
    span_ids = {span.span_id for span in packed}
    span_ids.update([span.parent_id for span in packed if span.parent_id is not None])
    if {len(one) for one in trace_ids if isinstance(one, bytes)} - _TRACE_SIZES or NO_TRACE in trace_ids:
        raise Odd
    if {len(one) for one in span_ids if isinstance(one, bytes)} - _SPAN_SIZES or NO_SPAN in span_ids:
        raise Odd


def _unpack(packed: PackedSpan) -> RawSpan:
    found = None if WIRE is None else WIRE.span(packed.content, packed.scope)
    if found is not None:
        return cast("RawSpan", found)
    try:
        return span_of(decode_span(packed.content), packed.scope)
    except DOUBTS:
        packed.frame = _MENDING  # who takes it is not given again what had to be mended
        return _mended(packed)


def _mended(packed: PackedSpan) -> RawSpan:
    try:
        return SlowReader(_silent()).span(memoryview(packed.content), packed.scope)
    except (Broken, Unusable, ValueError, RecursionError):
        # It was accepted, so it is there; that it lost what it held makes its trace incomplete.
        return RawSpan(
            packed.trace_id, packed.span_id, packed.parent_id, "", packed.start_ns, packed.end_ns, 0, "", EMPTY, (),
            packed.scope, (), 0, packed.parent_remote, 1
        )  # fmt: skip


_MENDING = Frame(_mended)


def _silent() -> Intake:
    return Intake(source="OTLP request", on_error=lambda _: None)
