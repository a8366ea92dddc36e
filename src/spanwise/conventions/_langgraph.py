"""What LangGraph tells every instrumentation in the same words: where in its graphs a span ran, and its commands.

`langgraph_checkpoint_ns` holds the nodes around a span, outermost first, each with the id of its task:
`supervisor:74ff8a08-…|tools:6755004a-…`. A tool that passes control returns a command to the parent graph.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from spanwise.conventions._messages import items
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._returned import plain
from spanwise.conventions._values import mapping_of, text_of
from spanwise.model.content import HandoffFields, Memo, ToolFields
from spanwise.model.raw import RawSpan

NAMELESS = "LangGraph"
"""How a graph calls itself that was given no name."""
_PAUSES = ("GraphInterrupt", "NodeInterrupt")
_COMMANDING = "ParentCommand"
_COMMANDED = ("Command(graph=", "ParentCommand(")
_WAITING = ("(Interrupt(", "[Interrupt(", "Interrupt(")
_MESSAGE = frozenset({"name", "tool_call_id", "content"})
PRINTED = ("content=", "ToolMessage(", "Command(")
"""How the text begins of a tool's message, or of a command that holds one, as Python prints it."""
ENVELOPES = frozenset({"conte", '"cont', "ToolM", '"Tool', "Comma", '"Comm', '{"nam'})
"""How a result begins that may be the message in which it is told to the model."""
_CALL_ID = re.compile(r"tool_call_id='([^']*)'")
_CONTENT = re.compile(r"""content=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?=[ ,)])""", re.DOTALL)
_BLOCKS = re.compile(
    r"content=(\[.*?\])(?=,? (?:name|id|tool_call_id|status|artifact|additional_kwargs|response_metadata)=)", re.DOTALL
)
"""Content that is no text: a list that the tool returned, or blocks of text such as MCP's."""
_COMMAND = frozenset({"graph", "update", "goto", "resume"})


def passed(metadata: Mapping[str, object], prefix: str = "") -> HandoffFields | None:
    """Who passed control by a tool, the node of the parent graph in which it ran, and to whom."""
    places = (text_of(metadata.get(f"{prefix}langgraph_checkpoint_ns")) or "").split("|")
    source = places[-2].partition(":")[0] if len(places) > 1 else None
    target = text_of(metadata.get(f"{prefix}__handoff_destination"))
    return HandoffFields(source or None, target) if source or target else None


def passed_from_node(span: RawSpan, memo: Memo, prefix: str) -> HandoffFields | None:
    """The same of a tool whose span holds each entry of the metadata as JSON."""
    entries = ("langgraph_checkpoint_ns", "__handoff_destination")
    return passed({name: memo.json(span.attributes.get(f"{prefix}{name}")) for name in entries})


def told_by_command(result: object, memo: Memo) -> object:
    """What the model is told by a tool that returned a command: its last tool message; None for others."""
    if result is None or (isinstance(result, str) and not result.startswith('{"graph":')):
        return None
    command = mapping_of(memo.json(result))
    if command is None or not {"graph"} <= command.keys() <= _COMMAND:
        return None
    update = mapping_of(command.get("update")) or {}
    for item in reversed(items(update.get("messages")) or ()):
        message = mapping_of(item)
        if message is not None and message.get("type") == "tool":
            return message.get("content")
    return None


def open_value(result: object, said: ToolFields, memo: Memo) -> None:
    """Take a call's result, recorded as a value and not as JSON text, out of its message or its blocks of text."""
    listed = items(result)
    first = mapping_of(listed[0] if listed else result)
    if first is None:
        return
    if first.get("type") == "text":
        said.result = plain(result, memo)
    elif listed is None:
        open_message(result, said, memo)


def open_message(result: object, said: ToolFields, memo: Memo) -> None:
    """Take a call's result out of the tool's message, which names the call; what is no such message stays."""
    message = tool_message(result, memo)
    if message is not None and message.call_id is not None:
        said.result = message.value
        said.call_id = said.call_id or message.call_id
        said.failed = said.failed or message.failed


class ToolMessage(msgspec.Struct, gc=False):
    """What the model is told of a call."""

    value: object
    failed: bool = False
    call_id: str | None = None


def tool_message(text: object, memo: Memo) -> ToolMessage | None:
    """A tool's message as Python prints it, alone or in a command, or as `langchain-azure-ai` writes it; else None."""
    decoded = memo.json(text)
    if isinstance(decoded, str):
        return printed_message(decoded, memo)
    fields = mapping_of(decoded)
    if fields is None or _MESSAGE.symmetric_difference(fields):
        return None
    return ToolMessage(fields["content"], call_id=text_of(fields["tool_call_id"]))


def printed_message(text: str, memo: Memo) -> ToolMessage | None:
    """A tool's message as Python prints it; of a command the last one, before which it may pass on a conversation."""
    if not text.startswith(PRINTED):
        return None
    begin = max(text.rfind("ToolMessage("), 0)
    found = _CONTENT.search(text, begin) or _BLOCKS.search(text, begin)
    if found is None:
        return None
    call_id = _CALL_ID.search(text, found.end())
    failed = text.find("status='error'", found.end()) >= 0
    return ToolMessage(plain(read_repr(found.group(1)), memo), failed, call_id.group(1) if call_id else None)


def says_paused(message: str) -> bool:
    """A status message of what LangGraph waits for, where the exception itself is not recorded."""
    return message.startswith(_WAITING)


def hands_over(span: RawSpan) -> bool:
    """What was raised is the command by which a node passes control to its parent graph: nothing failed."""
    if span.status_message.startswith(_COMMANDED):
        return True
    said = span.attributes.get("error.type")
    if isinstance(said, str) and said.endswith(_COMMANDING):
        return True
    for event in span.events:
        raised = event.attributes.get("exception.type") if event.name == "exception" else None
        if isinstance(raised, str) and raised.endswith(_COMMANDING):
            return True
    return False


def is_paused(span: RawSpan) -> bool:
    """The span ended by the exception with which LangGraph waits for a human, whose word starts the node anew."""
    if _is_pause(span.attributes.get("error.type")):
        return True
    for event in span.events:  # noqa: SIM110  (asked of each failed call, and a generator takes as long as all of this)
        if event.name == "exception" and _is_pause(event.attributes.get("exception.type")):
            return True
    return False


def _is_pause(kind: object) -> bool:
    return isinstance(kind, str) and kind.endswith(_PAUSES)


def passes_on(command: str | None, name: str) -> bool:
    """The printed command holds what an agent of that name said; it begins with the run of its model."""
    if command is None or not command.startswith("Command("):
        return False
    return any(f"name='{name}', id='{run}" in command for run in ("lc_run-", "run-"))


def asker_in(state: object, call_id: str) -> str | None:
    """The name of the message in a state that asks for a call: that of the agent whose model said it."""
    waiting = [state]
    while waiting:
        item = waiting.pop()
        fields = mapping_of(item)
        if fields is None:
            waiting.extend(items(item) or ())
            continue
        calls = map(mapping_of, items(fields.get("tool_calls")) or ())
        if any(call is not None and call.get("id") == call_id for call in calls) and text_of(fields.get("name")):
            return text_of(fields.get("name"))
        waiting.extend(fields.values())
    return None
