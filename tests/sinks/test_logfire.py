"""Scores as annotations in Logfire, whichever of the two was set up first."""

from __future__ import annotations

import json
import operator
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise.catalog import default_evaluators
from spanwise.errors import SinkError
from spanwise.run import evaluate
from spanwise.sinks.logfire import LogfireSink
from tests.making import agent, run_of, tool

BEGIN = """
import json, sys, time
import logfire, spanwise
from logfire.testing import TestExporter
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from spanwise.sinks.logfire import LogfireSink
from tests.sinks.langfuse_making import a_result, a_score
from spanwise.model.score import not_measurable
exporter = TestExporter()

def configure():
    processors = [SimpleSpanProcessor(exporter)]
    logfire.configure(
        send_to_logfire=False, console=False, additional_span_processors=processors, inspect_arguments=False
    )

def annotations():
    spans = exporter.exported_spans_as_dict()
    return [span for span in spans if span["attributes"].get("logfire.span_type") == "annotation"]
"""
APP = """
got = []
sink = LogfireSink()
if sys.argv[1] == "configured first":
    configure()
handle = spanwise.instrument(sinks=[sink, got.append])
if sys.argv[1] == "instrumented first":
    configure()
agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look",
        "gen_ai.tool.call.arguments": '{"a": 1}', "gen_ai.tool.call.result": "the password is xyzzy"}
with logfire.span("invoke_agent helper", **agent):
    for _ in range(2):
        with logfire.span("execute_tool look", **tool):
            pass
for _ in range(3):
    handle.flush(5)
    time.sleep(0.05)
found = {result.run.trace.trace_id: len(result.run.tool_calls) for result in got}
(root,) = [span for span in exporter.exported_spans_as_dict() if span["name"] == "invoke_agent helper"]
print(json.dumps({"annotations": annotations(), "runs": found, "sent": sink.sent, "root": root["context"],
                  "exported": json.dumps(exporter.exported_spans_as_dict())}))
"""


@pytest.fixture(autouse=True)
def _needs_logfire(require: Callable[[str], str]) -> None:
    require("logfire")


def ran(code: str, *arguments: str) -> Any:
    """What a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code, *arguments], capture_output=True, text=True, check=False, timeout=100
    )
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("order", ["configured first", "instrumented first"])
def test_either_order(order: str) -> None:
    """Runs are scored and annotated once, on their own span, whether Logfire was configured before or after."""
    found = ran(APP, order)
    assert [2] == list(found["runs"].values())
    told = {one["attributes"]["logfire.feedback.name"]: one for one in found["annotations"]}
    assert len(told) == len(found["annotations"]) == found["sent"]
    assert {"overall", "redundancy", "latency", "tool_selection.status"} <= set(told)
    assert {found["root"]["span_id"]} == {one["parent"]["span_id"] for one in told.values()}
    assert {found["root"]["trace_id"]} == {one["context"]["trace_id"] for one in told.values()}
    held = told["redundancy"]["attributes"]
    assert (0.5, "alert", 1) == (held["redundancy"], held["spanwise.score.label"], held["spanwise.score.revision"])
    assert "not_applicable" == told["tool_selection.status"]["attributes"]["tool_selection.status"]
    assert not any("logfire.feedback.comment" in one["attributes"] for one in told.values())
    assert "xyzzy" not in found["exported"]


def test_the_same_as_at_every_other_sink(recordings: Path) -> None:
    """Annotations of recorded runs carry the names, values, labels, statuses and ids that every other sink carries."""
    code = """
configure()
from pathlib import Path
from tests.sinks.outlets import expected
from tests.sinks.test_parity import results

FIELDS = ("id", "status", "label", "unit", "evaluator", "version", "revision")
given = results(Path(sys.argv[1]))
sink = LogfireSink(scores="all")
for one in given:
    sink.emit([one])

def row(held):
    name = held["logfire.feedback.name"].removesuffix(".status")
    told = {field: held.get("spanwise.score." + field, "") for field in FIELDS}
    return {**told, "run_id": held["spanwise.run.id"], "name": name, "value": held.get(name)}

rows = [row(span["attributes"]) for span in annotations()]
print(json.dumps([rows, [{field: one[field] for field in rows[0]} for one in expected(given)]]))
"""
    found, wanted = ran(code, str(recordings))
    key = operator.itemgetter("id")
    assert sorted(wanted, key=key) == sorted(found, key=key)
    assert 30 < len(found)


def test_values() -> None:
    """Numbers are scores, booleans assertions, statuses labels of another name; reasons that may leave are comments."""
    code = """
configure()
sink = LogfireSink(scores="all")
scores = [a_score("number", 0.25, reason="because"), a_score("yes", 1.0, unit="bool"), not_measurable("lost", "why"),
          a_score("never", float("inf"), unit="USD")]
sink.emit([a_result(1, scores)])
print(json.dumps([[span["attributes"][span["attributes"]["logfire.feedback.name"]],
                   span["attributes"].get("logfire.feedback.comment")] for span in annotations()]))
"""
    assert [[0.25, "because"], [True, None], ["not_measurable", "why"], ["error", None]] == ran(code)


def test_revisions() -> None:
    """A revision with the same scores adds nothing; one with others adds annotations with its number."""
    code = """
configure()
sink = LogfireSink()
for revision, value in [(1, 0.5), (2, 0.5), (3, 0.75)]:
    sink.emit([a_result(1, [a_score("overall", value)], revision=revision)])
print(json.dumps([[span["attributes"]["overall"], span["attributes"]["spanwise.score.revision"],
                   span["attributes"]["spanwise.score.id"]] for span in annotations()]))
"""
    (first, second) = ran(code)
    assert ([0.5, 1], [0.75, 3], first[2]) == (first[:2], second[:2], second[2])


def test_without_configuration() -> None:
    """Where Logfire is not configured, results are counted and one warning is logged; nothing is raised."""
    code = """
import io, logging
log = io.StringIO()
logging.basicConfig(stream=log)
sink = LogfireSink()
for number in (1, 2):
    sink.emit([a_result(number)])
print(json.dumps([sink.drops, sink.sent, log.getvalue().count("not configured")]))
"""
    assert [{"not_configured": 2}, 0, 1] == ran(code)


def test_scrubbed_values_are_no_content() -> None:
    """Two calls whose arguments Logfire scrubbed are not taken for the same call."""
    scrubbed = "[Scrubbed due to 'password']"
    calls = [tool(10 * at, parent=1, arguments={"key": scrubbed}, result=scrubbed) for at in (1, 2)]
    result = evaluate(run_of(agent(1), *calls), default_evaluators())
    (score,) = [score for score in result.scores if score.name == "redundancy"]
    assert "not_measurable" == score.status


def test_a_choice_that_is_none() -> None:
    """A word that is no choice is refused."""
    with pytest.raises(SinkError, match="'default', 'all', or a list"):
        LogfireSink(scores="some")  # type: ignore[arg-type]  # wrong on purpose


def test_without_logfire(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Logfire the error says what to install."""
    monkeypatch.setattr("spanwise.sinks.logfire.find_spec", lambda name: None)
    with pytest.raises(SinkError, match=r"pip install 'spanwise\[logfire\]'"):
        LogfireSink()
