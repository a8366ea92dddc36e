"""What LangGraph tells every instrumentation in the same words: where in its graphs a span ran, and its commands.

`langgraph_checkpoint_ns` holds the nodes around a span, outermost first, each with the id of its task:
`supervisor:74ff8a08-…|tools:6755004a-…`. A tool that passes control returns a command to the parent graph.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions._messages import items
from spanwise.conventions._values import mapping_of, text_of
from spanwise.model.content import HandoffFields, Memo
from spanwise.model.raw import RawSpan

_PAUSES = ("GraphInterrupt", "NodeInterrupt")
_COMMAND = frozenset({"graph", "update", "goto", "resume"})


def passed(metadata: Mapping[str, object], prefix: str = "") -> HandoffFields | None:
    """Who passed control by a tool, the node of the parent graph in which it ran, and to whom."""
    places = (text_of(metadata.get(f"{prefix}langgraph_checkpoint_ns")) or "").split("|")
    source = places[-2].partition(":")[0] if len(places) > 1 else None
    target = text_of(metadata.get(f"{prefix}__handoff_destination"))
    return HandoffFields(source or None, target) if source or target else None


def told_by_command(result: object, memo: Memo) -> object:
    """What the model is told by a tool that returned a command, as JSON: its last tool message; None for others."""
    if not isinstance(result, str) or not result.startswith('{"graph":'):
        return None
    command = mapping_of(memo.json(result))
    if command is None or not command.keys() <= _COMMAND:
        return None
    update = mapping_of(command.get("update")) or {}
    for item in reversed(items(update.get("messages")) or ()):
        message = mapping_of(item)
        if message is not None and message.get("type") == "tool":
            return message.get("content")
    return None


def is_paused(span: RawSpan) -> bool:
    """The span ended by the exception with which LangGraph waits for a human, whose word starts the node anew."""
    if not span.events and "error.type" not in span.attributes:
        return False
    raised = [span.attributes.get("error.type")]
    raised += [event.attributes.get("exception.type") for event in span.events if event.name == "exception"]
    return any(isinstance(kind, str) and kind.endswith(_PAUSES) for kind in raised)
