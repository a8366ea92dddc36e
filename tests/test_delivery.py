"""Results into the hands of sinks: each gets what it may show, and none waits for another."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from spanwise.delivery import Apart, Delivery, DeliverySettings, level_of
from spanwise.masking import Masking
from spanwise.model.ports import Content
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks.console import ConsoleSink
from spanwise.sinks.log import LogSink
from tests.making import agent, run_of, tool

WAIT_S = 10.0


def result(number: int = 1, *, reason: str = "asked a@b.test", text: str = "") -> RunResult:
    """A run with a score."""
    run = run_of(agent(number), tool(number + 1, parent=number, arguments={"text": text}))
    return RunResult(run=run, scores=(Score(name="mine", value=0.5, reason=reason),))


@dataclass
class Kept:
    """A sink that keeps what it is given, once it may go on."""

    gate: threading.Event | None = None
    results: list[RunResult] = field(default_factory=list["RunResult"])
    threads: set[str] = field(default_factory=set[str])
    closed: bool = False
    idle: bool = False

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Wait, and keep the results."""
        if self.gate is not None:
            self.gate.wait(WAIT_S)
        self.threads.add(threading.current_thread().name)
        self.results += results

    def close(self) -> None:
        """Remember that."""
        self.closed = True


@dataclass
class Narrow(Kept):
    """A sink that lets no content out."""

    emits: Content = "none"


@dataclass
class Failing(Kept):
    """A sink that fails at every turn, in its own way."""

    error: BaseException = field(default_factory=lambda: OSError("full"))
    drops: Mapping[str, int] = field(default_factory=lambda: {"refused": 2, "queue": 1})

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Fail."""
        raise self.error

    def close(self) -> None:
        """Fail."""
        raise self.error


def delivery(sinks: Mapping[str, object], **settings: object) -> tuple[Delivery, list[tuple[str, str]]]:
    """A delivery, and what failed in it."""
    failed: list[tuple[str, str]] = []
    made = Delivery(sinks, DeliverySettings(**settings), lambda name, error: failed.append((name, str(error))))
    return made, failed


def no_pause() -> None:
    """Let nobody run."""


def start(apart: Apart, first: RunResult) -> None:
    """Have a sink busy with a first result."""
    apart.emit([first])
    until = time.monotonic() + WAIT_S
    while apart.waiting and time.monotonic() < until:
        time.sleep(0.001)


# Levels of content


def test_each_sink_gets_its_level() -> None:
    """A sink gets what it lets out, the user's setting before its own; secrets are masked at every level."""
    sinks = {name: Kept() for name in ("own", "set", "evidence")} | {"narrow": Narrow(), "widened": Narrow()}
    made, failed = delivery(sinks, content={"set": "none", "evidence": "evidence", "widened": "all"})
    made.emit([result()], no_pause)
    reasons = {name: sink.results[0].scores[0].reason for name, sink in sinks.items()}
    told = "asked [masked: email]"
    assert {"own": told, "set": "", "evidence": told, "narrow": "", "widened": told} == reasons
    assert [] == failed


def test_what_is_shown_is_made_once() -> None:
    """Sinks of one level share what they are shown."""
    calls: list[str] = []

    def count(text: str) -> str:
        calls.append(text)
        return text

    first, last, bare = Kept(), Kept(), Narrow()
    made, _ = delivery({"a": first, "b": last, "c": bare}, mask=Masking(functions=[count]))
    made.emit([result()], no_pause)
    assert first.results[0] is last.results[0]
    assert 1 == calls.count("asked a@b.test")
    assert "" == bare.results[0].scores[0].reason


def test_an_idle_sink_costs_nothing() -> None:
    """A sink that would do nothing with results is not given any, and nothing is made for it."""
    sink = Kept()
    made, _ = delivery({"a": sink})
    sink.idle = True
    made.emit([result()], no_pause)
    assert [] == sink.results
    sink.idle = False
    made.emit([result()], no_pause)
    assert 1 == len(sink.results)


def test_levels() -> None:
    """Own sinks and functions get all; ours say it, or get nothing."""
    silent = type("Silent", (), {"__module__": "spanwise.sinks.silent"})()
    assert ["all", "none", "all", "none"] == [level_of(one) for one in (Kept(), Narrow(), LogSink(), silent)]


# Sinks apart


def test_a_sink_that_hangs_delays_nobody() -> None:
    """While one sink hangs the others, in line and apart, get everything; when it goes on, so does it."""
    gate = threading.Event()
    hanging, inline, other = Kept(gate), Kept(), Kept()
    inline.inline = True
    made, _ = delivery({"hanging": hanging, "inline": inline, "other": other}, apart=True)
    begun = time.monotonic()
    for number in range(20):
        made.emit([result(number + 1)], no_pause)
    assert 1.0 > time.monotonic() - begun
    assert not made.flush(0.1)
    assert (0, 20, 20) == (len(hanging.results), len(inline.results), len(other.results))
    gate.set()
    assert made.flush(WAIT_S)
    assert other.results == hanging.results
    assert {threading.current_thread().name} == inline.threads
    assert {"spanwise-Kept"} == other.threads
    made.close()
    assert (True, True, True) == (hanging.closed, inline.closed, other.closed)
    assert {} == made.drops()


def test_failures_are_counted() -> None:
    """What a sink raises on its thread, even to end it, is counted, and it is given the next results all the same."""
    sinks = {"a": Failing(), "b": Failing(error=SystemExit("bye")), "c": Kept()}
    made, failed = delivery(sinks, apart=True)
    for _ in range(2):
        made.emit([result()], no_pause)
        assert made.flush(WAIT_S)
    made.close()
    assert [("a", "full")] * 3 + [("b", "bye")] * 3 == sorted(failed)
    assert (2, True) == (len(sinks["c"].results), sinks["c"].closed)
    assert {"a": {"refused": 2, "queue": 1}, "b": {"refused": 2, "queue": 1}} == made.drops()


def test_too_many_wait() -> None:
    """Past the bound the oldest results are dropped and counted, and the newest arrive."""
    gate = threading.Event()
    kept = Kept(gate)
    apart = Apart(kept, most=5)
    given = [result(number + 1) for number in range(20)]
    start(apart, given[0])
    for one in given[1:]:
        apart.emit([one])
    assert (5, {"queue": 14}) == (apart.waiting, apart.drops)
    gate.set()
    assert apart.flush(WAIT_S)
    assert [given[0], *given[-5:]] == kept.results
    apart.close()


def test_too_much_waits() -> None:
    """So it is past the bound of bytes; one result alone is never too large."""
    gate = threading.Event()
    kept = Kept(gate)
    apart = Apart(kept, most_bytes=100_000)
    start(apart, result())
    for number in range(40):
        apart.emit([result(number + 1, text="x" * 20_000)])
    assert 40 == apart.waiting + apart.drops["queue_bytes"]
    assert 2 <= apart.waiting <= 8
    gate.set()
    assert apart.flush(WAIT_S)
    apart.close()


def test_close_has_a_deadline() -> None:
    """A sink that hangs at the end is waited for that long; what it did not take is counted, as is what comes later."""
    gate = threading.Event()
    hanging, other = Kept(gate), Kept()
    made, _ = delivery({"hanging": hanging, "other": other}, apart=True, close_s=0.2)
    made.emit([result(1)], no_pause)
    assert not made.flush(0.05)
    made.emit([result(2), result(3)], no_pause)
    begun = time.monotonic()
    made.close()
    assert 0.15 < time.monotonic() - begun < 2.0
    assert (3, True) == (len(other.results), other.closed)
    assert {"hanging": {"closing": 2}} == made.drops()
    made.emit([result(4)], no_pause)
    assert {"hanging": {"closing": 3}, "other": {"closing": 1}} == made.drops()
    gate.set()


def test_closing_what_got_nothing() -> None:
    """A sink that got no result is closed, too; to close twice does nothing more."""
    kept = Kept()
    apart = Apart(kept)
    assert apart.flush(0.0)
    apart.close()
    apart.close()
    assert kept.closed


class Flushing(Kept):
    """A sink with a flush of its own, which does as it is told."""

    def __init__(self, flushing: Callable[[], object]) -> None:
        super().__init__()
        self.flushing = flushing

    def flush(self, timeout_s: float) -> object:
        """Do that."""
        return self.flushing()


def test_a_sinks_own_flush() -> None:
    """What a sink itself holds back is waited for; one that says no, hangs or fails makes the flush False."""
    gate = threading.Event()

    def fail() -> object:
        raise OSError("gone")

    ways = {True: lambda: None, False: lambda: False}
    assert [True, False] == [Apart(Flushing(way)).flush(WAIT_S) for way in ways.values()]
    apart = Apart(Flushing(fail))
    assert (False, 1) == (apart.flush(WAIT_S), apart.failures)
    begun = time.monotonic()
    assert not Apart(Flushing(lambda: gate.wait(WAIT_S))).flush(0.1)
    assert 2.0 > time.monotonic() - begun
    gate.set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_child() -> None:
    """A forked child starts anew: it gives its sink its own results, and leaves what waited to the parent."""
    gate = threading.Event()
    kept = Kept(gate)
    apart = Apart(kept)
    for number in range(3):
        apart.emit([result(number + 1)])
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        kept.gate, kept.results = None, []
        apart.emit([result(9)])
        done = apart.flush(WAIT_S)
        os.write(writer, f"{done} {len(kept.results)} {apart.drops}".encode())
        os._exit(0)
    os.close(writer)
    said = os.read(reader, 100).decode()
    os.close(reader)
    os.waitpid(child, 0)
    gate.set()
    assert apart.flush(WAIT_S)
    assert ("True 1 {}", 3) == (said, len(kept.results))
    apart.close()


def test_which_run_in_line() -> None:
    """Only sinks that say that they never wait run on the thread that scores."""
    assert [True, True, False] == [getattr(one, "inline", False) for one in (LogSink(), ConsoleSink(), Kept())]


@dataclass
class Joining(Kept):
    """A sink that takes three results at once, and remembers how many it got each time."""

    joins: int = 3
    sizes: list[int] = field(default_factory=list["int"])

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Wait, and keep the results."""
        super().emit(results)
        self.sizes.append(len(results))


def test_waiting_results_are_joined() -> None:
    """A sink that says so gets the results of several traces at once, in their order, and no trace in two parts."""
    gate = threading.Event()
    sink = Joining(gate)
    apart = Apart(sink)
    given = [result(number) for number in range(1, 8)]
    start(apart, given[0])
    for pair in (given[1:3], given[3:5], given[5:6], given[6:]):
        apart.emit(pair)
    gate.set()
    assert apart.flush(WAIT_S)
    apart.close()
    assert ([1, 2, 3, 1], given) == (sink.sizes, sink.results)


def test_results_are_gathered() -> None:
    """Results that come one after the other wake a sink's thread once; who flushes does not wait for more of them."""
    sink = Joining()
    apart = Apart(sink)
    given = [result(number) for number in range(1, 61)]
    begun = time.monotonic()
    for one in given:
        apart.emit([one])
        time.sleep(0.0001)
    took = time.monotonic() - begun
    assert apart.flush(WAIT_S)
    apart.close()
    assert given == sink.results
    assert len(sink.sizes) <= 20 + 2 + took / 0.01  # three at a time, and what came as the thread looked
