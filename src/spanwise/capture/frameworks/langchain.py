"""LangChain and LangGraph: one instrumentation for both, at LangChain's callbacks."""

from __future__ import annotations

import os
import sys

from spanwise.capture.frameworks._framework import Framework
from spanwise.capture.frameworks._instrumentor import Plan, openinference, openllmetry, otel_genai
from spanwise.capture.frameworks._remains import unwrap

_HOOKS = ("before_model", "after_model", "before_agent", "after_agent")
_WRAPPED = (
    ("langchain_core.callbacks", "BaseCallbackManager.__init__"),
    ("langgraph.pregel", "Pregel.stream"),
    ("langgraph.pregel", "Pregel.astream"),
    ("langgraph.types", "Command.__init__"),
    ("langgraph.prebuilt.chat_agent_executor", "create_react_agent"),
    ("langgraph.prebuilt", "create_react_agent"),
    ("langchain.agents.factory", "create_agent"),
    ("langchain.agents", "create_agent"),
    *(("langchain.agents.middleware.types", f"AgentMiddleware.{kind}{hook}") for kind in ("", "a") for hook in _HOOKS),
    *(
        (f"{package}.llms.{module}", f"BaseOpenAI.{name}")
        for package, module in (("langchain_community", "openai"), ("langchain_openai", "base"))
        for name in ("_generate", "_agenerate", "_stream", "_astream")
    ),
    ("langchain_openai.chat_models.base", "BaseChatOpenAI._generate"),
    ("langchain_openai.chat_models.base", "BaseChatOpenAI._agenerate"),
)


def _in_charge() -> str:
    """Langfuse's handler is passed with each call, LangSmith's tracer is switched on by variables."""
    if sys.modules.get("langfuse.langchain") is not None:
        return "Langfuse's CallbackHandler"
    if _is_set("OTEL_ENABLED") and (_is_set("TRACING") or _is_set("TRACING_V2")):
        return "LangSmith's OpenTelemetry export"
    return ""


def _is_set(name: str) -> bool:
    return any(os.environ.get(f"{prefix}_{name}", "").lower() in {"true", "1"} for prefix in ("LANGSMITH", "LANGCHAIN"))


_PLAN = Plan(
    name="langchain",
    instruments=frozenset(("langchain", "langchain-core", "langgraph")),
    choices=(
        openinference("langchain", "LangChainInstrumentor"),
        openllmetry(
            "langchain",
            "LangchainInstrumentor",
            clean=lambda: unwrap("opentelemetry.instrumentation.langchain", _WRAPPED),
        ),
        otel_genai("langchain", "LangChainInstrumentor"),
    ),
    in_charge=_in_charge,
)

FRAMEWORK = Framework(
    name="langchain",
    title="LangChain",
    modules=("langchain", "langchain_core", "langchain_classic", "langchain_community", "langgraph"),
    marker="langchain_core",
    package="langchain-core",
    turn_on=_PLAN.enable,
)
