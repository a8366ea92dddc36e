"""Scores as Phoenix's annotations: real requests of its client, checked against the client's own types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec
import pytest

from spanwise.errors import SinkError
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks.phoenix import PhoenixSink
from tests.making import agent, run_of, tool, trace_id
from tests.sinks.recorder import Answer, Recorder, Request
from tests.sinks.results import result


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, require: Callable[[str], str]) -> None:
    """What is tried again is tried soon; the client is there."""
    require("phoenix")
    monkeypatch.setattr("spanwise.sinks._tries.PAUSES_S", (0.01, 0.01, 0.01))


@pytest.fixture
def server() -> Iterator[Recorder]:
    """A server that takes everything."""
    with Recorder() as started:
        yield started


def sink_of(server: Recorder, **more: object) -> PhoenixSink:
    """A sink for the server."""
    from phoenix.client import Client

    return PhoenixSink(Client(base_url=server.url, api_key="k"), **more)


def checked(request: Request) -> list[dict[str, object]]:
    """The annotations of a request, which must be what the client's types say they are."""
    from phoenix.client.__generated__.v1 import AnnotateSpansRequestBody

    assert ("POST", "/v1/span_annotations") == (request.method, request.path)
    # What the types do not know is left out by reading.
    assert request.body == msgspec.convert(request.body, AnnotateSpansRequestBody)
    return list(request.body["data"])


def test_every_score_of_a_run_is_an_annotation_of_its_span(server: Recorder) -> None:
    """One request carries all scores with name, value, label, reason, id, revision, status, unit and version."""
    sink, of = sink_of(server), result()
    sink.emit([of])
    (request,) = server.requests
    assert "Bearer k" == request.headers["authorization"]
    found = {one["name"]: one for one in checked(request)}
    assert [score.name for score in of.scores] == list(found)
    for score in of.scores:
        one = found[score.name]
        assert (of.id_of(score), of.run.run_id, "CODE") == (one["identifier"], one["span_id"], one["annotator_kind"])
        assert score.value == one["result"].get("score")
        assert (score.label if score.status == "scored" else score.status) == one["result"].get("label", "")
        assert score.reason == one["result"].get("explanation", "")
        told = (score.status, 1, score.unit, score.evaluator, score.version)
        assert told == tuple(
            one["metadata"][f"spanwise.score.{name}"] for name in ("status", "revision", "unit", "evaluator", "version")
        )
    assert (len(of.scores), {}, "none") == (sink.sent, sink.drops, sink.emits)
    sink.close()


def test_a_later_revision_overwrites_and_takes_back(server: Recorder) -> None:
    """The same identifiers come again; a score that is gone is superseded; an earlier revision is not sent any more."""
    sink, of = sink_of(server), result()
    later = replace(of, revision=2, scores=of.scores[:-1])
    sink.emit([of])
    sink.emit([later])
    sink.emit([of])
    first, second = (checked(request) for request in server.requests)
    assert [one["identifier"] for one in first] == [one["identifier"] for one in second]
    assert ("not_applicable", "superseded") == (
        second[-1]["result"]["label"],
        second[-1]["result"]["explanation"],
    )
    assert [2] * len(second) == [one["metadata"]["spanwise.score.revision"] for one in second]


def test_scores_can_be_chosen(server: Recorder) -> None:
    """A list of names sends these only."""
    sink_of(server, scores=["loops"]).emit([result()])
    assert ["loops"] == [one["name"] for one in checked(server.requests[0])]


def test_passing_failures_are_tried_again(server: Recorder) -> None:
    """A server that is busy or broken for a moment gets the annotations at last, once."""
    answers: list[Answer] = [(429, {}, {"Retry-After": "0"}), (503, {}, {}), (200, {}, {})]
    server.answer = lambda _: answers.pop(0)
    sink = sink_of(server)
    sink.emit([result()])
    assert (3, {}) == (len(server.requests), sink.drops)


def test_one_refused_annotation_does_not_cost_the_others(server: Recorder) -> None:
    """When a request is refused its annotations go one by one; the bad one is counted and told."""
    server.answer = lambda request: (422 if "'name': 'loops'" in str(request.body) else 200, {}, {})
    sink, of = sink_of(server), result()
    with pytest.raises(SinkError, match="it answers 422"):
        sink.emit([of])
    assert ({"refused": 1}, len(of.scores) - 1) == (sink.drops, sink.sent)


def test_many_runs_go_in_requests_of_bounded_size(server: Recorder) -> None:
    """A hundred annotations go at once, no more."""
    results = [numbered(number) for number in range(1, 31)]
    sink_of(server).emit(results)
    sizes = [len(checked(request)) for request in server.requests]
    assert (100, sum(len(of.scores) for of in results)) == (max(sizes), sum(sizes))


def numbered(number: int) -> RunResult:
    """A result in a trace of its own."""
    spans = [agent(1), tool(2, parent=1)]
    for span in spans:
        span.trace_id = trace_id(number)
    return RunResult(run=run_of(*spans), scores=tuple(Score(name=f"s{at}", value=1.0) for at in range(7)))


def test_a_server_that_is_away_costs_the_results_and_is_told() -> None:
    """After the last try what could not be sent is counted, and one error says so."""
    with Recorder() as gone:
        sink = sink_of(gone)
    with pytest.raises(SinkError, match="cannot be reached"):
        sink.emit([result()])
    assert {"unreachable": len(result().scores)} == sink.drops


def test_the_environment_says_where_phoenix_is(server: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a client the sink makes one, which reads Phoenix' own variables."""
    monkeypatch.setenv("PHOENIX_COLLECTOR_ENDPOINT", server.url)
    monkeypatch.setenv("PHOENIX_API_KEY", "from-environment")
    PhoenixSink().emit([result()])
    assert "Bearer from-environment" == server.requests[0].headers["authorization"]


def test_a_choice_that_is_none_is_refused() -> None:
    """A word that is no choice is an error when the sink is made."""
    with pytest.raises(SinkError, match="'everything'"):
        PhoenixSink(scores="everything")
