"""Everything that can go wrong on the way to an OTLP server, and a count of what arrived.

    python -m tests.sinks.otlp_chaos            # the server is down for a minute, the sender is killed
    python -m tests.sinks.otlp_chaos --scale 0.02

Each line says how many scores were sent, delivered and lost, and how many arrived more than once: with the same id and
revision, which is what readers tell them by.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spanwise.model.result import RunResult
from tests.making import trace_id
from tests.sinks.langfuse_making import a_result, five, until
from tests.sinks.otlp_making import FAST, scores_at, sink_to
from tests.sinks.otlp_server import Fault, OtlpServer

SENDER = """
import sys
import time
from pathlib import Path
from tests.sinks.langfuse_making import a_result, five
from tests.sinks.otlp_making import FAST
from spanwise.sinks.otlp import OtlpSink
url, outbox, first = sys.argv[1:]
sink = OtlpSink(url, outbox=Path(outbox), pace=FAST, spans_to=url)
for number in range(int(first), int(first) + 100_000):
    sink.emit([a_result(number, five())])
    print(number, flush=True)
"""


@dataclass(frozen=True)
class Outcome:
    """What became of scores that a sink took."""

    name: str
    sent: int
    delivered: int
    again: int
    strange: int
    seconds: float
    traces_lost: int = 0
    """Traces whose spans did not arrive."""

    @property
    def lost(self) -> int:
        """Those that never arrived."""
        return self.sent - self.delivered

    def __str__(self) -> str:
        counts = f"sent {self.sent:>6}  delivered {self.delivered:>6}  lost {self.lost}  sent twice {self.again}"
        return f"{self.name:<40}{counts}  {self.seconds:.1f} s"


def ids_of(*results: RunResult) -> set[tuple[str, int]]:
    """What the scores of results are told by."""
    return {(result.id_of(score), result.revision) for result in results for score in result.scores}


def counted(name: str, server: OtlpServer, sent: set[tuple[str, int]], begun: float, *, more: bool = False) -> Outcome:
    """How many of these scores are there, how often, and how many that were not sent."""
    there = scores_at(server)
    again = sum(count - 1 for count in there.values())
    strange = 0 if more else len(there.keys() - sent)
    return Outcome(name, len(sent), len(there.keys() & sent), again, strange, time.monotonic() - begun)


@contextmanager
def _emitting(emit: Callable[[Any], None], pause_s: float) -> Iterator[set[tuple[str, int]]]:
    """Give scores to a sink all the time, on a thread of its own."""
    sent: set[tuple[str, int]] = set()
    done = threading.Event()

    def work() -> None:
        for number in range(1, 100_000):
            if done.wait(pause_s):
                return
            result = a_result(number, five())
            emit([result])
            sent.update(ids_of(result))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield sent
    finally:
        done.set()
        thread.join()


def down_for_a_minute(outbox: Path, *, scale: float = 1.0) -> Outcome:
    """The server goes away for a minute while an app goes on scoring."""
    begun = time.monotonic()
    with OtlpServer() as server:
        sink = sink_to(server, outbox)
        with _emitting(sink.emit, 0.01) as sent:
            time.sleep(5 * scale)
            server.down()
            time.sleep(60 * scale)
            server.up()
            time.sleep(5 * scale)
        until(lambda: sink.stats().waiting == 0, 60)
        sink.close()
        return counted(f"down for {60 * scale:g} s", server, sent, begun)


def everything_fails(outbox: Path, *, seed: int, runs: int = 40) -> Outcome:
    """Every second request fails, in any way there is that a server may recover from."""
    begun = time.monotonic()
    chance = random.Random(seed)
    kinds: list[int | str] = [429, 500, 502, 503, 504, 401, 404, 408, "hang", "drop", "drop_after"]

    def fault(kind: str, request: object) -> Fault | None:
        headers = {"Retry-After": "0.05"} if chance.random() < 0.5 else {}
        return Fault(chance.choice(kinds), headers) if chance.random() < 0.5 else None

    with OtlpServer() as server:
        server.hang_s = 0.15
        server.fail = fault
        pace = replace(FAST, linger_s=0.001, timeout_s=0.1, denied_retry_s=0.05, longest_retry_s=0.05)
        sink = sink_to(server, outbox, pace=pace)
        sink._courier.remote.batch = 10  # so that there are many requests
        sent: set[tuple[str, int]] = set()
        for number in range(1, runs + 1):
            results = [a_result(number, five(0.1)), a_result(number, five(), revision=2)]
            for result in results:
                sink.emit([result])
                time.sleep(0.002)
            sent |= ids_of(*results)
        until(lambda: sink.stats().waiting == 0, 60)
        sink.close()
        return counted(f"every second request fails, seed {seed}", server, sent, begun)


def killed(outbox: Path, *, times: int = 4) -> Outcome:
    """The sender is killed in the middle of everything, and another goes on with the same outbox."""
    begun = time.monotonic()
    numbers: set[int] = set()
    with OtlpServer() as server:
        for turn in range(times):
            command = [sys.executable, "-c", SENDER, server.url, str(outbox), str(turn * 100_000 + 1)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
                assert child.stdout is not None
                numbers.add(int(child.stdout.readline()))
                if turn % 2:
                    server.down()
                time.sleep(0.5)
                child.kill()
                numbers.update(int(line) for line in child.stdout if line.endswith("\n"))
            if turn % 2:
                server.up()
        sink = sink_to(server, outbox, spans_to=server.url)
        until(lambda: sink.flush(1), 60)
        sink.close()
        sent = ids_of(*(a_result(number, five()) for number in numbers))
        # The last score of each turn may have been kept before it could be told.
        outcome = counted(f"sender killed {times} times", server, sent, begun, more=True)
        forwarded = {one.trace_id for one in server.received.spans}
        return replace(outcome, traces_lost=len({trace_id(number) for number in numbers} - forwarded))


def main() -> None:
    """Print what became of the scores."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1.0, help="how long a minute is, in minutes")
    scale = parser.parse_args().scale
    with tempfile.TemporaryDirectory() as folder:
        outcomes = [down_for_a_minute(Path(folder) / "down.db", scale=scale)]
        sys.stdout.write(f"{outcomes[0]}\n")
        for seed in range(3):
            outcomes.append(everything_fails(Path(folder) / f"{seed}.db", seed=seed))
            sys.stdout.write(f"{outcomes[-1]}\n")
        outcomes.append(killed(Path(folder) / "killed.db"))
        sys.stdout.write(f"{outcomes[-1]}\n")
    sys.exit(any(outcome.lost or outcome.strange or outcome.traces_lost for outcome in outcomes))


if __name__ == "__main__":
    main()
