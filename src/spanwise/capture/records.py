"""What the app's threads put into the intake, as the records that assembly takes.

It runs once for each span, so it stands twice: in C (`spanwise.native`), and in Python, where that was not built and
for what is not ordinary: log events, and spans with events.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias, cast

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

from spanwise.capture.intake import Captured, EventParts
from spanwise.model.raw import LogEvent, RawEvent, RawSpan, Scope
from spanwise.native import core

OWN_SCOPES = ("spanwise.evaluation", "spanwise.judge", "logfire.feedback")
"""What Spanwise itself emits about runs; it is never scored."""
_LOG_PARTS = 8
_MOST_SCOPES = 1024
_UNSET, _OK, _INTERNAL = StatusCode.UNSET, StatusCode.OK, SpanKind.INTERNAL

_TRIAL = cast("object", SpanContext(1, 2, is_remote=True))
_IN_PLACES = SpanContext if isinstance(_TRIAL, tuple) and _TRIAL[:3] == (1, 2, True) else None
"""The class of which the compiled part takes the ids, and whether it is remote, by their places; others are asked."""

Record: TypeAlias = Callable[[Captured], RawSpan | LogEvent | None]
"""Makes a record of what was captured; None of what Spanwise itself emitted."""


def recorder() -> Record:
    """What makes records; scopes and resources, which are few, once each."""
    scopes = _Scopes()
    slow = partial(_record, scopes)
    return slow if core is None else core.Recorder(RawSpan, slow, scopes.of, (_UNSET, _OK, _INTERNAL), _IN_PLACES)


class _Scopes:
    """The scopes of records, by the SDK's scope and resource; None for what is not recorded."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], tuple[Scope | None, object, object]] = {}

    def of(self, scope: InstrumentationScope | None, resource: Resource | None) -> Scope | None:
        key = (id(scope), id(resource))
        held = self._held.get(key)
        if held is None:
            if len(self._held) >= _MOST_SCOPES:
                self._held.clear()
            # The originals are kept with it, so that no other object can come to have their ids.
            held = self._held[key] = (_scope(scope, resource), scope, resource)
        return held[0]


def _scope(scope: InstrumentationScope | None, resource: Resource | None) -> Scope | None:
    name, version = ("", "") if scope is None else (scope.name, scope.version or "")
    if name.startswith(OWN_SCOPES):
        return None
    return Scope(name, version, dict(resource.attributes) if resource is not None else {})


def _record(scopes: _Scopes, captured: Captured) -> RawSpan | LogEvent | None:
    if len(captured) == _LOG_PARTS:
        return _log(scopes, captured)
    context, parent, name, start, end, status, attributes, events, kind, scope, resource = captured
    made = scopes.of(scope, resource)
    if made is None:
        return None
    code = status.status_code
    return RawSpan(
        context.trace_id,
        context.span_id,
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


def _log(scopes: _Scopes, parts: EventParts) -> LogEvent | None:
    trace_id, span_id, name, at, attributes, body, scope, resource = parts
    made = scopes.of(scope, resource)
    return None if made is None else LogEvent(trace_id, span_id, RawEvent(name, at, attributes, body), made)
