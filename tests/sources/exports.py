"""Small exports and transcripts, made by hand."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PHOENIX = Path(__file__).parent / "phoenix"
TRACE = "9d5ed678fe57bcca610140957afab571"
UUID = "0b1e9d35-3b7e-4c53-8d0c-6f1f6f0f9a01"


def lines(*documents: object) -> bytes:
    """The documents, one on each line."""
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


# TRAIL


def trail_span(span_id: str, name: str, *children: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A span as TRAIL nests it, with all of its 19 keys."""
    return {
        "timestamp": "2025-03-19T16:42:05.506553Z",
        "trace_id": TRACE,
        "span_id": span_id,
        "parent_span_id": None,
        "trace_state": "",
        "span_name": name,
        "span_kind": "Internal",
        "service_name": "shop",
        "resource_attributes": {"telemetry.sdk.language": "python"},
        "scope_name": "openinference.instrumentation.smolagents",
        "scope_version": "0.1.6",
        "span_attributes": {},
        "duration": "PT1.5S",
        "status_code": "Unset",
        "status_message": "",
        "events": [],
        "links": [],
        "logs": [],
        "child_spans": list(children),
        **fields,
    }


def trail(long: str = "") -> dict[str, Any]:
    """An agent with a model call, which may have said something long, and a failing tool."""
    model = trail_span(
        "00000000000000b1",
        "LiteLLMModel.__call__",
        parent_span_id="00000000000000a1",
        span_attributes={
            "openinference.span.kind": "LLM",
            "llm.model_name": "o3-mini",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "How tall is K2? 山",
            "llm.token_count.prompt": "12",
            "input.value": '{"messages": []}',
            **({"output.value": long, "list": [1, long]} if long else {}),
        },
        status_code="Ok",
    )
    tool = trail_span(
        "00000000000000c1",
        "SearchTool",
        parent_span_id="00000000000000a1",
        timestamp="2025-03-19T16:42:06.000001Z",
        duration="PT1H2M3.25S",
        span_attributes={"openinference.span.kind": "TOOL", "tool.name": "search", "input.value": '{"q": "K2"}'},
        status_code="Error",
        status_message="ValueError: no network",
        events=[
            {
                "Timestamp": "2025-03-19T16:42:07.5",
                "Name": "exception",
                "Attributes": {"exception.type": "ValueError", "exception.message": "no network"},
            }
        ],
        logs=[{"body": {"function.name": "search"}}],
    )
    root = trail_span(
        "00000000000000a1", "CodeAgent.run", model, tool, span_attributes={"openinference.span.kind": "AGENT"}
    )
    return {"trace_id": TRACE, "spans": [root]}


# Langfuse

EMPTY_OBSERVATION: Mapping[str, Any] = {
    "completionStartTime": None, "model": None, "modelParameters": {}, "input": None, "output": None, "version": None,
    "metadata": {}, "usage": {"input": 0, "output": 0, "total": 0, "unit": "TOKENS"}, "usageDetails": {},
    "costDetails": {}, "level": "DEFAULT", "statusMessage": None, "parentObservationId": None, "promptId": None,
    "promptName": None, "promptVersion": None, "modelId": None, "inputPrice": None, "outputPrice": None,
    "totalPrice": None, "calculatedInputCost": None, "calculatedOutputCost": None, "calculatedTotalCost": None,
    "latency": 1.0, "timeToFirstToken": None, "environment": "default",
}  # fmt: skip


def observation(name: str, kind: str, second: int, *, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    """An observation as `GET /api/public/traces/{id}` gives it; its id is `obs-` and the name."""
    return {
        "id": f"obs-{name}",
        "traceId": UUID,
        "type": kind,
        "name": name,
        "startTime": f"2026-11-18T06:13:{second:02}.100Z",
        "endTime": f"2026-11-18T06:13:{second + 1:02}.600Z",
        **EMPTY_OBSERVATION,
        "parentObservationId": parent and f"obs-{parent}",
        **fields,
    }


def observations() -> list[dict[str, Any]]:
    """An agent that calls a model and a failing tool."""
    return [
        observation("helper", "AGENT", 0, input={"question": "How tall is K2?"}, output="8611 m"),
        observation(
            "answer",
            "GENERATION",
            2,
            parent="helper",
            input=[{"role": "user", "content": "How tall is K2?"}],
            output={"role": "assistant", "content": "8611 m"},
            model="gpt-4o-mini",
            modelParameters={"temperature": 0.2},
            usageDetails={"input": 12, "output": 3, "total": 15},
            costDetails={"input": 0.001, "output": 0.002, "total": 0.003},
            metadata={"ls_provider": "openai"},
        ),
        observation(
            "search",
            "TOOL",
            1,
            parent="helper",
            input={"q": "K2"},
            level="ERROR",
            statusMessage="no network",
            metadata={"tool_call_id": "call_1"},
        ),
    ]


def trace_row(**fields: Any) -> dict[str, Any]:
    """A trace as `GET /api/public/traces` lists it, without its observations."""
    return {
        "id": UUID,
        "projectId": "p1",
        "name": "question",
        "timestamp": "2026-11-18T06:13:00.000Z",
        "environment": "production",
        "tags": ["demo"],
        "bookmarked": False,
        "release": None,
        "version": "7",
        "userId": "user-7",
        "sessionId": "sess-42",
        "public": False,
        "input": {"question": "How tall is K2?"},
        "output": "8611 m",
        "metadata": {"plan": "free"},
        "createdAt": "2026-11-18T06:13:00.000Z",
        "updatedAt": "2026-11-18T06:13:05.000Z",
        "externalId": None,
        "latency": 4.5,
        "totalCost": 0.003,
        "htmlPath": "/project/p1/traces/x",
        **fields,
    }


def trace(**fields: Any) -> dict[str, Any]:
    """A trace as `GET /api/public/traces/{id}` gives it."""
    return trace_row(**{"observations": observations(), "scores": [], **fields})


def observation_v2(**fields: Any) -> dict[str, Any]:
    """A row of `GET /api/public/v2/observations` with all groups of fields."""
    return {
        "id": "a1b2c3d4e5f60718",
        "traceId": TRACE,
        "startTime": "2026-11-18T06:13:00.100Z",
        "endTime": "2026-11-18T06:13:01.600Z",
        "projectId": "p1",
        "parentObservationId": None,
        "type": "GENERATION",
        "isRootObservation": True,
        "name": "answer",
        "level": "DEFAULT",
        "statusMessage": "",
        "version": "",
        "environment": "default",
        "userId": "",
        "sessionId": "sess-42",
        "input": '{"messages":[{"role":"user","content":"How tall is K2?"}]}',
        "output": '{"role":"assistant","content":"8611 m"}',
        "metadata": {},
        "model": "gpt-4o",
        "modelParameters": {"temperature": 0.2},
        "usageDetails": {"input": 98, "output": 68, "total": 166},
        "costDetails": {"input": 0.1, "output": 0.2, "total": 0.3},
        "totalCost": 0.3,
        "promptName": "",
        "traceName": "question",
        "tags": ["demo"],
        **fields,
    }


def blob_row() -> dict[str, Any]:
    """A row of the blob storage export of observations."""
    return {
        "id": "a1b2c3d4e5f60718",
        "trace_id": TRACE,
        "project_id": "p1",
        "environment": "default",
        "type": "GENERATION",
        "parent_observation_id": "",
        "start_time": "2026-11-18 06:13:00.100000",
        "end_time": "2026-11-18 06:13:01.600000",
        "name": "answer",
        "metadata": {"ls_provider": "openai"},
        "level": "DEFAULT",
        "status_message": "",
        "input": "How tall is K2?",
        "output": "8611 m",
        "provided_model_name": "gpt-4o",
        "model_parameters": '{"temperature":0.7}',
        "usage_details": {"input": 98, "output": 68, "total": 166},
        "cost_details": {"input": 0.1, "output": 0.2},
        "total_cost": 0.3,
        "tool_definitions": {"search": '{"description":"Searches."}'},
        "user_id": "user-7",
        "session_id": "sess-42",
        "trace_name": "question",
        "tags": [],
    }


# Chat transcripts


def openai(**fields: Any) -> dict[str, Any]:
    """A transcript of OpenAI's chat messages: two calls at once, their results the other way round."""
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    other = {"id": "call_2", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    return {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How warm are Oslo and Rome?"},
            {"role": "assistant", "content": None, "tool_calls": [call, other]},
            {"role": "tool", "tool_call_id": "call_2", "content": '{"celsius": 20}'},
            {"role": "tool", "tool_call_id": "call_1", "content": "3 degrees"},
            {"role": "assistant", "content": "Oslo 3, Rome 20."},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": parameters}}],
        **copy.deepcopy(fields),
    }


def anthropic(**fields: Any) -> dict[str, Any]:
    """A transcript of Anthropic's blocks: a call that fails, and the same again."""
    failed = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x is no number", "is_error": True}
    return {
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Add 1 and 2."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "A sum.", "signature": "s"},
                    {"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": "x"}},
                ],
            },
            {"role": "user", "content": [failed]},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "toolu_2", "name": "add", "input": {"a": 1, "b": 2}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "3"}]}
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "It is 3."}]},
        ],
        "tools": [{"name": "add", "description": "Adds.", "input_schema": {"type": "object"}}],
        **fields,
    }


def responses(**fields: Any) -> dict[str, Any]:
    """A transcript of the items of OpenAI's Responses."""
    return {
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "What is 2 + 2?"}],
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "A sum."}]},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "calc", "arguments": '{"e": "2+2"}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "4"},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "It is 4."}],
            },
        ],
        **fields,
    }
