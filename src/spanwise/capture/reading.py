"""Taking what a span recorded out of it, by what the SDK makes public; on the app's thread, so as cheaply as it goes.

To call the function behind a property costs less than to ask the span for it. The attributes are copied, for a dict
takes less room while it waits than the SDK's view does, and the mapping, the lock and the dict behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Protocol, TypeAlias, cast

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status

SpanParts: TypeAlias = tuple[
    SpanContext,
    SpanContext | None,
    str,
    int | None,
    int | None,
    Status,
    Mapping[str, object],
    Sequence[Event],
    SpanKind,
    InstrumentationScope | None,
    Resource,
]
"""Context, parent, name, start, end, status, attributes, events, kind, scope and resource of a span."""
Read: TypeAlias = Callable[[ReadableSpan], SpanParts | None]
"""Takes the parts out of a span; None for a span without a context."""


class _Copied(Protocol):
    """The SDK's view of a span's attributes: to copy it takes a fifth of the time that a dict of it takes."""

    def copy(self) -> Mapping[str, object]: ...


def getter(owner: type, name: str) -> Callable[[object], object]:
    """The function behind a property; what asks for the attribute where it is something else."""
    found: object = getattr(owner, name, None)
    behind = found.fget if isinstance(found, property) else None
    return attrgetter(name) if behind is None else behind


_context = cast("Callable[[ReadableSpan], SpanContext | None]", getter(ReadableSpan, "context"))
_parent = cast("Callable[[ReadableSpan], SpanContext | None]", getter(ReadableSpan, "parent"))
_name = cast("Callable[[ReadableSpan], str]", getter(ReadableSpan, "name"))
_start = cast("Callable[[ReadableSpan], int | None]", getter(ReadableSpan, "start_time"))
_end = cast("Callable[[ReadableSpan], int | None]", getter(ReadableSpan, "end_time"))
_status = cast("Callable[[ReadableSpan], Status]", getter(ReadableSpan, "status"))
_attributes = cast("Callable[[ReadableSpan], _Copied]", getter(ReadableSpan, "attributes"))
_events = cast("Callable[[ReadableSpan], Sequence[Event]]", getter(ReadableSpan, "events"))
_kind = cast("Callable[[ReadableSpan], SpanKind]", getter(ReadableSpan, "kind"))
_scope = cast("Callable[[ReadableSpan], InstrumentationScope | None]", getter(ReadableSpan, "instrumentation_scope"))
_resource = cast("Callable[[ReadableSpan], Resource]", getter(ReadableSpan, "resource"))


def read(span: ReadableSpan) -> SpanParts | None:
    """The parts of a span, but for its links, of which the SDK would make a copy; its context has its ids."""
    if type(span) is not ReadableSpan:
        return read_any(span)
    context = _context(span)
    if context is None:
        return None
    return (
        context,
        _parent(span),
        _name(span),
        _start(span),
        _end(span),
        _status(span),
        _attributes(span).copy(),
        _events(span),
        _kind(span),
        _scope(span),
        _resource(span),
    )


def read_any(span: ReadableSpan) -> SpanParts | None:
    """The same of a span of another class, which may have put something else in the place of any property."""
    context = span.context
    if context is None:
        return None
    return (
        context,
        span.parent,
        span.name,
        span.start_time,
        span.end_time,
        span.status,
        cast("_Copied", attributes).copy() if (attributes := span.attributes) else {},
        span.events,
        span.kind,
        span.instrumentation_scope,
        span.resource,
    )
