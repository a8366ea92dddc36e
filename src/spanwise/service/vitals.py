"""How the service is: `/healthz`, `/readyz` and `/metrics`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from spanwise.service.engine import Engine
from spanwise.sinks.prometheus import CONTENT_TYPE, PrometheusSink

_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Page:
    """An answer over HTTP."""

    status: int
    content_type: str
    body: bytes


Route: TypeAlias = Callable[[], Page]
Counts: TypeAlias = Callable[[], Mapping[str, int]]


class Vitals:
    """Tells how an engine is.

    Args:
        engine: The engine.
        scores: What counts scores.
        receivers: What each receiver refused by itself, by its name.
    """

    def __init__(self, engine: Engine, scores: PrometheusSink, receivers: Mapping[str, Counts] | None = None) -> None:
        self._engine = engine
        self._scores = scores
        self.receivers = dict(receivers or {})

    def routes(self) -> Mapping[str, Route]:
        """The pages by their paths."""
        return {"/healthz": self.health, "/readyz": self.ready, "/metrics": self.metrics}

    def health(self) -> Page:
        """200 while the process lives and its thread moves."""
        return _page([] if self._engine.is_alive else ["the thread that scores does not move"], "alive")

    def ready(self) -> Page:
        """200 while spans are taken, else 503 with the reasons."""
        return _page(self._engine.unready(), "ready")

    def metrics(self) -> Page:
        """Everything that is counted, as Prometheus reads it."""
        text = self._scores.text() + "".join(f"{line}\n" for line in self._lines())
        return Page(200, CONTENT_TYPE, text.encode())

    def _lines(self) -> Iterable[str]:
        yield from _Text("spanwise_serve_").lines(self)

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self._engine


def _page(problems: list[str], fine: str) -> Page:
    body = json.dumps({"status": "unavailable" if problems else fine, "reasons": problems}) + "\n"
    return Page(503 if problems else 200, _JSON, body.encode())


@dataclass(frozen=True, slots=True)
class _Text:
    prefix: str

    def lines(self, vitals: Vitals) -> Iterable[str]:
        """All metrics of the service itself."""
        engine = vitals.engine
        counts, ledger = engine.counts, engine.ledger.counts
        pipeline, stats = engine.pipeline, engine.pipeline.assembler.stats
        yield from self._one("requests_total", "Requests that were offered.", counts.requests)
        yield from self._one("accepted_total", "Spans and log events that were accepted.", counts.accepted)
        yield from self._one("own_total", "Records of Spanwise's own, left out.", counts.own)
        yield from self._one("rejected_total", "Records that can never be accepted.", counts.rejected)
        yield from self._by("refused_total", "Records that have to come again.", "reason", counts.refused)
        for name, told in vitals.receivers.items():
            yield from self._by(f"{name}_refused_total", f"Requests that {name} refused.", "reason", told())
        yield from self._one("replayed_total", "Records taken again from the log.", counts.replayed)
        yield from self._one("unreadable_total", "Requests of the log that could not be read.", counts.unreadable)
        yield from self._one("errors_total", "Errors of the thread that scores.", counts.errors)
        yield from self._one("received_total", "Records that were assembled.", stats.received)
        yield from self._one("released_total", "Records that were let go after scoring.", stats.released)
        yield from self._one("doubled_total", "Records that came twice.", stats.doubled)
        yield from self._one("late_total", "Records that came too late.", stats.late)
        yield from self._by("given_up_total", "Records of traces given up.", "reason", stats.refused)
        yield from self._one("finished_total", "Traces that were finished.", stats.finished)
        yield from self._one("revisions_total", "Traces scored again for late spans.", stats.again)
        yield from self._one("scored_total", "Runs that were scored.", pipeline.stats.scored)
        yield from self._one("unscored_total", "Runs that were not.", pipeline.stats.unscored)
        yield from self._one("broken_total", "Runs that could not be scored.", pipeline.stats.broken)
        yield from self._one("done_total", "Revisions that every sink has.", ledger.done)
        yield from self._one("unsafe_total", "Revisions that a sink lost, kept in the log.", ledger.unsafe)
        yield from self._one("overdue_total", "Revisions whose judges were not waited for longer.", ledger.overdue)
        yield from self._by("judges_lost_total", "Runs without a verdict.", "reason", pipeline.lost_elsewhere)
        yield from self._one("handed_off_total", "Traces given to another service.", ledger.handed_off)
        yield from self._by("sink_failures_total", "Failures of sinks.", "sink", pipeline.stats.sink_failures)
        yield from self._sinks(engine)
        yield from self._gauges(engine)

    def _sinks(self, engine: Engine) -> Iterable[str]:
        name = f"{self.prefix}sink_dropped_total"
        yield f"# HELP {name} Results that a sink did not get, or refused."
        yield f"# TYPE {name} counter"
        for sink, reasons in engine.pipeline.delivery.drops().items():
            for reason, count in dict(reasons).items():
                yield f'{name}{{sink="{_escaped(sink)}",reason="{_escaped(reason)}"}} {count}'

    def _gauges(self, engine: Engine) -> Iterable[str]:
        assembler = engine.pipeline.assembler
        yield from self._one("ready", "Whether spans are taken.", int(not engine.unready()), kind="gauge")
        yield from self._one("queue_records", "Records that wait.", engine.queued, kind="gauge")
        yield from self._one("held_records", "Records that are held.", assembler.held, kind="gauge")
        yield from self._one("held_traces", "Traces that are held.", assembler.open_traces, kind="gauge")
        yield from self._one("open_traces", "Traces not finished.", assembler.unfinished[0], kind="gauge")
        yield from self._one("sink_backlog", "Results that wait.", engine.pipeline.delivery.backlog, kind="gauge")
        yield from self._one("unsettled", "Revisions some sink is not done with.", engine.ledger.waiting, kind="gauge")
        yield from self._one("unheard", "Revisions that wait for judges.", engine.ledger.unheard, kind="gauge")
        if engine.wal is not None:
            wal = engine.wal
            yield from self._one("wal_bytes", "The log's size.", wal.bytes, kind="gauge")
            yield from self._one("wal_segments", "The log's files.", wal.segments, kind="gauge")
            yield from self._one("wal_torn_total", "Tails that were cut off.", wal.stats.torn)
            yield from self._one("wal_damaged_total", "Places that were passed over.", wal.stats.damaged)
            yield from self._one("wal_failures_total", "Failures to write it.", wal.stats.failures)

    def _one(self, name: str, words: str, value: int, *, kind: str = "counter") -> Iterable[str]:
        name = self.prefix + name
        yield f"# HELP {name} {words}"
        yield f"# TYPE {name} {kind}"
        yield f"{name} {value}"

    def _by(self, name: str, words: str, label: str, counts: Mapping[str, int]) -> Iterable[str]:
        name = self.prefix + name
        yield f"# HELP {name} {words}"
        yield f"# TYPE {name} counter"
        for value, count in dict(counts).items():
            yield f'{name}{{{label}="{_escaped(value)}"}} {count}'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
