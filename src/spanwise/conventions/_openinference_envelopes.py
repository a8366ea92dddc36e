"""Messages inside recorded inputs and outputs.

A request, a response, a graph's state or an agent's transcript holds its messages in an envelope of the client's or the
framework's own, and the messages of frameworks that an instrumentation does not know stand in it as printed objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from spanwise.conventions._fields import may_hold
from spanwise.conventions._messages import items, message_of
from spanwise.conventions._reprs import is_dump, read_repr
from spanwise.conventions._values import mapping_of, text_of
from spanwise.model.content import Memo, Message, Part, is_redacted
from spanwise.model.raw import Attributes

JSON_TYPE = "application/json"
_DEPTH = 8
_LISTS = ("messages", "chat_history", "contents", "input_messages", "replies", "new_messages", "tool_messages")
_ID_WORDS = ("call_id", "tool_use_id", "toolUseId", "toolCallId")
FAILURE_WORDS = ('"is_error"', '"isError"', '"error"')
_FAILURE = re.compile(r'"(?:is_error|isError)"\s*:\s*true|"status"\s*:\s*"error"')
_HOLDERS = ("choices", "generations", "candidates", "update", "output", "content", "message")
# AutoGen's messages have a source (an agent's name, or "user") and a type in place of a role.
_AUTOGEN_ROLES: Mapping[str, str] = {
    "ToolCallSummaryMessage": "tool",
    "ToolCallExecutionEvent": "tool",
    "HandoffMessage": "tool",
    "StopMessage": "system",
}


def is_unsaid(text: str) -> bool:
    """The text is nobody's words: empty, removed, a printed object, or how Python and LlamaIndex print nothing."""
    return not text.strip() or text in {"None", "assistant: None"} or is_redacted(text) or is_dump(text)


def recorded(attributes: Attributes, side: str, memo: Memo) -> object:
    """The decoded value of `input.value` or `output.value`; None where it is JSON that was cut in the middle."""
    value = attributes.get(f"{side}.value")
    decoded = memo.json(value)
    if isinstance(decoded, str) and decoded[:1] in {"{", "["} and attributes.get(f"{side}.mime_type") == JSON_TYPE:
        return None
    return decoded


def held_messages(value: object, memo: Memo, *, depth: int = 0) -> tuple[Message, ...] | None:
    """The messages in a recorded value, whatever envelope they stand in; None where it holds none."""
    decoded = memo.json(value)
    listed = items(decoded)
    if listed is not None:
        return _listed(listed, memo, depth)
    fields = mapping_of(decoded)
    if fields is None or depth > _DEPTH:
        return None
    for key in _LISTS:
        inner = items(memo.json(fields.get(key)))
        if inner is not None:
            return _listed(inner, memo, depth)
    for key in _HOLDERS:
        held = fields.get(key)
        if isinstance(held, Mapping | list | tuple) and (key != "content" or "role" not in fields):
            found = held_messages(cast("object", held), memo, depth=depth + 1)
            if found is not None:
                return found
    if _is_message(fields):
        return (message_of(fields, memo),)
    return _completion(fields) or _by_component(fields, memo, depth)


def _is_message(fields: Mapping[str, object]) -> bool:
    if "type" in fields and ("content" in fields or "data" in fields):
        return True
    return "role" in fields or "parts" in fields or "lc" in fields or "tool_calls" in fields


def _completion(fields: Mapping[str, object]) -> tuple[Message, ...] | None:
    text = text_of(fields.get("text"))
    if text is None or not ("generation_info" in fields or "finish_reason" in fields):
        return None
    return (Message("assistant", (Part("text", text),)),)


def _by_component(fields: Mapping[str, object], memo: Memo, depth: int) -> tuple[Message, ...] | None:
    """Haystack: what a pipeline's components returned, by name; the last one that returned messages."""
    found = None
    if fields and all(isinstance(value, Mapping) for value in fields.values()):
        for value in fields.values():
            found = held_messages(value, memo, depth=depth + 1) or found
    return found


def _listed(listed: Sequence[object], memo: Memo, depth: int) -> tuple[Message, ...] | None:
    if depth > _DEPTH:
        return None
    out: list[Message] = []
    for item in listed:
        item = memo.json(item)
        if isinstance(item, str):
            item = read_repr(item)
        fields = mapping_of(item)
        if fields is None:
            nested = items(item)
            if nested is not None:
                out.extend(_listed(nested, memo, depth + 1) or ())
        elif "source" in fields and "type" in fields and "role" not in fields:
            out.append(_autogen(fields, memo))
        elif "lc" in fields or ("data" in fields and "type" in fields) or "role" in fields or "call_id" in fields:
            out.append(message_of(fields, memo))
        else:
            out.extend(held_messages(fields, memo, depth=depth + 1) or ())
    return tuple(out) or None


def _autogen(fields: Mapping[str, object], memo: Memo) -> Message:
    kind = text_of(fields.get("type")) or ""
    role = "user" if fields.get("source") == "user" else _AUTOGEN_ROLES.get(kind, "assistant")
    content = fields.get("content")
    if kind == "ToolCallRequestEvent":
        return message_of({"role": role, "tool_calls": content}, memo)
    if isinstance(content, str):
        return Message(role, (Part("text", content),))
    return message_of({"role": role, "content": content}, memo)


def asked_messages(attributes: Attributes, memo: Memo) -> tuple[Message, ...] | None:
    """The messages of a recorded model request: a conversation, a prompt, or plain text."""
    decoded = recorded(attributes, "input", memo)
    found = held_messages(decoded, memo)
    fields = mapping_of(decoded)
    if found is None and fields is not None:
        decoded = next((fields[key] for key in ("prompt", "input", "inputs") if fields.get(key)), None)
        found = held_messages(decoded, memo)
    if found is None and isinstance(decoded, str) and not is_unsaid(decoded):
        found = (Message("user", (Part("text", decoded),)),)
    return found


def said_messages(attributes: Attributes, memo: Memo) -> tuple[Message, ...] | None:
    """The messages of a recorded model response, of whatever client; plain text is one."""
    decoded = recorded(attributes, "output", memo)
    listed = items(decoded) or ()
    texts = [item for item in listed if isinstance(item, str) and not is_unsaid(item)]
    if texts and len(texts) == len(listed):  # DSPy: the completions as a list of texts
        return tuple(Message("assistant", (Part("text", text),)) for text in texts)
    called = [fields for item in listed if (fields := mapping_of(item)) is not None and "function" in fields]
    if called and len(called) == len(listed):  # CrewAI's event listener: nothing but the calls that were asked for
        return (message_of({"role": "assistant", "tool_calls": called}, memo),)
    if isinstance(decoded, Mapping | list | tuple):
        return held_messages(cast("object", decoded), memo)
    text = text_of(attributes.get("output.value")) if decoded is not None else None
    return None if text is None or is_unsaid(text) else (Message("assistant", (Part("text", text),)),)


def filled(sent: tuple[Message, ...], attributes: Attributes, memo: Memo) -> tuple[Message, ...]:
    """The flattened request with what only the recorded one tells: ids of calls and results, and that a tool failed."""
    results = _parts(sent, "tool_result")
    request = attributes.get("input.value")
    nameless = any(part.id is None for part in results) and _names(request, _ID_WORDS)
    fewer = isinstance(request, str) and request.count('"tool_result"') > len(results)  # one of a message was kept
    if not results or not (nameless or fewer or tells_failure(request)):
        return sent
    asked = asked_messages(attributes, memo) or ()
    told = _parts(asked, "tool_result")
    lost = nameless or (fewer and len(told) > len(results))
    if lost and told and all(part.id is not None for part in told):
        instructions = () if any(one.role == "system" for one in asked) else (m for m in sent if m.role == "system")
        return (*instructions, *asked)
    failed = {part.id for part in told if part.error}
    for part in results:
        part.error = part.error or (part.id is not None and part.id in failed)
    return sent


def tells_failure(value: object) -> bool:
    """Whether the request marks a result as failed, as Anthropic's, Bedrock's and LangChain's messages do."""
    return _names(value, FAILURE_WORDS) and (not isinstance(value, str) or _FAILURE.search(value) is not None)


def _names(value: object, words: Iterable[str]) -> bool:
    """Whether one of the words is in a value's text; of a value that is no text it cannot be told without a look."""
    return any(word in value for word in words) if isinstance(value, str) else value is not None


def complete(got: Iterable[Message], attributes: Attributes, memo: Memo) -> None:
    """Give flattened calls that lost their ids or arguments those of the recorded response.

    What smolagents' models give as a mapping is not flattened, and no arguments are not, either.
    """
    calls = _parts(got, "tool_call")
    if all(part.id is not None and part.value for part in calls):
        return
    said = _parts(said_messages(attributes, memo) or (), "tool_call")
    if [part.name for part in said] == [part.name for part in calls]:
        for call, part in zip(calls, said, strict=True):
            call.id = call.id or part.id
            call.value = call.value or part.value or call.value


_REFUSED = re.compile(r'"invalid_tool_calls"\s*:\s*\[\s*\{')


def refuses(attributes: Attributes) -> bool:
    """Whether LangChain's response holds calls whose arguments are no JSON, which no attribute of their own tells."""
    if not may_hold(attributes, "output.value", ('"invalid_tool_calls"',)):
        return False
    said = attributes.get("output.value")
    return isinstance(said, str) and _REFUSED.search(said) is not None


def with_refused(got: tuple[Message, ...], attributes: Attributes, memo: Memo) -> tuple[Message, ...]:
    """The flattened answer with the calls that LangChain refused, as the model wrote them."""
    known = {part.id for part in _parts(got, "tool_call")}
    said = _parts(said_messages(attributes, memo) or (), "tool_call")
    return (*got, Message("assistant", tuple(part for part in said if part.id not in known)))


def _parts(spoken: Iterable[Message], kind: str) -> list[Part]:
    return [part for message in spoken for part in message.parts if part.type == kind]
