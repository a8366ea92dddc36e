"""Several scorers that write to one Postgres: nothing is lost, nothing older wins, nobody waits for ever."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Callable, Iterator, Sequence

import pytest

from spanwise.model.result import RunResult
from tests.making import agent, span_id, tool, trace_id
from tests.servers import Postgres
from tests.store.conftest import emptied
from tests.store.keeping import NOW_NS, content_of, result_of, results_of

SCORERS, TRACES, REVISIONS, TURNS = 3, 30, 4, 3
FAMILIES = range(1_000, 1_000 + TRACES // 3)
END_S = 100


@pytest.fixture(scope="module")
def server(require: Callable[[str], str]) -> Iterator[Postgres]:
    """A Postgres server for the tests of this module."""
    require("psycopg")
    with Postgres() as started:
        yield started


@pytest.fixture
def place(server: Postgres) -> str:
    """A database without tables."""
    return emptied(server.url())


def family(number: int, revision: int) -> Sequence[RunResult]:
    """The runs of a trace of which ever more is known: two agents at first, in the end one above them both."""
    first = [agent(10, parent=1, name="first"), tool(11, parent=10, arguments={"revision": revision})]
    second = [agent(3_000, parent=1, name="second"), tool(3_001, parent=3_000)]
    above = [agent(1, name="above")]
    spans = [*first, *second, *(above if revision >= REVISIONS else ())]
    for span in spans:
        span.trace_id = trace_id(number)
    return results_of(spans, revision=revision)


def batches(seed: int) -> list[list[RunResult]]:
    """Every revision of every trace, in an order of its own: the runs of one trace apart, old ones after new ones."""
    order = random.Random(seed)
    single = [result_of(n, revision=at, calls=at) for n in range(1, TRACES + 1) for at in range(1, REVISIONS + 1)]
    found = single + [one for n in FAMILIES for at in range(1, REVISIONS + 1) for one in family(n, at)]
    order.shuffle(found)
    size = len(found) // 12
    return [found[begin : begin + size] for begin in range(0, len(found), size)]


def write_all(place: str, seed: int, told: multiprocessing.Queue[tuple[int, int, dict[str, int]]]) -> None:
    """One scorer: it writes all of it by way of the sink, some turns over, and says what became of it."""
    from spanwise.store.sink import StoreSink
    from spanwise.store.store import Store

    sink = StoreSink(Store.open(place, clock=lambda: NOW_NS, max_age_s=None, timeout_s=30))
    for turn in range(TURNS):
        for batch in batches(seed * 100 + turn):
            sink.emit(batch)
    sink.flush(30)
    stats = sink.stats
    sink.close()
    told.put((stats.kept, stats.waiting, dict(stats.dropped)))


def run_scorers(place: str, seeds: Sequence[int]) -> list[tuple[int, int, dict[str, int]]]:
    """What the scorers said, each a process of its own, all at once."""
    context = multiprocessing.get_context("spawn")
    told: multiprocessing.Queue[tuple[int, int, dict[str, int]]] = context.Queue()
    started = [context.Process(target=write_all, args=(place, seed, told)) for seed in seeds]
    for process in started:
        process.start()
    try:
        said = [told.get(timeout=END_S) for _ in started]
        for process in started:
            process.join(END_S)
        assert [0] * len(seeds) == [process.exitcode for process in started]
    finally:
        for process in started:
            process.kill()
    return said


def deadlocks(place: str) -> int:
    """How many deadlocks the server had to end in this database."""
    import psycopg

    with psycopg.connect(place) as connection:
        connection.execute("SELECT pg_stat_clear_snapshot()")
        (count,) = connection.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    return int(count)


def expected(place: str) -> dict[str, list[tuple[object, ...]]]:
    """The rows of a store to which the last revisions alone were written, by one process, in order."""
    from spanwise.store.store import Store

    with Store.open(emptied(place), clock=lambda: NOW_NS, max_age_s=None) as store:
        for number in range(1, TRACES + 1):
            store.add([result_of(number, revision=REVISIONS, calls=REVISIONS)])
        for number in FAMILIES:
            store.add(family(number, REVISIONS))
        return content_of(store)


def test_scorers_share_a_database(place: str) -> None:
    """Processes that write revisions of the same runs leave each run once, at its last one, and lock nobody out.

    The rows are those that one process would have written, and every write was taken.
    """
    from spanwise.store.store import Store

    Store.open(place).close()
    before = deadlocks(place)
    said = run_scorers(place, range(SCORERS))
    written = TURNS * sum(map(len, batches(0)))
    assert [(written, 0, {})] * SCORERS == said
    assert before == deadlocks(place)
    with Store.open(place, max_age_s=None) as store:
        found = content_of(store)
        listed = [(run.trace_id, run.run_id, run.revision) for run in store.query(limit=10_000)]
    last = {(trace_id(n), span_id(1), REVISIONS) for n in (*range(1, TRACES + 1), *FAMILIES)}
    assert (len(last), last) == (len(listed), set(listed))
    assert expected(place) == found


def test_a_replica_that_replays_what_is_old_changes_nothing(place: str) -> None:
    """A scorer that starts again and replays its log, in parts and out of order, leaves every row as it was."""
    from spanwise.store.store import Store

    rows = expected(place)
    with Store.open(place, clock=lambda: NOW_NS, max_age_s=None) as store:
        for revision in (2, 1, 3):
            store.add([result_of(number, revision=revision, calls=revision) for number in range(1, TRACES + 1)])
            for number in FAMILIES:
                for one in reversed(family(number, revision)):
                    store.add([one])
        assert rows == content_of(store)


def test_more_traces_than_there_are_locks_for(place: str) -> None:
    """A batch of very many traces is written as well, beside writers of few."""
    from spanwise.store.store import Store

    many = [result_of(number) for number in range(1, 602)]
    with Store.open(place, clock=lambda: NOW_NS, max_age_s=None) as store:
        store.add(many)
        store.add(many[:3])
        assert 601 == store.count()
