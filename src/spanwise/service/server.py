"""The service as a process: it starts, is ready, and at SIGTERM what is not done is on disk or elsewhere."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from spanwise.assembly.assembler import Finished
from spanwise.capture.settings import Destinations, kept_apart, scoring_of, sinks_of
from spanwise.config import load
from spanwise.delivery import Receipts
from spanwise.errors import SpecError
from spanwise.model.ports import Sink
from spanwise.pipeline import Others, Pipeline, Scoring
from spanwise.service.engine import Engine
from spanwise.service.grpc_receiver import GrpcReceiver
from spanwise.service.handoff import HandOff
from spanwise.service.http_receiver import HttpReceiver
from spanwise.service.settings import OFF, ServeSettings
from spanwise.service.vitals import Vitals
from spanwise.service.wal import Wal, WalError
from spanwise.sinks.otlp import OtlpSink
from spanwise.sinks.prometheus import PrometheusSink

_log = logging.getLogger("spanwise")
SWITCH_S = 0.001
_STOP_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a service is made of."""

    settings: ServeSettings
    scoring: Scoring
    others: Others
    destinations: Destinations
    scores: PrometheusSink


def plan(settings: ServeSettings, *, config: Path | None = None, profile: str = "") -> Plan:
    """What a service with these settings is made of: evaluators and sinks of the project, and the sink of its own.

    Raises:
        SpecError: Something of it cannot be used.
    """
    scoring, others = kept_apart(scoring_of(None, profile=profile, config=config), isolate=None, share=1.0)
    destinations = sinks_of(None, config=config)
    sinks: dict[str, Sink] = dict(destinations.sinks)
    if settings.scores_to:
        if "log" not in load(config).sinks:
            sinks.pop("log", None)  # it stands in where there is no other
        sinks["otlp"] = OtlpSink(settings.scores_to, spans_to=settings.spans_to or None)
    scores = next((one for one in sinks.values() if isinstance(one, PrometheusSink)), None)
    if scores is None:
        scores = sinks["prometheus"] = PrometheusSink()
    return Plan(
        settings=settings,
        scoring=scoring,
        others=replace(others, names=frozenset(), share=None),
        destinations=replace(destinations, sinks=sinks),
        scores=scores,
    )


class Server:
    """Receivers, engine and vitals of one process.

    Args:
        plan: What it is made of.
        say: Told the one line with the addresses, when it listens.

    Raises:
        SpecError: The write-ahead log cannot be used.
    """

    def __init__(self, plan: Plan, *, say: Callable[[str], None]) -> None:
        self.settings = plan.settings
        self._say = say
        self._plan = plan
        settings = plan.settings
        try:
            wal = (
                None
                if settings.no_wal
                else Wal(settings.folder(), max_bytes=settings.wal_max_mb << 20, fsync=settings.wal_fsync)
            )
        except WalError as error:
            raise SpecError(str(error)) from error
        headers, ca_file = settings.handoff_access()
        handoff = HandOff(settings.handoff_to, headers, ca_file) if settings.handoff_to else None
        self.engine = Engine(
            self._pipeline, wal=wal, bounds=settings.bounds(), handoff=handoff, judges_s=settings.judges_s
        )
        self.vitals = Vitals(self.engine, plan.scores)
        access = settings.access()
        self._receivers: dict[str, GrpcReceiver | HttpReceiver] = {}
        if settings.grpc != OFF:
            self._receivers["grpc"] = GrpcReceiver(settings.grpc, self.engine.offer, access=access)
        if settings.http != OFF:
            self._receivers["http"] = HttpReceiver(
                settings.http, self.engine.offer, access=access, routes=self.vitals.routes()
            )
        for name, receiver in self._receivers.items():
            self.vitals.receivers[name] = lambda receiver=receiver: receiver.counts
        self._ending = asyncio.Event()

    def _pipeline(self, pause: Callable[[], None], receipts: Callable[[Finished], Receipts]) -> Pipeline:
        plan = self._plan
        forwards = any(getattr(sink, "forwards", False) for sink in plan.destinations.sinks.values())
        return Pipeline(
            plan.scoring,
            plan.destinations.sinks,
            settings=replace(plan.settings.assembly(), records=forwards),
            delivery=plan.destinations.delivery,
            others=plan.others,
            clock=time.monotonic_ns,
            pause=pause,
            receipts=receipts,
        )

    async def run(self) -> None:
        """Serve until a signal asks for the end."""
        sys.setswitchinterval(SWITCH_S)  # or the receivers wait long for the thread that scores
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked, number)
        try:
            addresses = {name: await receiver.start() for name, receiver in self._receivers.items()}
        except SpecError:
            await self._close(0)
            raise
        self._say("listening " + " ".join(f"{name}={address}" for name, address in addresses.items()))
        self.engine.start()
        await self._ending.wait()
        await self._drain()

    def _asked(self, number: int) -> None:
        if self._ending.is_set():
            _log.warning("asked again to end; what is not done stays in the write-ahead log")
            os._exit(128 + number)
        _log.info("%s: no more spans are taken", signal.Signals(number).name)
        self._ending.set()

    async def _drain(self) -> None:
        """Finish what can be finished while senders hear that they have to go elsewhere, then stop."""
        in_time = await asyncio.to_thread(self.engine.drain, self.settings.drain_s)
        await self._close(_STOP_S)
        ledger = self.engine.ledger.counts
        stays = "given up" if self.engine.wal is None else "left in the write-ahead log"
        _log.info("handed off %d traces, %d %s", ledger.handed_off, self.engine.left, stays)
        if not in_time:
            _log.warning("the time to end was over; what is not done stays in the write-ahead log")

    async def _close(self, grace_s: float) -> None:
        await asyncio.gather(*(receiver.stop(grace_s) for receiver in self._receivers.values()))


class _JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        told = {"time": at, "level": record.levelname.lower(), "message": record.getMessage(), "pid": record.process}
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False)


def log_to(stream: TextIO, *, as_json: bool) -> None:
    """Have the process tell what happens, one line each, on a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonLines() if as_json else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    _log.handlers = [handler]
    _log.propagate = False
    _log.setLevel(logging.INFO)
