"""What responses of providers and of LangChain say that was used."""

from __future__ import annotations

from spanwise.conventions._usages import provided, responded, with_thoughts
from spanwise.model.content import LLMFields


def test_providers() -> None:
    """The details of a provider's usage are part of its totals; Anthropic counts what a cache took part in apart."""
    details = {"prompt_tokens_details": {"cached_tokens": 2}, "completion_tokens_details": {"reasoning_tokens": 1}}
    usage = {"prompt_tokens": 5, "completion_tokens": 3, **details}
    assert LLMFields("m", None, 5, 3, 2, None, 1) == responded({"model": "m", "usage": usage})
    claude = {"input_tokens": 5, "output_tokens": 3, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1}
    assert LLMFields("m", None, 8, 3, 2, 1) == responded({"model": "m", "usage": claude})
    assert LLMFields() == provided({})


def test_langchain() -> None:
    """LangChain's result has the usage in its message, in the metadata of that, or beside all messages."""
    used = {"input_tokens": 5, "output_tokens": 3, "input_token_details": {"cache_read": 2}}
    told = {"token_usage": {"prompt_tokens": 7, "completion_tokens": 1}, "model_name": "n"}
    assert LLMFields(None, None, 5, 3, 2) == responded({"generations": [[{"message": {"usage_metadata": used}}]]})
    lc = {"lc": 1, "kwargs": {"response_metadata": told}}
    assert LLMFields("n", None, 7, 1) == responded({"generations": [[{"message": lc}]]})
    assert LLMFields("n", None, 7, 1) == responded({"generations": [], "llm_output": told})


def test_gemini_under_langchain_in_javascript() -> None:
    """Thoughts are what the total holds on top; of a stream it cannot be told how much came from a cache."""
    whole, piecewise, plain = (LLMFields(None, None, 46, 30, 15) for _ in range(3))
    with_thoughts(whole, 79, streamed=False)
    assert LLMFields(None, None, 46, 33, 15, None, 3) == whole
    with_thoughts(piecewise, 76, streamed=True)
    assert LLMFields(None, None, 46, 30) == piecewise
    with_thoughts(plain, None, streamed=False)
    assert LLMFields(None, None, 46, 30, 15) == plain
