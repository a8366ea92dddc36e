"""Many writers: threads, processes, and a process that was forked from another."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, event

from spanwise.store.failures import BusyStoreError
from spanwise.store.store import Store
from tests.store.keeping import content_of, result_of

pytestmark = pytest.mark.once

EACH = 15


def test_threads_share_a_store(place: str) -> None:
    """Eight threads that write and read one store lose nothing and see no error."""
    problems: list[BaseException] = []
    results = {number: result_of(number) for number in range(1, 8 * EACH + 1)}
    with Store.open(place, timeout_s=30) as store:

        def work(first: int) -> None:
            try:
                for number in range(first, first + EACH):
                    store.add([results[number]])
                    store.recent(3)
            except BaseException as error:  # noqa: BLE001  (told by the test)
                problems.append(error)

        threads = [threading.Thread(target=work, args=(1 + EACH * at,)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(90)
        assert ([], 8 * EACH) == (problems, len(content_of(store)["runs"]))


def test_what_is_read_is_of_one_moment(place: str) -> None:
    """A run that another process replaces between two statements of a read is told with the scores it had."""
    with Store.open(place) as reader, Store.open(place) as writer:
        reader.add([result_of(1)])

        def replace(connection: Connection, _cursor: object, statement: str, *_: object) -> None:
            if "FROM runs" in statement:
                writer.add([result_of(1, revision=2, calls=5)])

        before = reader.recent()
        engine = reader._database._own().engine
        event.listen(engine, "after_cursor_execute", replace)
        assert before == reader.recent()
        event.remove(engine, "after_cursor_execute", replace)
        assert before != reader.recent()


def add_many(path: str, first: int) -> None:
    """Add runs from one of many processes, every one in a transaction of its own, some of them twice."""
    with Store.open(path, timeout_s=60) as store:
        for number in range(first, first + EACH):
            store.add([result_of(number)])
            store.add([result_of(number, revision=2), result_of(1, revision=first)])


def test_processes_share_a_store(place: str) -> None:
    """Four processes that write to one store lose nothing; of a run that all of them write, the last revision stays."""
    Store.open(place).close()
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=add_many, args=(place, 100 * at)) for at in range(1, 5)]
    for process in started:
        process.start()
    for process in started:
        process.join(110)
    assert [0] * 4 == [process.exitcode for process in started]
    with Store.open(place) as store:
        kept = {run.trace_id.lstrip("0"): run.revision for run in store.query(limit=1000)}
    assert (4 * EACH + 1, 400, {2}) == (len(kept), kept.pop("1"), set(kept.values()))


def test_a_short_wait_is_no_error(tmp_path: Path) -> None:
    """When another process holds the file for a moment, the runs are written once it lets go."""
    path = tmp_path / "runs.db"
    with Store.open(path, timeout_s=10) as store:
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.3, lambda: other.execute("ROLLBACK"))
        release.start()
        begun = time.monotonic()
        store.add([result_of(1)])
        assert 0.1 < time.monotonic() - begun
        release.join()
        other.close()
        assert 1 == len(store.recent())


def test_a_thread_that_waits_for_another_gives_up(tmp_path: Path) -> None:
    """A thread that may not write within the time because another one of the process does says so."""
    with Store.open(tmp_path / "runs.db", timeout_s=0.2) as store:
        with store._database._own().writing, pytest.raises(BusyStoreError, match="another thread writes"):
            store.add([result_of(1)])
        store.add([result_of(1)])


def test_readers_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    """While a transaction is open, what was there before it can be read."""
    path = tmp_path / "runs.db"
    with Store.open(path, timeout_s=0.5) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        store.add([result_of(1)])
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM runs")
        assert 1 == len(store.recent())
        other.execute("ROLLBACK")


FORK = """
import os, sys, threading
from spanwise.store.store import Store
from tests.store.keeping import result_of
results = [result_of(number) for number in range(1, 7)]
store = Store.open(sys.argv[1], timeout_s=20)
store.add(results[:1])
held = store._database._own()
held.writing.acquire()          # as another thread would hold it at the fork
children = []
for number in (1, 2, 3):
    pid = os.fork()
    if pid == 0:
        store.add([results[number]])
        store.close()
        os._exit(0)
    children.append(pid)
held.writing.release()
store.add(results[4:])
codes = [os.waitpid(pid, 0)[1] for pid in children]
store.add(results[:1])
print(codes, sorted(run.trace_id[-1] for run in store.recent()))
store.close()
"""


def test_a_forked_process_writes_through_connections_of_its_own(tmp_path: Path, root: Path) -> None:
    """Children of a process that has the store open write to it, and so does the parent afterwards."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path / "runs.db")],
        env={**os.environ, "PYTHONPATH": f"{root}/src:{root}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert ("", "[0, 0, 0] ['1', '2', '3', '4', '5', '6']\n") == (done.stderr, done.stdout)


def test_a_process_that_dies_leaves_whole_transactions(tmp_path: Path, root: Path) -> None:
    """After a process was killed while it wrote, the store opens and each batch is there as a whole or not at all."""
    code = (
        "import sys\nfrom spanwise.store.store import Store\nfrom tests.store.keeping import result_of\n"
        "store = Store.open(sys.argv[1])\nprint('ready', flush=True)\nfirst = 1\n"
        "while True:\n    store.add([result_of(number) for number in range(first, first + 20)])\n    first += 20\n"
    )
    path = tmp_path / "runs.db"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        env={**os.environ, "PYTHONPATH": f"{root}/src:{root}"},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        deadline = time.monotonic() + 30
        with Store.open(path, timeout_s=20) as store:
            while len(store.recent(30)) < 20 and time.monotonic() < deadline:
                time.sleep(0.02)
        process.kill()
        process.wait(20)
    with Store.open(path) as store:
        kept = content_of(store)
        store.add([result_of(9999)])
    assert (0, True) == (len(kept["runs"]) % 20, len(kept["runs"]) >= 20)
    assert len(kept["runs"]) == len(kept["execution_traces"]) == len(kept["trace_evaluation_results"])
