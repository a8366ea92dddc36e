"""The hooks that the SDK calls on the app's threads. Each does next to nothing, and none ever raises."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from opentelemetry.context import Context
from opentelemetry.sdk._logs import LogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanContext

from spanwise.capture._mark import ENTERED
from spanwise.capture.intake import Intake
from spanwise.capture.reading import Read, read

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import ReadWriteLogRecord

_log = logging.getLogger("spanwise")


class SpanCapture(SpanProcessor):
    """Puts every span that ends into the intake, by reference, and wakes the worker when a local root ended."""

    def __init__(
        self,
        intake: Intake,
        *,
        stamp: Callable[[Span, Context | None], None],
        notify: Callable[[], None],
        flush: Callable[[float], bool],
        close: Callable[[], None],
        read: Read = read,
    ) -> None:
        self._intake = intake
        self._items = intake.items
        self._append = intake.items.append
        self._notify = notify
        self._stamp = stamp
        self._flush = flush
        self._close = close
        self._read = read
        self._near: SpanContext | None = None
        """The last parent of this process: most spans have that of the one before them, and to ask it takes longer."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Stamp the span with what `spanwise.context` holds, if it was ever entered, and if work begins here anyway."""
        try:
            if not ENTERED.ever:
                parent = span.parent
                if parent is not None and (parent is self._near or not parent.is_remote):
                    return
            self._stamp(span, parent_context)
        except Exception:  # noqa: BLE001  (the app must not see it)
            _tell(self._intake)

    def on_end(self, span: ReadableSpan) -> None:
        """Keep references to what the span recorded; not to its links, of which the SDK would make a copy."""
        try:
            due = len(self._items) >= self._intake.mark
            if due and not self._admits(span):
                return
            read, append = self._read, self._append  # to call them as what they are is slower
            parts = read(span)
            if parts is None:
                return
            if due:
                self._intake.weigh(parts[6], parts[7])
            append(parts)
            parent = parts[1]
            if parent is None or (parent is not self._near and parent.is_remote):
                self._notify()
            else:
                self._near = parent
        except Exception:  # noqa: BLE001  (the app must not see it)
            _fail(self._intake, span.context)

    def _admits(self, span: ReadableSpan) -> bool:
        context = span.context
        return context is not None and self._intake.admits(context.trace_id)

    def shutdown(self) -> None:
        """Score what is finished, within a deadline."""
        try:
            self._close()
        except Exception:  # noqa: BLE001  (the app must not see it)
            _tell(self._intake)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Score what is finished; False if the time does not suffice."""
        try:
            return self._flush(timeout_millis / 1000)
        except Exception:  # noqa: BLE001  (the app must not see it)
            _tell(self._intake)
            return False


def _fail(intake: Intake, of: object) -> None:
    """Count a record that could not be taken; its trace, where it names one, is torn."""
    trace_id = getattr(of, "trace_id", None)
    intake.fail(trace_id if isinstance(trace_id, int) else 0)
    _tell(intake)


def _tell(intake: Intake) -> None:
    if not intake.told:
        intake.told = True
        _log.warning("a hook of spanwise failed; further failures are counted, not logged", exc_info=True)


class LogCapture(LogRecordProcessor):
    """Puts log records that carry a span's id into the intake: some instrumentations put content there."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self.active = True

    def on_emit(self, log_record: ReadWriteLogRecord) -> None:
        """Keep references to what the log record holds, if it is a GenAI event."""
        try:
            record = log_record.log_record
            name = getattr(record, "event_name", None)  # SDKs before 1.36 put it into an attribute
            trace_id, span_id = record.trace_id, record.span_id
            if not self.active or not trace_id or not span_id:
                return
            attributes = dict(record.attributes or {})
            if name is None and "event.name" not in attributes:
                return  # an ordinary log line
            intake = self._intake
            if len(intake.items) >= intake.mark:
                if not intake.admits(trace_id):
                    return
                intake.weigh(attributes, record.body)
            intake.items.append(
                (
                    trace_id,
                    span_id,
                    name or "",
                    record.timestamp or record.observed_timestamp or 0,
                    attributes,
                    record.body,
                    log_record.instrumentation_scope,
                    getattr(log_record, "resource", None),
                )
            )
        except Exception:  # noqa: BLE001  (the app must not see it)
            _fail(self._intake, getattr(log_record, "log_record", None))

    def emit(self, log_data: ReadWriteLogRecord) -> None:
        """What SDKs before 1.36 call."""
        self.on_emit(log_data)

    def shutdown(self) -> None:
        """The span processor closes the intake."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """The span processor flushes."""
        return True
