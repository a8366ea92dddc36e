"""An instrumented app behind a ScoredExporter, and an exporter that keeps what it is given."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.context import get_value
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult

from spanwise.capture.handle import Handle
from spanwise.capture.instrument import instrument
from spanwise.capture.scored_exporter import ScoredExporter, SpanScores
from spanwise.model.result import RunResult

PROCESSORS = [SimpleSpanProcessor, BatchSpanProcessor]
WAIT_S = 10.0
SUPPRESS = otel._SUPPRESS_INSTRUMENTATION_KEY


class Kept(SpanExporter):
    """Keeps what it exports, slowly or not at all if so told."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []
        self.batches: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.result = SpanExportResult.SUCCESS
        self.error: Exception | None = None
        self.ended = False
        self.suppressed: set[object] = set()
        self._at_once = threading.Lock()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        assert self._at_once.acquire(blocking=False), "two exports at a time"
        try:
            self.gate.wait(20)
            self.suppressed.add(get_value(SUPPRESS))
            if self.error is not None:
                raise self.error
            self.spans += spans
            self.batches.append(len(spans))
            return self.result
        finally:
            self._at_once.release()

    def shutdown(self) -> None:
        self.ended = True

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return timeout_millis > 0

    def ids(self) -> Counter[int]:
        """How often each span came."""
        return Counter(one.context.span_id for one in self.spans)

    def named(self, name: str) -> ReadableSpan:
        """The one span of a name."""
        (found,) = [one for one in self.spans if one.name == name]
        return found


class App:
    """A tracer provider with an agent on it, instrumented, behind a processor with a ScoredExporter."""

    def __init__(
        self,
        processor: Callable[[SpanExporter], object] = SimpleSpanProcessor,
        *,
        first: str = "exporter",
        evaluators: Sequence[object] | None = None,
        **options: object,
    ) -> None:
        self.kept = Kept()
        self.exporter = ScoredExporter(self.kept, **options)
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.results: list[RunResult] = []
        if first == "exporter":
            self.provider.add_span_processor(processor(self.exporter))
        self.scores = SpanScores(self._score)
        sinks = {"seen": Seen(self.results), "scores": self.scores}
        self.handle: Handle = instrument(self.provider, sinks=sinks, evaluators=evaluators, on_first="silent")
        if first != "exporter":
            self.provider.add_span_processor(processor(self.exporter))
        self.tracer = self.provider.get_tracer("app")

    def _score(self, timeout_s: float) -> bool:
        return self.handle.flush(timeout_s)

    @contextmanager
    def agent(self, name: str = "helper", **fields: object) -> Iterator[trace.Span]:
        """An agent's run."""
        fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **fields}
        with self.tracer.start_as_current_span(f"invoke_agent {name}", attributes=fields) as span:
            yield span

    @contextmanager
    def tool(self, name: str = "search", query: str = "q") -> Iterator[trace.Span]:
        """A tool's call."""
        fields = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.arguments": f'{{"q":"{query}"}}',
            "gen_ai.tool.call.result": '"found"',
        }
        with self.tracer.start_as_current_span(f"execute_tool {name}", attributes=fields) as span:
            yield span

    def run(self, *queries: str) -> None:
        """A run with some calls."""
        with self.agent():
            for query in queries or ("a", "a"):
                with self.tool(query=query):
                    pass

    def settled(self, count: int) -> bool:
        """Wait until so many spans were exported."""
        return until(lambda: len(self.kept.spans) >= count)

    def end(self) -> None:
        """End everything."""
        self.kept.gate.set()
        self.provider.shutdown()
        self.handle.uninstrument(timeout_s=5)


class Seen:
    """Keeps results, on the thread that scores."""

    inline = True

    def __init__(self, results: list[RunResult]) -> None:
        self.results = results

    def emit(self, results: Sequence[RunResult], /) -> None:
        self.results += results

    def close(self) -> None:
        pass


def until(is_there: Callable[[], object], *, timeout_s: float = WAIT_S) -> bool:
    """Whether something came true within the time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if is_there():
            return True
        time.sleep(0.005)
    return bool(is_there())


def added_up(exporter: ScoredExporter) -> bool:
    """Every span that was received is accounted for."""
    stats = exporter.stats()
    return stats.received == stats.exported + stats.failed + stats.left_out + stats.held


@pytest.fixture
def make() -> Iterator[Callable[..., App]]:
    """Makes apps with options."""
    made: list[App] = []

    def one(*args: object, **options: object) -> App:
        made.append(App(*args, **options))
        return made[-1]

    yield one
    for app in made:
        app.end()
