"""What Langfuse's packages for JavaScript write otherwise: results by the name of the tool, retrievers, and streams."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.conventions._messages import ROLES, items
from spanwise.conventions._values import mapping_of, text_of
from spanwise.model.content import Message, Part
from spanwise.model.raw import RawSpan

_RESPONSES = '"truncation":'
"""What only OpenAI's Responses API calls a parameter."""
_RETRIEVED = '[{"pageContent":'


def is_javascript(span: RawSpan) -> bool:
    """The span was written by OpenTelemetry's SDK for JavaScript, whose scope bears Langfuse's name as well."""
    return span.scope.resource.get("telemetry.sdk.language") in {"nodejs", "webjs"}


def with_results(spoken: Sequence[object]) -> Sequence[object]:
    """The messages, a tool's result a tool's: its role is the tool's name there, and the id of its call is left out.

    Results follow the message that asked for them, those of one tool in the order of its calls.
    """
    waiting: list[tuple[str, object]] = []
    out: list[object] = []
    for item in spoken:
        fields = mapping_of(item)
        role = text_of(fields.get("role")) if fields is not None else None
        asked = items(fields.get("tool_calls")) if fields is not None else None
        if asked:
            waiting = [_named(call) for call in asked]
        at = next((at for at, (name, _) in enumerate(waiting) if name == role and role not in ROLES), None)
        if fields is not None and at is not None:
            name, call_id = waiting.pop(at)
            item = {**fields, "role": "tool", "name": name, "tool_call_id": call_id}
        out.append(item)
    return out


def _named(call: object) -> tuple[str, object]:
    fields = mapping_of(call) or {}
    function = mapping_of(fields.get("function")) or fields
    return text_of(function.get("name")) or "", fields.get("id")


def is_retriever(span: RawSpan) -> bool:
    """LangChain's retriever, which is a mere span: it was given a text and returned LangChain's documents."""
    given, returned = (span.attributes.get(f"langfuse.observation.{side}") for side in ("input", "output"))
    if not isinstance(given, str) or not isinstance(returned, str):
        return False
    return returned.startswith(_RETRIEVED) and given[:1] not in {"{", "["}


def told_apart(got: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """The answer; None where the arguments of a stream's parallel calls stand behind each other below one name."""
    parts = (part for message in got or () for part in message.parts if part.type == "tool_call")
    return None if any(isinstance(part.value, str) and "}{" in part.value for part in parts) else got


def typed_response(span: RawSpan, got: object) -> tuple[Message, ...] | None:
    """A typed answer of OpenAI's Responses API: the wrapper records its text alone, which is an object of any form."""
    said = span.attributes.get("langfuse.observation.model.parameters")
    if not isinstance(got, str) or got[:1] != "{" or not isinstance(said, str) or _RESPONSES not in said:
        return None
    return (Message("assistant", (Part("text", got),)),)


def leaves_requests_out(span: RawSpan) -> bool:
    """A generation that has no calls may have asked for some: they are told apart neither in a stream, nor beside text.

    Of a stream several stand in one. Of a response with text OpenAI's wrapper records the text alone, as that in Python
    does of a stream of chat completions.
    """
    if span.attributes.get("langfuse.observation.metadata.finish_reason") == "tool_calls":
        return True
    said = span.attributes.get("langfuse.observation.model.parameters")
    if not isinstance(said, str):
        return False
    got = span.attributes.get("langfuse.observation.output")
    return '"stream":true' in said or (_RESPONSES in said and isinstance(got, str) and got[:1] not in {"{", "["})
