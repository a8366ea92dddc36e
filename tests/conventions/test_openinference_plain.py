"""What is plain about OpenInference's spans of tools and models."""

from __future__ import annotations

import pytest

from spanwise.conventions import _openinference_plain as plain
from spanwise.conventions import openinference
from spanwise.model.content import Memo
from spanwise.model.raw import Scope
from tests.making import SCOPE, span


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ("42 degrees", "42 degrees"),
        ('{"a": 1}', {"a": 1}),
        ("null", "null"),
        ('{"content": "said", "type": "tool"}', "said"),
        ('{"content": "said", "tool_call_id": "c1"}', None),
        ('{"content": "no", "type": "tool", "status": "error"}', None),
        ("[<a.B object at 0x7f>]", None),
        ("Tool not found", None),
        ("Error: tool 'x' not found", None),
    ],
)
def test_results_out_of_their_envelopes(recorded: str, expected: object) -> None:
    """A result that says nothing but itself is plain; one that names its call, or a failure, is not."""
    assert plain.TOOLS.result is not None
    assert expected == plain.TOOLS.result(recorded, Memo())


@pytest.mark.parametrize(
    ("result", "expected"),
    [("Tool not found", True), ("Error: tool 'x' not found", True), ("Error: tool 'y' not found", False), (7, False)],
)
def test_tools_that_were_not_found(result: object, *, expected: bool) -> None:
    """Only what a framework says of the very tool tells that there is none."""
    assert expected == plain.not_found("x", result)


def test_plain_spans_are_read_as_all_are() -> None:
    """The fields of plain spans tell what the readers of any span tell."""
    fields = {"tool.name": "x", "input.value": "{}", "output.value": "found", "tool.id": 7}
    said = openinference.tool(span(1, attributes=fields), Memo())
    assert ("x", "{}", "found", "7") == (said.name, said.arguments, said.result, said.call_id)
    assert SCOPE.name not in plain.TOOLS.scopes | plain.MODELS.scopes | plain.ANSWERS.scopes


@pytest.mark.parametrize(
    ("provider", "answer", "read"),
    [
        ("google_genai", "AIMessage", (46, 33, 15, 3)),
        ("google_genai", "AIMessageChunk", (46, 33, None, 3)),
        ("openai", "AIMessageChunk", (46, 30, 15, None)),
    ],
)
def test_gemini_under_langchain_in_javascript(provider: str, answer: str, read: tuple[int | None, ...]) -> None:
    """Thoughts are in the total only, and a stream's pieces repeat what came from a cache."""
    used = {"prompt": 46, "completion": 30, "total": 79, "prompt_details.cache_read": 15}
    told = {"metadata": f'{{"ls_provider":"{provider}"}}', "output.value": f'{{"id":["{answer}"]}}'}
    counted = {f"llm.token_count.{key}": number for key, number in used.items()}
    scope = Scope("@arizeai/openinference-instrumentation-langchain", "", {})
    said = openinference.llm(span(1, attributes={**told, **counted}, scope=scope), Memo())
    assert read == (said.input_tokens, said.output_tokens, said.cache_read_tokens, said.reasoning_tokens)
