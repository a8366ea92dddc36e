"""The evidence of a run."""

from __future__ import annotations

import json

import pytest

from spanwise.grounding.answers import judge
from spanwise.grounding.pool import KINDS, Piece, Pool, pool_of, result_text
from spanwise.model.calls import ToolCall
from spanwise.model.content import Memo
from spanwise.model.span import SpanError
from tests.evaluators.conformance import run_of_case
from tests.making import agent, chat, run_of, says, span, span_id, tool, user


def test_each_text_once() -> None:
    """A text that was seen again counts from when it was first seen; empty ones do not count."""
    pool = Pool(
        [Piece("b", "tool", "2", 9), Piece("a", "tool", "1", 5), Piece("b", "tool", "3", 3), Piece(" ", "tool")]
    )
    assert [("b", "3"), ("a", "1")] == [(piece.text, piece.span_id) for piece in pool.pieces]
    assert (2, 2.0) == (pool.size, pool.repeats)
    assert (0, 0.0) == (Pool().size, Pool().repeats)


def test_evidence_after_the_claim() -> None:
    """A claim may only rest on what was seen before it."""
    pool = Pool([Piece("The hall is old.", "tool", "1", 5), Piece("The hall holds 900 people.", "tool", "2", 50)])
    early, late = (judge("The hall holds 900 people.", one).claims[0].verdict for one in (pool.before(20), pool))
    assert ("unsupported", "supported") == (early, late)


def test_all_kinds() -> None:
    """Results, documents, the question, and what else the first model call was given are evidence, by kind."""
    run = run_of_case(
        {
            "query": "How old is it?",
            "answer": "Old.",
            "steps": [
                {"llm": "m", "sent": [
                    {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
                    user("How old is it?"), says("Let me see."), user("Hurry."),
                    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "result": "earlier"}]},
                    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "d", "result": {"a": 1}}]},
                    {"role": "tool", "parts": [{"type": "uri", "uri": "x"}]},
                ]},
                {"tool": "look", "result": "1889"},
                {"tool": "fail", "status": "error", "message": "no such tower"},
                {"retrieval": "tower", "documents": [{"id": "d1", "content": "text one"}, {"content": "text two"},
                                                     {"id": "d3", "content": "[REDACTED]"}, {"id": "d4"}]},
                {"retrieval": "tower"},
            ],
        }
    )  # fmt: skip
    pieces = [(piece.kind, piece.text) for piece in pool_of(run).pieces]
    assert ("query", "How old is it?") == pieces[0]
    assert {
        ("query", "How old is it?"),
        ("context", "Be brief."),
        ("context", "Hurry."),
        ("tool", "earlier"),
        ("tool", "1889"),
        ("tool", "no such tower"),
        ("document", "text one"),
        ("document", "d1 d3 d4"),
        ("document", "text two"),
    } <= set(pieces)
    assert not any("REDACTED" in text or "Let me see" in text for _, text in pieces)
    for kind in KINDS:
        assert {kind} == {piece.kind for piece in pool_of(run, {kind}).pieces}


def test_removed_content_is_no_evidence() -> None:
    """What was removed on purpose is not evidence."""
    asked = json.dumps([user("[REDACTED]")])
    sent = [user("[REDACTED]"), {"role": "system", "parts": [{"type": "text", "content": "__REDACTED__"}]}]
    run = run_of(agent(1, **{"gen_ai.input.messages": asked}), chat(2, parent=1, sent=sent))
    assert () == pool_of(run).pieces


def test_a_relayed_answer_is_no_evidence() -> None:
    """What a sub-agent answered counts only where its own tools are not seen."""
    inner = tool(4, parent=3, name="search", result="324 metres")
    spans = [agent(1), tool(2, parent=1, name="ask", result="342 metres"), agent(3, parent=2, name="expert")]
    assert ["342 metres"] == [piece.text for piece in pool_of(run_of(*spans)).pieces]
    assert ["324 metres"] == [piece.text for piece in pool_of(run_of(*spans, inner)).pieces]
    nested = tool(5, parent=2, name="helper", result="7 metres")
    assert {"342 metres", "7 metres"} == {piece.text for piece in pool_of(run_of(*spans, nested)).pieces}


@pytest.mark.parametrize(
    ("recorded", "text"),
    [
        ("plain", "plain"),
        ('"quoted\\ntext"', "quoted\ntext"),
        ('{"a": "b\\nc"}', '{"a": "b\\nc"}'),
        ('{"a": "\\u00e9"}', '{"a":"é"}'),
        ({"a": 1}, '{"a":1}'),
        ([1, 2], "[1,2]"),
        ("C:\\dir", "C:\\dir"),
        ("[REDACTED]", ""),
        (None, ""),
    ],
)
def test_results_as_text(recorded: object, text: str) -> None:
    """A result is its text; data is JSON with its signs as they are."""
    assert text == result_text(ToolCall("t", raw_result=recorded, memo=Memo()))


def test_what_is_no_json_is_shown() -> None:
    """A value that JSON cannot hold is its own text; a failure says how it failed."""
    assert "{1, 2}" == result_text(ToolCall("t", raw_result={1, 2})) or "[1,2]"
    assert "object" in result_text(ToolCall("t", raw_result=object()))
    assert "broke" == result_text(ToolCall("t", error=SpanError(message="broke")))


def test_a_call_without_a_span() -> None:
    """A call known from messages only is evidence without a span."""
    asked = [says("x")]
    asked[0]["parts"] = [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]
    answered = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "1889"}]}
    run = run_of(
        agent(1), chat(2, parent=1, got=asked), chat(40, parent=1, sent=[user("q"), *asked, answered], got=[says("y")])
    )
    assert ("tool", "1889", "") in [(piece.kind, piece.text, piece.span_id) for piece in pool_of(run).pieces]


def test_no_run_span() -> None:
    """A trace without an agent is a run, too."""
    run = run_of(span(1, name="GET /"), tool(2, parent=1, name="look", result="1889"))
    assert [("1889", span_id(2))] == [(piece.text, piece.span_id) for piece in pool_of(run).pieces]


@pytest.mark.parametrize(
    ("recorded", "given", "heading"),
    [
        (420, {"warehouse": "north", "limit": 5, "day": "2026-11-19"}, "free spaces, warehouse: north = "),
        ("18.5 degrees", {"city": "Oslo"}, "free spaces, city: Oslo = "),
        ("$1,250", "Oslo", "free spaces, Oslo = "),
        ("420", None, "free spaces = "),
        ("There are 420.", {"warehouse": "north"}, ""),
        ('{"spaces": 420}', {"warehouse": "north"}, ""),
        ("2026-11-19", {"warehouse": "north"}, ""),
    ],
)
def test_bare_numbers_bear_the_words_of_their_call(recorded: object, given: object, heading: str) -> None:
    """A number alone is about what its call asked in words; numbers among the arguments are no evidence."""
    run = run_of(agent(1), tool(2, parent=1, name="free_spaces", arguments=given, result=recorded))
    (piece,) = [piece for piece in pool_of(run).pieces if piece.kind == "tool"]
    assert heading == piece.heading


def test_failures_bear_no_heading() -> None:
    """A failure that is a bare number, such as a status, says nothing about what was asked."""
    run = run_of(agent(1), tool(2, parent=1, name="free_spaces", arguments={"at": "north"}, result="404", failed=True))
    assert [""] == [piece.heading for piece in pool_of(run).pieces if piece.kind == "tool"]
