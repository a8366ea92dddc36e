"""DSPy's ReAct: calls and their results out of the texts of its protocol."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions import _dspy, openinference
from spanwise.model.content import Memo, Message, Part
from spanwise.model.raw import Scope
from tests.making import run_of, span, told
from tests.recordings_io import made

SCOPE = "openinference.instrumentation.dspy"


def test_dspy_protocol() -> None:
    """A request for a tool in the text of DSPy's protocol is a call, and no answer even where it names no tool."""
    asked = "[[ ## next_tool_name ## ]]\nsearch\n\n[[ ## next_tool_args ## ]]\n{}\n\n[[ ## completed ## ]]"
    as_json = '{"next_thought": "", "next_tool_name": "search", "next_tool_args": {"q": "{"}}'
    broken = "[[ ## next_tool_name ## ]]\nsearch\n\n[[ ## next_tool_args ## ]]\n{'q'}"
    for text, part in (
        (asked, Part("tool_call", name="search", value={})),
        (as_json, Part("tool_call", name="search", value={"q": "{"})),
        (broken, Part("tool_call", name="search")),
        ("[[ ## next_tool_name ## ]]\nsearch", Part("tool_call", name="search")),
        ("next_tool_name", Part("other", "next_tool_name")),
        ("[[ ## answer ## ]]\n42", Part("text", "[[ ## answer ## ]]\n42")),
    ):
        attributes = {"openinference.span.kind": "LLM", "output.value": json.dumps([text])}
        answered = made(scope=SCOPE, attributes=attributes)
        assert (Message("assistant", (part,)),) == openinference.output(answered, Memo())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[[ ## observation_0 ## ]]\na\n\n[[ ## observation_1 ## ]]\nb\nc\n\nRespond with x",
            Part("tool_result", value="b\nc"),
        ),
        ("[[ ## observation_0 ## ]]\n4", Part("tool_result", value="4")),
        (
            "[[ ## observation_0 ## ]]\nExecution error in a: x\n\n[[ ## more ## ]]\ny",
            Part("tool_result", value="Execution error in a: x", error=True),
        ),
    ],
)
def test_dspy_observations(text: str, expected: Part) -> None:
    """What the last call returned, or why it failed, stands in the text of the next request."""
    asked = Message("user", (Part("text", text),))
    assert (asked, Message("tool", (expected,))) == _dspy.told((asked,))


def test_dspy_without_observations() -> None:
    """A request that holds no trajectory yet tells no result."""
    asked = Message("user", (Part("text", "Q"),))
    assert (asked,) == _dspy.told((asked,))
    assert () == _dspy.told(())


def test_dspy_calls_of_a_run() -> None:
    """A failed tool has the text that the model was told, and tools without spans are known by the requests."""
    question = {"llm.input_messages.0.message.role": "user", "llm.output_messages.0.message.role": "assistant"}
    model = {"openinference.span.kind": "LLM", **question}
    failure = "Execution error in add: no numbers"
    asked = '[[ ## next_tool_name ## ]]\nadd\n\n[[ ## next_tool_args ## ]]\n{"a": "x"}\n\n[[ ## completed ## ]]'
    observed = f"[[ ## observation_0 ## ]]\n{failure}\n\nRespond with the fields"
    contents = (
        {"llm.input_messages.0.message.content": "Q", "llm.output_messages.0.message.content": asked},
        {"llm.input_messages.0.message.content": observed, "llm.output_messages.0.message.content": "A"},
    )
    scope = Scope(SCOPE, "1", {})
    root = span(1, attributes={"openinference.span.kind": "CHAIN"}, scope=scope, end=90)
    calls = [
        span(n, parent=1, attributes={**model, **said}, scope=scope) for n, said in zip((2, 20), contents, strict=True)
    ]
    tool = {"openinference.span.kind": "TOOL", "input.value": '{"kwargs": {"a": "x"}}', "tool.name": "add"}
    failed = span(10, parent=1, attributes=tool, scope=scope, status=2, message="ValueError")
    for spans_ in ((root, *calls), (root, *calls, failed)):
        assert [("add", {"a": "x"}, failure, "error")] == told(run_of(*spans_))


@pytest.mark.parametrize(
    ("returned", "answer"),
    [
        ({"reasoning": "so", "population": 68, "tenth": 6.8}, '{"population":68,"tenth":6.8}'),
        ({"reasoning": "so", "count": 3}, "3"),
        ({"reasoning": "so", "answer": "Paris"}, "Paris"),
        ({"passages": ["a", "b"]}, None),
        ({"reasoning": "so"}, None),
    ],
)
def test_the_outputs_of_a_signature(returned: dict[str, object], answer: str | None) -> None:
    """What a module returned beside its reasoning is the answer, whatever its fields are called."""
    attributes = {"openinference.span.kind": "CHAIN", "output.value": json.dumps(returned)}
    assert answer == openinference.agent(made("Predict.forward", scope=SCOPE, attributes=attributes), Memo()).answer
    assert answer in (None, "Paris") or None is openinference.agent(made(attributes=attributes), Memo()).answer


def test_no_switch_makes_dspy_count() -> None:
    """DSPy's instrumentation never counts tokens: no setting of the client would change that."""
    attributes = {"openinference.span.kind": "LLM", "output.value": '["a"]'}
    run = run_of(span(1, attributes=attributes, scope=Scope(SCOPE, "", {})))
    assert ["No span counts tokens."] == [str(one) for one in run.missing if one.field == "tokens"]
