"""What smolagents tells its models: the task in a message of its own, or within the prompt that asks for a plan."""

from __future__ import annotations

import re
from collections.abc import Sequence

from spanwise.model.content import Message
from spanwise.model.raw import STATUS_UNSET, RawSpan

SCOPE = "openinference.instrumentation.smolagents"
_TASK = "New task:\n"
_PLANNED = re.compile(r"\b[Tt]ask:\n```\n(.+?)\n```", re.DOTALL)


def task_in(span: RawSpan, sent: Sequence[Message]) -> str | None:
    """The task out of what a model was sent, the latest of a conversation; None for any other framework's model."""
    if span.scope.name != SCOPE:
        return None
    texts = [message.text for message in reversed(sent) if message.role == "user"]
    found = next((text for text in texts if text.startswith(_TASK)), None)
    if found is not None:
        return found.removeprefix(_TASK)
    planned = (_PLANNED.search(text) for text in texts)
    return next((match.group(1) for match in planned if match is not None), None)


def broke_off(span: RawSpan) -> bool:
    """A tool of smolagents neither returned nor raised an error, both of which set the status: it was interrupted."""
    return span.scope.name == SCOPE and span.status_code == STATUS_UNSET and "output.value" not in span.attributes
