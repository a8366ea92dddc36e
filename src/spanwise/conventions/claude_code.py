"""Claude Code's and the Claude Agent SDK's own spans, with names and attributes of their own.

A prompt is an `interaction`, below it stand the model's requests and the tools. A tool's span is not marked when the
tool fails: its `tool.execution` below it is, and without that neither success nor failure is known. Content is
`<REDACTED>` or missing unless switched on, and cut at 60 KB; what the model answered stands in log events only. Input
tokens exclude those read from and written to the cache.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definitions_of
from spanwise.conventions._returned import plain
from spanwise.conventions._values import first_int, first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    ToolDefinition,
    ToolFields,
    is_redacted,
)
from spanwise.model.raw import RawEvent, RawSpan
from spanwise.model.span import Kind, SpanError

_KINDS: Mapping[str, Kind] = {
    "interaction": "agent",
    "llm_request": "llm",
    "tool": "tool",
    "tool.blocked_on_user": "other",
    "tool.execution": "tool",
    "hook": "other",
    "subagent.spawn": "other",
}
_PREFIX = "claude_code."
_MAIN = ("sdk", "repl_main_thread")
"""What asked the model: the conversation itself, no subagent, title or summary."""
# Detailed tracing joins what is new in a request into one text.
_PART = re.compile(r"(?:\A|\n\n---\n\n)\[(USER|USER PROMPT|TOOL RESULT: [^\]\n]*)\]\n")
_HEAD = re.compile(r"\A\[TOOL (?:INPUT|RESULT): [^\]\n]*\]\n")


def kind(span: RawSpan) -> Kind | None:
    """The kind that the span's type names, with the prefix of the span's name or, as releases differ, without."""
    said = span.attributes.get("span.type")
    if not isinstance(said, str):
        return None
    if said.startswith(_PREFIX):
        return _KINDS.get(said.removeprefix(_PREFIX), "other")
    return _KINDS.get(said, "other") if span.name.startswith(_PREFIX) else None


def _content(value: object) -> str | None:
    """The text, unless it stands for content that was left out."""
    text = text_of(value)
    return None if text is None or is_redacted(text) else text


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """The tool, its input and its output as far as the switches let them through.

    The command of a shell is all of its input. A file's path is not: two edits of one file would look alike. Spans of
    others have a `span.type` too.
    """
    if kind(span) is None:
        return ToolFields()
    attributes = span.attributes
    given = _content(attributes.get("tool_input"))
    arguments: object = None if given is None else _HEAD.sub("", given)
    command = _content(attributes.get("full_command"))
    if arguments is None and command is not None:
        arguments = {"command": command}
    returned = _content(attributes.get("new_context"))
    result: object = None if returned is None else _HEAD.sub("", returned)
    if isinstance(result, str) and result.startswith('[{"'):  # the blocks of an MCP server's answer
        result = plain(result, memo)
    for event in span.events:
        if result is None and event.name == "tool.output":
            result = next(
                (text for key in ("output", "diff", "content") if (text := _content(event.attributes.get(key)))), None
            )
    return ToolFields(
        text_of(attributes.get("tool_name")),
        arguments,
        result,
        first_text(attributes, "gen_ai.tool.call.id", "tool_use_id"),
        failed=attributes.get("success") is False,
        uncertain=attributes.get("success") is not True,
    )


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model and tokens of a request; the input with what was read from and written to the cache."""
    if kind(span) is None:
        return LLMFields()
    attributes = span.attributes
    sent = first_int(attributes, "input_tokens")
    read = first_int(attributes, "cache_read_tokens")
    written = first_int(attributes, "cache_creation_tokens")
    return LLMFields(
        first_text(attributes, "model"),
        "anthropic",
        None if sent is None else sent + (read or 0) + (written or 0),
        first_int(attributes, "output_tokens"),
        read,
        written,
    )


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What is new in a request, and the text of the answer; tools that were asked for are not among it."""
    text = _content(span.attributes.get("new_context"))
    return Messages(_parts(text, memo) if text is not None else None, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The text of the answer."""
    answer = _content(span.attributes.get("response.model_output"))
    return None if answer is None else (Message("assistant", (Part("text", answer),)),)


def requests(span: RawSpan, memo: Memo) -> tuple[Part, ...] | None:
    """None at all where the answer ended otherwise than on calls of tools; which those are its span does not tell."""
    ended = text_of(span.attributes.get("stop_reason"))
    return None if ended is None or ended == "tool_use" else ()


def _parts(text: str, memo: Memo) -> tuple[Message, ...] | None:
    """The user's messages and the tools' results in a joined text."""
    found = list(_PART.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    out: list[Message] = []
    for match, end in zip(found, ends, strict=True) if found else ():
        head, body = match.group(1), text[match.end() : end]
        if head.startswith("TOOL RESULT: "):
            call_id = head.removeprefix("TOOL RESULT: ")
            out.append(Message("tool", (Part("tool_result", id=call_id, value=memo.json(body)),)))
        else:
            out.append(Message("user", (Part("text", body),)))
    return tuple(out) or None


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """What the user asked, and the last answer among the log events; no name is recorded."""
    prompt = _content(span.attributes.get("user_prompt"))
    if prompt is None:
        text = _content(span.attributes.get("new_context"))
        prompt = None if text is None else _PART.sub("", text, count=1)
    asked = (_content(event.attributes.get("prompt")) for event in span.events if _is_named(event, "user_prompt"))
    answers = (event for event in reversed(span.events) if _is_named(event, "assistant_response"))
    answer = next((one for one in answers if one.attributes.get("query_source", _MAIN[0]) in _MAIN), None)
    return AgentFields(
        query=prompt or next((text for text in asked if text), None),
        answer=None if answer is None else _content(answer.attributes.get("response")),
    )


def record(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The tools that ran, each with its input and, where it failed, the error: log events of the prompt tell them."""
    out: list[Message] = []
    for event in span.events:
        call_id = text_of(event.attributes.get("tool_use_id"))
        if call_id is None or not _is_named(event, "tool_result"):
            continue
        given = _content(event.attributes.get("tool_input"))
        name = _tool_name(event.attributes, memo)
        out.append(Message("assistant", (Part("tool_call", id=call_id, name=name, value=memo.json(given)),)))
        failure = _content(event.attributes.get("error"))
        if failure is not None:
            out.append(Message("tool", (Part("tool_result", id=call_id, value=failure, error=True),)))
    return tuple(out) or None


def _tool_name(told: Mapping[str, object], memo: Memo) -> str | None:
    """The tool as its span names it: of an MCP server's the event says that it is one."""
    served = mapping_of(memo.json(told.get("tool_parameters"))) or {}
    server, name = text_of(served.get("mcp_server_name")), text_of(served.get("mcp_tool_name"))
    return text_of(told.get("tool_name")) if server is None or name is None else f"mcp__{server}__{name}"


def _is_named(event: RawEvent, name: str) -> bool:
    return name in (event.name.removeprefix(_PREFIX), event.attributes.get("event.name"))


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The names of the tools that the model was offered."""
    return definitions_of(span.attributes.get("tools"), memo)


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Session and user."""
    attributes = span.attributes
    return ContextFields(first_text(attributes, "session.id"), first_text(attributes, "user.id", "user.account_uuid"))


def error(span: RawSpan) -> SpanError | None:
    """The error that the span names."""
    message = text_of(span.attributes.get("error"))
    return SpanError(message=message) if message is not None else _genai.error(span)


CONVENTION = Convention(
    name="claude_code",
    title="Claude Code",
    scopes=("com.anthropic.claude_code.tracing",),
    keys=("span.type",),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    requests=requests,
    record=record,
    agent=agent,
    definitions=definitions,
    context=context,
    error=error,
    content_switch=(
        "Set OTEL_LOG_USER_PROMPTS=1, OTEL_LOG_TOOL_DETAILS=1 and OTEL_LOG_TOOL_CONTENT=1. Answers and arguments stand "
        "in log events (OTEL_LOGS_EXPORTER=otlp), arguments also in detailed tracing (ENABLE_BETA_TRACING_DETAILED=1)."
    ),
)
