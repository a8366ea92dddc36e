"""The texts of LlamaIndex's ReAct agent."""

from __future__ import annotations

import re

from spanwise.model.content import Message, Part

_REACT = re.compile(r"\s*Thought:(?P<thought>.*?)\n(?P<kind>Answer|Action):\s*(?P<rest>.*)", re.S)


def reacting(message: Message) -> Message:
    """LlamaIndex's ReAct agent thinks, asks for tools and answers in one text: only what it answers is its answer."""
    parts: list[Part] = []
    for part in message.parts:
        said = _REACT.match(part.text) if part.type == "text" else None
        if said is None:
            parts.append(part)
        elif said["kind"] == "Answer":
            parts += [Part("reasoning", said["thought"]), Part("text", said["rest"])]
        else:
            parts.append(Part("other", part.text))
    return Message(message.role, tuple(parts))
