"""Retention: the oldest traces go, as a whole."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from spanwise.store import store as store_module
from spanwise.store.store import Pruned, Retention, Store
from tests.making import agent, tool
from tests.store.keeping import NOW_NS, content_of, result_of, results_of, size_of

DAY_NS = 86400 * 10**9


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now_ns = NOW_NS

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def clock() -> Clock:
    """The time."""
    return Clock()


def test_the_default_is_seven_days_or_one_gigabyte() -> None:
    """Retention is automatic, by age and by room."""
    assert Retention(max_age_s=7 * 86400, max_bytes=10**9) == Retention()


def test_runs_past_their_age_are_deleted_when_others_come(place: str, clock: Clock) -> None:
    """Eight days later the next run that is added takes the old ones away, with all that was theirs."""
    with Store.open(place, clock=clock) as store:
        store.add([result_of(1), result_of(2)])
        clock.now_ns += 6 * DAY_NS
        store.add([result_of(3)])
        assert 3 == len(store.recent())
        clock.now_ns += 2 * DAY_NS
        store.add([result_of(4)])
        assert ["4", "3"] == [run.trace_id[-1] for run in store.recent()]
        kept = content_of(store)
        ids = {row[0] for row in kept["scores"]}
        assert [2, 2, 2] == [len(kept[name]) for name in ("execution_traces", "trace_evaluation_results", "runs")]
        assert set() == {row[0] for row in kept["findings"]} - ids


def test_age_counts_from_when_a_run_was_written(place: str, clock: Clock) -> None:
    """A run that is written again keeps its time of first writing; when it began does not matter."""
    with Store.open(place, clock=clock, max_age_s=10) as store:
        store.add([result_of(1)])
        clock.now_ns += 8 * 10**9
        store.add([result_of(1, revision=2)])
        assert Pruned(bytes=store.prune().bytes) == store.prune()
        clock.now_ns += 8 * 10**9
        assert (1, 1) == ((done := store.prune()).runs, done.traces)


def test_a_trace_goes_as_a_whole(place: str, clock: Clock) -> None:
    """The runs of one trace are deleted together."""
    with Store.open(place, clock=clock) as store:
        store.add(results_of([agent(10), tool(11, parent=10), agent(3000), tool(3001, parent=3000)]))
        clock.now_ns += 8 * DAY_NS
        done = store.prune()
        assert (1, 2) == (done.traces, done.runs)
        assert {0} == {len(rows) for rows in content_of(store).values()}


def test_the_oldest_go_when_room_is_short(place: str, clock: Clock) -> None:
    """Past the limit of room the oldest runs go until the rest takes less, and no more than that."""
    with Store.open(place, clock=clock) as store:
        for number in range(1, 61):
            clock.now_ns += 10**9
            store.add([result_of(number)])
        used = store.prune(max_bytes=10**9).bytes
        done = store.prune(max_bytes=used // 2)
        left = [int(run.trace_id, 16) for run in store.recent(100)]
        assert (True, done.runs) == (0 < done.bytes <= used // 2, 60 - len(left))
        assert list(range(60, 60 - len(left), -1)) == left
        assert 15 <= len(left) <= 35


def test_what_was_deleted_is_given_back_to_the_disk(tmp_path: Path, clock: Clock) -> None:
    """After pruning, the file is as small as what it holds."""
    path = tmp_path / "runs.db"
    with Store.open(path, clock=clock) as store:
        store.add([result_of(number) for number in range(1, 301)])
    before = size_of(path)
    with Store.open(path, clock=clock) as store:
        done = store.prune(max_bytes=200_000)
    assert (True, True) == (before > 1_000_000, size_of(path) < 300_000)
    assert done.bytes <= 200_000


@pytest.mark.once
def test_a_store_that_is_always_written_to_stays_within_its_limit(tmp_path: Path) -> None:
    """A store with a limit of room does not grow past it by more than comes between two looks."""
    path = tmp_path / "runs.db"
    sizes = []
    base = [result_of(number) for number in range(1, 101)]
    with Store.open(path, max_bytes=2_000_000) as store:
        for round_ in range(50):
            for at, result in enumerate(base):
                result.run.trace.key = f"{round_ * 100 + at:032x}"
            store.add(base)
            sizes.append(size_of(path))
    assert 20_000_000 > max(sizes)
    assert max(sizes[:25]) * 1.3 > max(sizes[25:])


def test_limits_can_be_switched_off(place: str, clock: Clock) -> None:
    """Without limits everything is kept."""
    with Store.open(place, clock=clock, max_age_s=None, max_bytes=None) as store:
        store.add([result_of(1)])
        clock.now_ns += 1000 * DAY_NS
        store.add([result_of(2)])
        assert 0 == store.prune().runs
        assert 2 == len(store.recent())


def test_one_look_deletes_a_bounded_number(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is past its time goes in parts: an add deletes some of it, later ones the rest."""
    monkeypatch.setattr("spanwise.store._pruning.PART", 5)
    monkeypatch.setattr(store_module, "PART", 5)
    with Store.open(tmp_path / "runs.db", clock=clock) as store:
        store.add([result_of(number) for number in range(1, 31)])
        left = []
        for number in (31, 32, 33):
            clock.now_ns += 8 * DAY_NS if number == 31 else 120 * 10**9
            store.add([result_of(number)])
            left.append(len(store.recent(100)))
        assert [21, 12, 3] == left


def test_runs_that_cannot_be_deleted_are_told_once_and_cost_no_result(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """When old runs cannot be deleted, new ones are kept all the same, and a warning says so once."""
    path = tmp_path / "runs.db"
    with Store.open(path, clock=clock) as store:
        store.add([result_of(1)])
        with closing(sqlite3.connect(path)) as raw:
            raw.execute("CREATE TRIGGER stop BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'no deleting'); END")
            raw.commit()
        with caplog.at_level(logging.WARNING, "spanwise"):
            for number in (2, 3):
                clock.now_ns += 8 * DAY_NS
                store.add([result_of(number)])
        assert 3 == len(store.recent())
    assert ["no deleting" in record.getMessage() for record in caplog.records] == [True]
