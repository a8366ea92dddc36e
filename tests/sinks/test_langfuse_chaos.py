"""Nothing is lost and nothing is doubled, and the app is never kept waiting, whatever goes wrong."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spanwise.sinks._turn import Turn
from tests.sinks import langfuse_chaos
from tests.sinks.langfuse_making import FAST, a_result, a_score, five, sink_to, until
from tests.sinks.langfuse_server import PUBLIC, SECRET, Fault, serving

pytestmark = pytest.mark.once

VERSIONS = ("4.60.1", "4.16.0", "3.9.0")


@pytest.fixture(autouse=True)
def _needs_the_sdk(require: Callable[[str], str]) -> None:
    require("langfuse")
    require("httpx")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_that_is_down(version: str, tmp_path: Path) -> None:
    """What is scored while the server is away for a minute (here: shorter) arrives when it is back."""
    outcome = langfuse_chaos.down_for_a_minute(tmp_path / "out.db", scale=0.015, version=version)
    sys.stdout.write(f"{outcome}\n")
    assert outcome.sent > 100
    assert (0, 0) == (outcome.lost, outcome.doubled)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("version", VERSIONS)
def test_everything_fails_half_of_the_time(version: str, seed: int, tmp_path: Path) -> None:
    """Two revisions of each run, and every second request fails in some way: the last revision of each is there."""
    outcome = langfuse_chaos.everything_fails(tmp_path / "out.db", seed=seed, runs=10, version=version)
    sys.stdout.write(f"{outcome}\n")
    assert (50, 0, 0) == (outcome.sent, outcome.lost, outcome.doubled)


def test_a_sender_that_is_killed(tmp_path: Path) -> None:
    """What a process had taken before SIGKILL is delivered by the next one with the same outbox."""
    outcome = langfuse_chaos.killed(tmp_path / "out.db", times=2)
    sys.stdout.write(f"{outcome}\n")
    assert outcome.sent > 100
    assert (0, 0) == (outcome.lost, outcome.doubled)


def test_the_tally(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The tally ends in a sum, and in exit code 1 if any score was lost or doubled."""
    fine, lost, doubled = (
        langfuse_chaos.Outcome(name, 10, delivered, twice, 0.1)
        for name, delivered, twice in (("fine", 10, 0), ("lost", 9, 0), ("doubled", 10, 1))
    )
    codes = []
    for given in ([fine], [fine, lost], [doubled, fine]):
        monkeypatch.setattr(langfuse_chaos, "outcomes", lambda folder, scale, given=given: iter(given))
        codes.append(langfuse_chaos.main([]))
        told = capsys.readouterr().out.splitlines()
        sent, arrived, twice = (sum(getattr(one, name) for one in given) for name in ("sent", "delivered", "doubled"))
        assert [str(one) for one in given] == told[:-1]
        assert [f"sent {sent}", f"lost {sent - arrived}", f"doubled {twice}"] == [
            " ".join(told[-1].split()[at : at + 2]) for at in (1, 5, 7)
        ]
    assert [0, 1, 1] == codes


def test_taking_never_waits(tmp_path: Path) -> None:
    """Results are taken in milliseconds while the server hangs, and the end of the app waits no longer than it may."""
    with serving() as server:
        server.hang_s = 3.0
        server.fail = lambda bodies: Fault("hang")
        sink = sink_to(server, tmp_path / "out.db", close_s=0.2)
        sink.emit([a_result(1, five())])
        took: list[float] = []
        for number in range(2, 50):
            begun = time.perf_counter()
            sink.emit([a_result(number, five())])
            took.append(time.perf_counter() - begun)
        begun = time.monotonic()
        assert not sink.flush(0.1)
        sink.close()
        assert time.monotonic() - begun < 1.0
        assert sorted(took)[len(took) // 2] < 0.02
        server.fail = lambda bodies: None
        later = sink_to(server, tmp_path / "out.db")
        assert until(lambda: len(server.rows) == 49 * 5)
        later.close()


def test_without_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An outbox in memory delivers as well; what it could not deliver at the end is told as lost."""
    with serving() as server:
        sink = sink_to(server, None, close_s=0.1)
        sink.emit([a_result(1, five())])
        assert sink.flush(10)
        assert 5 == len(server.scores)
        server.down()
        sink.emit([a_result(2, five())])
        sink.close()
        assert "5 scores for Langfuse are lost" in caplog.text


def test_a_locked_outbox(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While the outbox cannot be written, scores wait in memory and are delivered; the app waits a moment at most."""
    with serving() as server:
        sink = sink_to(server, tmp_path / "out.db")
        sink.emit([a_result(1)])
        assert sink.flush(10)
        other = sqlite3.connect(tmp_path / "out.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        begun = time.monotonic()
        sink.emit([a_result(2)])
        assert time.monotonic() - begun < 1
        assert until(lambda: len(server.rows) == 2)
        sink.emit([a_result(3)])
        other.close()
        sink.emit([a_result(4)])
        assert until(lambda: len(server.rows) == 4)
        assert until(lambda: sink.stats().waiting == 0)
        sink.close()
        assert (4, 4, {}) == (sink.stats().taken, sink.stats().delivered, sink.stats().dropped)
        assert 1 == caplog.text.count("cannot be written")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """A folder that cannot be made costs nothing but the file: scores are delivered out of memory."""
    (tmp_path / "file").write_text("")
    with serving() as server:
        sink = sink_to(server, tmp_path / "file" / "out.db")
        sink.emit([a_result(1)])
        assert until(lambda: bool(server.rows))
        sink.close()


def test_a_full_outbox(tmp_path: Path) -> None:
    """Over its bound the outbox lets go of what is fine before what is an alert, and counts it."""
    with serving() as server:
        server.down()
        sink = sink_to(server, tmp_path / "out.db", max_rows=10)
        sink.emit([a_result(1, five(0.1, label="alert"))])
        for number in range(2, 6):
            sink.emit([a_result(number, five())])
        stats = sink.stats()
        assert ({"shed_ok": 15}, 10, 25) == (stats.dropped, stats.waiting, stats.taken)
        server.up()
        assert until(lambda: sink.stats().waiting == 0)
        sink.close()
        assert {0.1: 5, 0.9: 5} == {
            value: sum(row["value"] == value for row in server.scores.values()) for value in (0.1, 0.9)
        }


def test_two_processes_share_an_outbox(tmp_path: Path) -> None:
    """Only one of two processes delivers at a time, for both; where it ends, the other goes on."""
    with serving() as server:
        command = [sys.executable, "-c", langfuse_chaos.SENDER, server.host, str(tmp_path / "out.db"), "100001", "0.05"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            child.stdout.readline()
            assert until(lambda: bool(server.rows))
            sink = sink_to(server, tmp_path / "out.db")
            sink.emit([a_result(1, five())])
            assert until(lambda: any(row["traceId"].endswith("0001") for row in server.rows.values()))
            assert 0 == sink.stats().requests
            child.kill()
        sink.emit([a_result(2, five())])
        assert until(lambda: sink.stats().requests > 0 and sink.stats().waiting == 0, 30)
        sink.close()
        assert len(server.scores) == len(server.rows)


def test_waiting_for_another_process_is_cheap(tmp_path: Path) -> None:
    """A process whose turn it is not waits without work, and delivers when the other one is gone."""
    with serving() as server:
        sink = sink_to(server, tmp_path / "out.db")
        other = Turn(sink._courier.delivery._turn._path)
        assert other.take()
        sink.emit([a_result(1, five())])
        begun = time.process_time()
        assert not sink.flush(1.0)
        assert time.process_time() - begun < 0.5
        other.leave()
        assert sink.flush(10)
        assert 5 == len(server.scores)
        sink.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork(tmp_path: Path) -> None:
    """A child of a forking server delivers by itself what it scores, and so does its parent."""
    code = """
import os, sys
from pathlib import Path
from tests.sinks.langfuse_making import FAST, a_result
from spanwise.sinks.langfuse import LangfuseSink
host, outbox, public, secret = sys.argv[1:]
sink = LangfuseSink(public_key=public, secret_key=secret, host=host, pace=FAST, outbox=Path(outbox) if outbox else None)
sink.emit([a_result(1)])
assert sink.flush(10)
children = []
for number in (2, 3):
    child = os.fork()
    if not child:
        sink.emit([a_result(number)])
        done = sink.flush(20)
        sink.close()
        os._exit(0 if done else 1)
    children.append(child)
sink.emit([a_result(4)])
assert sink.flush(20)
sink.close()
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
"""
    for outbox in (str(tmp_path / "out.db"), ""):
        with serving() as server:
            command = [sys.executable, "-W", "ignore", "-c", code, server.host, outbox, PUBLIC, SECRET]
            subprocess.run(command, check=True, timeout=60)
            assert 4 == len(server.scores)


def test_many_threads(tmp_path: Path) -> None:
    """Threads of one process may give results at the same time."""
    with serving() as server:
        sink = sink_to(server, tmp_path / "out.db")

        def work(first: int) -> None:
            for number in range(first, first + 20):
                sink.emit([a_result(number, [a_score()])])

        threads = [threading.Thread(target=work, args=(100 * at,)) for at in range(1, 6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert until(lambda: len(server.rows) == 100)
        assert until(lambda: sink.stats().waiting == 0)
        stats = sink.stats()
        sink.close()
        assert (100, 100, {}) == (stats.taken, stats.delivered, stats.dropped)
        assert FAST == sink.pace
