"""Traces whose scores are missing or old are found and scored, and found once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from spanwise.evaluators.loops import Loops
from spanwise.evaluators.overall import Overall
from spanwise.evaluators.redundancy import Redundancy
from spanwise.judges.kinds import Goal
from spanwise.model.ports import AnyEvaluator
from spanwise.model.raw import RawSpan
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run, Trace
from spanwise.pipeline import Scoring
from spanwise.report.contract import to_contract
from spanwise.report.reconciled import Found
from spanwise.run import evaluate
from spanwise.store.store import Store
from tests.making import agent, span_id, tool, trace_id, trace_of
from tests.store.keeping import EVALUATORS, content_of, result_of, spans_of

Ask = Mapping[str, AnyEvaluator]


@dataclass(frozen=True)
class Versioned:
    """An evaluator whose scores say which version of it gave them."""

    version: str = "1"

    def __call__(self, run: Run, /) -> Score:
        return Score(name="versioned", value=1.0, version=self.version, config_hash="same")


def mute(run: Run, /) -> tuple[Score, ...]:
    """An evaluator that has nothing to say."""
    return ()


def broken(run: Run, /) -> Score:
    """An evaluator that breaks."""
    raise ValueError("no")


@contextmanager
def reconciling(place: str, evaluators: Ask = EVALUATORS, **more: object) -> Iterator[object]:
    """Something that finds and scores traces of a store."""
    from spanwise.offline.reconcile import Reconciler

    scoring = Scoring(evaluators=evaluators, overall=Overall())
    with Store.open(place, document=to_contract) as store, Store.open(place, content="none") as bare:
        yield Reconciler(store, bare, scoring, **more)


def stored(place: str, evaluators: Ask = EVALUATORS, **more: object) -> list[tuple[str, str, str]]:
    """What is found in the store: the reason, why, and what became of it."""
    with reconciling(place, evaluators, **more) as made:
        return [(one.reason, one.why, one.state) for one in made.stored()]


def given(place: str, *traces: Trace, evaluators: Ask = EVALUATORS, **more: object) -> list[Found]:
    """What is found of traces out of files."""
    with reconciling(place, evaluators, **more) as made:
        return list(made.given(traces))


def keep(place: str, *results: RunResult, content: str = "all") -> None:
    """Keep results."""
    with Store.open(place, content=content) as store:
        store.add(results)


def test_what_is_scored_as_now_is_left_alone(place: str) -> None:
    """Nothing is found where every run has the scores that the settings ask for, and no row changes."""
    keep(place, *(result_of(number) for number in range(1, 6)))
    with Store.open(place) as store:
        before = content_of(store)
        assert [] == stored(place)
        assert before == content_of(store)


def test_a_trace_without_scores_is_scored(place: str) -> None:
    """A run without scores, and a trace of which only the spans are there, get theirs; a second pass finds nothing."""
    keep(place, replace(result_of(1), scores=()), result_of(2))
    forget_runs(place, 2)
    expected = [("unscored", "no scores in the store", "scored")] * 2
    assert expected == stored(place)
    assert [] == stored(place)
    with Store.open(place) as store:
        (first,), (second,) = (kept.runs for kept in store.page())
        assert (2, 1) == (first.revision, second.revision)
        assert [score.name for score in result_of(1).scores] == [score.name for score in first.scores]
        assert store.get(first.trace_id, first.run_id).answer == result_of(1).run.answer


def forget_runs(place: str, number: int) -> None:
    """Leave of a trace its spans alone."""
    from sqlalchemy import delete

    from spanwise.store.schema import runs

    with Store.open(place) as store:
        of = delete(runs).where(runs.c.trace_id == trace_id(number))
        store._database.write(lambda connection: connection.execute(of))


@pytest.mark.parametrize(
    ("before", "now", "reason", "why"),
    [
        (EVALUATORS, {**EVALUATORS, "loops": Loops()}, "lacking", "no score of loops"),
        (
            {"redundancy": Redundancy(near_duplicates="off")},
            {"redundancy": Redundancy()},
            "outdated",
            "redundancy: parameters",
        ),
        ({"versioned": Versioned("1")}, {"versioned": Versioned("2")}, "outdated", "versioned: version 1, now 2"),
    ],
)
def test_scores_older_than_their_evaluator(place: str, before: Ask, now: Ask, reason: str, why: str) -> None:
    """An evaluator that came, changed its parameters or its version has its runs scored again, once."""
    keep(place, *(result_of(number, evaluators=before) for number in (1, 2, 3)))
    found = stored(place, now)
    assert [(reason, "scored")] * 3 == [(one, state) for one, _, state in found]
    assert all(text.startswith(why) for _, text, _ in found), found
    assert [] == stored(place, now)
    with Store.open(place) as store:
        kept = [run for one in store.page() for run in one.runs]
    assert [2, 2, 2] == [run.revision for run in kept]
    assert {*now, "overall"} == {score.evaluator for run in kept for score in run.scores}


def test_ids_stay_and_scores_that_are_gone_go(place: str) -> None:
    """A score keeps its id; one that is no longer asked for goes from the store, and sinks are told that it is gone."""
    keep(place, result_of(1, evaluators={"old": Redundancy(), "redundancy": Redundancy(near_duplicates="off")}))
    told: list[RunResult] = []
    stored(place, {"redundancy": Redundancy()}, give=told.append)
    (result,) = told
    assert ("old", "not_applicable", "superseded", 2) == (
        result.scores[-1].name,
        result.scores[-1].status,
        result.scores[-1].reason,
        result.scores[-1].revision,
    )
    with Store.open(place) as store:
        ids = {row[0]: row[4] for row in content_of(store)["scores"]}
    assert {result.id_of(score): score.name for score in result.scores[:-1]} == ids


def test_a_dry_run_writes_nothing(place: str) -> None:
    """A dry run tells what would be done and why; the store stays as it was."""
    keep(place, replace(result_of(1), scores=()))
    with Store.open(place) as store:
        before = content_of(store)
        assert [("unscored", "no scores in the store", "to_score")] == stored(place, dry_run=True)
        assert before == content_of(store)


def test_a_limit_is_kept_and_the_next_pass_goes_on(place: str) -> None:
    """At most so many traces are scored, and it is said that more are left; further passes come to an end."""
    keep(place, *(replace(result_of(number), scores=()) for number in (1, 2, 3)))
    seen = []
    for _ in range(3):
        with reconciling(place, limit=2) as made:
            seen.append((len(list(made.stored())), made.tally.more))
    assert [(2, True), (1, False), (0, False)] == seen


def test_only_traces_that_began_since(place: str) -> None:
    """Traces that began earlier are not looked at, in the store and in files."""
    keep(place, replace(result_of(1), scores=()))
    assert [] == stored(place, since_ns=2_000_000_000_000_000_000)
    assert [] == given(place, trace_of(*spans_of(2)), since_ns=1_000_000_000)


def test_traces_kept_without_content_are_counted(place: str) -> None:
    """What was kept without content and needs scores is told as such; what is up to date is no concern."""
    keep(place, result_of(1, evaluators={"redundancy": Redundancy()}), result_of(2), content="none")
    assert [("lacking", "no score of recovery and 2 more", "no_content")] == stored(place)


def test_a_file_gives_what_a_store_without_content_lacks(place: str) -> None:
    """From a file such a trace is scored, and kept without content as before."""
    keep(place, result_of(1, evaluators={"redundancy": Redundancy()}), content="none")
    (found,) = given(place, trace_of(*spans_of(1)))
    assert ("lacking", "scored", 2) == (found.reason, found.state, found.revision)
    assert [] == given(place, trace_of(*spans_of(1)))
    with Store.open(place) as store:
        assert store.spans(trace_id(1)).bare
        assert None is store.get(trace_id(1), span_id(1)).query
        assert "68 million" not in repr(content_of(store))


def test_a_trace_that_the_store_does_not_know(place: str) -> None:
    """A trace out of a file is scored at its first revision, and found no more, in the file or in the store."""
    trace = trace_of(*spans_of(1))
    (found,) = given(place, trace)
    assert ("unscored", "scored", 1, (span_id(1),)) == (found.reason, found.state, found.revision, found.runs)
    assert [] == given(place, trace)
    assert [] == stored(place)


def test_late_spans(place: str) -> None:
    """Spans that the store lacks lead to the next revision, with those that only the store has."""
    spans = spans_of(1, calls=3)
    keep(place, results_of_trace(spans[:4]))
    assert [] == given(place, trace_of(*spans[:3]))
    (found,) = given(place, trace_of(spans[0], *spans[3:]))
    assert ("late_spans", "2 spans that the store lacks", 2) == (found.reason, found.why, found.revision)
    with Store.open(place) as store:
        kept = store.trace(trace_id(1))
        assert (len(spans), 2, True) == (len(kept.spans), kept.revision, kept.completeness.complete)
        before, now = store.get(trace_id(1), span_id(1)), evaluate(trace_of(*spans).runs[0], EVALUATORS)
        assert now.scores[0].value == before.score("redundancy").value
    assert [] == given(place, trace_of(*spans), trace_of(*spans[:2]))


def results_of_trace(spans: list[RawSpan]) -> RunResult:
    """The result of the first run of some spans."""
    return evaluate(trace_of(*spans).runs[0], EVALUATORS, overall=Overall())


def test_a_late_parent_takes_a_run_in(place: str) -> None:
    """Where the late span is the parent of what was a run, the store has the outer run alone afterwards."""
    inner = [agent(5, parent=1, name="inner"), tool(6, parent=5)]
    keep(place, results_of_trace(inner))
    (found,) = given(place, trace_of(agent(1, name="outer")))
    assert (("late_spans", (span_id(1),))) == (found.reason, found.runs)
    with Store.open(place) as store:
        assert [span_id(1)] == [run.run_id for run in store.query()]
    assert [] == stored(place)


def test_ids_in_bytes_are_those_of_the_store(place: str) -> None:
    """A file of protobuf, whose ids are bytes, is about the same spans as the store."""
    spans = spans_of(1)
    keep(place, results_of_trace(spans[:3]))

    def as_bytes(text: object) -> bytes | None:
        return bytes.fromhex(str(text)) if text else None

    raw = [
        RawSpan(as_bytes(s.trace_id), as_bytes(s.span_id), as_bytes(s.parent_id), *(getattr(s, f) for f in REST))
        for s in (spans[0], *spans[3:])
    ]
    (found,) = given(place, trace_of(*raw))
    assert "late_spans" == found.reason
    with Store.open(place) as store:
        assert len(spans) == len(store.trace(trace_id(1)).spans)
    assert [] == given(place, trace_of(*raw))


REST = RawSpan.__struct_fields__[3:]


def test_an_input_that_gives_a_trace_twice(place: str) -> None:
    """A trace that a stream gives in part and then whole ends whole, each time at the next revision."""
    spans = spans_of(1)
    found = given(place, trace_of(*spans[:3]), trace_of(*spans))
    assert [("unscored", 1), ("late_spans", 2)] == [(one.reason, one.revision) for one in found]


def test_an_evaluator_that_says_nothing_or_breaks_is_no_reason_for_ever(place: str) -> None:
    """A second pass finds nothing where an evaluator has nothing to say, or breaks each time; the latter is told."""
    keep(place, result_of(1))
    more = {**EVALUATORS, "mute": mute, "broken": broken}
    with reconciling(place, more) as made:
        assert ["lacking"] == [one.reason for one in made.stored()]
        assert made.broke
    assert [] == stored(place, more)


ASKED: list[str] = []


class Patient(Goal):
    """A judge whose model is a list."""

    def hear(self, run: Run, *, fresh: bool = False) -> Score:
        """A verdict, and a note that it was asked for."""
        ASKED.append(run.run_id)
        version, config_hash = self.signature
        return Score(name=self.name, value=1.0, version=version, config_hash=config_hash)


def test_a_judge_is_asked_only_for_a_verdict_that_is_missing_or_old(place: str) -> None:
    """A verdict that still holds is taken over when other scores are given anew; a late span has it asked again."""
    ASKED.clear()
    spans = spans_of(1)
    keep(place, results_of_trace(spans[:-1]))
    now = {**EVALUATORS, "goal": Patient(skip="never")}
    steps: list[Callable[[], object]] = [
        lambda: stored(place, now),
        lambda: stored(place, now),
        lambda: stored(place, {**now, "loops": Loops()}),
        lambda: given(place, trace_of(*spans), evaluators={**now, "loops": Loops()}, dry_run=True),
        lambda: given(place, trace_of(*spans), evaluators={**now, "loops": Loops()}),
    ]
    counts = [(bool(step()), len(ASKED)) for step in steps]
    assert [(True, 1), (False, 1), (True, 1), (True, 1), (True, 2)] == counts


def test_few_traces_are_held_at_a_time(tmp_path: Path) -> None:
    """However many traces come, only those whose results wait to be written together are held."""
    held: list[int] = []
    with reconciling(str(tmp_path / "runs.db"), {"redundancy": Redundancy()}) as made:

        def traces() -> Iterator[Trace]:
            for number in range(1, 501):
                held.append(len(made._waiting))
                yield trace_of(*spans_of(number))

        assert 500 == sum(1 for _ in made.given(traces()))
    assert 199 == max(held)
