"""Messages of a transcript in the shapes that frameworks keep them in: LangChain's, Pydantic AI's, Vercel's, Gemini's.

Each is brought into a shape that the reader of messages knows, its usage and model into OpenAI's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spanwise.conventions import _pydantic_messages as pydantic_ai
from spanwise.model.content import Memo, Message
from spanwise.sources._records import Fields, fields_of, list_of, text_of

_LANGCHAIN = frozenset({"human", "ai", "system", "tool", "HumanMessageChunk", "AIMessageChunk", "SystemMessageChunk"})
_SENT = frozenset({"request", "response"})
_AGAIN = "\n\nFix the errors and try again."
"""What Pydantic AI puts behind the words with which a model is asked to make a call again."""
_OVER = "output-"


def is_framed(fields: Fields) -> bool:
    """The object is a message of LangChain's or Pydantic AI's, which has no role."""
    if "role" in fields:
        return False
    if _kwargs(fields) is not None or is_pydantic(fields):
        return True
    return text_of(fields.get("type")) in _LANGCHAIN and (
        "content" in fields or fields_of(fields.get("data")) is not None
    )


def is_pydantic(fields: Fields) -> bool:
    """The object is a request or a response of Pydantic AI's."""
    return fields.get("kind") in _SENT and list_of(fields.get("parts")) is not None


def pydantic_messages(fields: Fields) -> Iterator[Message]:
    """What a request or a response says; what a model had to make again in the words that it was told."""
    parts = [_told_again(fields_of(part)) or part for part in list_of(fields.get("parts")) or ()]
    yield from pydantic_ai.messages_of({**fields, "parts": parts}, Memo()) or ()


def _told_again(part: Fields | None) -> Fields | None:
    if part is None or part.get("part_kind") != "retry-prompt" or not isinstance(part.get("content"), str):
        return None
    kind = "tool-return" if text_of(part.get("tool_name")) else "user-prompt"
    return {**part, "part_kind": kind, "content": f"{part['content']}{_AGAIN}"}


def _kwargs(fields: Fields) -> Fields | None:
    return fields_of(fields.get("kwargs")) if "lc" in fields else None


def said_by_langchain(fields: Fields) -> tuple[str, Fields | None]:
    """The model of a message of LangChain's, and its usage in OpenAI's words."""
    held = _kwargs(fields) or fields_of(fields.get("data")) or fields
    told = fields_of(held.get("response_metadata")) or {}
    used = fields_of(held.get("usage_metadata"))
    if used is None:
        used = fields_of(told.get("token_usage")) or fields_of(told.get("usage"))
    elif (details := fields_of(used.get("input_token_details"))) is not None:
        used = {**used, "input_tokens_details": {"cached_tokens": details.get("cache_read")}}
    return text_of(told.get("model_name")) or text_of(told.get("model")), used


def interface_parts(parts: list[object]) -> list[object]:
    """The parts of a message of the Vercel AI SDK's user interface: a call and its result, which are one there, apart.

    The calls of one step ran side by side, so their results stand behind all of them.
    """
    out: list[object] = []
    results: list[object] = []
    for part in parts:
        fields = fields_of(part) or {}
        kind = text_of(fields.get("type"))
        held = fields_of(fields.get("toolInvocation")) or fields
        name = text_of(held.get("toolName")) or kind.removeprefix("tool-")
        if "toolCallId" not in held or kind in {"tool-call", "tool-result"}:
            out += results
            results = []
            out.append(part)
            continue
        said: Mapping[str, object] = {"id": held["toolCallId"], "name": name}
        given = next((held[key] for key in ("input", "args") if held.get(key) is not None), None)
        out.append({**said, "type": "tool_call", "arguments": given})
        state, failure = text_of(held.get("state")), held.get("errorText")
        if state.startswith(_OVER) or state == "result":
            result = next((held[key] for key in ("output", "result") if held.get(key) is not None), failure)
            failed = state == "output-error"
            results.append({**said, "type": "tool_call_response", "response": result, "is_error": failed})
    return [*out, *results]


def usage_of(fields: Fields) -> Fields | None:
    """The usage of a transcript, Gemini's in OpenAI's words: thoughts are output there, too."""
    used = fields_of(fields.get("usageMetadata"))
    if used is None:
        return fields_of(fields.get("usage"))
    got = [count for key in ("candidatesTokenCount", "thoughtsTokenCount") if isinstance(count := used.get(key), int)]
    return {
        "input_tokens": used.get("promptTokenCount"),
        "output_tokens": sum(got) if got else None,
        "input_tokens_details": {"cached_tokens": used.get("cachedContentTokenCount")},
        "output_tokens_details": {"reasoning_tokens": used.get("thoughtsTokenCount")},
    }
