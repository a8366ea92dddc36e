"""CrewAI: crews and tools are instrumented; model calls only where their client is, too."""

from __future__ import annotations

from dataclasses import replace

from spanwise.capture.frameworks._framework import Framework
from spanwise.capture.frameworks._instrumentor import Plan, openinference, openllmetry

_CREWS = openinference("crewai", "CrewAIInstrumentor")
_OPENAI = openinference("openai", "OpenAIInstrumentor")
_PLAN = Plan(
    name="crewai",
    instruments=frozenset(("crewai",)),
    choices=(
        replace(_CREWS, beside=((_OPENAI, "openai", "calls of OpenAI's models, tokens and cost are not recorded"),)),
        openllmetry("crewai", "CrewAIInstrumentor"),
    ),
)

FRAMEWORK = Framework(
    name="crewai",
    title="CrewAI",
    modules=("crewai",),
    marker="crewai.crew",
    package="crewai",
    turn_on=_PLAN.enable,
)
