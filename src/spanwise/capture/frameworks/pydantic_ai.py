"""Pydantic AI: its own instrumentation, of all agents at once, so that sub-agents belong to the run."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import cast

from opentelemetry.sdk.trace import TracerProvider

from spanwise.capture.frameworks._framework import Enabled, Framework
from spanwise.capture.frameworks._holding import held
from spanwise.capture.frameworks._instrumentor import active

NAME = "pydantic-ai"
_NO_CONTENT = f"{NAME}: InstrumentationSettings(include_content=True) records content; it is off."


def _turn_on(target: object, provider: TracerProvider) -> Enabled:
    own = _own_setting(target)
    if own is False:
        told = f"{NAME}: this agent's own setting turns instrumentation off; set `agent.instrument = None`."
        return Enabled(did=(f"{NAME}: left alone",), missing=(told,))
    if own is not None:
        return _left_alone(own, "the agent is instrumented already")
    return held(NAME, provider, lambda: _instrument_all(provider))


def _instrument_all(provider: TracerProvider) -> Enabled:
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings

    other = active(frozenset(("pydantic-ai", "pydantic-ai-slim")))
    if other is not None:
        return Enabled(did=(f"{NAME}: left alone, instrumented already by {type(other).__module__}",))
    before = _default()
    if before:
        return _left_alone(before, "all agents are instrumented already")
    settings = InstrumentationSettings(tracer_provider=provider)
    Agent.instrument_all(settings)

    return Enabled(
        did=(f"{NAME}: instrumented all agents (format {settings.version})",),
        undo=lambda: Agent.instrument_all(instrument=False),
        is_on=lambda: _default() is settings,
    )


def _default() -> object:
    """What `Agent.instrument_all` was last called with; the library keeps it to itself."""
    from pydantic_ai import Agent

    name = "_instrument_default"
    return getattr(Agent, name, False)


def _own_setting(target: object) -> object:
    """The instrumentation that an agent brings: its own setting, its model's, or a capability; None without."""
    if isinstance(target, type | ModuleType):
        return None
    setting: object = getattr(target, "instrument", None)
    if setting is not None and not callable(setting):
        return setting
    of_model: object = getattr(getattr(target, "model", None), "instrumentation_settings", None)
    if of_model is not None:
        return of_model
    return _capability(getattr(target, "_root_capability", None))


def _capability(root: object) -> object:
    pending = [root]
    while pending:
        one = pending.pop()
        if type(one).__module__ == "pydantic_ai.capabilities.instrumentation":
            return getattr(one, "settings", True)
        parts: object = getattr(one, "capabilities", None)
        if isinstance(parts, list | tuple):
            pending.extend(cast("Iterable[object]", parts))
    return None


def _left_alone(settings: object, why: str) -> Enabled:
    missing = () if getattr(settings, "include_content", True) else (_NO_CONTENT,)
    return Enabled(did=(f"{NAME}: left alone, {why}",), missing=missing)


FRAMEWORK = Framework(
    name=NAME,
    title="Pydantic AI",
    modules=("pydantic_ai",),
    marker="pydantic_ai.agent",
    package="pydantic-ai-slim",
    turn_on=_turn_on,
)
