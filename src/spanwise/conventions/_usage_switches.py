"""What to do about tokens that an instrumentation does not count, and where what it counts is not all."""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions._genai_scopes import LANGCHAIN_JS, LLAMA_INDEX_JS, OPENAI_JS, TRANSCRIPT
from spanwise.model.raw import RawSpan

_CLAUDE_AGENT_JS = "@arizeai/openinference-instrumentation-claude-agent-sdk"
_LANGFUSE = "langfuse-sdk"
_USAGE_SWITCHES: Mapping[str, str] = {
    "openinference.instrumentation.dspy": "",
    **dict.fromkeys((LANGCHAIN_JS, LLAMA_INDEX_JS), "Instrument the model client as well as the agent framework."),
    TRANSCRIPT: "Keep `usage` with the transcript, or with its messages.",
}
"""What to do about missing tokens, for scopes that never count any, whatever the client reports."""
_OPENINFERENCE_JS = "@arizeai/openinference-instrumentation-openai"
_UNCOUNTED_JS = "OpenInference counts no tokens of streamed chat completions in JavaScript: do not stream them."
_REPEATED_JS = "LangChain in JavaScript adds up what each piece of Gemini's streams repeats: do not stream them."
_STREAMED_JS = "OpenLLMetry records nothing of streamed responses in JavaScript: do not stream them."


def usage_switch(span: RawSpan) -> str | None:
    """What to do about tokens that a model's span does not count; None where its client does not report them."""
    scope = span.scope.name
    if scope == OPENAI_JS and "gen_ai.response.model" not in span.attributes:
        return _STREAMED_JS
    if scope == _OPENINFERENCE_JS and '"stream":true' in str(span.attributes.get("llm.invocation_parameters")):
        return _UNCOUNTED_JS
    if scope == _LANGFUSE and "google" in str(span.attributes.get("langfuse.observation.metadata.ls_provider")):
        return _REPEATED_JS
    return _USAGE_SWITCHES.get(scope)


def leaves_cached_out(span: RawSpan) -> bool:
    """Anthropic counts what its cache gave or took beside the input, and this instrumentation records only that."""
    scope, get = span.scope.name, span.attributes.get
    if scope == _CLAUDE_AGENT_JS:
        return get("llm.token_count.prompt") is not None
    return scope == LANGCHAIN_JS and get("gen_ai.provider.name") == "anthropic"
