"""Weave's spans of the OpenAI Agents SDK."""

from __future__ import annotations

from hypothesis import given

from spanwise import conventions
from spanwise.assembly.tree import build_trace
from spanwise.conventions import weave
from spanwise.model.calls import Handoff
from spanwise.model.content import ContextFields, Memo, ToolDefinition
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

RECORDING = "openai-agents__weave__handoff"
OWN = "weave.openai_agents."
KEYS = (
    "gen_ai.operation.name",
    "gen_ai.conversation.id",
    f"{OWN}trace_id",
    f"{OWN}task.workflow_name",
    f"{OWN}handoff.to_agent",
    f"{OWN}agent.tools",
)


def one(**attributes: object) -> RawSpan:
    """A span with attributes of Weave's own; a dot is written as two underscores."""
    return made(scope="weave.openai_agents", attributes={k.replace("__", "."): v for k, v in attributes.items()})


def test_agents_that_hand_off_are_one_run() -> None:
    """The workflow around two agents has no operation, and is the run nevertheless."""
    (run,) = build_trace("t", recorded(RECORDING)).runs
    assert ["triage_agent", "research_agent"] == [agent.name for agent in run.agents]
    assert [Handoff(source="triage_agent", target="research_agent")] == [
        Handoff(source=found.source, target=found.target) for found in run.handoffs
    ]


def test_kinds() -> None:
    """The operation says what a span is, else what its own attributes are about."""
    assert ["agent", "workflow", "handoff", "guardrail", "other"] == [
        conventions.classify(found)[1]
        for found in (
            one(gen_ai__operation__name="invoke_agent"),
            one(**{f"{OWN}turn.agent_name": "a"}),
            one(**{f"{OWN}handoff.to_agent": "b"}),
            one(**{f"{OWN}guardrail.name": "polite"}),
            one(**{f"{OWN}mcp.server": "files"}),
        )
    ]


def test_sessions() -> None:
    """A conversation that only has the trace's own id is no session."""
    group = one(gen_ai__conversation__id="chat-7", **{f"{OWN}trace_id": "trace_1"})
    alone = one(gen_ai__conversation__id="trace_1", **{f"{OWN}trace_id": "trace_1"})
    assert [ContextFields("chat-7"), ContextFields()] == [conventions.context(x, Memo()) for x in (group, alone)]


def test_tools_offered() -> None:
    """An agent names its tools; a hand-off without a target passes nothing."""
    agent = one(gen_ai__operation__name="invoke_agent", **{f"{OWN}agent.tools": ["a", "b"]})
    index, _ = conventions.classify(agent)
    assert (ToolDefinition("a"), ToolDefinition("b")) == conventions.definitions(agent, Memo(), index)
    assert None is conventions.handoff(one(**{f"{OWN}handoff.to_agent": ""}), Memo())


@given(spans(weave.CONVENTION, keys=KEYS))
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every field can be read."""
    assert read_all(weave.CONVENTION, span)
