"""The agent frameworks and model clients that are known, what instruments each, and what makes it record content.

A table of data: names are those of distributions in a package registry, in normal form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

_GENAI_MODES = ("true", "1", "span_only", "span_and_event", "event_only")


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """An environment variable that decides whether prompts, arguments and results are recorded.

    `default` says what holds while it is not set; `on` are the values, in lower case, that turn recording on.
    """

    variable: str
    default: Literal["on", "off"]
    on: tuple[str, ...]
    setting: str
    """What to do to have content recorded."""

    def records(self, value: str | None) -> bool:
        """Whether content is recorded while the variable has this value (None: not set)."""
        return self.default == "on" if not value else value.strip().lower() in self.on


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A framework or client, the packages that instrument it (the recommended first), and what it can do by itself."""

    title: str
    distributions: tuple[str, ...]
    built_in: str = ""
    """How its own spans are turned on; empty where it has none."""
    instrumentations: tuple[str, ...] = ()
    switch: str = ""
    """The name of the switch of its own spans."""
    content: str = ""
    """Whether its own spans hold content, where no variable decides it."""
    client: bool = False
    """A model client: an agent framework's instrumentation may cover it already."""


SWITCHES: Mapping[str, Switch] = {
    "genai": Switch(
        variable="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
        default="off",
        on=_GENAI_MODES,
        setting="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY ('true' for older instrumentations)",
    ),
    "google-adk": Switch(
        variable="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
        default="off",
        on=_GENAI_MODES,
        setting="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT",
    ),
    "traceloop": Switch(
        variable="TRACELOOP_TRACE_CONTENT",
        default="on",
        on=("true",),
        setting="TRACELOOP_TRACE_CONTENT=true, or not set",
    ),
    "agent-framework": Switch(
        variable="ENABLE_SENSITIVE_DATA",
        default="off",
        on=("true", "1", "yes", "on"),
        setting="ENABLE_SENSITIVE_DATA=true",
    ),
    "openinference-inputs": Switch(
        variable="OPENINFERENCE_HIDE_INPUTS",
        default="on",
        on=("false", "0"),
        setting="OPENINFERENCE_HIDE_INPUTS not set",
    ),
    "openinference-outputs": Switch(
        variable="OPENINFERENCE_HIDE_OUTPUTS",
        default="on",
        on=("false", "0"),
        setting="OPENINFERENCE_HIDE_OUTPUTS not set",
    ),
}


def switches_of(instrumentation: str) -> tuple[str, ...]:
    """The switches that an instrumentation package obeys, by its name."""
    if instrumentation.startswith("openinference-"):
        return ("openinference-inputs", "openinference-outputs")
    if instrumentation.startswith("opentelemetry-instrumentation-"):
        official = instrumentation.startswith("opentelemetry-instrumentation-genai-") or instrumentation in _OFFICIAL
        return ("genai",) if official else ("traceloop",)
    return ()


_OFFICIAL = frozenset({"opentelemetry-instrumentation-openai-v2", "opentelemetry-instrumentation-google-genai"})

FRAMEWORKS: tuple[Framework, ...] = (
    Framework(
        title="Pydantic AI",
        distributions=("pydantic-ai", "pydantic-ai-slim"),
        built_in="Agent.instrument_all()",
        content="recorded, unless InstrumentationSettings(include_content=False)",
        instrumentations=("openinference-instrumentation-pydantic-ai",),
    ),
    Framework(
        title="LangChain and LangGraph",
        distributions=("langchain", "langchain-core", "langgraph"),
        instrumentations=(
            "openinference-instrumentation-langchain",
            "opentelemetry-instrumentation-genai-langchain",
            "opentelemetry-instrumentation-langchain",
            "langfuse",
        ),
    ),
    Framework(
        title="OpenAI Agents",
        distributions=("openai-agents",),
        instrumentations=(
            "openinference-instrumentation-openai-agents",
            "opentelemetry-instrumentation-genai-openai-agents",
            "opentelemetry-instrumentation-openai-agents",
            "logfire",
        ),
    ),
    Framework(
        title="smolagents",
        distributions=("smolagents",),
        instrumentations=("openinference-instrumentation-smolagents",),
    ),
    Framework(
        title="LlamaIndex",
        distributions=("llama-index", "llama-index-core"),
        instrumentations=(
            "openinference-instrumentation-llama-index",
            "llama-index-observability-otel",
            "opentelemetry-instrumentation-llamaindex",
        ),
    ),
    Framework(
        title="CrewAI",
        distributions=("crewai",),
        instrumentations=("openinference-instrumentation-crewai", "opentelemetry-instrumentation-crewai"),
    ),
    Framework(
        title="Google ADK",
        distributions=("google-adk",),
        built_in="set a tracer provider before the agent runs",
        instrumentations=("openinference-instrumentation-google-adk",),
        switch="google-adk",
    ),
    Framework(
        title="Strands Agents",
        distributions=("strands-agents",),
        built_in="set a tracer provider before the agent runs",
        content="recorded, unless gen_ai_unredacted_attributes is in OTEL_SEMCONV_STABILITY_OPT_IN",
        instrumentations=("openinference-instrumentation-strands-agents",),
    ),
    Framework(
        title="Microsoft Agent Framework",
        distributions=("agent-framework", "agent-framework-core"),
        built_in="set a tracer provider before the agent runs",
        instrumentations=("openinference-instrumentation-agent-framework",),
        switch="agent-framework",
    ),
    Framework(
        title="AutoGen",
        distributions=("autogen-agentchat", "autogen-core"),
        built_in="set a tracer provider before the agent runs",
        content="never recorded; add the instrumentation",
        instrumentations=("openinference-instrumentation-autogen-agentchat",),
    ),
    Framework(
        title="Agno",
        distributions=("agno",),
        instrumentations=("openinference-instrumentation-agno", "opentelemetry-instrumentation-agno"),
    ),
    Framework(title="DSPy", distributions=("dspy",), instrumentations=("openinference-instrumentation-dspy",)),
    Framework(
        title="Haystack",
        distributions=("haystack-ai",),
        instrumentations=("openinference-instrumentation-haystack", "opentelemetry-instrumentation-haystack"),
    ),
    Framework(
        title="MCP",
        distributions=("fastmcp", "mcp"),
        built_in="set a tracer provider",
        content="never recorded; instrument the agent that calls the server",
        instrumentations=("openinference-instrumentation-mcp",),
        client=True,
    ),
    Framework(
        title="OpenAI client",
        distributions=("openai",),
        instrumentations=(
            "openinference-instrumentation-openai",
            "opentelemetry-instrumentation-genai-openai",
            "opentelemetry-instrumentation-openai-v2",
            "opentelemetry-instrumentation-openai",
        ),
        client=True,
    ),
    Framework(
        title="Anthropic client",
        distributions=("anthropic",),
        instrumentations=(
            "openinference-instrumentation-anthropic",
            "opentelemetry-instrumentation-genai-anthropic",
            "opentelemetry-instrumentation-anthropic",
        ),
        client=True,
    ),
    Framework(
        title="Google GenAI client",
        distributions=("google-genai",),
        instrumentations=("openinference-instrumentation-google-genai", "opentelemetry-instrumentation-google-genai"),
        client=True,
    ),
    Framework(
        title="LiteLLM",
        distributions=("litellm",),
        instrumentations=("openinference-instrumentation-litellm",),
        client=True,
    ),
)
