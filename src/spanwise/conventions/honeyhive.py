"""HoneyHive's spans, of functions that its decorator `trace` wraps: `honeyhive_event_type` says what one is.

What was passed and returned is taken apart: each value stands in an attribute named for its place. A type is written on
whatever span has none, those of other instrumentations and of failures too, and it says that they are tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from spanwise.conventions._convention import Convention
from spanwise.conventions._fields import below
from spanwise.conventions._payloads import answered, asked, conversation, reply
from spanwise.conventions._values import first_int, first_text
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Message, Messages, ToolFields
from spanwise.model.raw import Attributes, RawSpan
from spanwise.model.span import Kind

_TYPE = "honeyhive_event_type"
_KINDS: Mapping[str, Kind] = {"model": "llm", "tool": "tool", "chain": "workflow", "session": "workflow"}
_INPUTS, _RESULT = "honeyhive_inputs", "honeyhive_outputs.result"
_DEPTH = 32


def kind(span: RawSpan) -> Kind | None:
    """What the event's type says, where the app said it; each tracer has a scope of its own."""
    if not span.scope.name.startswith("honeyhive"):
        return None
    if "honeyhive_error" in span.attributes and span.name.endswith("_error"):
        return "setup"  # says once more, on its own, that a function failed
    found = _KINDS.get(str(span.attributes.get(_TYPE)), "other")
    if found == "tool" and "honeyhive_metadata.event_type" not in span.attributes:
        return "workflow" if below(span.attributes, f"{_INPUTS}.") else "other"
    return found


def _whole(attributes: Attributes, name: str) -> object:
    """A value put together: as it stands, or from the attributes below its name."""
    if name in attributes:
        return attributes[name]
    found: dict[str, object] = {}
    for key in below(attributes, f"{name}."):
        *places, last = key[len(name) + 1 :].split(".", _DEPTH)
        at: dict[str, object] = found
        for place in places:
            held = at.setdefault(place, {})
            if not isinstance(held, dict):
                break
            at = cast("dict[str, object]", held)
        else:
            at[last] = attributes[key]
    return _listed(found) if found else None


def _listed(fields: dict[str, object]) -> object:
    """A mapping by numbers as the list that it was."""
    held: dict[str, object] = {}
    for key, one in fields.items():
        held[key] = _listed(cast("dict[str, object]", one)) if isinstance(one, dict) else one
    return list(held.values()) if list(held) == [str(at) for at in range(len(held))] else held


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """The tool by its name, else that of the function; what it was given by name, and what it returned."""
    attributes = span.attributes
    name = first_text(attributes, "honeyhive_event_name") or span.name.rpartition(".")[2]
    return ToolFields(name or None, _whole(attributes, _INPUTS), _whole(attributes, _RESULT))


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model and tokens, where the app told them of a function that calls a model."""
    attributes = span.attributes
    return LLMFields(
        first_text(attributes, "honeyhive_config.model"),
        first_text(attributes, "honeyhive_config.provider"),
        first_int(attributes, "honeyhive_metadata.prompt_tokens"),
        first_int(attributes, "honeyhive_metadata.completion_tokens"),
    )


def messages(span: RawSpan, memo: Memo) -> Messages:
    """The messages among what a function was given that calls a model, and what it returned."""
    if span.attributes.get(_TYPE) != "model":
        return Messages(None, None)
    given = (span.attributes[key] for key in below(span.attributes, f"{_INPUTS}."))
    sent = next((found for one in given if (found := conversation(memo.json(one), memo)) is not None), None)
    return Messages(sent, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What a function returned that calls a model."""
    return reply(_whole(span.attributes, _RESULT), memo) if span.attributes.get(_TYPE) == "model" else None


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Question and answer of a step; nothing tells which step is an agent."""
    attributes = span.attributes
    return AgentFields(None, asked(_whole(attributes, _INPUTS), memo), answered(_whole(attributes, _RESULT), memo))


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Session and user."""
    attributes = span.attributes
    session = first_text(attributes, "honeyhive_session_id", "honeyhive.session_id")
    return ContextFields(session, first_text(attributes, "honeyhive_user_id"))


CONVENTION = Convention(
    name="honeyhive",
    title="HoneyHive",
    keys=(_TYPE,),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    agent=agent,
    context=context,
    content_switch="Let functions that HoneyHive's `trace` wraps be given and return what JSON can hold.",
)
