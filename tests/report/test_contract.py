"""The JSON contract of a scored run."""

from __future__ import annotations

import json

import pytest
from dirty_equals import IsStr
from inline_snapshot import snapshot

from spanwise.catalog import default_evaluators
from spanwise.model.result import RunResult
from spanwise.model.score import Evidence, Score, not_measurable
from spanwise.report.contract import reason_of, to_contract
from spanwise.report.encode import to_line
from spanwise.run import evaluate
from tests.making import agent, asks, chat, returns, run_of, says, tool, user

RUN = run_of(
    agent(1),
    chat(
        2,
        parent=1,
        sent=[user("the question")],
        got=[asks(("c1", "search", {"q": "x"}))],
        model="scripted",
        tokens=(10, 2),
    ),
    tool(3, parent=1, arguments={"q": "x"}, result=[1, 2], call_id="c1"),
    tool(4, parent=1, arguments={"q": "x"}, failed=True),
    chat(
        5,
        parent=1,
        sent=[user("the question"), returns(("c1", [1, 2]))],
        got=[says("the answer")],
        model="scripted",
        tokens=(20, 3),
    ),
)
RESULT = RunResult(
    run=RUN,
    source="a.json",
    scores=(
        Score(
            name="redundancy",
            value=0.5,
            label="alert",
            reason="1 of 2 repeats",
            evidence=(Evidence(span_id="04", quote="quoted"),),
            issues=("search again",),
            recommendations=("cache it",),
            evaluator="redundancy",
        ),
        not_measurable("cost", "no tokens"),
        Score(name="odd", status="error", reason="KeyError: 'secret words'"),
    ),
)


def test_the_contract_is_what_it_says() -> None:
    """One run is this object, key for key."""
    assert json.loads(to_line(to_contract(RESULT))) == snapshot(
        {
            "schema": "spanwise.score/1",
            "trace_id": "11111111111111111111111111111111",
            "run_id": "0000000000000001",
            "source": "a.json",
            "completeness": {"complete": True, "reasons": []},
            "query": "the question",
            "answer": "the answer",
            "agents": ["helper"],
            "tool_calls": [
                {
                    "name": "search",
                    "arguments": {"q": "x"},
                    "result": [1, 2],
                    "status": "ok",
                    "span_id": "0000000000000003",
                    "call_id": "c1",
                    "origin": "span",
                    "control": False,
                    "start_ns": 3,
                    "error": None,
                },
                {
                    "name": "search",
                    "arguments": {"q": "x"},
                    "result": None,
                    "status": "error",
                    "span_id": "0000000000000004",
                    "call_id": None,
                    "origin": "span",
                    "control": False,
                    "start_ns": 4,
                    "error": {"type": "", "message": "it broke"},
                },
            ],
            "llm_calls": 2,
            "tokens": {
                "input": 30,
                "output": 5,
                "cache_read": None,
                "cache_write": None,
                "reasoning": None,
            },
            "cost_usd": None,
            "cost_estimated": False,
            "duration_ms": 0.001,
            "retrievals": [],
            "handoffs": [],
            "session_id": None,
            "user_id": None,
            "missing": [],
            "repairs": [],
            "scores": [
                {
                    "name": "redundancy",
                    "value": 0.5,
                    "unit": None,
                    "label": "alert",
                    "status": "scored",
                    "reason": "1 of 2 repeats",
                    "evidence": [{"span_id": "04", "quote": "quoted"}],
                    "issues": ["search again"],
                    "recommendations": ["cache it"],
                    "evaluator": "redundancy",
                    "version": "1",
                    "config_hash": "",
                    "revision": 1,
                    "id": "3070262e03ba25d8d8cf309279d5cb9c",
                },
                {
                    "name": "cost",
                    "value": None,
                    "unit": None,
                    "label": None,
                    "status": "not_measurable",
                    "reason": "no tokens",
                    "evidence": [],
                    "issues": [],
                    "recommendations": [],
                    "evaluator": "",
                    "version": "1",
                    "config_hash": "",
                    "revision": 1,
                    "id": "1ad992df2df86c41e9ef2e074a97f391",
                },
                {
                    "name": "odd",
                    "value": None,
                    "unit": None,
                    "label": None,
                    "status": "error",
                    "reason": "KeyError: 'secret words'",
                    "evidence": [],
                    "issues": [],
                    "recommendations": [],
                    "evaluator": "",
                    "version": "1",
                    "config_hash": "",
                    "revision": 1,
                    "id": "ff952daa02a82eedb645d2311104ea70",
                },
            ],
            "issues": ["search again"],
            "recommendations": ["cache it"],
        }
    )


def test_without_content_nothing_that_was_written_is_left() -> None:
    """With content off, the keys of content are null, and ids, names and numbers stay."""
    document = to_contract(RESULT, content=False)
    text = to_line(document)
    assert [] == [
        word for word in ("the question", "the answer", "quoted", "again", "cache it", "secret", '"x"') if word in text
    ]
    assert {"query": None, "answer": None, "issues": None, "recommendations": None} == {
        key: document[key] for key in ("query", "answer", "issues", "recommendations")
    }
    assert to_contract(RESULT).keys() == document.keys()


def test_with_evidence_only_what_scores_say_is_left() -> None:
    """At level evidence reasons, quotes, issues and recommendations stay, and nothing else that was written."""
    document = to_contract(RESULT, content="evidence")
    whole = to_contract(RESULT, content="all")
    assert [True] * 3 == [document[key] == whole[key] for key in ("scores", "issues", "recommendations")]
    text = to_line({key: value for key, value in document.items() if key not in {"scores", "issues"}})
    assert [] == [word for word in ("the question", "the answer", '"x"', "it broke") if word in text]
    assert to_contract(RESULT, content="none") == to_contract(RESULT, content=False)
    assert whole == to_contract(RESULT, content=True)


def test_secrets_are_masked() -> None:
    """A mask is over all that people, models and tools wrote, and over no id, name or number."""

    def upper(text: str) -> str:
        return text.upper()

    document = to_contract(RESULT, mask=upper)
    assert ("THE QUESTION", "THE ANSWER", {"Q": "X"}, [1, 2], "IT BROKE") == (
        document["query"],
        document["answer"],
        document["tool_calls"][0]["arguments"],
        document["tool_calls"][0]["result"],
        document["tool_calls"][1]["error"]["message"],
    )
    score = document["scores"][0]
    assert ("1 OF 2 REPEATS", [{"span_id": "04", "quote": "QUOTED"}], ["SEARCH AGAIN"], "redundancy") == (
        score["reason"],
        score["evidence"],
        score["issues"],
        score["name"],
    )
    assert ("a.json", ["helper"], "search") == (
        document["source"],
        document["agents"],
        document["tool_calls"][0]["name"],
    )


def test_the_type_of_a_query_is_told() -> None:
    """Where a rule names the query's type it stands behind the query, content or not; else there is no such key."""
    typed = RunResult(run=RUN, scores=(), query_type="news")
    for content in (True, False):
        document = to_contract(typed, content=content)
        assert ("news", list(to_contract(RESULT))) == (
            document["query_type"],
            [key for key in document if key != "query_type"],
        )


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (RESULT.scores[0], None),
        (RESULT.scores[1], "no tokens"),
        (RESULT.scores[2], "KeyError"),
    ],
)
def test_reasons_without_content(score: Score, reason: str | None) -> None:
    """Without content a reason stays only where it says which data, or which exception, stood in the way."""
    assert reason == reason_of(score, content=False)


def test_ids_are_the_same_for_the_same_question() -> None:
    """A score's id follows from the trace, the run and the name alone, whatever the value."""
    one, two = (to_contract(RunResult(run=RUN, scores=(Score(name="x", value=value),))) for value in (0.1, 0.9))
    ids = [document["scores"][0]["id"] for document in (one, two)]
    assert [IsStr(regex="[0-9a-f]{32}"), ids[0]] == ids


def test_every_built_in_fits_the_contract() -> None:
    """The scores of all built-ins become contract objects with all keys."""
    document = to_contract(evaluate(RUN, default_evaluators()))
    keys = set(to_contract(RESULT)["scores"][0])
    assert {frozenset(keys)} == {frozenset(score) for score in json.loads(to_line(document))["scores"]}
