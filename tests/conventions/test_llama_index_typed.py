"""LlamaIndex's typed answers (`output_cls`), which a model gives by a tool of the type's name."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions import llama_index, traceloop
from spanwise.conventions._openinference_tools import outcome
from spanwise.model.content import Memo
from spanwise.model.raw import RawEvent, RawSpan, Scope
from tests.making import run_of, span
from tests.recordings_io import made

CITY = {"name": "Paris", "population": 2100000}
RETURNED = {
    "blocks": [{"block_type": "text", "text": "name='Paris' population=2100000"}],
    "tool_name": "City",
    "raw_input": {"args": [], "kwargs": CITY},
    "raw_output": CITY,
    "is_error": False,
}
PRINTED = (
    "StopEvent(result=AgentOutput(response=ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, "
    "additional_kwargs={}, blocks=[TextBlock(block_type='text', text='It is 7.')]), structured_response={'nam..."
)
OPENINFERENCE = Scope("openinference.instrumentation.llama_index", "", {})
OPENLLMETRY = Scope("opentelemetry.instrumentation.llamaindex", "", {})
OWN = Scope(llama_index.SCOPE, "", {})


def by_openinference() -> list[RawSpan]:
    """The run's span, and the call that gave the typed answer."""
    agent = {"openinference.span.kind": "CHAIN", "output.value": PRINTED}
    tool = {
        "openinference.span.kind": "TOOL",
        "tool.name": "City",
        "input.value": json.dumps({"kwargs": CITY}),
        "output.value": json.dumps(RETURNED),
    }
    return [
        span(1, name="FunctionAgent.run", attributes=agent, end=100, scope=OPENINFERENCE),
        span(5, parent=1, name="FunctionTool.acall", attributes=tool, status=1, scope=OPENINFERENCE),
    ]


def by_openllmetry() -> list[RawSpan]:
    """The same."""
    response = {"role": "assistant", "blocks": [{"block_type": "text", "text": "It is 7."}]}
    ended = {"result": {"response": response, "structured_response": CITY, "current_agent_name": "helper"}}
    agent = {"traceloop.span.kind": "workflow", "traceloop.entity.output": json.dumps(ended)}
    tool = {
        "traceloop.span.kind": "task",
        "traceloop.entity.input": json.dumps({"kwargs": CITY}),
        "traceloop.entity.output": json.dumps(RETURNED),
    }
    return [
        span(1, name="FunctionAgent.workflow", attributes=agent, end=100, scope=OPENLLMETRY),
        span(5, parent=1, name="FunctionTool.task", attributes=tool, scope=OPENLLMETRY),
    ]


def by_itself() -> list[RawSpan]:
    """The same, where the call has no span that tells it."""
    asked = {"tool_call_id": "c1", "tool_name": "City", "tool_kwargs": json.dumps(CITY), "block_type": "tool_call"}
    answered = RawEvent("LLMChatEndEvent", 30, {"response.message.blocks": json.dumps([asked])})
    begun = RawEvent("LLMStructuredPredictStartEvent", 11, {"output_cls": "\"<class '__main__.City'>\""})
    ended = RawEvent("workflow.output", 99, {"output": PRINTED})
    return [
        span(1, name="FunctionAgent.run", end=100, scope=OWN, events=[ended]),
        span(10, parent=1, name="OpenAI.astructured_predict", end=60, scope=OWN, events=[begun]),
        span(20, parent=10, name="OpenAI.achat", end=40, scope=OWN, events=[answered]),
    ]


@pytest.mark.parametrize("spans", [by_openinference(), by_openllmetry(), by_itself()])
def test_a_typed_answer(spans: list[RawSpan]) -> None:
    """It is the run's answer, and the call that gave it did no work of a tool."""
    run = run_of(*spans)
    (call,) = run.tool_calls
    assert ("City", CITY, CITY, "ok", True) == (call.name, call.arguments, call.result, call.status, call.control)
    assert json.dumps(CITY, separators=(",", ":")) == run.answer


def test_what_is_no_typed_answer() -> None:
    """A tool that returns something else, or a text, gave no output; no class was named."""
    for raw in ({"n": 1}, "name='Paris'", None):
        assert not outcome(json.dumps({**RETURNED, "raw_output": raw}), Memo()).control
    assert llama_index.typed_as(made("OpenAI.astructured_predict", scope=llama_index.SCOPE)) is None
    assert llama_index.typed_as(made("OpenAI.achat", scope=llama_index.SCOPE)) is None


def test_an_answer_that_a_function_typed() -> None:
    """Where the app's own function made the type, no tool was called: the run's output has it, else the text is."""
    agent = traceloop.agent(by_openllmetry()[0], Memo())
    assert json.dumps(CITY, separators=(",", ":")) == agent.answer
    assert "It is 7." == run_of(by_openinference()[0]).answer
