"""Capture for `Dataset.evaluate`: each case's spans, whole, as a normalised tree that every evaluator reads.

report = await dataset.evaluate(task, lifecycle=spanwise.evals.Capture)
"""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack
from dataclasses import replace
from typing import TypeVar, cast

from opentelemetry._logs import get_logger_provider
from opentelemetry.trace import TracerProvider
from pydantic_evals import Case
from pydantic_evals.evaluators import EvaluatorContext
from pydantic_evals.lifecycle import CaseLifecycle
from pydantic_evals.reporting import ReportCase, ReportCaseFailure

from spanwise.capture._mark import scored_here
from spanwise.capture.intake import EventParts, Intake
from spanwise.capture.processor import LogCapture
from spanwise.capture.providers import Attachment, attach_logs, provider_for
from spanwise.evals._cases import CaseBounds, CaseCapture, Entered
from spanwise.evals.failed import keep_failed
from spanwise.evals.runs import NO_SPANS, attach, run_in
from spanwise.model.trace import Run, Trace

InputsT = TypeVar("InputsT")
OutputT = TypeVar("OutputT")
MetadataT = TypeVar("MetadataT")

PARTIAL = "spanwise.partial"
"""The attribute of a case that says what is missing of its run."""
_NOTHING = frozenset({"other", "setup"})
_PROVIDERS = 32
_LOGS, _LOG_BYTES = 50_000, 256 << 20
_log = logging.getLogger("spanwise")


class Capture(CaseLifecycle[InputsT, OutputT, MetadataT]):
    """Gives the evaluators of a case what its task did: `Dataset.evaluate(task, lifecycle=Capture)`.

    What is captured is every span of the case, in whatever thread it began, also where it has not ended when the task
    returns. Where the task raises, no evaluator is asked; what it did is kept with the failure, see `failed_run`.
    To have hooks of your own, inherit from this class and call its methods: `prepare_context` before your own.

    Args:
        case: The case, which pydantic-evals gives.
        provider: Where the spans are recorded; the global tracer provider where not given. To give one:
            `lifecycle=functools.partial(Capture, provider=provider)`.
    """

    def __init__(self, case: Case[InputsT, OutputT, MetadataT], *, provider: TracerProvider | None = None) -> None:
        super().__init__(case)
        self._provider = provider
        self._entered: Entered | None = None
        self._marked = ExitStack()
        self.trace: Trace | None = None
        """What the task did, once it has ended."""
        self.why = ""
        """Why there is no trace."""

    @property
    def run(self) -> Run | None:
        """What the task did, once it has ended, as what evaluators are asked about."""
        return None if self.trace is None else _run_in(self.trace)

    async def setup(self) -> None:
        """Begin to capture, before the task."""
        try:
            self.why = _watch.attach(self._provider)
            self._marked.enter_context(scored_here())
            self._entered = _watch.enter()
        except Exception:  # noqa: BLE001  (the case must not fail for it)
            self._fail("could not be begun")

    async def prepare_context(
        self, ctx: EvaluatorContext[InputsT, OutputT, MetadataT]
    ) -> EvaluatorContext[InputsT, OutputT, MetadataT]:
        """The context with the run of the case, and its spans as a normalised tree."""
        try:
            self._take(ctx)
            made = _told(attach(ctx, self.run, why=self.why or NO_SPANS), self.trace)
        except Exception:  # noqa: BLE001  (the case must not fail for it)
            self._fail("failed")
            made = attach(ctx, None, why=self.why)
        return cast("EvaluatorContext[InputsT, OutputT, MetadataT]", made)

    async def teardown(
        self,
        result: ReportCase[InputsT, OutputT, MetadataT] | ReportCaseFailure[InputsT, OutputT, MetadataT] | None,
    ) -> None:
        """Let go of everything; of a case that failed, its run is kept with the failure."""
        try:
            if isinstance(result, ReportCaseFailure):
                self._take()
                keep_failed(result, self.run, self.why or NO_SPANS)
        except Exception:  # noqa: BLE001  (the evaluation must not fail for it)
            self._fail("failed")
        try:
            if self._entered is not None:
                _watch.leave(self._entered)
            self._marked.close()
        except Exception:  # noqa: BLE001  (the evaluation must not fail for it)
            self._fail("could not be ended")
        self._entered = None

    def _take(self, ctx: EvaluatorContext[InputsT, OutputT, MetadataT] | None = None) -> None:
        """Read what was captured, unless that was done."""
        entered = self._entered
        if entered is None or entered.case.closed:
            return
        _watch.close(entered)
        case = entered.case
        if case.refused:
            self.why = f"This case is left out: {case.refused}."
        elif ctx is None or not case.tasks or _is_of(case.tasks[-1], ctx):
            self.trace = case.trace()

    def _fail(self, what: str) -> None:
        self.why = f"The capture of this case {what}; the log says more."
        _log.warning("the capture of a case %s", what, exc_info=True)


def _run_in(found: Trace) -> Run | None:
    """What a case did: its one run; all of it where tools or models were called beside, in traces of their own."""
    run = run_in(found)
    if run is None or run.root < 0:
        return run
    tops = (found.spans[at] for at in found.roots)
    beside = any(span.run != run.root and span.kind not in _NOTHING and span.index != run.root for span in tops)
    return Run(found, -1) if beside else run


def _is_of(task: object, ctx: EvaluatorContext[InputsT, OutputT, MetadataT]) -> bool:
    """The attempt is the one that gave the output; it is not where that one left no span."""
    return getattr(task, "attributes", None) is ctx.attributes or getattr(task, "metrics", None) is ctx.metrics


def _told(
    ctx: EvaluatorContext[object, object, object], found: Trace | None
) -> EvaluatorContext[object, object, object]:
    if found is None or found.completeness.complete:
        return ctx
    return replace(ctx, attributes={**ctx.attributes, PARTIAL: "; ".join(found.completeness.reasons)})


class _Watch:
    """What all captures of the process share: the hooks, and where they are attached."""

    def __init__(self) -> None:
        self.spans = CaseCapture()
        self._intake = Intake(_LOGS, max_bytes=_LOG_BYTES)
        self._intake.on_pressure = self._route
        self._logs = LogCapture(self._intake)
        self._logs.active = False
        self._attached: list[Attachment] = []
        self._loggers: list[object] = []
        self._lock = threading.Lock()

    def attach(self, provider: TracerProvider | None) -> str:
        """See to it that the hooks are called; why they cannot be, empty where they are."""
        target, what = provider_for(provider)
        if target is None:
            return f"No span of this case was captured: {what}."
        with self._lock:
            if not any(one.reaches(target) for one in self._attached):
                self._attached.append(Attachment(target, self.spans))
                if len(self._attached) > _PROVIDERS:
                    self._attached.pop(0).undo()
            loggers = get_logger_provider()
            if not any(one is loggers for one in self._loggers):
                self._loggers = [*self._loggers[1 - _PROVIDERS :], loggers]
                attach_logs(self._logs)
        return ""

    def enter(self) -> Entered:
        """Begin a case."""
        self._logs.active = True
        return self.spans.enter()

    def close(self, entered: Entered) -> None:
        """Take nothing more of a case."""
        self._route()
        self.spans.close(entered.case)

    def leave(self, entered: Entered) -> None:
        """End a case."""
        self.spans.leave(entered)
        if not self.spans.cases:
            self._logs.active = False
            self._intake.items.clear()

    def _route(self) -> None:
        """Give the log events that wait to their cases."""
        found: list[EventParts] = []
        items = self._intake.items
        while items:
            try:
                found.append(cast("EventParts", items.popleft()))
            except IndexError:  # another thread was faster
                break
        self._intake.taken()
        self.spans.route(found)


_watch = _Watch()


def bound(bounds: CaseBounds) -> None:
    """Set how much is held of the cases that run."""
    _watch.spans.bounds = bounds
