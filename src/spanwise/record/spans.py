"""The spans underneath: begun with the global tracer, filled and ended so that nothing of it reaches the app.

Only the OpenTelemetry API is needed. Without an SDK its spans record nothing, and no content is encoded for them.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable, Mapping
from contextvars import Token
from typing import Generic, TypeAlias, TypeVar

from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, TracerProvider
from opentelemetry.util.types import AttributeValue

from spanwise.record.encoding import cut, said

T = TypeVar("T")
SCOPE = "spanwise.record"
UNENDED = "spanwise.unended"
"""True on a span that was ended with its run, because nobody had said how it went."""
ABANDONED = "spanwise.abandoned"
"""True on the span of a stream that its consumer left before its end."""

Attributes: TypeAlias = Mapping[str, AttributeValue]
Late: TypeAlias = Mapping[str, Callable[[], AttributeValue | None]]
"""Attributes whose values cost something: made only for a span that records."""

_log = logging.getLogger("spanwise")


class Current(Generic[T]):
    """A block in which another OpenTelemetry context is the current one."""

    __slots__ = ("_tokens", "_value", "_within")

    def __init__(self, value: T, within: Callable[[Context], Context]) -> None:
        self._value = value
        self._within = within
        self._tokens: list[Token[Context]] = []

    def __enter__(self) -> T:
        self._tokens.append(otel.attach(self._within(otel.get_current())))
        return self._value

    def __exit__(self, *_: object) -> None:
        if self._tokens:
            otel.detach(self._tokens.pop())


class _State:
    """What all records share: whether content is written, the tracer of the provider met last, what was told."""

    content = os.environ.get("SPANWISE_RECORD_CONTENT", "true").strip().lower() not in {"0", "false", "no", "off"}
    provider: TracerProvider | None = None
    tracer: Tracer | None = None
    told = False


def configure(*, content: bool) -> None:
    """From now on, content is recorded or it is not.

    Without content, spans carry names, ids, times, tokens and scores: no questions, answers, messages, arguments,
    results, plans, documents or messages of errors. The variable `SPANWISE_RECORD_CONTENT=false` sets the same.
    """
    _State.content = content


def with_content() -> bool:
    """Whether content is recorded."""
    return _State.content


def _tracer() -> Tracer:
    provider = trace.get_tracer_provider()
    if _State.tracer is None or _State.provider is not provider:
        _State.tracer = provider.get_tracer(SCOPE)
        _State.provider = provider
    return _State.tracer


def _failed() -> None:
    """Recording failed, which is no concern of the app's; said once."""
    if not _State.told:
        _State.told = True
        _log.warning("spanwise.record failed; further failures are not logged", exc_info=True)


def begin(name: str, context: Context, attributes: Attributes, kind: SpanKind, late: Late) -> Span:
    """A span below the one in the context; one that records nothing where that fails."""
    try:
        span = _tracer().start_span(name, context=context, kind=kind, attributes=attributes)
    except Exception:  # noqa: BLE001  (any processor of the app's may raise here)
        _failed()
        return trace.INVALID_SPAN
    if late:
        write(span, late)
    return span


def write(span: Span, late: Late) -> None:
    """Set attributes on a span that records; those that are None are left out."""
    if not span.is_recording():
        return
    for name, make in late.items():
        try:
            value = make()
            if value is not None:
                span.set_attribute(name, value)
        except Exception:  # noqa: BLE001  (values of the app's are encoded here)
            _failed()


def end(span: Span) -> None:
    """End a span."""
    try:
        span.end()
    except Exception:  # noqa: BLE001  (any processor of the app's may raise here)
        _failed()


def fail(span: Span, error: BaseException | str) -> None:
    """Mark a span as failed, and say by what; without content, by which kind of error only."""
    if not span.is_recording():
        return
    try:
        _mark(span, error)
    except Exception:  # noqa: BLE001  (the error may be anybody's)
        _failed()


def _mark(span: Span, error: BaseException | str) -> None:
    if isinstance(error, str):
        span.set_attribute("error.type", "_OTHER")
        span.set_status(StatusCode.ERROR, cut(error) if _State.content else None)
        return
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    span.set_attribute("error.type", name)
    if not _State.content:
        span.set_status(StatusCode.ERROR)
        span.add_event("exception", {"exception.type": name})
        return
    message = said(error)
    span.set_status(StatusCode.ERROR, f"{kind.__name__}: {message}" if message else kind.__name__)
    stack = "".join(traceback.format_exception(error))
    event = {"exception.type": name, "exception.message": message, "exception.stacktrace": cut(stack)}
    span.add_event("exception", event)
