"""Which spans belong to which case of a `Dataset.evaluate`.

A span belongs to the case of its parent, whatever thread it begins on. One whose parent belongs to none belongs to the
case in whose context it begins: that of OpenTelemetry, which instrumentations carry to other threads, else that of
Python. What else is in a trace that began inside a case is that case's, too: spans below one that was not recorded, or
below one of another process. Whatever else begins meanwhile is nobody's.

pydantic-evals' own spans around a task are no part of what it did; what an evaluator inside the task does is none
either. Of a task that is tried again the last attempt counts, as in its own span tree.

The hooks run on the app's threads: they take references, and never raise. Past a bound a case is refused as a whole.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias, cast

from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanContext

from spanwise.assembly.tree import build_trace
from spanwise.capture._sdk_private import evaluated_task
from spanwise.capture.intake import EventParts
from spanwise.capture.reading import SpanParts, read
from spanwise.capture.records import recorder
from spanwise.model.raw import LogEvent, RawSpan
from spanwise.model.trace import Trace

Key: TypeAlias = tuple[int, int]
_SCOPE = "pydantic-evals"
_EVALUATOR = ("evaluator:", "report_evaluator:", "Calling evaluator:")
_OTHERS = -1
"""In the place of an attempt: what evaluators inside the task do."""
_KEY = otel.create_key("spanwise-case")
_CURRENT: ContextVar[Case | None] = ContextVar("spanwise.case", default=None)
_RECORD, _VALUE = 750, 70
"""About how many bytes a held span takes beside its text, and each attribute of it."""
_log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseBounds:
    """How much is held of a case, and of all cases that run at a time; None for no bound."""

    case_spans: int = 100_000
    spans: int = 500_000
    bytes: int = 1 << 30


class Case:
    """What was captured of one case."""

    def __init__(self, outer: SpanContext | None = None) -> None:
        self.open: dict[Key, Span] = {}
        self.ended: list[SpanParts] = []
        self.events: list[EventParts] = []
        self.keys: list[Key] = []
        """Every span that was told to be of this case, the evaluation's own among them."""
        self.around: set[int] = {outer.span_id} if outer is not None and outer.is_valid else set()
        """The ids of spans that are above what the task did."""
        self.traces: dict[int, None] = {}
        """Those that began inside the case."""
        self.tasks: list[object] = []
        """What pydantic-evals held of each attempt that left a span, the last one at the end."""
        self.bytes = 0
        self.refused = ""
        self.closed = False

    @property
    def held(self) -> int:
        """How many spans are held."""
        return len(self.open) + len(self.ended)

    @property
    def attempt(self) -> int:
        """The number of the last attempt, from 0."""
        return max(len(self.tasks) - 1, 0)

    def trace(self) -> Trace | None:
        """What the last attempt did, as one trace; None where it left no span."""
        if self.refused or not self.held:
            return None
        record_of = recorder()
        parts_of_all = (*self.ended, *map(read, list(self.open.values())))
        found = [record_of(parts) for parts in parts_of_all if parts is not None]
        raws = [one for one in found if isinstance(one, RawSpan)]
        for raw in raws:
            if raw.parent_id in self.around:
                raw.parent_id = None
        if not raws:
            return None
        ids = {raw.span_id for raw in raws}
        events = [one for parts in self.events if isinstance(one := record_of(parts), LogEvent) and one.span_id in ids]
        first = min(raws, key=attrgetter("start_ns"))
        return build_trace(first.trace_id, raws, events=events)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """A case that runs, and how to leave its context."""

    case: Case
    variable: Token[Case | None]
    context: Token[Context]


class CaseCapture(SpanProcessor):
    """Keeps the spans of each case that runs. It does nothing while none does."""

    def __init__(self, bounds: CaseBounds | None = None) -> None:
        self.bounds = bounds or CaseBounds()
        self.spans = 0
        self.bytes = 0
        self.cases: dict[int, Case] = {}
        self._owners: dict[Key, tuple[Case, int]] = {}
        self._traces: dict[int, Case] = {}
        # A signal's handler and the garbage collector may both begin and end spans while a hook runs on their thread.
        self._lock = threading.RLock()
        self._told = False

    def enter(self) -> Entered:
        """Begin a case: spans that begin in this context from now on are its own."""
        current = trace.get_current_span()
        outer = current.get_span_context()
        case = Case(outer)
        with self._lock:
            self.cases[id(case)] = case
            if outer.is_valid and _is_own(current):
                self._own(case, (outer.trace_id, outer.span_id), 0)
        return Entered(
            case=case, variable=_CURRENT.set(case), context=otel.attach(otel.set_value(_KEY, case, otel.get_current()))
        )

    def leave(self, entered: Entered) -> None:
        """End a case, on the context that it was begun in, and let go of all that is held of it."""
        self.close(entered.case)
        self.forget(entered.case)
        try:
            _CURRENT.reset(entered.variable)
        except ValueError:  # the case was ended from another context, which has nothing to be undone
            return
        otel.detach(entered.context)

    def close(self, case: Case) -> None:
        """Take no more spans of a case; what is held stays."""
        with self._lock:
            if case.closed:
                return
            case.closed = True
            del self.cases[id(case)]
            for key in case.keys:
                self._owners.pop(key, None)
            for found in case.traces:
                if self._traces.get(found) is case:
                    del self._traces[found]
            self.spans -= case.held
            self.bytes -= case.bytes
            case.keys = []

    def forget(self, case: Case) -> None:
        """Let go of what is held of a closed case."""
        case.open, case.ended, case.events, case.tasks = {}, [], [], []

    def route(self, events: Iterable[EventParts]) -> None:
        """Give log events to the cases of their spans."""
        with self._lock:
            for event in events:
                found = self._owners.get((event[0], event[1]))
                if found is not None and len(found[0].events) < self.bounds.case_spans:
                    found[0].events.append(event)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Tell whose the span is."""
        if not self.cases:
            return
        try:
            with self._lock:
                self._started(span, parent_context)
        except Exception:  # noqa: BLE001  (the app must not see it)
            self._fail()

    def on_end(self, span: ReadableSpan) -> None:
        """Keep references to what a span of a case recorded."""
        if not self._owners:
            return
        try:
            context = span.context
            found = self._owners.get((context.trace_id, context.span_id)) if context is not None else None
            if found is not None and context is not None:
                with self._lock:
                    self._ended(found[0], found[1], (context.trace_id, context.span_id), span)
        except Exception:  # noqa: BLE001  (the app must not see it)
            self._fail()

    def shutdown(self) -> None:
        """Nothing is to be done: a case is over when pydantic-evals says so."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing is delayed."""
        return True

    def _started(self, span: Span, parent_context: Context | None) -> None:
        context, parent = span.get_span_context(), span.parent
        found = None if parent is None else self._owners.get((parent.trace_id, parent.span_id))
        case = found[0] if found is not None else self._in_context(parent_context) or self._in_trace(span, parent)
        if case is None or case.closed:
            return
        own = _is_own(span)
        attempt = found[1] if found is not None else 0
        if attempt != _OTHERS and (parent is None or found is None or parent.span_id in case.around):
            attempt = self._attempt(case, case.attempt if found is None else attempt)
        if own and span.name.startswith(_EVALUATOR):
            attempt = _OTHERS
        key = (context.trace_id, context.span_id)
        if key in self._owners:
            return
        self._own(case, key, attempt)
        if own:
            case.around.add(context.span_id)
        elif attempt == case.attempt and not case.refused:
            case.open[key] = span
            self.spans += 1
            if parent is None:
                case.traces[context.trace_id] = None
                self._traces[context.trace_id] = case
            if case.held > self.bounds.case_spans:
                self._refuse(case, f"it left more than {self.bounds.case_spans:,} spans")
            elif self.spans > self.bounds.spans:
                self._refuse(case, f"the cases that run at a time left more than {self.bounds.spans:,} spans")

    def _ended(self, case: Case, attempt: int, key: Key, span: ReadableSpan) -> None:
        if case.closed or attempt != case.attempt or case.open.pop(key, None) is None:
            return
        parts = read(span)
        if parts is None:
            return
        case.ended.append(parts)
        size = _size(parts)
        case.bytes += size
        self.bytes += size
        if self.bytes > self.bounds.bytes:
            self._refuse(case, f"the spans of the cases that run at a time took more than {self.bounds.bytes:,} bytes")

    def _refuse(self, case: Case, why: str) -> None:
        """Hold nothing of a case that is too large: a part of it would be scored as if it were all."""
        case.refused = why
        self._let_go(case)

    def _attempt(self, case: Case, known: int) -> int:
        """The attempt that is under way in this context; what an earlier one left is let go when the next begins."""
        task = evaluated_task()
        if task is None:
            return known
        for number, seen in enumerate(case.tasks):
            if seen is task:
                return number
        if case.tasks:
            self._let_go(case)
        case.tasks.append(task)
        return case.attempt

    def _let_go(self, case: Case) -> None:
        self.spans -= case.held
        self.bytes -= case.bytes
        case.bytes = 0
        case.open, case.ended = {}, []
        for found in case.traces:
            self._traces.pop(found, None)
        case.traces = {}

    def _own(self, case: Case, key: Key, attempt: int) -> None:
        self._owners[key] = (case, attempt)
        case.keys.append(key)

    def _in_context(self, parent_context: Context | None) -> Case | None:
        carried = otel.get_value(_KEY, parent_context)
        return carried if isinstance(carried, Case) else _CURRENT.get()

    def _in_trace(self, span: Span, parent: SpanContext | None) -> Case | None:
        return None if parent is None or _is_own(span) else self._traces.get(parent.trace_id)

    def _fail(self) -> None:
        if not self._told:
            self._told = True
            _log.warning("a hook of spanwise failed; further failures are not logged", exc_info=True)


def _is_own(span: object) -> bool:
    """The span is one of pydantic-evals' own."""
    scope: object = getattr(span, "instrumentation_scope", None)
    return getattr(scope, "name", "") == _SCOPE


def _size(parts: SpanParts) -> int:
    """About how many bytes of memory a span takes."""
    attributes, events = parts[6], parts[7]
    return _RECORD + _length(attributes) + sum(_length(one.attributes) for one in events)


def _length(attributes: Mapping[str, object] | None) -> int:
    if not attributes:
        return 0
    held: Mapping[str, object] = dict(attributes)
    return sum(_VALUE + _text(value) for value in held.values())


def _text(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, list | tuple):
        return sum(map(_text, cast("Sequence[object]", value)))
    return 0
