"""Scores as MLflow's feedback: real requests of its package, checked against its own messages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spanwise.errors import SinkError
from spanwise.model.score import Score
from spanwise.sinks.mlflow import MlflowSink
from tests.making import TRACE
from tests.sinks.recorder import Answer, Recorder, Request
from tests.sinks.results import result

ALL = "/api/3.0/mlflow/traces/tr-" + TRACE + "/assessments"


def parsed(request: Request) -> Any:
    """The message of a request, in which MLflow's own types know every field."""
    from google.protobuf.json_format import ParseDict
    from mlflow.protos.service_pb2 import CreateAssessment, DeleteAssessment, UpdateAssessment

    kinds = {"POST": CreateAssessment, "PATCH": UpdateAssessment, "DELETE": DeleteAssessment}
    return ParseDict(request.body or {}, kinds[request.method]())


def answer(request: Request) -> Answer:
    """What a tracking server answers: the assessment, with an id that is its name's."""
    if request.method == "DELETE":
        return 200, {}, {}
    body = dict(request.body["assessment"])
    body.setdefault("assessment_id", f"a-{body.get('assessment_name')}")
    body.setdefault("source", {"source_type": "CODE", "source_id": "x"})
    return 200, {"assessment": body}, {}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, require: Callable[[str], str]) -> Iterator[Recorder]:
    """A tracking server, which the environment names."""
    require("mlflow")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setattr("spanwise.sinks._tries.PAUSES_S", (0.01, 0.01, 0.01))
    with Recorder(answer) as started:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", started.url)
        yield started


def test_every_score_is_feedback_on_the_trace(server: Recorder) -> None:
    """Each score is one request with name, value, reason, span, and in its metadata id, revision and status."""
    of = result()
    sink = MlflowSink(scores="all")
    sink.emit([of])
    found = {}
    for request in server.requests:
        assert ("POST", ALL) == (request.method, request.path)
        found[request.body["assessment"]["assessment_name"]] = parsed(request).assessment
    assert [score.name for score in of.scores] == list(found)
    for score in of.scores:
        one = found[score.name]
        assert ("tr-" + TRACE, of.run.run_id, score.reason) == (one.trace_id, one.span_id, one.rationale)
        assert of.id_of(score) == one.metadata["spanwise.score.id"]
        assert (score.status, "1") == (one.metadata["spanwise.score.status"], one.metadata["spanwise.score.revision"])
        if score.value is None:
            assert (None, score.status.upper()) == (
                one.feedback.value.null_value or None,
                one.feedback.error.error_code,
            )
            assert "null_value" == one.feedback.value.WhichOneof("kind")
        else:
            assert (score.value, False) == (one.feedback.value.number_value, one.feedback.HasField("error"))
    assert (len(of.scores), {}, "none") == (sink.sent, sink.drops, sink.emits)


def test_a_later_revision_changes_and_deletes(server: Recorder) -> None:
    """What is there is changed by its id, what is gone is deleted, and an earlier revision that is late is not sent."""
    of = replace(result(), scores=(Score(name="a", value=0.5), Score(name="b", value=0.5, reason="why")))
    later = replace(of, revision=2, scores=(Score(name="b", status="not_measurable", reason=""),))
    sink = MlflowSink(scores="all")
    sink.emit([of])
    sink.emit([later])
    sink.emit([of])
    assert [("POST", ALL), ("POST", ALL), ("DELETE", f"{ALL}/a-a"), ("PATCH", f"{ALL}/a-b")] == [
        (request.method, request.path) for request in server.requests
    ]
    changed = parsed(server.requests[-1])
    assert ("NOT_MEASURABLE", "2") == (
        changed.assessment.feedback.error.error_code,
        changed.assessment.metadata["spanwise.score.revision"],
    )
    assert "rationale" in re.sub(r"[^a-z_,]", "", str(changed.update_mask))


def test_the_default_are_few(server: Recorder) -> None:
    """By default the overall score, four others and what is an alert are sent, since each is a request."""
    MlflowSink().emit([result()])
    assert {"overall", "tool_selection", "redundancy", "latency", "grounding"} == {
        request.body["assessment"]["assessment_name"] for request in server.requests
    }


def test_a_trace_that_comes_late_is_waited_for(server: Recorder) -> None:
    """Feedback on a trace that the server does not have yet is tried again."""
    answers: list[Answer] = [(404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no trace"}, {})] * 2
    server.answer = lambda request: answers.pop() if answers else answer(request)
    sink = MlflowSink(scores=["loops"])
    sink.emit([result()])
    assert (3, 1, {}) == (len(server.requests), sink.sent, sink.drops)


def test_one_refused_score_does_not_cost_the_others(server: Recorder) -> None:
    """A score that the server refuses is counted and told; the others are sent."""
    refused: Answer = (400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "no"}, {})
    server.answer = lambda request: refused if "'loops'" in str(request.body) else answer(request)
    of = result()
    sink = MlflowSink(scores="all")
    with pytest.raises(SinkError, match="INVALID_PARAMETER_VALUE"):
        sink.emit([of])
    assert ({"refused": 1}, len(of.scores) - 1) == (sink.drops, sink.sent)


def test_ids_that_are_none_are_counted(server: Recorder) -> None:
    """A trace whose id is none of OpenTelemetry's cannot be named to MLflow, and is counted."""
    of = result()
    of.run.trace.key = "mine"
    sink = MlflowSink(scores="all")
    sink.emit([of])
    sink.close()
    assert ([], {"ids": len(of.scores)}) == (server.requests, sink.drops)


def test_a_choice_that_is_none_is_refused(require: Callable[[str], str]) -> None:
    """A word that is no choice is an error when the sink is made."""
    require("mlflow")
    with pytest.raises(SinkError, match="'everything'"):
        MlflowSink(scores="everything")


TELEMETRY = """
import os, sys
from spanwise.sinks.mlflow import feedback_of
from tests.sinks.results import result
of = result()
feedback_of(of, of.scores[0], "a")
from mlflow.telemetry.utils import is_telemetry_disabled
print(os.environ["MLFLOW_DISABLE_TELEMETRY"], is_telemetry_disabled())
"""


def test_the_telemetry_of_mlflow_stays_off(root: Path, require: Callable[[str], str]) -> None:
    """Where the app has not loaded MLflow, the sink loads it with its telemetry off."""
    require("mlflow")
    done = subprocess.run(
        [sys.executable, "-c", TELEMETRY],
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": f"{root}/src:{root}"},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "true True\n" == done.stdout, done.stderr
