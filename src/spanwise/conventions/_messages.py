"""Messages of a conversation, whatever the library that wrote them.

Every library serialises its own message classes, and instrumentations pass them on. The shapes are few and tell
themselves apart by their keys, so one reader serves all dialects: GenAI parts, OpenAI chat and Responses items,
Anthropic blocks, Bedrock and Gemini parts, LangChain's two serialisations, LlamaIndex blocks and Vercel's. What fits
none of them becomes an `other` part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, cast

import msgspec

from spanwise.conventions._returned import TEXT_TYPES, of_google, plain
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import Memo, Message, Messages, Part, ToolDefinition, is_cut
from spanwise.model.raw import STATUS_ERROR, RawEvent, RawSpan

CUT_NAME = re.compile(r'"name"\s*:\s*"([^"]+)"')
"""The name of a tool whose schema was cut, which stands near its beginning."""
Fields: TypeAlias = Mapping[str, object]

ROLES: Mapping[str, str] = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "developer": "system",
    "function": "tool",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "tool-call": "assistant",
    "tool-response": "tool",
}
CALL_TYPES = frozenset(
    {"tool_call", "tool_use", "toolUse", "tool-call", "function_call", "server_tool_call", "server_tool_use"}
)
RESULT_TYPES = frozenset(
    {
        "tool_call_response",
        "tool_result",
        "toolResult",
        "tool-result",
        "function_call_output",
        "server_tool_call_response",
    }
)
REASONING_TYPES = frozenset({"reasoning", "thinking", "redacted_thinking", "reasoning_content"})


def items(value: object) -> Sequence[object] | None:
    """The value if it is a list or tuple."""
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else None


def messages_of(value: object, memo: Memo, *, depth: int = 4) -> tuple[Message, ...] | None:
    """The messages that a value holds: a list of them, one alone, JSON text of either; None where there are none."""
    decoded = memo.json(value)
    fields = mapping_of(decoded)
    if fields is not None:
        decoded = _inside(fields)
    listed = items(decoded)
    if listed is None:
        return None
    out: list[Message] = []
    for item in listed:
        item = memo.json(item)
        nested = items(item)
        fields = mapping_of(item)
        if fields is not None:
            out.append(message_of(fields, memo))
        elif nested is not None:  # LangChain batches: a list of conversations, of which one is run
            out.extend((messages_of(nested, memo, depth=depth - 1) if depth > 0 else None) or ())
        elif isinstance(item, str) and item:
            out.append(Message("user", (Part("text", item),)))
    return tuple(out) or None


def _inside(fields: Fields) -> object:
    """The list of messages in a wrapping object, or the object itself as the only message."""
    for key in ("messages", "contents", "input_messages", "chat_history"):
        inner = fields.get(key)
        if isinstance(inner, list | tuple):
            return cast("object", inner)
    return [fields]


def message_of(fields: Fields, memo: Memo) -> Message:
    """One message, of whatever shape."""
    kwargs = mapping_of(fields.get("kwargs"))
    if kwargs is not None and "lc" in fields:
        identity = items(fields.get("id")) or ()
        return _message({"type": identity[-1] if identity else "", **kwargs, "id": None}, memo)
    data = mapping_of(fields.get("data"))
    if data is not None and "type" in fields and "content" in data:
        return _message({**data, "type": fields["type"], "id": None}, memo)
    inner = mapping_of(fields.get("message"))
    if inner is not None and "parts" not in fields and "content" not in fields:
        return _message(inner, memo)
    return _message(fields, memo)


def _message(fields: Fields, memo: Memo) -> Message:
    kind = text_of(fields.get("type")) or ""
    if kind in CALL_TYPES or kind in RESULT_TYPES or kind in REASONING_TYPES:  # a Responses item stands alone
        part = part_of(fields, memo)
        return Message("tool" if part.type == "tool_result" else "assistant", (part,))
    role = text_of(fields.get("role")) or kind
    role = ROLES.get(role, role) or "assistant"
    parts = list(_content_parts(fields, role, memo))
    for call in _tool_calls(fields):
        part = part_of(call, memo, call=True)
        at = next((at for at, other in enumerate(parts) if _is_same(other, part)), None)
        if at is None:
            parts.append(part)
        elif parts[at].id is None or not parts[at].value:  # of a stream the block stands as it began
            parts[at] = part
    return Message(role, tuple(parts))


def _is_same(block: Part, call: Part) -> bool:
    """The call stands among the content, too: under its id, or as Google's block, which has none."""
    if block.type != "tool_call" or call.id is None:
        return False
    return block.id == call.id or (block.id is None and (block.name, block.value) == (call.name, call.value))


def _content_parts(fields: Fields, role: str, memo: Memo) -> Iterable[Part]:
    content = next((fields[key] for key in ("parts", "blocks", "contents", "content", "text") if fields.get(key)), None)
    # The id of the call that a tool message answers stands in one of these places.
    extra = mapping_of(fields.get("additional_kwargs")) or {}
    answered = first_text(fields, "tool_call_id", "toolCallId", "tool_use_id") or first_text(extra, "tool_call_id")
    if answered is None and role == "tool":
        answered = first_text(fields, "id")
    listed = items(content)
    if role == "tool" and not _holds_results(listed):
        failed = fields.get("status") == "error" or fields.get("is_error") is True
        if content is None:  # what a tool returned may be empty, 0 or False
            content = fields.get("content")
        if content is not None or answered:
            yield Part(
                "tool_result", "", answered, first_text(fields, "name", "tool_name"), plain(content, memo), failed
            )
        return
    if isinstance(content, str):
        yield Part("text", content)
    for item in listed or ():
        block = mapping_of(item)
        if block is not None:
            yield part_of(block, memo)
        elif isinstance(item, str):
            yield Part("text", item)


def _holds_results(listed: Sequence[object] | None) -> bool:
    for item in listed or ():
        fields = mapping_of(item)
        if fields is not None and (
            text_of(fields.get("type")) in RESULT_TYPES
            or "toolResult" in fields
            or "function_response" in fields
            or "functionResponse" in fields
            or "tool_call_result" in fields
        ):
            return True
    return False


def _tool_calls(fields: Fields) -> Iterable[Fields]:
    extra = mapping_of(fields.get("additional_kwargs")) or {}
    found: list[Fields] = []
    for holder in (fields, extra):
        found = found or _mappings(holder.get("tool_calls"))
    refused = _mappings(fields.get("invalid_tool_calls"))  # LangChain: arguments that are no JSON
    known = {call.get("id") for call in found} if refused else set[object]()
    return [*found, *(call for call in refused if call.get("id") is None or call.get("id") not in known)]


def _mappings(value: object) -> list[Fields]:
    return [fields for fields in map(mapping_of, items(value) or ()) if fields is not None]


def part_of(fields: Fields, memo: Memo, *, call: bool = False) -> Part:
    """One part of a message, of whatever shape."""
    kind = text_of(fields.get("type")) or text_of(fields.get("block_type")) or text_of(fields.get("kind")) or ""
    for key in ("toolUse", "function_call", "functionCall", "tool_call"):
        inner = mapping_of(fields.get(key))
        if inner is not None:
            return _call_part(inner, memo)
    for key in ("toolResult", "function_response", "functionResponse", "tool_call_result"):
        inner = mapping_of(fields.get(key))
        if inner is not None:
            part = _result_part(inner, memo)
            return part if key[0] == "t" else of_google(part, memo)
    if call or kind in CALL_TYPES or (kind == "function" and mapping_of(fields.get("function")) is not None):
        return _call_part(fields, memo)
    if kind in RESULT_TYPES:
        return _result_part(fields, memo)
    text = first_text(fields, "content", "text", "thinking", "reasoning")
    if kind in REASONING_TYPES or fields.get("thought") is True:
        return Part("reasoning", text or "")
    if text is not None and (kind in TEXT_TYPES or not kind):
        return Part("text", text)
    return Part("other", text or "")


def _call_part(fields: Fields, memo: Memo) -> Part:
    function = mapping_of(fields.get("function")) or mapping_of(fields.get("custom")) or fields
    arguments = next(
        (
            function[key]
            for key in ("arguments", "args", "input", "tool_kwargs", "parameters")
            if function.get(key) is not None
        ),
        None,
    )
    provided = mapping_of(fields.get("server_tool_call"))  # what the provider ran itself
    if arguments is None and provided is not None:
        arguments = provided.get("arguments", provided)
    call_id = first_text(fields, "call_id", "toolCallId", "toolUseId", "tool_call_id", "id")
    name = first_text(function, "name", "toolName", "tool_name")
    return Part("tool_call", "", call_id, name, memo.json(arguments))


def _result_part(fields: Fields, memo: Memo) -> Part:
    value = next(
        (fields[key] for key in ("response", "result", "output", "content") if fields.get(key) is not None), None
    )
    provided = mapping_of(fields.get("server_tool_call_response"))
    if value is None and provided is not None:
        value = provided.get("response", provided)
    call_id = first_text(fields, "call_id", "toolCallId", "toolUseId", "tool_use_id", "tool_call_id", "id")
    failed = fields.get("is_error") is True or fields.get("status") == "error" or fields.get("isError") is True
    name = first_text(fields, "name", "toolName")
    origin = mapping_of(fields.get("origin"))  # Haystack: the call that this is the result of
    if origin is not None:
        call_id, name = first_text(origin, "id"), first_text(origin, "tool_name")
        failed = failed or fields.get("error") is True
    value, failed = told_in(value, failed=failed)
    return Part("tool_result", "", call_id, name, plain(value, memo), failed)


_TYPED = {"type", "value"}


def told_in(value: object, *, failed: bool) -> tuple[object, bool]:
    """What Vercel wraps with its type (`{"type": "error-text", "value": ...}`), and whether it is a failure."""
    typed = mapping_of(value)
    if typed is None or set(typed) != _TYPED:
        return value, failed
    return typed["value"], failed or str(typed["type"]).startswith("error")


def operation_details(span: RawSpan, memo: Memo) -> Messages:
    """Messages from events that carry a whole side: `gen_ai.input.messages`, `gen_ai.output.messages`.

    Before 1.28 the convention had the events `gen_ai.content.prompt` and `gen_ai.content.completion` instead. In
    JavaScript each item of a streamed response has an event of its own.
    """
    sent: tuple[Message, ...] | None = None
    got: list[Message] = []
    for event in span.events:
        sent = sent or messages_of(_held(event, "gen_ai.input.messages", "gen_ai.prompt"), memo)
        said = messages_of(_held(event, "gen_ai.output.messages", "gen_ai.completion"), memo)
        got += [message for message in said or () if message not in got]
    return Messages(sent, tuple(got) or None)


def _held(event: RawEvent, *keys: str) -> object:
    """What an event holds under the first of the keys, in its attributes or its body."""
    body = mapping_of(event.body) or {}
    return next(
        (held for key in keys for fields in (event.attributes, body) if (held := fields.get(key)) is not None), None
    )


ELIDED = "<elided>"
"""What Google's libraries log in place of content that is not to be captured."""
MESSAGE_EVENTS: Mapping[str, str] = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "choice",
}


def per_message_events(span: RawSpan, memo: Memo) -> Messages:
    """Messages from one event each (`gen_ai.user.message` ... `gen_ai.choice`), content in attributes or body."""
    sent: list[Message] = []
    got: list[Message] = []
    last: Message | None = None
    for event in span.events:
        # Log events of SDKs before 1.36 carry their name as an attribute.
        role = MESSAGE_EVENTS.get(event.name or str(event.attributes.get("event.name")))
        if role is None:
            continue
        message = _event_message(event, role, memo)
        if message.parts and message.text != ELIDED:
            (got if role == "choice" else sent).append(message)
            last = message
    if last is not None and sent and last is sent[-1] and last.role == "assistant" and span.status_code != STATUS_ERROR:
        got.append(sent.pop())  # Koog, before 0.6, tells words that end the run as it tells those of earlier turns
    return Messages(tuple(_told_once(sent)) or None, tuple(got) or None)


def _told_once(sent: Iterable[Message]) -> list[Message]:
    """Botocore tells results alone, and again in the user's message that held them, which also says what failed."""
    out: list[Message] = []
    for message in sent:
        if message.role != "tool":
            again = {part.id for part in message.parts if part.type == "tool_result"}
            while again and out and out[-1].role == "tool" and again.issuperset(part.id for part in out[-1].parts):
                out.pop()
        out.append(message)
    return out


def _event_content(event: RawEvent, memo: Memo) -> Fields:
    """The message that Azure's clients write as JSON into one attribute, without calls that are not told by name."""
    fields = mapping_of(memo.json(event.attributes.get("gen_ai.event.content"))) or {}
    inner = mapping_of(fields.get("message")) or fields
    calls = items(inner.get("tool_calls"))
    if not calls or all("function" in (mapping_of(call) or {}) for call in calls):
        return fields
    return {}


def _event_message(event: RawEvent, role: str, memo: Memo) -> Message:
    body = mapping_of(memo.json(event.body)) or _event_content(event, memo)
    fields: dict[str, object] = {**event.attributes, **body}
    if role == "choice":
        inner = memo.json(fields.get("message", fields.get("content")))
        if isinstance(inner, Mapping):
            return message_of({"role": "assistant", **cast("Fields", inner)}, memo)
        return message_of({"role": "assistant", "content": inner, "tool_calls": fields.get("tool_calls")}, memo)
    content = fields.get("content")
    # A list of blocks is decoded; text that merely looks like JSON (a tool's result) is decoded by `plain`.
    blocks = memo.json(content)
    if isinstance(blocks, list | tuple):
        fields["content"] = cast("object", blocks)
    whole = mapping_of(content)  # Google's libraries put the whole content object there: {"role": ..., "parts": [...]}
    if whole is not None and "parts" in whole and role != "tool":
        fields["content"] = whole["parts"]
    return message_of({**fields, "role": role}, memo)


def definitions_of(value: object, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """Tool definitions from a list of function schemas, names, or JSON text of either."""
    listed = items(memo.json(value))
    if listed is None:
        return None
    found = [definition_of(item) for held in listed for item in declared_in(memo.json(held))]
    return tuple(item for item in found if item is not None)


def declared_in(item: object) -> Sequence[object]:
    """The functions that one tool of Google's declares; any other tool is itself what it declares."""
    fields = mapping_of(item) or {}
    return items(fields.get("function_declarations", fields.get("functionDeclarations"))) or (item,)


def definition_of(value: object) -> ToolDefinition | None:
    """One tool definition: a bare name, or a mapping in OpenAI's, Anthropic's, Bedrock's or MCP's form."""
    if isinstance(value, str) and value:
        if is_cut(value):
            named = CUT_NAME.search(value)
            return ToolDefinition(named.group(1)) if named else None
        return None if value[0] == "<" else ToolDefinition(value)  # a printed object is no name
    fields = mapping_of(value)
    if fields is None:
        return None
    for key in ("function", "toolSpec"):
        fields = mapping_of(fields.get(key)) or fields
    name = first_text(fields, "name", "tool_name")
    if name is None:
        return None
    schema: object = next(
        (fields[k] for k in ("parameters", "input_schema", "inputSchema", "parameters_json_schema") if fields.get(k)),
        None,
    )
    if isinstance(schema, str):
        schema = _decoded(schema)
    held = mapping_of(schema)
    if held is not None and "json" in held and "type" not in held:
        held = mapping_of(held["json"])
    return ToolDefinition(name, text_of(fields.get("description")) or "", held, mapping_of(fields.get("annotations")))


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
