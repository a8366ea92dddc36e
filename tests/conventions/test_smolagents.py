"""What smolagents tells its models, and tools of its that were interrupted."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions import openinference
from spanwise.conventions._smolagents import SCOPE, task_in
from spanwise.model.content import Memo, Message, Part
from tests.making import run_of
from tests.recordings_io import made

TASK = "New task:\nHow many?"
PLAN = (
    "Below I will present you a task.\nNow begin! Here is your task:\n```\nHow many?\nAnd then?\n```\nFirst in part 1"
)
KIND = "openinference.span.kind"


def said(*texts: str) -> tuple[Message, ...]:
    """Messages of the user."""
    return tuple(Message("user", (Part("text", text),)) for text in texts)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((TASK,), "How many?"),
        ((TASK, "Now proceed and carry out this plan."), "How many?"),
        (("New task:\nWho?", TASK), "How many?"),
        ((PLAN,), "How many?\nAnd then?"),
        (("How many?",), None),
        ((), None),
    ],
)
def test_the_task_of_an_agent(texts: tuple[str, ...], expected: str | None) -> None:
    """It stands in a message of its own, else in the prompt that asks for a plan."""
    assert expected == task_in(made(scope=SCOPE), said(*texts))
    assert task_in(made(), said(*texts)) is None


def test_arguments_that_are_a_mapping() -> None:
    """A model that gives arguments as a mapping has them in the recorded response only, and asks for one call."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": {"a": 1}, "description": None}}
    attributes = {
        KIND: "LLM",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "add",
        "output.value": json.dumps({"role": "assistant", "content": None, "tool_calls": [call]}),
    }
    span = made("OpenAIModel.generate", scope=SCOPE, attributes=attributes)
    (asked,) = openinference.requests(span, Memo()) or ()
    assert ("c1", "add", {"a": 1}) == (asked.id, asked.name, asked.value)


@pytest.mark.parametrize(
    ("status", "more", "expected"), [(0, {}, "unknown"), (1, {}, "ok"), (0, {"output.value": "3"}, "ok")]
)
def test_a_tool_that_was_interrupted(status: int, more: dict[str, str], expected: str) -> None:
    """It neither returned nor raised an error: nobody knows what it did."""
    attributes = {KIND: "TOOL", "tool.name": "add", "input.value": '{"args": [], "kwargs": {"a": 1}}', **more}
    (call,) = run_of(made("SimpleTool", scope=SCOPE, attributes=attributes, status=status)).tool_calls
    assert expected == call.status
