"""What Langfuse is told of a result: rightly typed, on the right target, the same at every sending."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from spanwise.model.score import Score, not_applicable, not_measurable
from spanwise.sinks._choice import DEFAULT, Choice
from spanwise.sinks._langfuse_scores import COMMENT, items_of, session_item
from tests.making import span_id, trace_id
from tests.sinks.langfuse_making import NAMES, a_result, a_score, five, on_span
from tests.sinks.langfuse_server import problem_of


@pytest.fixture(autouse=True)
def _needs_the_sdk(require: Callable[[str], str]) -> None:
    require("langfuse")


def bodies(*scores: Score, choice: Choice = "all", **more: object) -> list[dict[str, object]]:
    """What is sent for a run with these scores; everything that is sent passes the server's rules."""
    found = [item.body for item in items_of(a_result(1, scores, **more), choice)]  # type: ignore[arg-type]  # passed on
    assert [""] * len(found) == [problem_of(body) for body in found]
    return found


def test_a_number() -> None:
    """A score is a number on its trace, with all that it carries, at the time when the run ended."""
    score = a_score("redundancy", 0.5, label="warn", reason="one of two", issues=("twice",), config_hash="c0ffee")
    result = a_result(7, [score], revision=3)
    assert [
        {
            "id": result.id_of(score),
            "traceId": trace_id(7),
            "name": "redundancy",
            "value": 0.5,
            "dataType": "NUMERIC",
            "comment": "one of two\ntwice",
            "metadata": {
                "spanwise.score.id": result.id_of(score),
                "spanwise.score.revision": 3,
                "spanwise.run.id": span_id(1),
                "status": "scored",
                "label": "warn",
                "unit": "",
                "evaluator": "redundancy",
                "version": "1",
                "config_hash": "c0ffee",
                "complete": True,
                "spans": [],
            },
            "timestamp": "2026-11-18T06:13:00.100Z",
        }
    ] == [item.body for item in items_of(result, "all")]


@pytest.mark.parametrize(
    ("score", "name", "value", "kind"),
    [
        (a_score("x", 1.0), "x", 1.0, "NUMERIC"),
        (a_score("latency_ms", 1234.5, unit="ms"), "latency_ms", 1234.5, "NUMERIC"),
        (a_score("passed", 1.0, unit="bool"), "passed", 1, "BOOLEAN"),
        (a_score("passed", 0.0, unit="bool"), "passed", 0, "BOOLEAN"),
        (a_score("passed", 0.5, unit="bool"), "passed", 0.5, "NUMERIC"),
        (not_applicable("x", "why"), "x.status", "not_applicable", "CATEGORICAL"),
        (not_measurable("x", "why"), "x.status", "not_measurable", "CATEGORICAL"),
        (Score(name="x", status="error", reason="ValueError: x"), "x.status", "error", "CATEGORICAL"),
        (a_score("cost", math.inf, unit="USD"), "cost.status", "error", "CATEGORICAL"),
        (a_score("cost", math.nan, unit="USD"), "cost.status", "error", "CATEGORICAL"),
    ],
)
def test_types(score: Score, name: str, value: object, kind: str) -> None:
    """Values are numbers or booleans; what has none is a category of another name, so that no average is spoilt."""
    (body,) = bodies(score)
    assert (name, value, kind) == (body["name"], body["value"], body["dataType"])
    assert (kind == "BOOLEAN") == isinstance(body["value"], int)


def test_a_status_is_a_row_of_its_own() -> None:
    """A score and its status have two ids, since Langfuse tells rows apart by name and id; both name the score."""
    (number,), (status,) = bodies(a_score("x", 0.5)), bodies(not_measurable("x", "why"))
    assert f"{number['id']}-status" == status["id"]
    assert number["id"] == status["metadata"]["spanwise.score.id"]  # type: ignore[index]  # metadata


def test_the_choice() -> None:
    """By default five scores and every alert are sent; or all of them; or those that are named."""
    scores = [*five(), a_score("loops", 0.1, label="alert"), a_score("efficiency", 0.7, label="warn")]
    assert [*NAMES, "loops"] == [body["name"] for body in bodies(*scores, choice="default")]
    assert [*NAMES, "loops", "efficiency"] == [body["name"] for body in bodies(*scores, choice="all")]
    assert ["efficiency"] == [body["name"] for body in bodies(*scores, choice=["efficiency", "other"])]
    assert set(NAMES) == set(DEFAULT)


def test_a_trace_without_an_agent() -> None:
    """By default nothing is sent of a run in which there was nothing to measure; an error is always told."""
    nothing = [not_measurable("overall", "why"), not_applicable("redundancy", "why")]
    assert ([], 2) == (bodies(*nothing, choice="default"), len(bodies(*nothing, choice="all")))
    broken = Score(name="latency", status="error", reason="ValueError")
    assert 3 == len(bodies(*nothing, broken, choice="default"))


def test_a_trace_with_several_runs() -> None:
    """Each run's scores stand on the run's own span, told apart by their ids."""
    first, second = (bodies(a_score(), runs=2, at=at)[0] for at in (0, 1))
    assert (span_id(1), span_id(101)) == (first["observationId"], second["observationId"])
    assert (first["traceId"], True) == (second["traceId"], first["id"] != second["id"])


@pytest.mark.parametrize(
    ("score", "place"),
    [
        (on_span(a_score("redundancy", 0.5, label="alert"), 2), span_id(2)),
        (on_span(a_score("redundancy", 0.9, label="warn"), 2, 2), span_id(2)),
        (on_span(a_score("redundancy", 1.0), 2), None),
        (on_span(a_score("redundancy", 0.5, label="alert"), 1), None),
        (on_span(a_score("redundancy", 0.5, label="alert"), 1, 2), None),
        (on_span(a_score("overall", 0.5, label="alert"), 2), None),
    ],
)
def test_a_finding_stands_on_its_span(score: Score, place: str | None) -> None:
    """A score that warns and points to one span is shown there; the overall score never leaves the run."""
    (body,) = bodies(score)
    assert place == body.get("observationId")
    assert {one.span_id for one in score.evidence} == set(body["metadata"]["spans"])  # type: ignore[index]  # metadata


def test_comments() -> None:
    """A comment is cut to its limit; where no content may leave there is none."""
    (long,) = bodies(a_score(reason="x" * 5_000))
    assert (COMMENT, True) == (len(str(long["comment"])), str(long["comment"]).endswith("\N{HORIZONTAL ELLIPSIS}"))
    assert "comment" not in bodies(a_score())[0]


@pytest.mark.parametrize(
    ("attributes", "environment"),
    [
        ({"langfuse.environment": "staging", "deployment.environment": "prod"}, "staging"),
        ({"deployment.environment.name": "prod"}, "prod"),
        ({"deployment.environment": "Production!"}, None),
        ({"langfuse.environment": "langfuse-own"}, None),
        ({}, None),
    ],
)
def test_the_environment_of_the_spans(attributes: dict[str, object], environment: str | None) -> None:
    """Scores stand in the environment that Langfuse gives to the run's spans; what it would refuse is left out."""
    assert environment == bodies(a_score(), **attributes)[0].get("environment")


def test_the_environment_that_is_given() -> None:
    """An environment that is given goes before the spans' own."""
    result = a_result(1, [a_score()], **{"langfuse.environment": "staging"})
    assert "prod" == items_of(result, "all", environment="prod")[0].body["environment"]


def test_a_session() -> None:
    """A session's score is about the session alone, and has one id."""
    result = a_result(1, [a_score()], **{"langfuse.environment": "staging"})
    first, second = (session_item(result, "s-1", mean, 2) for mean in (0.5, 0.75))
    assert ["", ""] == [problem_of(item.body) for item in (first, second)]
    assert (first.id, "s-1", 0.75, "staging") == (
        second.id,
        second.body["sessionId"],
        second.body["value"],
        second.body["environment"],
    )


def test_importance() -> None:
    """Alerts are missed most, then warnings and errors, then what is fine, then what says that nothing was scored."""
    scores = [
        a_score("a", label="alert"),
        a_score("b", label="warn"),
        Score(name="c", status="error"),
        a_score("d"),
        not_applicable("e", "why"),
    ]
    assert [3, 2, 2, 1, 0] == [item.rank for item in items_of(a_result(1, scores), "all")]
