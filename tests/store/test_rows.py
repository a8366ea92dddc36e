"""A result as rows."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from spanwise.catalog import PROFILES, default_evaluators
from spanwise.model.raw import RawEvent
from spanwise.model.score import Evidence, Score
from spanwise.offline import score
from spanwise.report.contract import to_contract
from spanwise.run import evaluate
from spanwise.store import Store, _classic, _rows
from spanwise.store._rows import Shape, run_rows, trace_row
from spanwise.store.failures import RefusedResultsError
from tests.making import agent, chat, tool, trace_of
from tests.store.keeping import NOW_NS, content_of, result_of, results_of

RECORDING = "pydantic-ai__builtin.json"


def test_the_classic_profile_is_that_of_the_catalogue() -> None:
    """What fills the classic table is the profile `classic`, with its evaluators and weights."""
    assert (default_evaluators("classic"), PROFILES["classic"].overall) == (dict(_classic.EVALUATORS), _classic.OVERALL)


def test_the_classic_row_has_the_profiles_values(recordings: object) -> None:
    """Each column of a recording's row is the value of its score, whatever else was asked of the run."""
    (result,) = score(f"{recordings}/{RECORDING}", evaluators={})
    row = run_rows(result, Shape(now_ns=NOW_NS), trace_bytes=0).classic
    profile = PROFILES["classic"]
    told = evaluate(result.run, default_evaluators("classic"), overall=profile.overall)
    values = {one.name: one.value for one in told.scores}
    assert {name: values[of] for name, of in _classic.COLUMNS.items()} == {name: row[name] for name in _classic.COLUMNS}
    assert (1, 1, 1.0) == (row["redundancy_count"], row["error_count"], row["recovery_rate"])
    assert json.loads(str(row["issues"])) == list(dict.fromkeys(line for one in told.scores for line in one.issues))


def test_what_cannot_be_measured_is_null() -> None:
    """A score of the classic profile without a value leaves its column empty, not 0."""
    (result,) = results_of([chat(1, parent=None)])
    row = run_rows(result, Shape(now_ns=NOW_NS), trace_bytes=0).classic
    assert (None, None) == (row["tool_selection_score"], row["retrieval_relevance"])


def test_the_row_of_a_trace_is_told_as_one_run() -> None:
    """A trace with several runs counts the calls of all, from the first start to the last end."""
    trace = trace_of(agent(10), tool(11, parent=10, name="a"), agent(3000), tool(3001, parent=3000, name="b"))
    row = trace_row(trace.runs[0], Shape(now_ns=NOW_NS))
    assert (2, '["a","b"]', 3990 / 1e6) == (row["total_tool_calls"], row["tools_used"], row["total_duration_ms"])


def test_spans_are_kept_with_what_they_carry() -> None:
    """The spans of a trace are kept in order, each with its attributes, events and what it was understood as."""
    spans = json.loads(str(trace_row(result_of(1).run, Shape(now_ns=NOW_NS))["spans"]))
    assert ["agent", "llm", "tool", "tool", "llm"] == [span["kind"] for span in spans]
    assert "search" == spans[2]["attributes"]["gen_ai.tool.name"]
    assert [None, spans[0]["span_id"]] == [span["parent_id"] for span in spans[:2]]


def test_spans_that_take_too_much_room_lose_their_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a bound the spans of a trace are kept without attributes and events."""
    monkeypatch.setattr(_rows, "MAX_SPANS_BYTES", 500)
    spans = json.loads(str(trace_row(result_of(1).run, Shape(now_ns=NOW_NS))["spans"]))
    assert (5, False) == (len(spans), "attributes" in spans[0])


@pytest.mark.parametrize("content", ["evidence", "none"])
def test_content_can_be_left_out(content: str) -> None:
    """Without content nothing that people, models and tools wrote is in any row; with evidence, reasons and quotes."""
    result = result_of(1, question="TELL ME")
    shape = Shape(now_ns=NOW_NS, content=content, document=to_contract)
    rows = run_rows(result, shape, trace_bytes=0)
    whole = repr((rows, trace_row(result.run, shape)))
    reasons = any(row["reason"] for row in rows.scores if row["status"] == "scored")
    quotes = any(row["quote"] for row in rows.findings)
    wanted = content == "evidence"
    assert (False, False, wanted, wanted) == ("TELL ME" in whole, "68 million" in whole, reasons, quotes)
    assert (None, wanted) == (rows.run["contract"], rows.classic["issues"] is not None)


def test_without_content_an_error_keeps_its_type() -> None:
    """The reason of a broken evaluator is cut to the exception's type, that of missing data stays."""
    reasons = [
        _rows._reason(Score(name="a", status=status, reason="KeyError: secret"), "none")
        for status in ("error", "not_measurable", "not_applicable")
    ]
    assert ["KeyError", "KeyError: secret", "KeyError: secret"] == reasons


def test_the_contract_is_kept_without_scores() -> None:
    """The run's JSON is the contract's, but for the scores, which have a table."""
    result = result_of(1)
    row = run_rows(result, Shape(now_ns=NOW_NS, document=to_contract), trace_bytes=0).run
    expected = {key: value for key, value in to_contract(result).items() if key not in _rows._OF_SCORES}
    assert json.loads(json.dumps(expected)) == json.loads(str(row["contract"]))


def shout(text: str) -> str:
    """A mask that shows where it was."""
    return text.replace("sk-12345", "<key>")


def test_a_mask_sees_every_text_that_is_kept(place: str) -> None:
    """With a mask, a secret in a question, an answer, an attribute, an event, a reason or a quote is in no table."""
    secret = "my key is sk-12345"
    result = result_of(1, question=secret)
    for span in result.run.trace.spans:
        raw = span.raw
        raw.attributes = {**raw.attributes, "deep": {"list": [secret, 1]}, "pair": (secret, "b")}
        raw.events = [*raw.events, RawEvent(name="said", time_ns=1, attributes={"text": secret}, body={"of": secret})]
        raw.status_message = secret
    told = Score(
        name="told",
        value=0.0,
        reason=secret,
        evidence=(Evidence(span_id="a", quote=secret),),
        issues=(secret,),
        recommendations=(secret,),
    )
    result = replace(result, scores=(*result.scores, told))
    with Store.open(place, mask=shout) as store:
        store.add([result])
        kept = repr(content_of(store))
    assert (0, True) == (kept.count("sk-12345"), kept.count("<key>") >= 9)


def test_a_mask_that_fails_lets_nothing_through(store: Store, place: str) -> None:
    """A result whose masking fails is refused and counted; nothing of it is written, the others are."""

    def broken(text: str) -> str:
        if "unmaskable" in text:
            raise ValueError("no mask")
        return text

    with Store.open(place, mask=broken) as masked:
        with pytest.raises(RefusedResultsError, match="could not take 1 of 2 results: ValueError: no mask") as caught:
            masked.add([result_of(1), result_of(2, question="unmaskable")])
        assert 1 == caught.value.count
        assert ["1"] == [run.trace_id[-1] for run in masked.recent()]
