"""What a scorer needs: spans a second, memory per open span, write-ahead log per span, store per run.

    python scripts/sizing.py [--sent 12000] [--spans 20] [--scale 0.4]

Starts `spanwise serve` twice on loopback, sends it made-up runs by OTLP/HTTP, and prints a Markdown table. Every figure
has a ratio beside it, to what the same spans take as OTLP or in a loop that only parses them, which other machines
share. What the sender takes is not counted: processor time is that of the scorer alone.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import wire  # noqa: E402
from bench.dialects import spans_of  # noqa: E402
from bench.workload import Run, Texts  # noqa: E402

AT_ONCE = 10
SENDERS = 2
TEMPLATES = 8
OPEN_SPANS = 30_000
WARM_SPANS = 2_000
START_S, SETTLE_S = 30.0, 30.0
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Template:
    """A request of some traces, and the ids in it that are put anew each time."""

    payload: bytes
    ids: tuple[bytes, ...]
    spans: int

    def renumbered(self, number: int) -> bytes:
        """The request with trace ids that no other has."""
        payload = self.payload
        for at, old in enumerate(self.ids):
            payload = payload.replace(old, number.to_bytes(8, "big") + (at + 1).to_bytes(8, "big"))
        return payload


def templates(spans: int, scale: float, folder: Path, *, rootless: bool) -> list[Template]:
    """Requests of whole traces; or of traces whose root does not come, so that they stay open."""
    texts = Texts().scaled(scale)
    made: list[Template] = []
    for number in range(TEMPLATES):
        found = [
            spans_of(Run(spans, seed=number * AT_ONCE + at + 1, texts=texts), dialect="genai", number=at + 1)
            for at in range(AT_ONCE)
        ]
        ids = [os.urandom(16) for _ in found]
        for listed, one in zip(found, ids, strict=True):
            for span in listed:
                span.trace_id = one.hex()
        kept = [span for listed in found for span in listed if not (rootless and span.parent_id is None)]
        payload = wire.protobuf(folder / "request", kept).read_bytes()
        made.append(Template(payload, tuple(ids), len(kept)))
    return made


class Scorer:
    """One `spanwise serve`, on ports of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wal, self.store = folder / "wal", folder / "runs.db"
        settings = folder / "spanwise.toml"
        settings.write_text(
            '[serve]\ngrpc = "127.0.0.1:0"\nhttp = "127.0.0.1:0"\n'
            "max_spans = 2_000_000\nmax_mb = 8_000\nmax_traces = 1_000_000\nidle_s = 600\ngrace_s = 0.2\n"
            f"wal = {{ folder = {json.dumps(str(self.wal))}, max_mb = 8_000 }}\n"
            f"[sinks.store]\nwhere = {json.dumps(str(self.store))}\n"
        )
        variables = {name: text for name, text in os.environ.items() if not name.startswith(("SPANWISE", "OTEL"))}
        self._log = (folder / "log").open("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "spanwise", "serve", "--config", str(settings)],
            env=variables,
            cwd=folder,
            stdout=self._log,
            stderr=self._log,
        )
        self.host, self.port = self._address()

    def _address(self) -> tuple[str, int]:
        until = time.monotonic() + START_S
        while time.monotonic() < until and self._process.poll() is None:
            said = re.search(r"http=(?:https?://)?([\w.]+):(\d+)", (self.folder / "log").read_text())
            if said:
                return said[1], int(said[2])
            time.sleep(0.05)
        raise SystemExit(f"spanwise serve did not start: {(self.folder / 'log').read_text()[-2000:]}")

    def cpu_s(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def rss(self) -> int:
        """Bytes in memory."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024

    def runs(self) -> int:
        """Runs in the store."""
        from spanwise.errors import SinkError
        from spanwise.store import Store

        with contextlib.suppress(SinkError), Store.open(self.store, must_exist=True, max_age_s=None) as store:
            return store.count()
        return 0

    def stop(self) -> None:
        """End it, by SIGTERM first."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._log.close()


@contextlib.contextmanager
def scorer() -> Iterator[Scorer]:
    """A scorer with a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="spanwise-sizing-") as folder:
        one = Scorer(Path(folder))
        try:
            yield one
        finally:
            one.stop()


class Load:
    """Sends requests until the time is over or enough has been sent; refused ones are sent again when told."""

    def __init__(self, to: Scorer, made: Sequence[Template], *, first: int = 0) -> None:
        self.spans = self.requests = self.payload = self.refused = 0
        self._to, self._made = to, made
        self._lock = threading.Lock()
        self._number = first

    def run(self, *, seconds: float, spans: int | None = None) -> None:
        """Send."""
        until = time.monotonic() + seconds
        senders = [threading.Thread(target=self._send, args=(until, spans)) for _ in range(SENDERS)]
        for one in senders:
            one.start()
        for one in senders:
            one.join()

    def _send(self, until: float, spans: int | None) -> None:
        line = http.client.HTTPConnection(self._to.host, self._to.port, timeout=30)
        while time.monotonic() < until and (spans is None or self.spans < spans):
            with self._lock:
                self._number += 1
                number = self._number
            template = self._made[number % len(self._made)]
            payload = template.renumbered(number)
            while time.monotonic() < until + SETTLE_S:
                line.request("POST", "/v1/traces", payload, {"content-type": "application/x-protobuf"})
                answer = line.getresponse()
                answer.read()
                if answer.status == 200:
                    break
                if answer.status not in {429, 503}:
                    raise SystemExit(f"the scorer answered {answer.status}")
                self.refused += 1
                time.sleep(min(float(answer.headers.get("retry-after", "1")), 2.0))
            with self._lock:
                self.spans += template.spans
                self.requests += 1
                self.payload += len(payload)
        line.close()


def size_of(folder: Path) -> int:
    """Bytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0


def parsed_per_s(made: Sequence[Template]) -> float:
    """Spans a second of one core that a loop parses, and does nothing else with."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    spans, begun = 0, time.process_time()
    while time.process_time() - begun < 1.0:
        for one in made:
            ExportTraceServiceRequest.FromString(one.payload)
            spans += one.spans
    return spans / (time.process_time() - begun)


def throughput(made: Sequence[Template], spans: int) -> dict[str, float]:
    """Spans a second of one core and of the clock, and what the store keeps of a run."""
    with scorer() as to:
        warm = Load(to, made)
        warm.run(seconds=5.0, spans=WARM_SPANS)
        stored_all(to, warm.requests * AT_ONCE)
        load, cpu, begun = Load(to, made, first=10**9), to.cpu_s(), time.monotonic()
        load.run(seconds=SETTLE_S, spans=spans)
        sent_s = time.monotonic() - begun
        wanted = (warm.requests + load.requests) * AT_ONCE
        runs = stored_all(to, wanted)
        taken, done_s = to.cpu_s() - cpu, time.monotonic() - begun
        return {
            "spans": load.spans,
            "per_core": load.spans / max(taken, 1e-9),
            "accepted": load.spans / sent_s,
            "per_s": load.spans / done_s,
            "payload": load.payload / max(load.spans, 1),
            "lost": wanted - runs,
            "refused": load.refused,
            "store": to.store.stat().st_size / max(runs, 1),
        }


def stored_all(to: Scorer, wanted: int) -> int:
    """The runs in the store, once they are all there or it has taken too long."""
    until = time.monotonic() + SETTLE_S
    while (runs := to.runs()) < wanted and time.monotonic() < until:
        time.sleep(0.25)
    return runs


def held(made: Sequence[Template]) -> dict[str, float]:
    """What a span takes that waits for the rest of its trace, in memory and in the write-ahead log."""
    with scorer() as to:
        Load(to, made).run(seconds=10.0, spans=WARM_SPANS)
        rss, wal = to.rss(), size_of(to.wal)
        load = Load(to, made, first=10**9)
        load.run(seconds=15.0, spans=OPEN_SPANS)
        time.sleep(1.0)
        return {
            "spans": load.spans,
            "memory": (to.rss() - rss) / max(load.spans, 1),
            "wal": (size_of(to.wal) - wal) / max(load.spans, 1),
            "payload": load.payload / max(load.spans, 1),
        }


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sent", type=int, default=12_000, help="spans that are scored")
    parser.add_argument("--spans", type=int, default=20, help="spans of a run")
    parser.add_argument("--scale", type=float, default=0.4, help="how long texts are")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        whole = templates(given.spans, given.scale, Path(folder), rootless=False)
        rootless = templates(given.spans, given.scale, Path(folder), rootless=True)
    parsed = parsed_per_s(whole)
    busy, idle = throughput(whole, given.sent), held(rootless)
    per_run = busy["payload"] * given.spans
    print(
        f"Runs of {given.spans} spans of {busy['payload']:,.0f} bytes as OTLP; {busy['spans']:,.0f} spans were sent.\n"
    )
    print("| one scorer | measured | ratio |\n|---|---|---|")
    for name, value, unit, ratio in (
        (
            "scored and stored, by one core",
            busy["per_core"],
            "spans/s",
            f"1/{parsed / busy['per_core']:,.0f} of parsing",
        ),
        ("memory of a span that waits", idle["memory"], "B", f"{idle['memory'] / idle['payload']:.2f} x OTLP"),
        ("write-ahead log of a span", idle["wal"], "B", f"{idle['wal'] / idle['payload']:.2f} x OTLP"),
        ("store (SQLite, all content) of a run", busy["store"], "B", f"{busy['store'] / per_run:.2f} x OTLP"),
    ):
        print(f"| {name} | {value:,.0f} {unit} | {ratio} |")
    print(
        f"\nBy the clock {busy['accepted']:,.0f} spans a second were accepted, {busy['per_s']:,.0f} scored and stored."
    )
    if busy["lost"]:
        print(f"{busy['lost']:,.0f} runs were not in the store in time", file=sys.stderr)
    return 1 if busy["lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
