"""Pydantic AI as a target: all agents are instrumented, unless somebody has seen to that already."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pydantic_ai
import pytest
from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings, InstrumentedModel
from pydantic_ai.models.test import TestModel

from spanwise.capture.frameworks import pydantic_ai as file
from tests.capture.recorded import Recorded

ENABLE = file.FRAMEWORK.enable
ON = ("pydantic-ai: instrumented all agents (format 5)",)


@pytest.fixture(autouse=True)
def off_afterwards() -> Iterator[None]:
    """No agent is instrumented before or after a test."""
    assert not default()
    yield
    Agent.instrument_all(instrument=False)


def default() -> Any:
    """What all agents are instrumented with."""
    return Agent._instrument_default


def run(agent: Agent[None, str], recorded: Recorded) -> list[str]:
    """The spans of one run."""
    asyncio.run(agent.run("hello"))
    names = [span.name for span in recorded.spans]
    recorded.exporter.clear()
    return names


def test_agents_are_instrumented_until_the_undo() -> None:
    """Sub-agents and agents made before and after are instrumented for the provider; after the undo none is."""
    recorded = Recorded()
    before = Agent(TestModel(), name="before")
    enabled = ENABLE(before, recorded.provider)
    assert (ON, ()) == (enabled.did, enabled.missing)
    for agent in (before, Agent(TestModel(), name="after")):
        assert ["chat test", f"invoke_agent {agent.name}"] == run(agent, recorded)
    enabled.undo()
    assert [] == run(before, recorded)


def test_targets_share_it() -> None:
    """An agent and the module are one instrumentation, which ends with the last of them."""
    recorded = Recorded()
    agent = Agent(TestModel(), name="a")
    first, second = ENABLE(agent, recorded.provider), ENABLE(pydantic_ai, recorded.provider)
    assert (ON, ON) == (first.did, second.did)
    first.undo()
    assert 2 == len(run(agent, recorded))
    second.undo()
    assert [] == run(agent, recorded)


def test_another_provider_is_told_so() -> None:
    """While all agents are instrumented for one provider, another one is told that it gets nothing."""
    first = ENABLE(Agent, TracerProvider())
    second = ENABLE(Agent, TracerProvider())
    told = "pydantic-ai: on for another tracer provider, to which its spans go; turn that off first."
    assert (told,) == second.missing
    first.undo()
    assert ON == ENABLE(Agent, TracerProvider()).did


def test_what_the_app_turned_on_stays() -> None:
    """`instrument_all` of the app's, or of Logfire's, is left alone, by the undo too; hidden content is said."""
    recorded = Recorded()
    settings = InstrumentationSettings(tracer_provider=recorded.provider, include_content=False)
    Agent.instrument_all(settings)
    enabled = ENABLE(Agent, TracerProvider())
    assert ("pydantic-ai: left alone, all agents are instrumented already",) == enabled.did
    told = "pydantic-ai: InstrumentationSettings(include_content=True) records content; it is off."
    assert (told,) == enabled.missing
    enabled.undo()
    assert settings is default()


def test_what_the_app_turned_on_since_stays() -> None:
    """The undo does not undo what somebody else has set in between."""
    enabled = ENABLE(Agent, TracerProvider())
    settings = InstrumentationSettings()
    Agent.instrument_all(settings)
    enabled.undo()
    assert settings is default()


@pytest.mark.parametrize("how", ["setting", "model", "capability"])
def test_an_agent_that_brings_its_own_is_left_alone(how: str) -> None:
    """An agent that is instrumented by its setting, its model or a capability is not instrumented again."""
    settings = InstrumentationSettings(include_content=how != "capability")
    agent = Agent(TestModel())
    if how == "setting":
        agent.instrument = settings
    elif how == "model":
        agent = Agent(InstrumentedModel(TestModel(), settings))
    else:
        agent = Agent(TestModel(), capabilities=[Instrumentation(settings=settings)])
    enabled = ENABLE(agent, TracerProvider())
    assert ("pydantic-ai: left alone, the agent is instrumented already",) == enabled.did
    assert int(how == "capability") == len(enabled.missing)
    assert not default()


def test_an_agent_that_is_switched_off_stays_so() -> None:
    """An agent whose own setting is off is left alone, and the way to turn it on is said."""
    agent = Agent(TestModel())
    agent.instrument = False
    enabled = ENABLE(agent, TracerProvider())
    assert ("pydantic-ai: this agent's own setting turns instrumentation off; set `agent.instrument = None`.",) == (
        enabled.missing
    )
    assert not default()


def test_settings_that_do_not_work_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release whose settings take other arguments costs the spans, not the app."""

    def settings(**options: object) -> None:
        raise TypeError("unexpected argument")

    monkeypatch.setattr("pydantic_ai.models.instrumented.InstrumentationSettings", settings)
    enabled = ENABLE(Agent, TracerProvider())
    assert ("Pydantic AI could not be instrumented (TypeError: unexpected argument).",) == enabled.missing
