"""M11: what receiving, grouping and scoring spans costs a server, against a naive receiver, over real gRPC.

The naive receiver is what one writes first: grpcio's own server with the generated service, which makes a dictionary of
every span and forgets it. Ours receives and groups by trace ("group"), builds the traces too ("build"), scores them
("score"), and keeps a write-ahead log ("served"); from "build" on it is the service's own engine. Each server is a
process of its own; so is what loads them in turn, with the same requests for all and as many under way at once. Told is
processor time of the server's process for each span. `bench.replicas` follows: two scorers beside one.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench import replicas, wire
from bench.dialects import spans_of
from bench.timing import Figure, Plan, say
from bench.workload import Run, Texts

_SIZES = ((512, 0.13), (2560, 1.0))
_SPANS, _TRACES, _IN_REQUEST = 50, 40, 500
_WARM_S, _SECONDS = 1.0, 0.5
_ROUNDS = 7
_END_S = 15.0
_KINDS = {
    "naive": "naive receiver",
    "group": "receive, group by trace",
    "build": "the same, and traces built",
    "score": "the same, and structural scores",
    "served": "the same, and a write-ahead log",
}
_TARGETS = {"group": 2.5, "score": 1.2}


def measure(plan: Plan) -> None:
    """Add the figures of both sizes of spans, and of two scorers."""
    for size, factor in _SIZES:
        label = f"{size / 1024:g} KB of text per span"
        say(f"M11: {label}")
        with tempfile.TemporaryDirectory() as name:
            requests = Path(name) / "requests"
            write(requests, factor)
            _sized(plan, requests, label)
            if factor == 1.0:
                replicas.measure(plan, requests, label)


def _sized(plan: Plan, requests: Path, label: str) -> None:
    rounds = plan.rounds(_ROUNDS)
    taken: dict[str, list[float]] = {kind: [] for kind in _KINDS}
    late_s: list[float] = []
    with ExitStack() as stack:
        servers = {kind: stack.enter_context(_process(kind)) for kind in _KINDS}
        load = stack.enter_context(_process("load", str(requests)))
        addresses = {kind: _line(server) for kind, server in servers.items()}
        order = list(_KINDS)
        for number in range(-1, rounds):
            random.Random(number).shuffle(order)
            for kind in order:
                _ask(servers[kind], "begin")
                _ask(load, f"{addresses[kind]} {_SECONDS if number >= 0 else _WARM_S}")
                found: dict[str, float] = json.loads(_ask(servers[kind], "end"))
                if number >= 0:
                    taken[kind].append(found["cpu_s"] / found["spans"] * 1e6)
                    late_s += [found["late_s"]] if kind == "served" else []
    for kind, words in _KINDS.items():
        value = statistics.median(taken[kind])
        note = f"{words}; {rounds} rounds, server's processor time: {1e6 / value:,.0f} spans/s a core"
        plan.add(Figure(area="M11", name=f"{kind}, {label}", value=value, unit="us/span", note=note))
    for kind, target in _TARGETS.items():
        value = statistics.median(a / b for a, b in zip(taken["naive"], taken[kind], strict=True))
        plan.add(Figure(area="M11", name=f"naive / {kind}, {label}", value=value, unit="x", op=">=", target=target))
    note = f"how late a call was at worst, median of {rounds} rounds; {max(late_s) * 1e3:.0f} ms in the worst of them"
    value = statistics.median(late_s) * 1e3
    plan.add(Figure(area="M11", name=f"event loop late, served, {label}", value=value, unit="ms", note=note))


def write(folder: Path, factor: float) -> None:
    """Requests of traces whose ids begin alike, so that they can be given others."""
    folder.mkdir()
    texts = Texts().scaled(factor)
    spans = [
        span
        for seed in range(1, _TRACES + 1)
        for span in spans_of(
            Run(_SPANS, seed=seed, texts=texts), dialect="genai" if seed % 2 else "openinference", number=seed
        )
    ]
    for number, at in enumerate(range(0, len(spans), _IN_REQUEST)):
        wire.protobuf(folder / f"{number:03}.pb", spans[at : at + _IN_REQUEST])


@contextmanager
def _process(*words: str) -> Generator[subprocess.Popen[str]]:
    command: Sequence[str] = [sys.executable, "-m", "bench.servers", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()  # which asks for the end
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _ask(process: subprocess.Popen[str], words: str) -> str:
    """Say a line, and wait for the answer."""
    assert process.stdin is not None
    process.stdin.write(words + "\n")
    process.stdin.flush()
    return _line(process)
