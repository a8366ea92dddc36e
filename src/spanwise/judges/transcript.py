"""A run as a judge reads it: the task, the tools at hand, what was done step by step, and the answer.

Each part is one line of JSON, so that no text of a run can end its line, let alone the recording.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from spanwise.model.calls import ToolCall
from spanwise.model.trace import Run
from spanwise.text import excerpt

_LONG = 4_000
_OUTLINE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that was done: its line, a short form of it, its span, and whether it failed."""

    number: int
    line: str
    outline: str
    shortened: str
    span_id: str = ""
    failed: bool = False
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A run as a judge reads it."""

    task: str | None
    answer: str | None
    tools: tuple[str, ...]
    steps: tuple[Step, ...]
    ended_in: str = ""


def transcript_of(run: Run) -> Transcript:
    """What a run tells a judge."""
    names = {index: agent.name for agent in run.agents for index in agent.spans}
    several = len(run.agents) > 1
    steps: list[Step] = []
    for done in sorted(_done(run), key=lambda one: (one.start_ns, one.order)):
        fields = dict(done.fields)
        if several and done.agent in names:
            fields = {"agent": names[done.agent], **fields}
        steps.append(_step(len(steps) + 1, fields, done))
    root = run.root_span
    error = run.trace.facts.span_error(root) if root is not None else None
    return Transcript(
        task=run.query,
        answer=run.answer,
        tools=tuple(
            encoded({"tool": tool.name, "description": excerpt(tool.description, limit=400)})
            for tool in run.tool_definitions or ()
        ),
        steps=tuple(steps),
        ended_in="" if error is None else error.type or excerpt(error.message) or "an error",
    )


class _Done(NamedTuple):
    start_ns: int
    order: int
    agent: int
    span_id: str
    failed: bool
    fields: Mapping[str, object]


def _done(run: Run) -> Iterator[_Done]:
    """What happened, in no order yet. A model's words come before the calls that it asked for."""
    for said in run.said:
        if said.text:
            fields = {"kind": "message", "text": said.text}
            yield _Done(said.end_ns, 0, said.agent, said.span_id, failed=False, fields=fields)
    for call in run.tool_calls:
        if not call.control:
            yield _Done(call.start_ns, 1, call.agent, call.span_id, call.failed, _called(call))
    spans, called = run.trace.spans, {call.span for call in run.tool_calls if call.span >= 0}
    for found in run.retrievals:
        if found.span in called or (found.span >= 0 and spans[found.span].holder in called):
            continue  # what a tool found is its result
        documents = [
            {"id": document.id, "score": document.score, "text": document.content} for document in found.documents or ()
        ]
        fields = {"kind": "retrieval", "query": found.query, "documents": documents}
        yield _Done(found.start_ns, 2, -1, found.span_id, found.failed, fields)
    for handed in run.handoffs:
        start = spans[handed.span].start_ns if handed.span >= 0 else 0
        fields = {"kind": "handoff", "from": handed.source, "to": handed.target}
        yield _Done(start, 3, -1, handed.span_id, failed=False, fields=fields)


def _called(call: ToolCall) -> dict[str, object]:
    fields: dict[str, object] = {
        "kind": "tool_call",
        "tool": call.name,
        "arguments": call.arguments,
        "status": call.status,
    }
    if call.error is not None:
        fields["error"] = " ".join(part for part in (call.error.type, call.error.message) if part)
    if call.result is not None:
        fields["result"] = call.result
    return fields


def _step(number: int, fields: Mapping[str, object], done: _Done) -> Step:
    whole = {"step": number, **fields}
    named = {
        key: value for key, value in whole.items() if key in {"step", "agent", "kind", "tool", "status", "from", "to"}
    }
    told = {key: excerpt(value, limit=_OUTLINE) for key, value in whole.items() if key in {"text", "query", "error"}}
    return Step(
        number=number,
        line=encoded(whole),
        outline=encoded({**named, **told, "shortened": True}),
        shortened=encoded({key: _shortened(value) for key, value in whole.items()}),
        span_id=done.span_id,
        failed=done.failed,
        texts=tuple(value if isinstance(value, str) else encoded(value) for value in fields.values()),
    )


def _shortened(value: object) -> object:
    """The beginning and the end of what is very long."""
    text = value if isinstance(value, str) else encoded(value)
    if len(text) <= _LONG:
        return value
    left = len(text) - _LONG
    return f"{text[: _LONG // 2]} [{left} characters left out] {text[-_LONG // 2 :]}"


def encoded(value: object) -> str:
    """The value as one line of JSON, whatever a reader takes for its end; what JSON cannot say is described."""
    try:
        text = msgspec.json.encode(value, enc_hook=repr).decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        text = _escaped(value)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def _escaped(value: object) -> str:
    """The value in plain ASCII: for text that is no text in any encoding."""
    try:
        return json.dumps(value, default=repr)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(f"<{type(value).__name__} that is no JSON>")
