"""Gemini generateContent: request to conversation, turn to response."""

from __future__ import annotations

from collections.abc import Mapping

from playbook import Conversation, Turn
from wire import Json, items, mapping, next_id, parameter_names, split_model, tokens

# Clients send the schema under any of these names; Google's own Python client keeps the last one in snake case.
_SCHEMA_KEYS = ("parameters", "parametersJsonSchema", "parameters_json_schema")


def conversation(body: Json, /, *, model: str, default: str) -> Conversation:
    """Where the scenario stands in this request; Gemini names the tool in each result."""
    parts = [part for content in items(body.get("contents")) for part in items(mapping(content).get("parts"))]
    answers = [mapping(mapping(part).get("functionResponse")) for part in parts]
    declared = [
        declaration
        for tool in items(body.get("tools"))
        for declaration in items(mapping(tool).get("functionDeclarations"))
    ]
    return Conversation(
        variant=split_model(model, default=default)[1],
        results=[str(answer["name"]) for answer in answers if "name" in answer],
        tools={str(tool.get("name")): _parameters(tool) for tool in map(mapping, declared)},
    )


def _parameters(tool: Mapping[str, object]) -> tuple[str, ...]:
    return next((parameter_names(tool[key]) for key in _SCHEMA_KEYS if key in tool), ())


def response(body: Json, turn: Turn, /, *, model: str) -> Json:
    """The turn as one GenerateContentResponse; a stream sends it as its only event."""
    parts: list[Json] = [
        {"functionCall": {"id": next_id("call_"), "name": call.name, "args": dict(call.arguments)}}
        for call in turn.calls
    ] or [{"text": turn.text}]
    prompt = tokens([body.get("systemInstruction"), body.get("contents"), body.get("tools")])
    completion = tokens(parts)
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": 64 if prompt > 256 else 0,
            "candidatesTokenCount": completion,
            "totalTokenCount": prompt + completion,
        },
        "modelVersion": split_model(model, default="standard")[0],
        "responseId": next_id("resp_standin"),
    }
