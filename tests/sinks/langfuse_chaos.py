"""Everything that can go wrong on the way to Langfuse, and a count of what arrived.

    make chaos                                      # the server is down for a minute, the sender is killed
    python -m tests.sinks.langfuse_chaos --scale 0.02

Each line says how many scores were sent, delivered, lost and doubled; the exit code is 1 if any was lost or doubled.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.making import trace_id
from tests.sinks.langfuse_making import NAMES, a_result, five, sink_to, until
from tests.sinks.langfuse_server import Fault, LangfuseServer, serving

SENDER = """
import sys
import time
from pathlib import Path
from tests.sinks.langfuse_making import FAST, a_result, five
from tests.sinks.langfuse_server import PUBLIC, SECRET
from spanwise.sinks.langfuse import LangfuseSink
host, outbox, first, pause = sys.argv[1:]
sink = LangfuseSink(public_key=PUBLIC, secret_key=SECRET, host=host, outbox=Path(outbox), pace=FAST)
for number in range(int(first), int(first) + 100_000):
    sink.emit([a_result(number, five())])
    print(number, flush=True)
    time.sleep(float(pause))
"""


@dataclass(frozen=True)
class Outcome:
    """What became of scores that a sink took."""

    name: str
    sent: int
    delivered: int
    doubled: int
    seconds: float

    @property
    def lost(self) -> int:
        """Those that never arrived."""
        return self.sent - self.delivered

    def __str__(self) -> str:
        counts = f"sent {self.sent:>6}  delivered {self.delivered:>6}  lost {self.lost}  doubled {self.doubled}"
        return f"{self.name:<46}{counts}  {self.seconds:.1f} s"


def counted(name: str, server: LangfuseServer, numbers: set[int], begun: float) -> Outcome:
    """How many of the scores of these traces are there, and how often."""
    traces = {trace_id(number) for number in numbers}
    there = [row for row in server.rows.values() if row["traceId"] in traces]
    found = {(row["traceId"], row["name"]) for row in there if row["value"] == 0.9}
    return Outcome(name, len(numbers) * len(NAMES), len(found), len(there) - len(found), time.monotonic() - begun)


@contextmanager
def _emitting(emit: Callable[[Any], None], pause_s: float) -> Iterator[set[int]]:
    """Give scores to a sink all the time, on a thread of its own."""
    sent: set[int] = set()
    done = threading.Event()

    def work() -> None:
        for number in range(1, 100_000):
            if done.wait(pause_s):
                return
            emit([a_result(number, five())])
            sent.add(number)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield sent
    finally:
        done.set()
        thread.join()


def down_for_a_minute(outbox: Path, *, scale: float = 1.0, version: str = "4.60.1", pause_s: float = 0.01) -> Outcome:
    """The server goes away for a minute while an app goes on scoring."""
    begun = time.monotonic()
    with serving(version) as server:
        sink = sink_to(server, outbox)
        with _emitting(sink.emit, pause_s) as sent:
            time.sleep(2 * scale)
            server.down()
            time.sleep(60 * scale)
            server.up()
            time.sleep(2 * scale)
        until(lambda: sink.stats().waiting == 0, 60)
        sink.close()
        return counted(f"down for {60 * scale:g} s", server, sent, begun)


def everything_fails(outbox: Path, *, seed: int, runs: int = 40, version: str = "4.60.1") -> Outcome:
    """Every second request fails, in any way there is."""
    begun = time.monotonic()
    chance = random.Random(seed)
    kinds: list[int | str] = [429, 500, 502, 503, 401, 408, "hang", "drop", "drop_after"]

    def fault(bodies: object) -> Fault | None:
        headers = {"Retry-After": "0.05"} if chance.random() < 0.5 else {}
        return Fault(chance.choice(kinds), headers) if chance.random() < 0.5 else None

    with serving(version) as server:
        server.hang_s = 0.15
        server.fail = fault
        from dataclasses import replace

        from tests.sinks.langfuse_making import FAST

        pace = replace(FAST, timeout_s=0.1, denied_retry_s=0.05, longest_retry_s=0.05)
        sink = sink_to(server, outbox, pace=pace)
        for number in range(1, runs + 1):
            sink.emit([a_result(number, five(0.1))])
            sink.emit([a_result(number, five(), revision=2)])
            time.sleep(0.002)
        until(lambda: sink.stats().waiting == 0, 60)
        sink.close()
        return counted(f"every second request fails, {version}, seed {seed}", server, set(range(1, runs + 1)), begun)


def killed(outbox: Path, *, times: int = 4) -> Outcome:
    """The sender is killed in the middle of everything, and started again with the same outbox."""
    begun = time.monotonic()
    sent: set[int] = set()
    with serving() as server:
        for turn in range(times):
            command = [sys.executable, "-c", SENDER, server.host, str(outbox), str(turn * 100_000 + 1), "0"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
                assert child.stdout is not None
                sent.add(int(child.stdout.readline()))
                if turn % 2:
                    server.down()
                time.sleep(0.5)
                child.kill()
                sent.update(int(line) for line in child.stdout if line.endswith("\n"))
            if turn % 2:
                server.up()
        sink = sink_to(server, outbox)
        until(lambda: sink.stats().waiting == 0, 60)
        sink.close()
        return counted(f"sender killed {times} times", server, sent, begun)


def outcomes(folder: Path, scale: float) -> Iterator[Outcome]:
    """Everything, one after the other."""
    yield down_for_a_minute(folder / "down.db", scale=scale, pause_s=0.025)
    for seed, version in enumerate(("4.60.1", "4.16.0", "3.9.0")):
        yield everything_fails(folder / f"{seed}.db", seed=seed, version=version)
    yield killed(folder / "killed.db")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what became of the scores; 1 if any was lost or doubled."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="how long a minute is, in minutes")
    scale, begun = parser.parse_args(arguments).scale, time.monotonic()
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        for outcome in outcomes(Path(folder), scale):
            found.append(outcome)
            sys.stdout.write(f"{outcome}\n")
            sys.stdout.flush()
    sent, delivered, doubled = (sum(getattr(one, name) for one in found) for name in ("sent", "delivered", "doubled"))
    sys.stdout.write(f"{Outcome('all', sent, delivered, doubled, time.monotonic() - begun)}\n")
    return int(any(one.lost or one.doubled for one in found))


if __name__ == "__main__":
    sys.exit(main())
