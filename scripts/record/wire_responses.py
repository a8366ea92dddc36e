"""OpenAI Responses API: request to conversation, turn to response object or stream of events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from playbook import Conversation, Turn
from wire import Json, items, mapping, next_id, parameter_names, pieces, served_model, split_model, tokens


def conversation(body: Json, /, *, default: str) -> Conversation:
    """Where the scenario stands in this request."""
    names: dict[str, str] = {}
    results: list[str] = []
    for item in map(mapping, items(body.get("input"))):
        if item.get("type") == "function_call":
            names[str(item.get("call_id"))] = str(item.get("name"))
        elif item.get("type") == "function_call_output":
            results.append(names.get(str(item.get("call_id")), "unknown"))
    return Conversation(
        variant=split_model(str(body.get("model")), default=default)[1],
        results=results,
        tools={
            str(tool.get("name")): parameter_names(tool.get("parameters"))
            for tool in map(mapping, items(body.get("tools")))
        },
    )


def response(body: Json, turn: Turn, /) -> Json:
    """The turn as one completed response object."""
    output = _output(turn)
    return {**_envelope(body, status="completed"), "output": output, "usage": _usage(body, output)}


def events(body: Json, turn: Turn, /) -> Iterator[Json]:
    """The turn as the typed events of a stream, in the order in which the API sends them."""
    final = response(body, turn)
    started: Json = {**final, "status": "in_progress", "output": [], "usage": None}
    numbered = _events(started, final)
    for number, event in enumerate(numbered):
        yield {**event, "sequence_number": number}


def _events(started: Json, final: Json) -> Iterator[Json]:
    yield {"type": "response.created", "response": started}
    yield {"type": "response.in_progress", "response": started}
    for index, item in enumerate(map(mapping, items(final["output"]))):
        place: Json = {"item_id": item["id"], "output_index": index}
        if item["type"] == "function_call":
            empty: Json = {**item, "arguments": "", "status": "in_progress"}
            yield {"type": "response.output_item.added", "output_index": index, "item": empty}
            for piece in pieces(str(item["arguments"])):
                yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
            done: Json = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **place, **done}
        else:
            yield from _text_events(item, place)
        yield {"type": "response.output_item.done", "output_index": index, "item": dict(item)}
    yield {"type": "response.completed", "response": final}


def _text_events(item: object, place: Json) -> Iterator[Json]:
    message = mapping(item)
    part = dict(mapping(items(message["content"])[0]))
    text = str(part["text"])
    empty: Json = {**message, "content": [], "status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": place["output_index"], "item": empty}
    spot: Json = {**place, "content_index": 0}
    yield {"type": "response.content_part.added", **spot, "part": {**part, "text": ""}}
    for piece in pieces(text):
        yield {"type": "response.output_text.delta", **spot, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **spot, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **spot, "part": part}


def _output(turn: Turn) -> list[Json]:
    if not turn.calls:
        part: Json = {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}
        message: Json = {"type": "message", "id": next_id("msg_"), "status": "completed", "role": "assistant"}
        return [{**message, "content": [part]}]
    return [
        {
            "type": "function_call",
            "id": next_id("fc_"),
            "call_id": next_id("call_"),
            "name": call.name,
            "arguments": json.dumps(call.arguments),
            "status": "completed",
        }
        for call in turn.calls
    ]


def _usage(body: Json, output: list[Json]) -> Json:
    prompt = tokens([body.get("instructions"), body.get("input"), body.get("tools")])
    completion = tokens(output)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 64 if prompt > 256 else 0, "cache_write_tokens": 0},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + completion,
    }


def _envelope(body: Json, *, status: str) -> Json:
    name = split_model(str(body.get("model")), default="standard")[0]
    return {
        "id": next_id("resp_standin"),
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "model": served_model(name),
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "temperature": body.get("temperature", 1.0),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_p": body.get("top_p", 1.0),
    }
