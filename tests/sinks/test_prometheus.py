"""Scores as Prometheus reads them."""

from __future__ import annotations

import re
import subprocess
import threading
from dataclasses import replace

import pytest
from msgspec import structs

from spanwise.catalog import PROFILES, default_evaluators
from spanwise.model.raw import RawSpan
from spanwise.model.result import RunResult
from spanwise.model.score import Evidence, Score
from spanwise.run import evaluate
from spanwise.sinks.prometheus import CONTENT_TYPE, PrometheusSink
from tests.making import agent, chat, run_of, says, tool, trace_id, user
from tests.servers import promtool

SERIES = re.compile(r'^([a-z_]+)\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\} (\S+)$')


def result_of(number: int, *, name: str = "helper", calls: int = 2, revision: int = 1) -> RunResult:
    """A run that repeats a call, after one that failed and was tried again."""
    spans: list[RawSpan] = [agent(1, name=name, **{"operation.cost": 0.5})]
    spans += [
        tool(10 * at, parent=1, arguments={"q": "a"}, result="r", start=10 * at, end=10 * at + 5)
        for at in range(1, calls + 1)
    ]
    spans += [tool(500, parent=1, name="fetch", arguments={"u": 1}, result="no", failed=True)]
    spans += [tool(600, parent=1, name="fetch", arguments={"u": 1}, result="yes")]
    spans += [chat(700, parent=1, sent=[user("How many?")], got=[says("68.")], tokens=(900, 40))]
    for span in spans:
        span.trace_id = trace_id(number)
    return evaluate(run_of(*spans), default_evaluators(), overall=PROFILES["default"].overall, revision=revision)


def series(sink: PrometheusSink) -> dict[tuple[str, ...], float]:
    """What the text says: the value of each series by its name and its labels' values."""
    found = {}
    for line in sink.text().splitlines():
        if not line.startswith("#"):
            read = SERIES.match(line)
            assert read is not None, line
            values = re.findall(r'="((?:[^"\\]|\\.)*)"', read[2])
            found[(read[1].removeprefix("spanwise_"), *values)] = float(read[3])
    return found


def test_what_is_counted_for_a_run() -> None:
    """A run gives its scores as histograms and by status and label, its findings, calls, failures, tokens, duration."""
    sink = PrometheusSink()
    result = result_of(1)
    sink.emit([result])
    told = series(sink)
    for score in result.scores:
        assert 1 == told["scores_total", score.name, "helper", score.status, score.label]
        assert len(score.evidence) == told["findings_total", score.name, "helper"]
        if score.value is not None and not score.unit:
            assert (score.value, 1) == (
                pytest.approx(told["score_sum", score.name, "helper"]),
                told["score_count", score.name, "helper"],
            )
    assert {
        ("runs_total", "helper"): 1,
        ("tool_calls_total", "helper", "ok"): 3,
        ("tool_calls_total", "helper", "failed"): 1,
        ("comparable_tool_calls_total", "helper"): 4,
        ("redundant_tool_calls_total", "helper"): 1,
        ("failures_total", "helper"): 1,
        ("recovered_failures_total", "helper"): 1,
        ("tokens_total", "helper", "input"): 900,
        ("tokens_total", "helper", "output"): 40,
    }.items() <= told.items()
    assert 1 == told["run_duration_seconds_count", "helper"]
    assert 1 == told["score_amount_count", "latency_ms", "helper", "ms"]


def test_buckets_are_cumulative() -> None:
    """A bucket counts what lies at or below its bound, the last one everything."""
    sink = PrometheusSink()
    score = next(one for one in result_of(1).scores if one.name == "redundancy")
    for number, value in enumerate((0.0, 0.1, 0.15, 1.0)):
        sink.emit([replace(result_of(number), scores=(structs.replace(score, value=value),))])
    told = series(sink)
    counts = [told["score_bucket", "redundancy", "helper", le] for le in ("0.1", "0.2", "0.9", "1", "+Inf")]
    assert [2, 3, 3, 4, 4] == counts


def test_what_could_not_be_measured_is_never_a_value() -> None:
    """A score without a value is counted by its status, and is in no histogram."""
    sink = PrometheusSink()
    statuses = ("not_applicable", "not_measurable", "error")
    scores = tuple(Score(name=status, status=status, reason="no") for status in statuses)
    sink.emit([replace(result_of(1), scores=scores)])
    told = series(sink)
    assert [1, 1, 1] == [told["scores_total", status, "helper", status, ""] for status in statuses]
    assert not any(key[0].startswith("score_") for key in told)


def test_values_that_are_no_numbers_are_no_values() -> None:
    """An infinite amount is counted as a score and is in no histogram: its sum would stay infinite."""
    sink = PrometheusSink()
    sink.emit([replace(result_of(1), scores=(Score(name="far", value=float("inf"), unit="km"),))])
    assert 1 == series(sink)["scores_total", "far", "helper", "scored", ""]
    assert "Inf" not in sink.text().partition("run_duration")[0]


def test_a_run_counts_once() -> None:
    """Later revisions, and results that come again, change nothing; new scores of a known run do."""
    sink = PrometheusSink()
    sink.emit([result_of(1)])
    before = sink.text()
    sink.emit([result_of(1), result_of(1, revision=2), result_of(2, revision=3)])
    assert before == sink.text()
    sink.emit([replace(result_of(1), scores=(Score(name="mine", value=0.5),))])
    assert (1, 1) == (series(sink)["runs_total", "helper"], series(sink)["score_count", "mine", "helper"])


def test_series_are_bounded() -> None:
    """Past the bounds further agents, scores, labels and units share the series of `other`."""
    sink = PrometheusSink(agents=2, names=3, labels=2)
    for number in range(1, 40):
        scores = (Score(name=f"s{number}", value=1.0, label=f"l{number}", unit=f"u{number}"),)
        sink.emit([replace(result_of(number, name=f"a{number}"), scores=scores)])
    told = series(sink)
    assert {"a1", "a2", "other"} == {key[1] for key in told if key[0] == "runs_total"}
    assert 37 == told["runs_total", "other"]
    assert {"s1", "s2", "s3", "other"} == {key[1] for key in told if key[0] == "scores_total"}
    assert {"l1", "l2", "other"} == {key[4] for key in told if key[0] == "scores_total"}
    assert len(told) < 300


def test_names_are_escaped() -> None:
    """Quotes, backslashes, line ends and broken characters in a name leave the text readable."""
    sink = PrometheusSink(lambda: {'a"b\\c\nd': 3, "queue": 0})
    sink.emit([result_of(1, name='x"\\\n\ud800' + "y" * 500)])
    told = series(sink)
    assert (3, 0) == (told["refused_total", 'a\\"b\\\\c\\nd'], told["refused_total", "queue"])
    assert 130 > max(len(key[1]) for key in told if key[0] == "runs_total")
    sink.text().encode()


def test_no_content_is_in_the_text() -> None:
    """Reasons, quotes, issues, arguments and answers are in no series, and ids neither."""
    sink = PrometheusSink()
    secret = Score(
        name="told", value=0.5, reason="s3cret", evidence=(Evidence(span_id="a", quote="s3cret"),), issues=("s3cret",)
    )
    result = result_of(1)
    sink.emit([replace(result, scores=(*result.scores, secret))])
    text = sink.text()
    assert [] == [word for word in ("s3cret", "How many", "68.", result.run.trace.trace_id) if word in text]
    assert ("none", True) == (sink.emits, sink.inline)


def test_it_can_be_read_while_it_is_written() -> None:
    """Threads that count and threads that read agree in the end, and every text read between is whole."""
    sink = PrometheusSink()
    results = [result_of(number) for number in range(1, 201)]
    texts: list[str] = []
    threads = [
        threading.Thread(target=lambda part=results[at::4]: [sink.emit([one]) for one in part]) for at in range(4)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        texts.append(sink.text())
    for thread in threads:
        thread.join(30)
    sink.close()
    assert 200 == series(sink)["runs_total", "helper"]
    for text in texts[-20:]:
        counts = re.findall(r'^spanwise_score_(?:bucket\{.*le="\+Inf"\}|count\{.*\}) (\d+)$', text, re.MULTILINE)
        assert counts[0::2] == counts[1::2]


def test_promtool_finds_nothing_wrong() -> None:
    """What Prometheus' own checker says of the text: nothing, neither of its form nor of the names."""
    sink = PrometheusSink(lambda: {"queue": 1})
    sink.emit([result_of(1), result_of(2, name='odd "name"\n')])
    done = subprocess.run(
        [str(promtool()), "check", "metrics"], input=sink.text().encode(), capture_output=True, check=False, timeout=30
    )
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert CONTENT_TYPE.startswith("text/plain; version=0.0.4")


def test_nothing_counted_is_no_text() -> None:
    """Before the first run there is nothing to scrape, which is no error."""
    assert "" == PrometheusSink().text()
