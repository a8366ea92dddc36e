"""Small spans made by hand: what a test is about stands in its arguments, the rest is filled in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from spanwise.assembly.tree import build_trace
from spanwise.model.raw import LogEvent, RawEvent, RawSpan, Scope
from spanwise.model.trace import Run, Trace

TRACE = "1" * 32
SCOPE = Scope("tests", "1", {})


def span_id(number: int) -> str:
    """A span id as OTLP/JSON writes it."""
    return f"{number:016x}"


def trace_id(number: int) -> str:
    """A trace id as OTLP/JSON writes it."""
    return f"{number:032x}"


def span(
    number: int,
    *,
    parent: int | None = None,
    name: str = "span",
    start: int | None = None,
    end: int | None = None,
    attributes: Mapping[str, object] | None = None,
    status: int = 0,
    message: str = "",
    events: Sequence[RawEvent] = (),
    trace: str = TRACE,
    scope: Scope = SCOPE,
    remote: bool = False,
) -> RawSpan:
    """A span; it starts at `number` and lasts 10 unless said otherwise."""
    begun = number if start is None else start
    return RawSpan(
        trace,
        span_id(number),
        None if parent is None else span_id(parent),
        name,
        begun,
        begun + 10 if end is None else end,
        status,
        message,
        dict(attributes or {}),
        tuple(events),
        scope,
        parent_remote=remote,
    )


def agent(number: int, *, parent: int | None = None, name: str = "helper", **more: object) -> RawSpan:
    """An agent's span."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **more}
    return span(number, parent=parent, name=f"invoke_agent {name}", attributes=attributes, end=number + 1000)


def tool(
    number: int,
    *,
    parent: int | None,
    name: str = "search",
    arguments: object = None,
    result: object = None,
    call_id: str | None = None,
    failed: bool = False,
    start: int | None = None,
    end: int | None = None,
) -> RawSpan:
    """A tool's span, as the GenAI convention writes it."""
    attributes: dict[str, object] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    if arguments is not None:
        attributes["gen_ai.tool.call.arguments"] = json.dumps(arguments)
    if result is not None:
        attributes["gen_ai.tool.call.result"] = json.dumps(result)
    if call_id is not None:
        attributes["gen_ai.tool.call.id"] = call_id
    return span(
        number,
        parent=parent,
        name=f"execute_tool {name}",
        attributes=attributes,
        status=2 if failed else 0,
        message="it broke" if failed else "",
        start=start,
        end=end,
    )


def chat(
    number: int,
    *,
    parent: int | None,
    sent: object = None,
    got: object = None,
    model: str | None = "gpt-4o-mini",
    tokens: tuple[int, int] | None = None,
    **more: object,
) -> RawSpan:
    """A model call's span; `sent` and `got` are GenAI messages."""
    attributes: dict[str, object] = {"gen_ai.operation.name": "chat", **more}
    if model is not None:
        attributes["gen_ai.request.model"] = model
    if sent is not None:
        attributes["gen_ai.input.messages"] = json.dumps(sent)
    if got is not None:
        attributes["gen_ai.output.messages"] = json.dumps(got)
    if tokens is not None:
        attributes["gen_ai.usage.input_tokens"], attributes["gen_ai.usage.output_tokens"] = tokens
    return span(number, parent=parent, name=f"chat {model}", attributes=attributes)


def user(text: str) -> dict[str, object]:
    """A user's message."""
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def says(text: str) -> dict[str, object]:
    """A model's answer in words."""
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def asks(*calls: tuple[str | None, str, object]) -> dict[str, object]:
    """A model's request for tools: (call id, name, arguments) each."""
    parts = [{"type": "tool_call", "id": i, "name": name, "arguments": args} for i, name, args in calls]
    return {"role": "assistant", "parts": parts}


def returns(*results: tuple[str | None, object]) -> dict[str, object]:
    """Tool results given back to the model: (call id, result) each."""
    parts = [{"type": "tool_call_response", "id": i, "response": value} for i, value in results]
    return {"role": "tool", "parts": parts}


def log_event(
    on: int, *, name: str = "event", attributes: Mapping[str, object] | None = None, body: object = None
) -> LogEvent:
    """A log event that carries a span's id."""
    return LogEvent(TRACE, span_id(on), RawEvent(name, on, dict(attributes or {}), body), SCOPE)


def event_of(trace: str, on: int, *, name: str = "event") -> LogEvent:
    """A log event on a span of a certain trace."""
    return LogEvent(trace, span_id(on), RawEvent(name, on, {}), SCOPE)


def trace_of(*spans: RawSpan, events: Sequence[LogEvent] = ()) -> Trace:
    """The trace of some spans."""
    return build_trace(spans[0].trace_id if spans else TRACE, spans, events=events)


def run_of(*spans: RawSpan, events: Sequence[LogEvent] = ()) -> Run:
    """The only run of some spans."""
    (run,) = trace_of(*spans, events=events).runs
    return run


def told(run: Run) -> list[tuple[str, object, object, str]]:
    """Name, arguments, result and status of each call."""
    return [(call.name, call.arguments, call.result, call.status) for call in run.tool_calls]
