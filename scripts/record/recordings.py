"""The table of what can be recorded: packages, switches and variants of every framework and instrumentation.

A recording's name is `framework__instrumentation`, with `__variant` behind it unless the variant is the standard one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One instrumentation of one framework."""

    framework: str
    instrumentation: str
    packages: tuple[str, ...]
    variants: tuple[str, ...] = ("standard",)
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    def name(self, variant: str, /) -> str:
        """The recording's file name without its ending."""
        stem = f"{self.framework}__{self.instrumentation}"
        return stem if variant == "standard" else f"{stem}__{variant}"


_SHAPES = ("parallel", "hallucinated", "plain", "streaming")

_CAPTURE = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_AND_EVENT",
    "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": "true",
}

# CrewAI reports its own usage unless told not to.
_NO_CREWAI_TELEMETRY = {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_DISABLE_VERSION_CHECK": "true"}

_PYDANTIC_AI = ("pydantic-ai-slim[openai]",)
_LANGGRAPH = ("langgraph", "langchain", "langchain-openai")
_OPENAI_AGENTS = ("openai-agents",)
_SMOLAGENTS = ("smolagents[openai]",)
_LLAMA_INDEX = ("llama-index-core", "llama-index-llms-openai-like")
_CREWAI = ("crewai",)
_ADK = ("google-adk",)
_STRANDS = ("strands-agents[openai]",)

RECORDINGS: tuple[Recording, ...] = (
    Recording(
        framework="pydantic-ai",
        instrumentation="builtin",
        packages=_PYDANTIC_AI,
        variants=("standard", *_SHAPES, "subagent"),
    ),
    Recording(
        framework="pydantic-ai",
        instrumentation="openinference",
        packages=(*_PYDANTIC_AI, "openinference-instrumentation-pydantic-ai"),
        variants=("standard", "parallel", "hallucinated", "plain", "subagent"),
    ),
    Recording(
        framework="langgraph",
        instrumentation="openinference",
        packages=(*_LANGGRAPH, "openinference-instrumentation-langchain"),
        variants=("standard", *_SHAPES, "subagent"),
    ),
    Recording(
        framework="langgraph",
        instrumentation="otel-genai",
        packages=(*_LANGGRAPH, "opentelemetry-instrumentation-genai-langchain"),
        variants=("standard", "parallel", "hallucinated", "plain", "subagent"),
        env=_CAPTURE,
    ),
    Recording(
        framework="langgraph",
        instrumentation="traceloop",
        packages=(*_LANGGRAPH, "opentelemetry-instrumentation-langchain"),
        variants=("standard", "parallel", "hallucinated"),
    ),
    Recording(
        framework="langgraph",
        instrumentation="langfuse",
        packages=(*_LANGGRAPH, "langfuse"),
        variants=("standard", "parallel", "hallucinated"),
    ),
    Recording(
        framework="openai-agents",
        instrumentation="openinference",
        packages=(*_OPENAI_AGENTS, "openinference-instrumentation-openai-agents"),
        variants=("standard", *_SHAPES, "handoff", "subagent"),
    ),
    Recording(
        framework="openai-agents",
        instrumentation="traceloop",
        packages=(*_OPENAI_AGENTS, "opentelemetry-instrumentation-openai-agents"),
        variants=("standard", "parallel", "handoff"),
    ),
    Recording(
        framework="openai-agents",
        instrumentation="otel-genai",
        packages=(*_OPENAI_AGENTS, "opentelemetry-instrumentation-genai-openai-agents"),
        variants=("standard", "handoff"),
        env=_CAPTURE,
    ),
    Recording(
        framework="openai-agents",
        instrumentation="otel-genai-with-openai",
        packages=(
            *_OPENAI_AGENTS,
            "opentelemetry-instrumentation-genai-openai-agents",
            "opentelemetry-instrumentation-genai-openai",
        ),
        variants=("standard", "parallel", "handoff"),
        env=_CAPTURE,
    ),
    Recording(
        framework="openai-agents",
        instrumentation="logfire",
        packages=(*_OPENAI_AGENTS, "logfire"),
        variants=("standard", "parallel", "handoff"),
    ),
    Recording(
        framework="smolagents",
        instrumentation="openinference",
        packages=(*_SMOLAGENTS, "openinference-instrumentation-smolagents"),
        variants=("standard", "parallel", "hallucinated"),
    ),
    Recording(
        framework="llama-index",
        instrumentation="openinference",
        packages=(*_LLAMA_INDEX, "openinference-instrumentation-llama-index"),
        variants=("standard", "parallel", "handoff"),
    ),
    Recording(
        framework="llama-index",
        instrumentation="traceloop",
        packages=(*_LLAMA_INDEX, "opentelemetry-instrumentation-llamaindex"),
    ),
    Recording(
        framework="llama-index",
        instrumentation="builtin",
        packages=(*_LLAMA_INDEX, "llama-index-observability-otel"),
    ),
    Recording(
        framework="crewai",
        instrumentation="openinference",
        packages=(*_CREWAI, "openinference-instrumentation-crewai"),
        env=_NO_CREWAI_TELEMETRY,
    ),
    Recording(
        framework="crewai",
        instrumentation="openinference-with-openai",
        packages=(*_CREWAI, "openinference-instrumentation-crewai", "openinference-instrumentation-openai"),
        env=_NO_CREWAI_TELEMETRY,
    ),
    Recording(
        framework="crewai",
        instrumentation="traceloop",
        packages=(*_CREWAI, "opentelemetry-instrumentation-crewai"),
        env=_NO_CREWAI_TELEMETRY,
    ),
    Recording(
        framework="google-adk",
        instrumentation="builtin",
        packages=_ADK,
        variants=("standard", "parallel", "handoff"),
    ),
    Recording(
        framework="google-adk",
        instrumentation="builtin-genai-latest",
        packages=_ADK,
        variants=("standard", "parallel", "handoff"),
        env=_CAPTURE,
    ),
    Recording(
        framework="google-adk",
        instrumentation="builtin-schema1",
        packages=_ADK,
        env={"ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN": "1"},
    ),
    Recording(
        framework="strands",
        instrumentation="builtin",
        packages=_STRANDS,
        variants=("standard", "parallel", "hallucinated"),
    ),
    Recording(
        framework="strands",
        instrumentation="builtin-genai-latest",
        packages=_STRANDS,
        env={"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental,gen_ai_tool_definitions"},
    ),
    Recording(
        framework="strands",
        instrumentation="openinference",
        packages=(*_STRANDS, "openinference-instrumentation-strands-agents"),
    ),
)
