"""What the app's threads put into the intake, as the records that assembly takes."""

from __future__ import annotations

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanKind, StatusCode

from spanwise.capture.intake import Captured, EventParts
from spanwise.model.raw import LogEvent, RawEvent, RawSpan, Scope

OWN_SCOPES = ("spanwise.evaluation", "spanwise.judge", "logfire.feedback")
"""What Spanwise itself emits about runs; it is never scored."""
_LOG_PARTS = 8
_MOST_SCOPES = 1024
_UNSET, _OK, _INTERNAL = StatusCode.UNSET, StatusCode.OK, SpanKind.INTERNAL


class Records:
    """Makes records of what was captured; scopes and resources, which are few, once each."""

    def __init__(self) -> None:
        self._scopes: dict[tuple[int, int], tuple[Scope, object, object]] = {}

    def of(self, captured: Captured) -> RawSpan | LogEvent | None:
        """The record; None for what Spanwise itself emitted."""
        if len(captured) == _LOG_PARTS:
            return self._log(captured)
        trace_id, span_id, parent, name, start, end, status, attributes, events, kind, scope, resource = captured
        made = self._scope(scope, resource)
        if made.name.startswith(OWN_SCOPES):
            return None
        code = status.status_code
        return RawSpan(
            trace_id,
            span_id,
            None if parent is None else parent.span_id,
            name,
            start or 0,
            end or 0,
            0 if code is _UNSET else 1 if code is _OK else 2,
            "" if code is _UNSET else status.description or "",
            attributes,
            tuple([RawEvent(one.name, one.timestamp, one.attributes or {}) for one in events]) if events else (),
            made,
            (),
            1 if kind is _INTERNAL else kind.value + 1,  # the API counts from 0, the protocol from 1
            parent is not None and parent.is_remote,
        )

    def _log(self, parts: EventParts) -> LogEvent | None:
        trace_id, span_id, name, at, attributes, body, scope, resource = parts
        made = self._scope(scope, resource)
        if made.name.startswith(OWN_SCOPES):
            return None
        return LogEvent(trace_id, span_id, RawEvent(name, at, attributes, body), made)

    def _scope(self, scope: InstrumentationScope | None, resource: Resource | None) -> Scope:
        key = (id(scope), id(resource))
        held = self._scopes.get(key)
        if held is None:
            if len(self._scopes) >= _MOST_SCOPES:
                self._scopes.clear()
            name, version = ("", "") if scope is None else (scope.name, scope.version or "")
            # The originals are kept with it, so that no other object can come to have their ids.
            held = self._scopes[key] = (
                Scope(name, version, dict(resource.attributes) if resource is not None else {}),
                scope,
                resource,
            )
        return held[0]
