"""What a run did, one record each."""

from __future__ import annotations

import pytest

from spanwise.model.calls import Completeness, LLMCall, Missing, Tokens, ToolCall, canonical_of
from spanwise.model.content import LLMFields, Memo


def test_a_call_decodes_what_it_was_given() -> None:
    """Arguments and results are values, decoded when they are read if there is a memo."""
    call = ToolCall("x", raw_arguments='{"a": 1}', raw_result="[2]", memo=Memo())
    assert ({"a": 1}, [2]) == (call.arguments, call.result)
    bare = ToolCall("x", raw_arguments={"a": 1}, raw_result=[2])
    assert ({"a": 1}, [2]) == (bare.arguments, bare.result)
    assert canonical_of(call) == canonical_of(bare)


def test_states_of_a_calls_content() -> None:
    """Arguments and results say whether they are whole."""
    call = ToolCall("x", raw_arguments='{"a": 1}', raw_result='{"b": ', memo=Memo())
    assert ("present", "truncated") == (call.arguments_state, call.result_state)
    assert ("absent", "absent") == ((none := ToolCall("x")).arguments_state, none.result_state)
    assert "redacted" == ToolCall("x", raw_arguments="[REDACTED]", memo=Memo()).arguments_state


def test_a_call_without_a_span() -> None:
    """A call known from messages has no span id and took no time."""
    call = ToolCall("x", origin="message", start_ns=5, end_ns=5)
    assert ("", 0, False) == (call.span_id, call.duration_ns, call.failed)
    assert 0 == ToolCall("x", start_ns=5, end_ns=3).duration_ns


@pytest.mark.parametrize(
    ("status", "failed"), [("ok", False), ("error", True), ("retry", True), ("not_run", False), ("unknown", False)]
)
def test_failed_calls(status: str, failed: bool) -> None:
    """An error and a request to try again are failures; what did not run did not fail."""
    assert failed == ToolCall("x", status).failed


def test_a_model_call() -> None:
    """A model call tells model, provider and tokens as its spans do."""
    call = LLMCall(LLMFields("m", "p", 1, 2, 3, 4, 5), span_key=b"\x01" * 8)
    assert ("m", "p", Tokens(1, 2, 3, 4, 5), "01" * 8) == (call.model, call.provider, call.tokens, call.span_id)


def test_a_model_call_that_came_to_nothing() -> None:
    """A failed call that counts no tokens and has no cost; what failed half-way, or answered, is none."""
    refused = LLMCall(LLMFields("m"), failed=True)
    cut = LLMCall(LLMFields("m", input_tokens=3), failed=True)
    assert [True, False, False, False] == [
        call.came_to_nothing
        for call in (refused, cut, LLMCall(LLMFields("m"), cost_usd=0.5, failed=True), LLMCall(LLMFields("m")))
    ]


def test_what_is_missing_reads_as_a_sentence() -> None:
    """Why and switch make one text, also where no switch is known."""
    assert ["Why. Do.", "Why."] == [
        str(Missing(field="f", why="Why.", switch="Do.")),
        str(Missing(field="f", why="Why.")),
    ]


def test_complete_unless_told() -> None:
    """A trace of which nothing is missing has no reasons."""
    assert (True, ()) == ((whole := Completeness()).complete, whole.reasons)
