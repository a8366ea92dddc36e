"""M11: two scorers beside one, by the clock on the wall.

Each scorer is a `spanwise serve` with its write-ahead log and the structural evaluators, bound to a core of its own.
The sender has made all requests before, each of traces whose ids name one scorer, as a balancer by trace id would send
them: to one scorer, then to two that get as much each. Told is what is scored in a second of the clock while all are at
work, from the tenth part of what the slower one gets to the last tenth of what the faster one does. Whatever they wait
for counts, be it the disk, memory, each other or the sender, so that the figure can fail. Where there is no third core,
the sender takes its time from the scorers, which the note tells.

What does not count is work of others on the machine, which two bound scorers cannot evade and one can: a round in which
it took more than some percent of the cores is done again, and where no calm ones come the figure gets no verdict. That
is programs of others and what the host keeps back; what the system does for the scorers' disk and network is theirs.
Told beside it is what a scorer's processor time for a span says: it grows where two get into each other's way in caches
and memory, but knows nothing of waiting.
"""

from __future__ import annotations

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.servers import EXPORT, channel, renamed
from bench.timing import Figure, Plan, say

if TYPE_CHECKING:
    import grpc

_RUNS, _SPANS = 10, 50
_REQUESTS, _WARM = 100, 25
_SENDERS = 2
_ROUNDS = 15
_TRIES = 2
_CALM = 0.05
_TARGET = 1.8
_START_S, _DEAF_S, _POLL_S = 30.0, 120.0, 0.01
_BEGUN = 0.1
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_SETTINGS = """
evaluators = ["tool_selection", "redundancy", "loops", "recovery", "latency", "cost", "handoffs"]
[serve]
grpc = "127.0.0.1:0"
http = "127.0.0.1:0"
grace_s = 0
late_s = 0.1
wal = {{ folder = {folder!r} }}
[sinks.prometheus]
"""


@dataclass(frozen=True)
class _Taken:
    spans_per_s: float
    wall_s: float
    servers_s: float
    sender_s: float
    foreign: float
    """Which share of all cores work of others took."""


class _Scorer:
    """One `spanwise serve`, bound to a core where the system can do that."""

    def __init__(self, folder: Path, core: int) -> None:
        settings = folder / "spanwise.toml"
        settings.write_text(_SETTINGS.format(folder=str(folder / "wal")), encoding="utf-8")
        command = [sys.executable, "-m", "spanwise", "serve", "--config", str(settings)]
        variables = {name: text for name, text in os.environ.items() if not name.startswith(("SPANWISE", "OTEL"))}
        self._log = folder / "log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=variables)
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self._process.pid, {core})
        grpc_at, self._http = self._addresses()
        self.senders: list[grpc.Channel] = [channel(grpc_at) for _ in range(_SENDERS)]

    def _addresses(self) -> tuple[str, str]:
        until = time.monotonic() + _START_S
        while time.monotonic() < until and self._process.poll() is None:
            said = re.search(r"listening grpc=(\S+) http=(\S+)", self._log.read_text())
            if said:
                return said[1], said[2]
            time.sleep(_POLL_S)
        raise RuntimeError(f"spanwise serve did not start: {self._log.read_text()[-2000:]}")

    def scored(self) -> int:
        """Runs that were scored by now."""
        with urllib.request.urlopen(f"http://{self._http}/metrics", timeout=10) as page:
            found = re.search(rb"^spanwise_serve_scored_total (\d+)$", page.read(), re.MULTILINE)
        return int(found[1]) if found else 0

    def cpu_s(self) -> tuple[float, float]:
        """Processor time so far: of its own code, and of the system for it."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) / _TICKS, int(fields[12]) / _TICKS

    def stop(self) -> None:
        """End it."""
        for one in self.senders:
            one.close()
        self._process.kill()
        self._process.wait(10)


def measure(plan: Plan, requests: Path, label: str) -> None:
    """Add the figure, where the system tells what it takes."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        say("M11: two scorers need two cores, and a system that binds processes to them")
        return
    say("M11: two scorers beside one")
    bodies = [path.read_bytes() for path in sorted(requests.glob("*.pb"))]
    rounds = plan.rounds(_ROUNDS)
    pairs: list[tuple[_Taken, _Taken]] = []
    with ExitStack() as stack:
        scorers: list[_Scorer] = []
        for core in cores[:2]:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            scorers.append(_Scorer(folder, core))
            stack.callback(scorers[-1].stop)
        _work(scorers, bodies, _WARM)
        for number in range(rounds * _TRIES):
            those = [scorers[number % 2 : number % 2 + 1], scorers]
            order = random.Random(number).sample((0, 1), 2)
            taken = {at: _work(those[at], bodies, _REQUESTS) for at in order}
            pairs.append((taken[0], taken[1]))
            if len(_calm(pairs)) == rounds:
                break
    _tell(plan, label, pairs, rounds, cores=len(cores))


def _calm(pairs: Sequence[tuple[_Taken, _Taken]]) -> list[tuple[_Taken, _Taken]]:
    return [pair for pair in pairs if max(taken.foreign for taken in pair) <= _CALM]


def _tell(plan: Plan, label: str, pairs: list[tuple[_Taken, _Taken]], rounds: int, *, cores: int) -> None:
    calm = _calm(pairs)
    is_calm = len(calm) == rounds
    one, two = zip(*(calm if is_calm else pairs), strict=True)
    alone, both = (statistics.median(of.spans_per_s for of in taken) for taken in (one, two))
    sender = statistics.median(of.sender_s / of.wall_s for of in two)
    foreign = statistics.median(max(first.foreign, second.foreign) for first, second in pairs)
    calmness = "" if is_calm else f"; no verdict, for work of others took {foreign:.0%} of the cores"
    note = (
        f"{len(one)} rounds on {cores} cores, by the clock: {alone:,.0f} and {both:,.0f} spans/s;"
        f" the sender took {sender:.0%} of a core{calmness}"
    )
    name, target = f"two scorers / one, {label}", _TARGET if is_calm else None
    value = statistics.median(second.spans_per_s / first.spans_per_s for first, second in zip(one, two, strict=True))
    plan.add(Figure(area="M11", name=name, value=value, unit="x", op=">=", target=target, note=note))
    value = statistics.median(4 * first.servers_s / second.servers_s for first, second in zip(one, two, strict=True))
    spans = _REQUESTS * _RUNS * _SPANS
    note = f"{statistics.median(of.servers_s for of in one) / spans * 1e6:.1f} us/span alone, sums of threads"
    plan.add(Figure(area="M11", name=f"the same by processor time, {label}", value=value, unit="x", note=note))


def _work(scorers: Sequence[_Scorer], bodies: Sequence[bytes], requests: int) -> _Taken:
    """Have each scorer take and score so many requests."""
    waiting = {
        scorer: [renamed(bodies[at % len(bodies)], random.getrandbits(47) * 2 + number % 2) for at in range(requests)]
        for number, scorer in enumerate(scorers)
    }
    before = [scorer.scored() for scorer in scorers]
    cpu_s, began, sent, others_s = _cpu_s(scorers), time.monotonic(), os.times(), _user_s()
    threads = [
        threading.Thread(target=_send, args=(to, bodies_of))
        for scorer, bodies_of in waiting.items()
        for to in scorer.senders
    ]
    for thread in threads:
        thread.start()
    spans_per_s = _scored(scorers, before, requests * _RUNS)
    for thread in threads:
        thread.join()
    wall_s, now = time.monotonic() - began, os.times()
    user_s, system_s = (after - before for after, before in zip(_cpu_s(scorers), cpu_s, strict=True))
    sender_s = now.user + now.system - sent.user - sent.system
    foreign_s = _user_s() - others_s - user_s - (now.user - sent.user)
    return _Taken(spans_per_s, wall_s, user_s + system_s, sender_s, foreign_s / wall_s / (os.cpu_count() or 1))


def _scored(scorers: Sequence[_Scorer], before: Sequence[int], runs: int) -> float:
    """Wait until each scored so many more; spans a second of all, while none was still beginning or already done."""
    seen: list[tuple[float, list[int]]] = []
    until = time.monotonic() + _DEAF_S
    while not seen or min(seen[-1][1]) < runs:
        if time.monotonic() > until:
            raise RuntimeError("the scorers did not score what they took")
        time.sleep(_POLL_S)
        seen.append((time.monotonic(), [at.scored() - was for at, was in zip(scorers, before, strict=True)]))
    busy = [of for of in seen if min(of[1]) >= _BEGUN * runs and max(of[1]) < (1 - _BEGUN) * runs]
    (first_s, first), (last_s, last) = busy[0], busy[-1]
    return (sum(last) - sum(first)) * _SPANS / (last_s - first_s)


def _cpu_s(scorers: Sequence[_Scorer]) -> tuple[float, float]:
    user_s, system_s = zip(*(scorer.cpu_s() for scorer in scorers), strict=True)
    return sum(user_s), sum(system_s)


def _user_s() -> float:
    """Processor time that programs on the machine have taken, or that its host kept back."""
    user, nice, *_, steal = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + steal) / _TICKS


def _send(to: grpc.Channel, bodies: list[bytes]) -> None:
    import grpc

    export = to.unary_unary(EXPORT)
    while bodies:
        try:
            body = bodies.pop()
        except IndexError:
            return
        while True:
            try:
                export(body, timeout=60)
                break
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                    raise
                time.sleep(0.05)
