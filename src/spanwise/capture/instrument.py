"""`spanwise.instrument(app)`: the one line.

There is one running capture for each tracer provider of a process. To instrument twice, or several targets, attaches
once; what was asked for first holds.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from opentelemetry.sdk.trace import TracerProvider

from spanwise.assembly.assembler import LIVE, AssemblySettings
from spanwise.capture import unsampled
from spanwise.capture._mark import is_isolated
from spanwise.capture._sdk_private import add_first
from spanwise.capture.evaluations import InEvaluate
from spanwise.capture.handle import Handle, Results
from spanwise.capture.intake import Intake
from spanwise.capture.processor import LogCapture, SpanCapture
from spanwise.capture.providers import Attachment, attach_logs, provider_for
from spanwise.capture.sampling import Gate, Sampling
from spanwise.capture.scored_exporter import SpanScores
from spanwise.capture.settings import (
    ON_SPANS,
    Bounds,
    EmitContent,
    Evaluators,
    Sinks,
    gate_of,
    kept_apart,
    reading_of,
    scoring_of,
    sinks_of,
)
from spanwise.capture.sync import SyncScores
from spanwise.capture.targets import Prepared, check, prepare
from spanwise.capture.web import Identify
from spanwise.capture.worker import Worker
from spanwise.masking import Masking
from spanwise.model.ports import Mask, Sink
from spanwise.pipeline import Pipeline, Scoring

CLOSE_S = 5.0
_log = logging.getLogger("spanwise")
_running: dict[int, _Running] = {}
_lock = threading.Lock()


def _nothing() -> None: ...


class _Running:
    """What is attached to one provider."""

    def __init__(self, provider: TracerProvider, scoring: Scoring, sinks: Mapping[str, Sink], bounds: Bounds) -> None:
        self.provider = provider
        self.results = Results()
        self._undo: list[Callable[[], None]] = []
        self._patience_s = CLOSE_S
        held = {**sinks, "results": self.results, ON_SPANS: SpanScores(self._score)}

        def make(pause: Callable[[], None]) -> Pipeline:
            return Pipeline(
                scoring,
                held,
                settings=bounds.assembly,
                delivery=bounds.delivery,
                gatekeeper=bounds.gate,
                others=bounds.others,
                clock=time.perf_counter_ns,
                pause=pause,
            )

        intake = Intake(bounds.queue)
        self.worker = Worker(intake, make)
        self.counts = bounds.counts
        worker = self.worker
        self.capture = SpanCapture(
            intake,
            stamp=bounds.stamp,
            notify=worker.notify,
            flush=worker.flush,
            close=self._provider_ended,
            read=bounds.read,
        )
        self.logs = LogCapture(intake)
        self.attachment = Attachment(provider, self.capture)
        self.keep(self.attachment.undo)
        self.keep(attach_logs(self.logs) or _nothing)
        if hasattr(os, "register_at_fork"):
            alive = weakref.WeakMethod(worker.after_fork)
            os.register_at_fork(after_in_child=lambda: (again := alive()) and again())
        atexit.register(self._shut)

    def _score(self, timeout_s: float) -> bool:
        return self.worker.flush(timeout_s)

    def write_at_end(self, scoring: Scoring) -> bool:
        """Write structural scores on root spans as they end; False where this provider is another than the SDK's."""
        sync = SyncScores(scoring)
        self.keep(sync.shutdown)
        return add_first(self.provider, sync)

    def keep(self, undo: Callable[[], None]) -> None:
        """Something to undo at the end."""
        self._undo.append(undo)

    def score_unsampled(self) -> None:
        """Have every provider that this is attached to record what its sampler drops."""

        def install(provider: TracerProvider) -> None:
            unsampled.install(provider)
            self.keep(partial(unsampled.uninstall, provider))

        self.attachment.each(install)

    def stop(self) -> None:
        """Take no more spans, and undo what was turned on."""
        self.worker.intake.stop()
        self.logs.active = False
        atexit.unregister(self._shut)
        with _lock:
            _running.pop(id(self.provider), None)
        for undo in reversed(self._undo):
            try:
                undo()
            except Exception:  # noqa: BLE001  (somebody else's library; the rest has to be undone all the same)
                _log.warning("what was instrumented could not be undone", exc_info=True)
        self._undo.clear()

    def _provider_ended(self) -> None:
        """The app's provider was shut down: for good, unless it is one that comes back with another inside."""
        if self.attachment.follows:
            self.worker.flush(CLOSE_S)
        else:
            self._shut()

    def _shut(self) -> None:
        # An exit comes here twice, the provider shuts down with it too: the app waits once.
        patience_s, self._patience_s = self._patience_s, 0.0
        if not self.worker.close(patience_s) and patience_s:
            _log.warning("not everything was scored within %g s of the end", CLOSE_S)


def instrument(
    target: object = None,
    *,
    evaluators: Evaluators | None = None,
    sinks: Sinks | None = None,
    profile: str = "",
    config: str | Path | None = None,
    console: bool = False,
    store: str | Path | bool | None = None,
    emit_content: EmitContent | None = None,
    masking: Masking | Mask | None = None,
    bounds: AssemblySettings = LIVE,
    queue: int = 50_000,
    sampling: Sampling | Gate | None = None,
    score_unsampled: bool = False,
    isolate: Literal["process"] | None = None,
    share: float = 0.2,
    in_evaluate: InEvaluate = "tag",
    headers: Mapping[str, str] | None = None,
    identify: Identify | None = None,
    on_first: Literal["log", "silent"] = "log",
    span_attributes: Literal["sync"] | None = None,
    sdk_internals: bool = False,
) -> Handle:
    """Score every agent run of this process from its spans, as soon as it ends.

    Args:
        target: What to instrument: nothing (the app's tracer provider, and the frameworks that it has imported), a
            tracer provider, an agent or a module of a framework, an ASGI or WSGI app, or a function.
        evaluators: What to ask: names, values, or a mapping of both, evaluators of pydantic-evals among them; the
            settings' where not given.
        sinks: Where results go: names, sinks, or functions that are called with each result. Where not given: those of
            the settings, else those that the environment asks for, else a log line per run.
        profile: The settings' profile.
        config: A file of settings; the nearest spanwise.toml or pyproject.toml where not given.
        console: Print a line per run on standard error.
        store: Keep runs in the local store: True, or where it is.
        emit_content: How much of what people, models and tools wrote is let out, `none`, `evidence` (quotes and
            reasons) or `all`: by each sink, or by its name; each sink's own level where not given.
        masking: What takes secrets out of it, or a function that does so first; the settings' where not given.
        bounds: How much is held at a time.
        queue: How many spans may wait for the worker.
        sampling: Which runs are scored, and by which evaluators.
        score_unsampled: Score runs that the provider's sampler drops, too: their spans are recorded, not exported.
        isolate: `"process"` runs the evaluators that are not ours in a helper process.
        share: How much of the worker's time the evaluators that are not ours may take, where they are not isolated.
        in_evaluate: What becomes of a run inside a `Dataset.evaluate` of pydantic-evals: it is scored and bears the tag
            `pydantic-evals`, or is skipped, or is scored like any other. The runs of judges are never scored.
        headers: Of a web app: which header of a request gives its `request_id`, `session_id` and `user_id`;
            `X-Request-ID`, `X-Session-ID` and `X-User-ID` where neither this nor `identify` is given.
        identify: Of a web app: a function of the ASGI scope, or of the WSGI environment, that gives any of these,
            `tags` and `metadata`; what it gives counts before what `headers` say.
        on_first: Whether to log in one line what was done.
        span_attributes: `"sync"` writes the structural scores on a run's root span as it ends, within a millisecond.
            (A `ScoredExporter` needs no option: it finds the capture by itself.)
        sdk_internals: Take what a span recorded from where the SDK keeps it, past its public interface, which costs the
            app less; where this SDK keeps it elsewhere, that is logged and the public interface is used.

    Raises:
        SpecError: The settings, or what was given here, cannot be used.
    """
    check(target, headers=headers, identify=identify)
    gate = gate_of(sampling, in_evaluate)
    scoring, others = kept_apart(scoring_of(evaluators, profile=profile, config=config), isolate=isolate, share=share)
    # In a helper process the app's modules may be imported, and with them this call: nothing is to be scored there.
    provider, origin = (None, "this is a helper process") if is_isolated() else provider_for(target)
    if provider is None:
        _log.warning("spanwise: nothing is scored: %s", origin)
        provider = TracerProvider(shutdown_on_exit=False)
    with _lock:
        running = next((one for one in _running.values() if one.attachment.reaches(provider)), None)
        is_new = running is None
        if running is None:
            to = sinks_of(
                sinks, console=console, store=store, emit_content=emit_content, masking=masking, config=config
            )
            taken = reading_of(sdk_internals=sdk_internals)
            kept = Bounds(assembly=bounds, queue=queue, gate=gate, others=others, delivery=to.delivery, read=taken)
            running = _running[id(provider)] = _Running(provider, scoring, to.sinks, kept)
    if is_new and span_attributes == "sync" and not running.write_at_end(scoring):
        _log.warning("spanwise: span_attributes='sync' needs a tracer provider of the SDK; nothing is written on spans")
    if score_unsampled:  # before frameworks ask for their tracers
        running.score_unsampled()
    prepared = prepare(target, provider, headers=headers, identify=identify)
    running.keep(prepared.undo)
    if on_first == "log":
        _tell(origin, prepared, is_new=is_new)
    return Handle(running.worker, running.results, undo=running.stop, counts=running.counts, target=prepared.target)


def _tell(origin: str, prepared: Prepared, *, is_new: bool) -> None:
    did = "; ".join((f"attached to {origin}" if is_new else f"already attached to {origin}", *prepared.did))
    missing = f". Missing: {' '.join(prepared.missing)}" if prepared.missing else ""
    _log.info("spanwise: %s%s", did, missing)
