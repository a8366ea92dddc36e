"""DSPy's ReAct, which asks for tools and tells their results in texts of a protocol of its own.

The model's answer names the tool and its arguments (`next_tool_name`, `next_tool_args`); the next request holds all
that was done so far as a trajectory, whose last `observation_N` is what the last call returned, or why it failed.
"""

from __future__ import annotations

import re

from spanwise.conventions._values import mapping_of, text_of
from spanwise.model.content import Memo, Message, Part

_NAME = re.compile(r"\[\[ ## next_tool_name ## \]\]\s*([^\s\[]+)")
_ARGUMENTS = re.compile(r"\[\[ ## next_tool_args ## \]\]\s*(\{.*?\})\s*(?:\[\[ ## |\Z)", re.S)
_OBSERVED = re.compile(r"\[\[ ## observation_\d{1,9} ## \]\]\n")
_ENDS = ("\n\n[[ ## ", "\n\nRespond with ")
_FAILED = ("Execution error in ", "Failed to execute")


def asking(got: tuple[Message, ...], memo: Memo) -> tuple[Message, ...]:
    """The model's answers, those that ask for a tool as calls."""
    return tuple(
        Message(message.role, tuple(_asked(p.text, memo) if "next_tool_name" in p.text else p for p in message.parts))
        for message in got
    )


def _asked(text: str, memo: Memo) -> Part:
    """The call that a text asks for; where its name cannot be read no answer at least."""
    fields = mapping_of(memo.json(text)) or {}
    named, given = _NAME.search(text), _ARGUMENTS.search(text)
    name = text_of(fields.get("next_tool_name")) or (named.group(1) if named else None)
    if name is None:
        return Part("other", text)
    arguments = fields.get("next_tool_args", memo.json(given.group(1)) if given else None)
    return Part("tool_call", name=name, value=mapping_of(arguments))


def told(sent: tuple[Message, ...]) -> tuple[Message, ...]:
    """What the model was sent, with the last observation as the result behind it."""
    text = sent[-1].text if sent else ""
    starts = [found.end() for found in _OBSERVED.finditer(text)]
    if not starts:
        return sent
    rest = text[starts[-1] :]
    ends = [at for mark in _ENDS if (at := rest.rfind(mark)) >= 0]
    value = rest[: min(ends)] if ends else rest
    return (*sent, Message("tool", (Part("tool_result", value=value, error=value.startswith(_FAILED)),)))
