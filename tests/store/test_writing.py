"""Writing: whichever revision comes first, the last one is kept."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import SinkError
from spanwise.evaluators.recovery import Recovery
from spanwise.evaluators.redundancy import Redundancy
from spanwise.model.raw import RawSpan
from spanwise.model.result import RunResult
from spanwise.model.score import Evidence, Score
from spanwise.report.contract import to_contract
from spanwise.store.store import Store
from tests.making import agent, span_id, tool
from tests.store.keeping import NOW_NS, content_of, result_of, results_of


def late(*, parent: bool) -> list[RawSpan]:
    """An agent's span that is a run of its own until the span above it comes."""
    below = agent(5, parent=1, name="inner")
    return [agent(1, name="outer"), below, tool(6, parent=5)] if parent else [below, tool(6, parent=5)]


def test_a_run_is_kept_with_its_scores(store: Store) -> None:
    """What comes back of a run is what was kept: its facts, its scores in order, and what stands behind them."""
    result = result_of(7)
    store.add([result])
    (listed,) = store.recent()
    found = store.get(listed.trace_id, listed.run_id)
    assert found is not None
    assert result.scores == found.scores
    assert (result.run.query, result.run.answer) == (found.query, found.answer)
    assert ("helper", "s-1", "r-7", "ann") == (found.agent, found.session_id, found.request_id, found.user_id)
    assert (1460, result.run.cost_usd, 1, True) == (found.tokens, found.cost_usd, found.revision, found.complete)
    assert [score.name for score in result.scores] == [score.name for score in listed.scores]


def test_adding_twice_changes_nothing(store: Store) -> None:
    """The same results again, one by one or together, leave every row as it was."""
    results = [result_of(number) for number in (1, 2)]
    store.add(results)
    before = content_of(store)
    for again in (results, results[:1], [*results, *results]):
        store.add(again)
    assert before == content_of(store)


def test_a_later_revision_takes_the_place_of_an_earlier_one(store: Store) -> None:
    """The later revision's values are kept; a score that it no longer has is gone with what stood behind it."""
    store.add([result_of(1, calls=3)])
    later = result_of(1, revision=2, evaluators={"recovery": Recovery()})
    store.add([later])
    (found,) = store.recent()
    assert (2, ["recovery", "overall"]) == (found.revision, [score.name for score in found.scores])
    kept = content_of(store)
    ids = {row[0] for row in kept["scores"]}
    assert ids == {later.id_of(score) for score in later.scores}
    assert set() == {row[0] for row in kept["findings"]} - ids


def test_an_earlier_revision_that_comes_late_changes_nothing(store: Store) -> None:
    """An earlier revision never overwrites a later one, in any table."""
    store.add([result_of(1, revision=2, calls=3)])
    before = content_of(store)
    store.add([result_of(1, calls=1, question="Another?")])
    assert before == content_of(store)


def test_results_of_one_revision_add_up(store: Store) -> None:
    """Scores of the same revision that come in two results, in either order or at once, are all kept."""
    whole = result_of(1)
    one, two = (replace(whole, scores=whole.scores[at::2]) for at in (0, 1))
    store.add([one])
    store.add([two])
    (found,) = store.recent()
    assert {score.name for score in whole.scores} == {score.name for score in found.scores}


def test_a_run_that_is_none_any_more_is_deleted(place: str) -> None:
    """When the parent of a run's span comes late, the run that it was part of is kept and it is not, in any order."""
    early, later = results_of(late(parent=False)), results_of(late(parent=True), revision=2)
    kept = []
    for number, order in enumerate(((early, later), (later, early), (early + later, [])), start=1):
        with Store.open(f"{place}" if "://" in place else f"{place}.{number}", clock=lambda: NOW_NS) as store:
            for results in order:
                store.add(results)
            kept.append(content_of(store))
            assert [span_id(1)] == [run.run_id for run in store.recent()]
    assert kept[0] == kept[1] == kept[2]


def test_runs_of_one_trace_are_told_apart(store: Store) -> None:
    """Two runs below one span that is none are two runs with their scores, and one trace."""
    spans = [agent(10, name="first"), tool(11, parent=10), agent(30, name="second"), tool(31, parent=30)]
    store.add(results_of(spans))
    kept = content_of(store)
    sizes = {table: len(rows) for table, rows in kept.items()}
    assert (1, 2, 2) == (sizes["execution_traces"], sizes["trace_evaluation_results"], sizes["runs"])
    assert {"first", "second"} == {run.agent for run in store.recent()}
    assert {5} == {len(run.scores) for run in store.recent()}


RUNS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=8)
_made: dict[tuple[int, int], RunResult] = {}


def made(number: int, revision: int) -> RunResult:
    """The one result of a run at a revision; revisions differ in calls, words and evaluators."""
    if (number, revision) not in _made:
        evaluators = {"redundancy": Redundancy(), "recovery": Recovery()}
        if revision % 2:
            del evaluators["redundancy"]
        _made[number, revision] = result_of(
            number, revision=revision, calls=revision, question=f"Question {revision}?", evaluators=evaluators
        )
    return _made[number, revision]


@settings(max_examples=25)
@given(RUNS, st.randoms(use_true_random=False), st.integers(1, 4))
def test_any_order_of_revisions_gives_the_same_content(
    pairs: list[tuple[int, int]], shuffle: object, size: int
) -> None:
    """However revisions are ordered, repeated and put into batches, the store holds the same rows."""
    shuffled = [*pairs, *pairs[:2]]
    shuffle.shuffle(shuffled)
    with TemporaryDirectory() as folder:
        found = []
        for name, order, batch in (("a", sorted(set(pairs)), 1), ("b", shuffled, size)):
            with Store.open(f"{folder}/{name}.db", clock=lambda: NOW_NS) as store:
                for begin in range(0, len(order), batch):
                    store.add([made(*pair) for pair in order[begin : begin + batch]])
                found.append(content_of(store))
    assert found[0] == found[1]


def test_every_order_of_three_revisions(tmp_path: object) -> None:
    """All six orders of three revisions leave the same rows."""
    kept = []
    for number, order in enumerate(permutations((1, 2, 3))):
        with Store.open(f"{tmp_path}/{number}.db", clock=lambda: NOW_NS) as store:
            for revision in order:
                store.add([made(1, revision)])
            kept.append(content_of(store))
    assert [kept[0]] * 6 == kept


def test_a_result_that_cannot_be_told_costs_no_other(store: Store) -> None:
    """Of three results one of which cannot be turned into rows, two are kept and an error says so."""

    def document(result: RunResult) -> dict[str, object]:
        if result.run.trace.trace_id.endswith("2"):
            raise ValueError("no words")
        return to_contract(result)

    store._document = document
    with pytest.raises(SinkError, match="could not take 1 of 3 results: ValueError: no words"):
        store.add([result_of(number) for number in (1, 2, 3)])
    assert {"1", "3"} == {run.trace_id[-1] for run in store.recent()}


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_value_that_is_no_number_is_kept_as_an_error(store: Store, value: float) -> None:
    """A score with a unit whose value is infinite, or none, is kept with the status `error`."""
    store.add([replace(result_of(1), scores=(Score(name="odd", value=value, unit="x"),))])
    (score,) = store.recent()[0].scores
    assert ("error", None, f"The value {value} is no finite number.") == (score.status, score.value, score.reason)


def test_odd_text_is_kept_readably(store: Store) -> None:
    """NUL, lone surrogates and emoji are kept in a form that every database takes."""
    result = result_of(1, question="a\x00b \N{SNOWMAN}")
    odd = Score(
        name="odd\x00",
        value=0.5,
        reason="\udfff",
        evidence=(Evidence(span_id="ab", quote="\x00"),),
        issues=("\ud800",),
    )
    store.add([replace(result, scores=(odd,))])
    (found,) = store.recent()
    assert ("odd\\x00", "\\xdfff") == (found.scores[0].name, found.scores[0].reason)
    read = store.get(found.trace_id, found.run_id)
    assert read is not None
    assert "a\\x00b \N{SNOWMAN}" == read.query


def test_huge_numbers_are_kept_as_what_fits(store: Store) -> None:
    """A span with times beyond 64 bits does not stop its run from being kept."""
    spans = [agent(1)]
    spans[0].start_ns, spans[0].end_ns = 2**80, 2**90
    store.add(results_of(spans))
    assert [2**63 - 1] == [run.started_ns for run in store.recent()]
