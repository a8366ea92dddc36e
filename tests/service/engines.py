"""Engines of the service with real parts in this process, and batches for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from spanwise.assembly.assembler import AssemblySettings
from spanwise.delivery import DeliverySettings
from spanwise.evaluators.redundancy import Redundancy
from spanwise.model.result import RunResult
from spanwise.pipeline import Pipeline, Scoring
from spanwise.service.batches import Batch, decode
from spanwise.service.engine import Bounds, Engine, Refusal
from spanwise.service.settings import ServeSettings
from spanwise.service.wal import Wal
from tests.servers import wait_for
from tests.service.traffic import Planned, spans_request


@dataclass
class Kept:
    """A sink that keeps what it is given, once its gate is open; `held` is what it says of its memory."""

    results: list[RunResult] = field(default_factory=list["RunResult"])
    gate: threading.Event = field(default_factory=threading.Event)
    held: int = 0
    fails: bool = False

    def __post_init__(self) -> None:
        """Open."""
        self.gate.set()

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Wait for the gate, and keep them."""
        self.gate.wait(20)
        if self.fails:
            raise OSError("no")
        self.results += results

    def close(self) -> None:
        """Nothing is open."""

    def seen(self) -> list[tuple[str, int, int]]:
        """The trace, the revision and the number of spans of each result."""
        return [(str(one.run.trace.trace_id), one.revision, len(one.run.trace.spans)) for one in self.results]


@dataclass
class Life:
    """An engine between its start and its end."""

    engine: Engine
    sink: Kept

    def offer(self, batch: Batch) -> Refusal | None:
        """Offer a batch, as a receiver does."""
        return asyncio.run(self.engine.offer(batch))

    def wait(self, is_so: Callable[[], object], *, timeout_s: float = 10.0) -> None:
        """Wait until something is so."""
        assert wait_for(lambda: bool(is_so()), timeout_s=timeout_s), (self.engine.counts, self.engine.ledger.counts)

    def stalled(self) -> None:
        """Have its thread do nothing any more: what is offered is in the log only."""
        self.engine._guarded = lambda _: None

    def killed(self) -> None:
        """End it as SIGKILL does for the log: nothing is finished, nothing is written any more."""
        wal = self.engine.wal
        assert wal is not None
        self.stalled()
        self.engine.pipeline.assembler.on_gone = None
        self.engine.drain(5.0)
        wal.close()


def started(
    folder: Path | None,
    sink: Kept | None = None,
    *,
    bounds: Bounds | None = None,
    most: int = 1000,
    fsync: Literal["always", "interval", "never"] = "interval",
    **changes: float,
) -> Life:
    """A running engine with a log in this folder."""
    sink = sink or Kept()
    told = {"grace_s": 0.05, "late_s": 30.0, **changes}
    settings: AssemblySettings = ServeSettings(**told).assembly()
    engine = Engine(
        lambda pause, receipts: Pipeline(
            Scoring(evaluators={"redundancy": Redundancy()}),
            {"kept": sink},
            settings=settings,
            delivery=DeliverySettings(apart=True, most=most),
            pause=pause,
            receipts=receipts,
        ),
        wal=None if folder is None else Wal(folder, fsync=fsync),
        bounds=bounds,
    )
    engine.start()
    assert wait_for(lambda: engine.state == "ready")
    return Life(engine, sink)


def batch_of(trace: Planned, begin: int = 0, end: int | None = None) -> Batch:
    """Some of the spans of a trace as a batch; the root is the last."""
    return decode("traces", "protobuf", spans_request(trace.spans[begin:end]))


def adds_up(engine: Engine) -> bool:
    """Every record that was accepted is somewhere, once the thread is done with what it has in hand."""
    counts, assembler = engine.counts, engine.pipeline.assembler
    stats = assembler.stats
    known = assembler.held + stats.released + stats.doubled + stats.late + sum(stats.refused.values())
    return stats.received == known and counts.accepted + counts.replayed == engine.queued + stats.received
