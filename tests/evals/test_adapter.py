"""Evaluators of pydantic-evals on runs: what they say, as scores."""

from __future__ import annotations

import asyncio
import json
import math
import pickle
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic_evals.evaluators import (
    ArgumentCorrectness,
    EvaluationReason,
    Evaluator,
    EvaluatorContext,
    HasMatchingSpan,
    IsInstance,
    MaxDuration,
    MaxModelRequests,
    MaxToolCalls,
    ToolCorrectness,
    TrajectoryMatch,
)

from spanwise import evals
from spanwise.config import load
from spanwise.errors import SpecError
from spanwise.evals.adapter import adapted
from spanwise.evals.foreign import adapting, is_foreign
from spanwise.evaluators.redundancy import Redundancy
from spanwise.model.ports import AnyEvaluator
from spanwise.model.score import Score
from spanwise.model.trace import Run
from spanwise.offline.reading import Reading
from spanwise.run import evaluate, name_of
from tests.cli.command import spanwise
from tests.corpus.facts import NAMES, expected, runs_of
from tests.evals.conformance import EVALUATORS
from tests.making import agent, chat, says, span, tool, trace_of, user

RUN = trace_of(
    agent(1),
    chat(2, parent=1, sent=[user("Q")], got=[says("A")]),
    tool(20, parent=1, name="search", arguments={"q": 1}),
).runs[0]
SEEN: list[int] = []


@dataclass
class Says(Evaluator[object, object, object]):
    """Says what it was told to."""

    what: object = True
    version: str | None = None

    def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> object:  # type: ignore[override]  # on purpose
        SEEN.append(id(ctx))
        return self.what

    def get_evaluator_version(self) -> str | None:
        return self.version


@dataclass
class Later(Evaluator[object, object, object]):
    """Says after a while whether the run was asked what it was told."""

    question: str = "Q"

    async def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> EvaluationReason:
        await asyncio.sleep(0)
        return EvaluationReason(ctx.inputs == self.question and ctx.output == "A", f"asked {ctx.inputs}")


@dataclass
class Breaks(Evaluator[object, object, object]):
    """Raises."""

    words: str = field(default="it broke")

    def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> bool:
        raise RuntimeError(self.words)


def scores(*evaluators: Evaluator[object, object, object], run: Run = RUN) -> list[Score]:
    """What evaluators say of a run, through the place where exceptions become errors."""
    asked: Mapping[str, AnyEvaluator] = {f"e{number}": evals.as_evaluator(one) for number, one in enumerate(evaluators)}
    return list(evaluate(run, asked).scores)


@pytest.mark.parametrize(
    ("said", "value", "unit", "label", "reason"),
    [
        (True, 1.0, "", "ok", "The assertion holds."),
        (False, 0.0, "", "alert", "The assertion does not hold."),
        (EvaluationReason(value=False, reason="why"), 0.0, "", "alert", "why"),
        (0.7, 0.7, "", "warn", ""),
        (1, 1.0, "", "ok", ""),
        (5, 5.0, "number", "", ""),
        (-0.5, -0.5, "number", "", ""),
        (EvaluationReason("polite", "tone"), 1.0, "label", "polite", "tone"),
    ],
)
def test_results_become_scores(said: object, value: float, unit: str, label: str, reason: str) -> None:
    """Assertions, scores and labels keep their value, their reason and the evaluator's name."""
    (score,) = scores(Says(said))
    assert ("e0", value, unit, label, reason, "1") == (
        score.name, score.value, score.unit, score.label, score.reason, score.version,
    )  # fmt: skip


def test_names() -> None:
    """A value is called as it is in reports; what it does not name itself is called what it is called there."""
    assert "max_tool_calls" == name_of(evals.as_evaluator(MaxToolCalls(3)))
    fewer = evals.as_evaluator(MaxToolCalls(3, evaluation_name="fewer"))
    assert ("fewer", "fewer") == (name_of(fewer), evaluate(RUN, {"fewer": fewer}).scores[0].name)
    with pytest.raises(AttributeError, match="'Adapted' object has no attribute 'steps'"):
        _ = fewer.steps  # type: ignore[attr-defined]  # that it has none is the point


def test_several_results() -> None:
    """A mapping has a score for each of its names; an empty one does not apply."""
    found = scores(Says({"a": True, "b": 0.5}, version="v2"))
    assert [("a", 1.0, "v2"), ("b", 0.5, "v2")] == [(one.name, one.value, one.version) for one in found]
    assert [("e0", "not_applicable")] == [(one.name, one.status) for one in scores(Says({}))]


@pytest.mark.parametrize("said", [None, math.nan, math.inf, [1], {"a": object()}])
def test_what_is_no_result_is_an_error(said: object) -> None:
    """A value that pydantic-evals would not take is an error that shows it."""
    (score,) = scores(Says(said))
    assert ("error", True) == (score.status, "an evaluator returns a bool, a finite number" in score.reason)


def test_what_is_raised_is_an_error() -> None:
    """An evaluator that raises is an error with its type and words; the others go on."""
    broken, fine = scores(Breaks(), Says(what=True))
    assert ("error", "RuntimeError: it broke", 1.0) == (broken.status, broken.reason, fine.value)


def test_asynchronous_evaluators() -> None:
    """An asynchronous evaluator is waited for, on a thread without an event loop and on one that runs it."""
    assert (1.0, "asked Q") == (scores(Later())[0].value, scores(Later())[0].reason)

    async def inside() -> list[Score]:
        return scores(Later())

    assert [1.0] == [one.value for one in asyncio.run(inside())]
    assert "spanwise-evaluator" not in {thread.name for thread in threading.enumerate()}


def test_the_context_is_built_once_per_run() -> None:
    """All evaluators of a run are given one context; another run has another."""
    SEEN.clear()
    other = trace_of(agent(1)).runs[0]
    scores(Says(), Says(what=1), run=other)
    scores(Says(), run=trace_of(agent(1)).runs[0])
    assert (3, 2) == (len(SEEN), len(set(SEEN)))


def test_their_evaluators_on_any_framework() -> None:
    """Span queries, limits and types hold on spans of OpenInference as on those of Pydantic AI."""
    for name in ("langgraph__openinference", "pydantic-ai__builtin", "openai-agents__traceloop"):
        (run,) = runs_of(name, logs=True)
        found = scores(
            ToolCorrectness(["search_docs", "calculator", "search_docs"]),
            TrajectoryMatch(["search_docs", "calculator", "search_docs"]),
            MaxToolCalls(4),
            MaxToolCalls(3, evaluation_name="fewer"),
            HasMatchingSpan({"name_equals": "execute_tool calculator", "has_status": "error"}),
            IsInstance("str"),
            MaxDuration(60.0),
            run=run,
        )
        assert [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0] == [score.value for score in found], name


@pytest.mark.parametrize("name", NAMES)
def test_conformance(name: str) -> None:
    """On every recording each of their evaluators is right as an evaluator of runs, or says what is not recorded."""
    for run, facts in zip(runs_of(name, logs=True), expected(name, logs=True), strict=True):
        for questions in EVALUATORS.values():
            for evaluator, want in questions(facts):
                (score,) = evals.as_evaluator(evaluator)(run)
                assert float(want) == score.value if score.status == "scored" else score.status == "not_measurable"


@pytest.mark.parametrize(
    "evaluator", [MaxToolCalls(5), ToolCorrectness([]), TrajectoryMatch([]), MaxModelRequests(5)], ids=repr
)
def test_limits_say_nothing_of_what_was_not_seen(evaluator: Evaluator[object, object, object]) -> None:
    """Where neither calls nor model calls left spans, a limit on them is not measurable, and never holds."""
    (score,) = scores(evaluator, run=trace_of(span(1, name="handler")).runs[0])
    assert ("not_measurable", True) == (score.status, "cannot be told" in score.reason)


def test_arguments_that_were_not_recorded() -> None:
    """Whether arguments are right is not measurable where they are not recorded."""
    run = trace_of(agent(1), tool(2, parent=1, name="search")).runs[0]
    (score,) = scores(ArgumentCorrectness("search", {"q": 1}), run=run)
    assert ("not_measurable", True) == (score.status, score.reason.startswith("What search was called with"))


def test_ours_are_themselves_again() -> None:
    """An evaluator of `spanwise.evals` is its built-in again, with the same parameters."""
    assert Redundancy(near_duplicates="off") == evals.as_evaluator(evals.Redundancy(near_duplicates="off"))


def test_values_can_be_pickled() -> None:
    """What is to run in a process of its own travels there."""
    sent = pickle.loads(pickle.dumps(evals.as_evaluator(MaxToolCalls(3))))
    assert [1.0] == [score.value for score in sent(RUN)]


@pytest.mark.parametrize("found", [Redundancy, Redundancy(), scores, 3, evals.Redundancy])
def test_what_is_not_theirs_stays_as_it_is(found: object) -> None:
    """What is no evaluator of theirs is left alone."""
    assert found is adapting(found)
    assert found is evals.Redundancy or not is_foreign(found)


def test_classes_keep_their_names_and_parameters() -> None:
    """A class of theirs is made one whose values are called on runs, with the same name and parameters."""
    made = adapted(MaxToolCalls)
    assert isinstance(made, type)
    assert ("MaxToolCalls", [0.0]) == (made.__name__, [one.value for one in made(max_calls=0)(RUN)])
    assert is_foreign(made)


def test_theirs_by_path(recordings: Path) -> None:
    """`spanwise score --evaluator` takes the path of a class of theirs, and of a value."""
    path = str(recordings / "langgraph__openinference.json")
    theirs = "tests.evals.test_adapter:Later"
    done = spanwise(
        "score", path, "--format", "json", "--evaluator", theirs, "--evaluator", "tests.evals.test_adapter:FEW"
    )
    assert (0, "") == (done.code, done.err)
    assert [("tests.evals.test_adapter:Later", 0.0), ("tests.evals.test_adapter:FEW", 0.0)] == [
        (one["name"], one["value"]) for one in json.loads(done.out)["scores"]
    ]


FEW = MaxToolCalls(3)


def test_theirs_in_settings(tmp_path: Path, recordings: Path) -> None:
    """Settings name them too, with parameters, which are checked."""
    settings = tmp_path / "spanwise.toml"
    settings.write_text('[evaluators]\nfew = { use = "pydantic_evals.evaluators:MaxToolCalls", max_calls = 4 }\n')
    few = load(settings, adapt=adapting).evaluators["few"]
    (result,) = Reading(paths=[str(recordings / "langgraph__openinference.json")]).results({"few": few})
    assert [("few", 1.0)] == [(score.name, score.value) for score in result.scores]
    settings.write_text('[evaluators]\nfew = { use = "pydantic_evals.evaluators:MaxToolCalls", max_calls = "x" }\n')
    with pytest.raises(SpecError, match=r"few\.max_calls: read 'x', expected a whole number"):
        load(settings, adapt=adapting)
