"""LangChain's steps, told by what they are called under every instrumentation of it."""

from __future__ import annotations

import pytest

from spanwise.conventions import _langchain
from tests.recordings_io import made


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("PydanticToolsParser", "given"),
        ("JsonOutputKeyToolsParser", "given"),
        ("AnthropicToolsOutputParser", "given"),
        ("GoogleGenerativeAIToolsOutputParser", "given"),
        ("execute_task PydanticToolsParser", "given"),
        ("PydanticToolsParser.task", "given"),
        ("JsonOutputToolsParser", None),
        ("ToolsAgentOutputParser", None),
    ],
)
def test_parsers_of_structured_outputs(name: str, expected: str | None) -> None:
    """What a parser was given that takes calls as an output; parsers whose calls are then run are none."""
    assert expected == _langchain.parsed(made(name, attributes={"input.value": "given"}))


@pytest.mark.parametrize(("prompt", "expected"), [("Context: a\nQuestion: Why?", "Why?"), ("Because.", None)])
def test_the_question_in_a_prompt(prompt: str, expected: str | None) -> None:
    """A template's variable that holds the question, if the prompt was filled with it."""
    span = made("chat", attributes={"gen_ai.prompt.variable.question": "Why?"})
    assert expected == _langchain.asked_in(span, prompt)


@pytest.mark.parametrize(
    ("response", "expected"), [({"n": 1}, '{"n":1}'), ("text", "text"), (None, None), (object(), None)]
)
def test_structured_responses(response: object, expected: str | None) -> None:
    """The typed answer in an agent's state as JSON; one that is no value is none."""
    assert expected == _langchain.structured_response({"structured_response": response})
