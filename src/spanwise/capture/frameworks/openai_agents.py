"""The OpenAI Agents SDK: instrumented beside the SDK's own trace export, which stays as the app has it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

from opentelemetry.sdk.trace import TracerProvider

from spanwise.capture.frameworks._framework import Enabled, Framework
from spanwise.capture.frameworks._instrumentor import (
    CAPTURE_CONTENT,
    Choice,
    Plan,
    openinference,
    openllmetry,
    otel_genai,
)
from spanwise.capture.frameworks._remains import from_module

NAME = "openai-agents"
_SENSITIVE = "OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA"
_OFF = {"0", "false", "no", "off"}


def _provider() -> object:
    """The SDK's own trace provider, which every instrumentation hooks into."""
    get: Callable[[], object] | None = getattr(sys.modules.get("agents.tracing"), "get_trace_provider", None)
    return get() if get else None


def _logfire() -> str:
    return "Logfire" if type(_provider()).__module__.startswith("logfire.") else ""


def _processors() -> tuple[object, ...]:
    many: object = getattr(_provider(), "_multi_processor", None)
    return tuple(getattr(many, "_processors", ()))


def _take_out_openllmetry() -> None:
    registered = _processors()
    kept = [one for one in registered if not from_module(one, "opentelemetry.instrumentation.openai_agents")]
    if len(kept) < len(registered):
        replace_all: Callable[[list[object]], None] = import_module("agents").set_trace_processors
        replace_all(kept)


def _v2_content() -> str:
    off = os.environ.get(CAPTURE_CONTENT, "").strip().lower() in {"no_content", "none", *_OFF}
    return f"unset {CAPTURE_CONTENT} to record content." if off else ""


_OPENAI = otel_genai("openai", "OpenAIInstrumentor")
_PLAN = Plan(
    name=NAME,
    instruments=frozenset(("openai-agents",)),
    choices=(
        openinference("openai_agents", "OpenAIAgentsInstrumentor", exclusive_processor=False),
        openllmetry("openai_agents", "OpenAIAgentsInstrumentor", clean=_take_out_openllmetry),
        otel_genai(
            "openai_agents",
            "OpenAIAgentsInstrumentor",
            beside=((_OPENAI, "openai", "model calls, the question and the answer are not recorded"),),
        ),
        Choice(
            package="opentelemetry-instrumentation-openai-agents-v2",
            path="opentelemetry.instrumentation.openai_agents:OpenAIAgentsInstrumentor",
            content=_v2_content,
        ),
    ),
    in_charge=_logfire,
)


def _turn_on(target: object, provider: TracerProvider) -> Enabled:
    enabled = _PLAN.enable(target, provider)
    missing = list(enabled.missing)
    if getattr(_provider(), "_disabled", False):
        missing.append(f"{NAME}: set_tracing_disabled(False), or its runs leave no spans.")
    if os.environ.get(_SENSITIVE, "true").strip().lower() in _OFF:
        missing.append(f"{NAME}: unset {_SENSITIVE} to record content.")
    return replace(enabled, missing=tuple(missing))


FRAMEWORK = Framework(
    name=NAME,
    title="the OpenAI Agents SDK",
    modules=("agents",),
    marker="agents.function_schema",
    package="openai-agents",
    turn_on=_turn_on,
)
