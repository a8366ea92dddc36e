"""The one place that looks behind public interfaces; each function says what it does if nothing is there."""

# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from typing import cast

import opentelemetry.context as otel
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor, Tracer, TracerProvider
from opentelemetry.sdk.util import BoundedList
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode

from spanwise.capture.reading import SpanParts, read

_NAMES = {"_parent", "_name", "_start_time", "_end_time", "_status", "_kind", "_instrumentation_scope", "_resource"}
_listed: Callable[[Sequence[Event]], object] = partial(getattr(BoundedList, "from_seq"), None)  # noqa: B009
_log = logging.getLogger("spanwise")


def made_tracers(provider: TracerProvider) -> list[Tracer] | None:
    """The tracers that a provider has made and still hands out; None where the SDK does not keep them (1.30)."""
    kept: object = getattr(provider, "_tracers", None)
    if not isinstance(kept, Mapping):
        return None
    found = list(cast("Mapping[object, object]", kept).values())
    return [tracer for tracer in found if isinstance(tracer, Tracer)]


def follow(wrapper: object, moved: Callable[[], None]) -> Callable[[], None] | None:
    """Call a function each time that a wrapper around a provider, such as Logfire's, is given another one inside.

    `logfire.configure` shuts the provider inside down, with all its processors, and sets a new one.

    Returns:
        What ends that; None for a provider that cannot be given another one.
    """
    original: object = getattr(wrapper, "set_provider", None)
    held: object = getattr(wrapper, "__dict__", None)
    if not callable(original) or not isinstance(held, dict) or "provider" not in held:
        return None

    def set_provider(*args: object, **kwargs: object) -> object:
        result = original(*args, **kwargs)
        try:
            moved()
        except Exception:  # noqa: BLE001  (the app configures its tracing, and must not see this)
            _log.warning("spanwise: could not go along with the app's new provider", exc_info=True)
        return result

    own = cast("dict[str, object]", held)
    own["set_provider"] = set_provider

    def undo() -> None:
        if own.get("set_provider") is set_provider:
            del own["set_provider"]

    return undo


def evaluated_task() -> object | None:
    """What pydantic-evals holds of the task that it runs here, one object per attempt; None where there is none."""
    for module, name in (
        ("pydantic_evals._task_run", "CURRENT_TASK_RUN"),
        ("pydantic_evals.dataset", "_CURRENT_TASK_RUN"),
    ):
        variable: object = getattr(sys.modules.get(module), name, None)
        if isinstance(variable, ContextVar):
            return cast("ContextVar[object]", variable).get(None)
    return None


def unwatched() -> otel.Context:
    """An empty context in which HTTP and gRPC clients make no spans of their own; just an empty one without the key."""
    key: object = getattr(otel, "_SUPPRESS_INSTRUMENTATION_KEY", None)
    return otel.set_value(key, value=True, context=otel.Context()) if isinstance(key, str) else otel.Context()


def add_attributes(span: ReadableSpan, more: Mapping[str, object]) -> bool:
    """Give an ended span more attributes, for all that look at it from now on; False where the SDK's span is another.

    The span gets a new mapping, so that nobody who reads the old one meanwhile is disturbed.
    """
    held: object = getattr(span, "_attributes", None)
    if not isinstance(held, Mapping):
        return False
    made: Mapping[str, object] = {**cast("Mapping[str, object]", held), **more}
    if span.dropped_attributes:
        bounded = BoundedAttributes(None, cast("Mapping[str, str]", made), immutable=True)
        bounded.dropped = span.dropped_attributes
        setattr(span, "_attributes", bounded)  # noqa: B010  (private, and checked above)
    else:
        setattr(span, "_attributes", made)  # noqa: B010  (private, and checked above)
    return True


def add_first(provider: TracerProvider, processor: SpanProcessor) -> bool:
    """Have a provider call a processor before those that it has; False, and nothing done, where they are not found."""
    held: object = getattr(provider, "_active_span_processor", None)
    lock: object = getattr(held, "_lock", None)
    if not hasattr(lock, "__enter__") or not isinstance(getattr(held, "_span_processors", None), tuple):
        return False
    with cast("AbstractContextManager[object]", lock):
        setattr(held, "_span_processors", (processor, *getattr(held, "_span_processors")))  # noqa: B009, B010  (private)
    return True


def reading() -> Callable[[ReadableSpan], SpanParts | None] | None:
    """What takes the parts out of a span past its properties, which cost more than all else that a hook does.

    A list of events is copied only where there are any. A span that is not as the SDK makes them is read by what is
    public.

    Returns:
        None where the SDK's spans hold their parts in another way.
    """
    trial = ReadableSpan(
        "name",
        SpanContext(1, 2, is_remote=False),
        SpanContext(1, 3, is_remote=True),
        Resource({}),
        BoundedAttributes(None, {"key": "value"}),
        cast("Sequence[Event]", _listed([Event("event", {})])),
        status=Status(StatusCode.ERROR, "why"),
        kind=SpanKind.CLIENT,
        start_time=4,
        end_time=5,
        instrumentation_scope=InstrumentationScope("scope"),
    )
    return _read if _is_known(trial) and _read(trial) == read(trial) else None


def _is_known(span: object) -> bool:
    """All that `_read` takes is where it looks for it."""
    held: object = getattr(span, "__dict__", None)
    if not isinstance(held, dict) or not _NAMES <= cast("dict[str, object]", held).keys():
        return False
    attributes, events = getattr(span, "_attributes", None), getattr(span, "_events", None)
    return isinstance(getattr(attributes, "_dict", None), dict) and isinstance(getattr(events, "_dq", None), deque)


def _read(span: ReadableSpan) -> SpanParts | None:
    if type(span) is ReadableSpan:
        context, attributes, events = span._context, span._attributes, span._events
        if context is not None and type(attributes) is BoundedAttributes and type(events) is BoundedList:
            return (
                context,
                span._parent,
                span._name,
                span._start_time,
                span._end_time,
                span._status,
                attributes._dict.copy(),
                span.events if events._dq else (),  # pyright: ignore[reportAttributeAccessIssue]  # it has no types
                span._kind,
                span._instrumentation_scope,
                span._resource,
            )
    return read(span)
