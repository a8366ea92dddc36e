"""OpenAI chat completions: request to conversation, turn to response or stream of chunks."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

from playbook import Conversation, Turn
from wire import Json, items, mapping, next_id, parameter_names, pieces, served_model, split_model, text_of, tokens

_CALLING = re.compile(r"Calling tools:\n(\[.*\])", re.DOTALL)
_FAILED = re.compile(r"Error:\n(?:Error executing tool '|Unknown tool )(\w+)")
_NAME = re.compile(r"'name': '(\w+)'")


def conversation(body: Json, /, *, default: str) -> Conversation:
    """Where the scenario stands in this request."""
    names: dict[str, str] = {}
    results: list[str] = []
    for message in map(mapping, items(body.get("messages"))):
        for call in map(mapping, items(message.get("tool_calls"))):
            names[str(call.get("id"))] = str(mapping(call.get("function")).get("name"))
        if message.get("role") == "tool":
            results.append(names.get(str(message.get("tool_call_id")), "unknown"))
        else:
            results.extend(_spelled(text_of(message.get("content"))))
    return Conversation(
        variant=split_model(str(body.get("model")), default=default)[1],
        results=results,
        tools={
            str(function.get("name")): parameter_names(function.get("parameters"))
            for function in (mapping(mapping(tool).get("function")) for tool in items(body.get("tools")))
        },
    )


def _spelled(text: str) -> list[str]:
    """Tool names that the text of a message gives away.

    smolagents writes past calls into the assistant's text, and of a failed step nothing but the error into the user's.
    """
    found = _CALLING.search(text)
    called: list[str] = _NAME.findall(found.group(1)) if found else []
    failed: list[str] = _FAILED.findall(text)
    return called + failed


def response(body: Json, turn: Turn, /) -> Json:
    """The turn as one chat.completion object."""
    message: Json = {"role": "assistant", "content": turn.text or None, "refusal": None}
    calls = _tool_calls(turn)
    if calls:
        message["tool_calls"] = calls
    return {
        **_envelope(body, kind="chat.completion"),
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(turn)}],
        "usage": usage(body, message),
    }


def chunks(body: Json, turn: Turn, /) -> Iterator[Json]:
    """The turn as the chat.completion.chunk objects of a stream; the last one carries the usage if it was asked for."""
    envelope = _envelope(body, kind="chat.completion.chunk")
    calls = _tool_calls(turn)

    def chunk(delta: Json, finish: str | None = None) -> Json:
        return {**envelope, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": None if calls else ""})
    for piece in pieces(turn.text):
        yield chunk({"content": piece})
    for index, call in enumerate(calls):
        function = mapping(call["function"])
        head: Json = {"index": index, **call, "function": {"name": function["name"], "arguments": ""}}
        yield chunk({"tool_calls": [head]})
        for piece in pieces(str(function["arguments"])):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _finish(turn))
    if mapping(body.get("stream_options")).get("include_usage"):
        yield {**envelope, "choices": [], "usage": usage(body, [turn.text, calls])}


def usage(body: Json, output: object, /) -> Json:
    """Token counts that grow with the conversation; long prompts are partly read from the cache."""
    prompt = tokens([body.get("messages"), body.get("tools")])
    completion = tokens(output)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 64 if prompt > 256 else 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }


def _envelope(body: Json, *, kind: str) -> Json:
    name = split_model(str(body.get("model")), default="standard")[0]
    return {
        "id": next_id("chatcmpl-standin-"),
        "object": kind,
        "created": int(time.time()),
        "model": served_model(name),
        "service_tier": "default",
        "system_fingerprint": "fp_standin",
    }


def _tool_calls(turn: Turn) -> list[Json]:
    return [
        {
            "id": next_id("call_"),
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for call in turn.calls
    ]


def _finish(turn: Turn) -> str:
    return "tool_calls" if turn.calls else "stop"
