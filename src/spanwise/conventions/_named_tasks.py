"""Spans that are named by what somebody wrote: the tasks of CrewAI."""

from __future__ import annotations

from spanwise.conventions._values import text_of
from spanwise.model.raw import RawSpan

_OPENLLMETRY = "opentelemetry.instrumentation.crewai.instrumentation"
_LISTENER = "openinference.instrumentation.crewai._event_listener"


def bare_name(span: RawSpan) -> str:
    """The name without a task's words, as they stand in `DESCRIPTION.task` and `ROLE.DESCRIPTION.execute`."""
    if span.scope.name == _OPENLLMETRY and span.name.endswith(".task"):
        return "task"
    if span.scope.name == _LISTENER and span.name.endswith(".execute"):
        return f"{text_of(span.attributes.get('graph.node.id')) or 'Agent'}.execute"
    return span.name
