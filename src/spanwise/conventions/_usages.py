"""What providers and LangChain say that a model call used, as their own response objects have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from spanwise.conventions._messages import items
from spanwise.conventions._values import first_int, first_text, mapping_of
from spanwise.model.content import LLMFields

Fields: TypeAlias = Mapping[str, object]
INPUT = ("prompt_tokens", "input_tokens", "promptTokens", "inputTokens")
OUTPUT = ("completion_tokens", "output_tokens", "completionTokens", "outputTokens")
CACHE_READ = ("input_cache_read", "cache_read_input_tokens", "input_cached_tokens", "cached_input_tokens")
CACHE_WRITE = (
    "input_cache_creation", "cache_creation_input_tokens", "input_cache_write", "input_cache_write_tokens",
    "cache_write_input_tokens",
)  # fmt: skip
REASONING = ("output_reasoning", "output_reasoning_tokens", "reasoning_tokens", "reasoning")


def provided(usage: Fields) -> LLMFields:
    """A provider's own numbers: what the details count is part of the totals."""
    sent = _details(usage, "prompt_tokens_details", "input_tokens_details", "input_token_details")
    got = _details(usage, "completion_tokens_details", "output_tokens_details", "output_token_details")
    return LLMFields(
        input_tokens=first_int(usage, *INPUT),
        output_tokens=first_int(usage, *OUTPUT),
        cache_read_tokens=first_int({**usage, **sent}, "cached_tokens", "cache_read", *CACHE_READ),
        cache_write_tokens=first_int({**usage, **sent}, "cache_write_tokens", "cache_creation", *CACHE_WRITE),
        reasoning_tokens=first_int({**usage, **got}, *REASONING),
    )


def _details(usage: Fields, *keys: str) -> Fields:
    for key in keys:
        found = mapping_of(usage.get(key))
        if found is not None:
            return found
    return {}


def responded(response: Fields) -> LLMFields:
    """Model and usage in a provider's response or in LangChain's result; Anthropic counts cached tokens apart."""
    message = _generated(response)
    told = mapping_of(message.get("response_metadata")) or {}
    whole = mapping_of(response.get("llm_output")) or {}
    for usage in (
        mapping_of(response.get("usage")),
        mapping_of(message.get("usage_metadata")),
        mapping_of(whole.get("token_usage")),
        mapping_of(told.get("token_usage")),
    ):
        if usage:
            break
    found = provided(usage or {})
    if found.input_tokens is not None and "cache_read_input_tokens" in (usage or {}) and response.get("usage"):
        found.input_tokens += (found.cache_read_tokens or 0) + (found.cache_write_tokens or 0)
    found.model = next(
        (name for held in (response, told, whole) if (name := first_text(held, "model", "model_name"))), None
    )
    return found


def _generated(response: Fields) -> Fields:
    """The first message of LangChain's result, in either of its serialisations."""
    found: object = response.get("generations")
    while (listed := items(found)) is not None:
        found = listed[0] if listed else None
    message = mapping_of((mapping_of(found) or {}).get("message")) or {}
    return mapping_of(message.get("kwargs")) or message


def with_thoughts(used: LLMFields, total: object, *, streamed: bool) -> None:
    """Put right what LangChain in JavaScript counts of Gemini: thoughts are in the total only.

    Of a stream each piece repeats how much came from a cache, and all are added up.
    """
    if used.input_tokens is not None and used.output_tokens is not None and isinstance(total, int):
        thoughts = total - used.input_tokens - used.output_tokens
        if thoughts > 0:
            used.reasoning_tokens = thoughts
            used.output_tokens += thoughts
    if streamed:
        used.cache_read_tokens = None
