"""The spool: bounds, order, tries, and what is counted."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from spanwise.errors import SinkError
from spanwise.store._spool import Spool, bytes_of
from spanwise.store.failures import RefusedResultsError
from tests.servers import wait_for
from tests.store.keeping import result_of


class Destination:
    """Takes results, unless they are of the numbers that it refuses; all of them while it is away."""

    def __init__(self) -> None:
        self.away = True
        self.bad: set[int] = set()
        self.got: list[int] = []

    def __call__(self, results: object) -> None:
        numbers = [int(result.run.trace.trace_id, 16) for result in results]
        if self.away or self.bad.intersection(numbers):
            raise SinkError("away")
        self.got += numbers


def test_past_the_bound_the_oldest_are_dropped_and_counted() -> None:
    """A spool for three results drops the oldest of five, and says how many and why."""
    to = Destination()
    spool = Spool(to, most=3, most_bytes=10**9)
    assert 2 == spool.put([result_of(number) for number in range(1, 6)])
    assert (3, {"spool_full": 2}) == (len(spool), spool.dropped)
    to.away = False
    assert spool.flush(10)
    assert [3, 4, 5] == to.got


def test_the_bytes_of_a_spool_are_bounded() -> None:
    """Large results fill a spool before there are many of them."""
    size = bytes_of(result_of(1, question="x" * 10_000))
    assert 20_000 < size < 60_000
    spool = Spool(Destination(), most=1000, most_bytes=10 * size)
    spool.put([result_of(number, question="x" * 10_000) for number in range(1, 31)])
    assert 8 <= len(spool) <= 10
    assert 30 - len(spool) == spool.dropped["spool_full"]


def test_one_bad_result_does_not_hold_the_others_up() -> None:
    """A result that is refused while others are taken is given up after some tries, and counted; the others arrive."""
    to = Destination()
    to.bad, to.away = {3}, False
    spool = Spool(to, most=100, most_bytes=10**9)
    for begin in (1, 11, 21, 31):
        spool.put([result_of(number) for number in range(begin, begin + 10)])
        assert wait_for(lambda: len(spool) <= 1, timeout_s=20)
    spool.put([result_of(99)])
    assert spool.flush(20)
    assert ({*range(1, 41), 99} - {3}, {"refused": 1}) == (set(to.got), spool.dropped)


def test_results_of_which_no_rows_can_be_made_are_not_tried_again() -> None:
    """What the store took all of but some is done; those are counted as refused."""

    def write(results: object) -> None:
        raise RefusedResultsError("one could not be told", count=1)

    spool = Spool(write, most=100, most_bytes=10**9)
    spool.put([result_of(1), result_of(2)])
    assert spool.flush(10)
    assert {"refused": 1} == spool.dropped


def test_closing_keeps_to_its_time() -> None:
    """A store that stays away, or hangs, costs what was held after the time that closing may take, and no more."""
    release = threading.Event()

    def hang(results: object) -> None:
        release.wait(30)
        raise SinkError("away")

    for write in (Destination(), hang):
        spool = Spool(write, most=100, most_bytes=10**9)
        spool.put([result_of(1), result_of(2)])
        time.sleep(0.2)
        begun = time.monotonic()
        assert 2 == spool.close(0.3)
        assert 0.25 < time.monotonic() - begun < 5
        assert {"closed": 2} == spool.dropped
    release.set()
    assert (1, {"closed": 3}) == (spool.put([result_of(3)]), spool.dropped)


def test_no_thread_is_left_when_nothing_waits(tmp_path: Path) -> None:
    """A sink whose store works has no thread, and one whose store came back has none any longer."""
    to = Destination()
    spool = Spool(to, most=10, most_bytes=10**9)
    spool.put([result_of(1)])
    assert spool._thread is not None
    thread = spool._thread
    to.away = False
    assert spool.flush(10)
    thread.join(10)
    assert (False, None) == (thread.is_alive(), spool._thread)
    spool.put([result_of(2)])
    assert spool.flush(10)


FORK = """
import os, sys, time
from spanwise.store._spool import Spool
from tests.store.keeping import result_of
from tests.store.test_spool import Destination
to = Destination()
spool = Spool(to, most=10, most_bytes=10**9)
spool.put([result_of(1)])
if os.fork() == 0:
    to.away = False
    empty = len(spool), spool.flush(0), spool.close(0)
    spool.put([result_of(2)])
    print(*empty, spool.flush(10), to.got, flush=True)
    os._exit(0)
os.wait()
to.away = False
print(spool.flush(10), to.got)
"""


def test_a_process_that_was_forked_leaves_what_waits_to_its_parent(root: Path) -> None:
    """A child begins with an empty spool and writes its own; the parent writes what it holds."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK],
        env={**os.environ, "PYTHONPATH": f"{root}/src:{root}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "0 True 0 True [2]\nTrue [1]\n" == done.stdout, done.stderr
