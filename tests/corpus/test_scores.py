"""The default suite on the recordings: the same bytes for every order of arrival, no number from nothing, in time."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from spanwise.assembly.tree import build_trace
from spanwise.catalog import PROFILES, default_evaluators
from spanwise.model.raw import LogEvent, RawSpan, Scope
from spanwise.model.trace import Run
from spanwise.report.contract import to_contract
from spanwise.run import evaluate
from spanwise.sources import read
from tests.corpus.facts import NAMES, RECORDINGS, expected, has_logs, runs_of

EVALUATORS = default_evaluators()
OVERALL = PROFILES["default"].overall
CALLS = 10_000
LIMIT_S = 1.0


def records(name: str) -> list[RawSpan | LogEvent]:
    """The spans and log events of a recording."""
    paths = [RECORDINGS / f"{name}.json", *([RECORDINGS / f"{name}.logs.json"] if has_logs(name) else [])]
    return [record for path in paths for record in read(path)]


def scored(given: Sequence[RawSpan | LogEvent]) -> list[str]:
    """The scores of each run of some records, as text."""
    spans: dict[object, list[RawSpan]] = {}
    events: list[LogEvent] = []
    for record in given:
        if isinstance(record, RawSpan):
            spans.setdefault(record.trace_id, []).append(record)
        else:
            events.append(record)
    traces = [
        build_trace(held[0].trace_id, held, events=[one for one in events if one.trace_id == held[0].trace_id])
        for held in spans.values()
    ]
    results = [evaluate(run, EVALUATORS, overall=OVERALL) for trace in traces for run in trace.runs]
    return sorted(json.dumps(to_contract(result)) for result in results)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_arrival_changes_no_byte(name: str) -> None:
    """Forwards, backwards or shuffled, a recording gives the same text, and no evaluator breaks on it."""
    found = records(name)
    first = scored(found)
    assert [] == [score for text in first for score in json.loads(text)["scores"] if score["status"] == "error"]
    shuffled = list(found)
    random.Random(5).shuffle(shuffled)
    assert (first, first) == (scored(found[::-1]), scored(shuffled))


def working(facts: Mapping[str, object]) -> list[Mapping[str, object]]:
    """The calls of a run that ran, as they were written down, without those that only steer it."""
    calls = cast("list[Mapping[str, object]]", facts["tool_calls"])
    return [call for call in calls if not call["control"] and call["status"] != "not_run"]


def redundancy(facts: Mapping[str, object]) -> float | None:
    """What the calls that were written down say of repeats; None where they do not tell. None of them is an effect."""
    calls = working(facts)
    if not calls or any(call["arguments"] is None for call in calls):
        return None
    earlier: dict[str, list[Mapping[str, object]]] = {}
    repeats = exempt = 0
    for call in calls:
        same = earlier.setdefault(json.dumps([call["name"], call["arguments"]], sort_keys=True), [])
        done = [one for one in same if one["status"] in {"ok", "unknown"}]
        if done:
            before, after = done[-1]["result"], call["result"]
            is_news = before is not None and after is not None and before != after
            repeats += not is_news
            exempt += is_news
        elif same:
            exempt += 1
        same.append(call)
    return 1 - repeats / (len(calls) - exempt)


def recovery(facts: Mapping[str, object]) -> float | None:
    """What they say of failures, none of which stands beside another call of its tool; None where they do not tell."""
    calls = working(facts)
    open_: dict[object, str] = {}
    ended: list[bool] = []
    for call in calls:
        if call["status"] in {"error", "retry"}:
            open_[call["name"]] = "failed"
        elif call["status"] == "unknown" and call["name"] in open_:
            return None
        elif open_.pop(call["name"], None):
            ended.append(True)
    ended += [False] * len(open_)
    return sum(ended) / len(ended) if ended else None


@pytest.mark.parametrize("name", NAMES)
def test_scores_follow_from_the_facts(name: str) -> None:
    """Repeats and recoveries are those of the calls that were written down, and no recorded call breaks its schema."""
    for facts, run in zip(expected(name, logs=True), runs_of(name, logs=True), strict=True):
        scores = {score.name: score for score in evaluate(run, EVALUATORS).scores}
        assert (redundancy(facts), recovery(facts)) == (
            pytest.approx(scores["redundancy"].value),
            pytest.approx(scores["recovery"].value),
        )
        assert () == scores["tool_arguments"].issues


def test_nothing_seen_is_nothing_scored() -> None:
    """A trace of which no span is understood has no score at all, and says why."""
    http = RawSpan(
        "a" * 32, "b" * 16, None, "GET /", 1, 2_000_000, 0, "", {"http.method": "GET"}, (), Scope("web", "1", {})
    )
    (run,) = build_trace("a" * 32, [http]).runs
    scores = evaluate(run, EVALUATORS, overall=OVERALL).scores
    assert {"latency_ms"} >= {score.name for score in scores if score.status == "scored"}
    assert all(score.reason for score in scores)


def long_run(kind: str) -> Run:
    """A run of very many calls of one shape."""
    scope = Scope("tests", "1", {})
    begun = 1_760_000_000_000_000_000
    root = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    spans = [RawSpan("a" * 32, "0" * 16, None, "run", begun, begun + (CALLS + 1) * 1_000_000, 0, "", root, (), scope)]
    for at in range(1, CALLS + 1):
        start = begun + at * 1_000_000
        failed = kind == "failing" and at % 2 == 1
        query = {"distinct": f"question {at}", "alternating": "ab"[at % 2]}.get(kind, "same")
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.tool.call.id": f"call_{at}",
            "gen_ai.tool.call.arguments": json.dumps({"query": query}),
            "gen_ai.tool.call.result": json.dumps({"found": f"row {at * 7919}"}),
        }
        status, message = (2, "connection timeout") if failed else (0, "")
        spans.append(
            RawSpan(
                "a" * 32, f"{at:016x}", "0" * 16, "call", start, start + 900_000, status, message, attributes, (), scope
            )
        )
    (run,) = build_trace("a" * 32, spans).runs
    return run


@pytest.mark.once
@pytest.mark.timed
@pytest.mark.parametrize("kind", ["distinct", "same", "alternating", "failing"])
def test_ten_thousand_calls_take_less_than_a_second(kind: str) -> None:
    """The whole suite, reading the calls included, on one trace; the better of two tries, for machines are shared."""
    taken: list[float] = []
    for _ in range(2):
        run = long_run(kind)
        begun = time.process_time()
        evaluate(run, EVALUATORS, overall=OVERALL)
        taken.append(time.process_time() - begun)
    assert LIMIT_S > min(taken)
