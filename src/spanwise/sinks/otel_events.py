"""One OpenTelemetry log event per score, `gen_ai.evaluation.result`, in the context of the span that it is about."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, cast

from opentelemetry import trace
from opentelemetry._logs import LoggerProvider, LogRecord, SeverityNumber, get_logger_provider
from opentelemetry.context import Context
from opentelemetry.sdk import _logs as sdk_logs

from spanwise.model.result import RunResult
from spanwise.sinks._otel import EVENT, SCOPE, Value, inside, is_set, tell_missing
from spanwise.sinks._score_events import Id, ScoreEvent, events_of

__all__ = ["Id", "OtelEventsSink"]


class _NewLogger(Protocol):
    def emit(
        self,
        *,
        timestamp: int | None,
        context: Context,
        severity_number: SeverityNumber,
        body: str,
        attributes: Mapping[str, Value],
        event_name: str,
    ) -> None: ...


class _OldLogger(Protocol):
    resource: object

    def emit(self, record: object, /) -> None: ...


def _emitter(provider: LoggerProvider) -> Callable[[ScoreEvent], None]:
    """How events are emitted: by name where the API has it, else as a record of the SDK's own."""
    logger = provider.get_logger(SCOPE)
    if _takes_names(logger.emit):
        new = cast("_NewLogger", logger)
        return lambda event: new.emit(
            timestamp=event.at_ns,
            context=inside(event.subject),
            severity_number=event.severity,
            body=event.body,
            attributes=event.attributes,
            event_name=EVENT,
        )
    old = cast("_OldLogger", logger)
    made = cast("Callable[..., object]", getattr(sdk_logs, "LogRecord"))  # noqa: B009  (gone from newer SDKs)
    takes = inspect.signature(made).parameters
    named = "event_name" in takes

    def emit(event: ScoreEvent) -> None:
        span = event.subject or trace.INVALID_SPAN_CONTEXT
        attributes = event.attributes if named else {**event.attributes, "event.name": EVENT}
        more: dict[str, object] = {"event_name": EVENT} if named else {}
        if "context" in takes:
            more["context"] = inside(event.subject)
        else:
            more.update(trace_id=span.trace_id, span_id=span.span_id, trace_flags=span.trace_flags)
        old.emit(
            made(
                timestamp=event.at_ns,
                severity_number=event.severity,
                body=event.body,
                attributes=attributes,
                resource=old.resource,
                **more,
            )
        )

    return emit


def _takes_names(emit: Callable[..., object]) -> bool:
    """The event's name is a parameter; or, of a wrapper that passes everything on, one of the API's own record."""
    parameters = inspect.signature(emit).parameters
    passes_on = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    return "event_name" in parameters or (passes_on and "event_name" in inspect.signature(LogRecord).parameters)


class OtelEventsSink:
    """Emits each score as an event through the app's logger provider.

    Every revision is emitted: readers keep the highest `spanwise.score.revision` of a `spanwise.score.id`.

    Args:
        provider: Where events go; the global logger provider, looked up at each result, where not given.
        ids: Which of the ids of the request that a run served stand on the events, too.
    """

    def __init__(self, provider: LoggerProvider | None = None, *, ids: Sequence[Id] = ()) -> None:
        self._provider = provider
        self._ids = tuple(ids)
        self._emitter: tuple[LoggerProvider, Callable[[ScoreEvent], None]] | None = None
        self.sent = 0
        """Events that the logger provider took."""
        self.unsent = 0
        """Events that were not emitted, since the app has no logger provider."""

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Emit one event per score. What goes wrong costs its own run, and is raised when the others are out."""
        provider = self._provider or get_logger_provider()
        if not is_set(provider):
            if not self.unsent:
                tell_missing("OtelEventsSink", "logger", "opentelemetry._logs.set_logger_provider")
            self.unsent += sum(len(result.scores) for result in results)
            return
        if self._emitter is None or self._emitter[0] is not provider:
            self._emitter = (provider, _emitter(provider))
        failure: Exception | None = None
        for result in results:
            try:
                self._run(result, self._emitter[1])
            except Exception as error:  # noqa: BLE001  (the app's processors may raise; told once the others are out)
                failure = error
        if failure is not None:
            raise failure

    def _run(self, result: RunResult, emit: Callable[[ScoreEvent], None]) -> None:
        for event in events_of(result, self._ids):
            emit(event)
            self.sent += 1

    @property
    def drops(self) -> dict[str, int]:
        """Events that were not emitted, by reason."""
        return {"no_logger_provider": self.unsent} if self.unsent else {}

    def close(self) -> None:
        """The logger provider is the app's, who shuts it down."""
