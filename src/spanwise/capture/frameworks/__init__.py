"""The agent frameworks that `spanwise.instrument` knows: one file each, one line in this table."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider

from spanwise.capture.frameworks import (
    crewai,
    google_adk,
    langchain,
    llama_index,
    openai_agents,
    pydantic_ai,
    smolagents,
    strands,
)
from spanwise.capture.frameworks._framework import Enabled, Framework, module_names

__all__ = ["FRAMEWORKS", "Enabled", "Framework", "enable_imported", "framework_of", "imported", "present"]

FRAMEWORKS: tuple[Framework, ...] = (
    pydantic_ai.FRAMEWORK,
    openai_agents.FRAMEWORK,
    langchain.FRAMEWORK,
    llama_index.FRAMEWORK,
    smolagents.FRAMEWORK,
    crewai.FRAMEWORK,
    google_adk.FRAMEWORK,
    strands.FRAMEWORK,
)


def framework_of(target: object) -> Framework | None:
    """The framework that a target (an object, a class, a module, a function) is of, or is built on; imports nothing."""
    found = (framework for name in module_names(target) for framework in FRAMEWORKS if framework.owns(name))
    return next(found, None)


def imported() -> list[Framework]:
    """The frameworks that the app has imported."""
    return [framework for framework in FRAMEWORKS if framework.imported()]


def present() -> list[Framework]:
    """The frameworks that the app has imported or could import."""
    return [framework for framework in FRAMEWORKS if framework.imported() or framework.installed()]


def enable_imported(provider: TracerProvider) -> Enabled:
    """What the app has imported is instrumented, together undone; for `instrument()` without a target."""
    each = [framework.enable(None, provider) for framework in imported()]

    def undo() -> None:
        for enabled in reversed(each):
            enabled.undo()

    return Enabled(
        did=tuple(line for enabled in each for line in enabled.did),
        missing=tuple(line for enabled in each for line in enabled.missing),
        undo=undo,
    )
