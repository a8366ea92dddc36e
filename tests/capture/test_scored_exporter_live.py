"""What `instrument` sets up for spans with scores, by itself or when asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

import spanwise
from spanwise.capture.processor import LogCapture
from spanwise.capture.sampling import Sampling
from spanwise.evaluators.redundancy import Redundancy
from spanwise.model.result import RunResult
from spanwise.sinks.otel_events import OtelEventsSink
from tests.capture.exporting import WAIT_S, Kept, until

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}


@pytest.fixture
def kept() -> Kept:
    """An exporter."""
    return Kept()


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    """A tracer provider."""
    made = TracerProvider(shutdown_on_exit=False)
    yield made
    made.shutdown()


@pytest.mark.parametrize("processor", [SimpleSpanProcessor, BatchSpanProcessor])
def test_the_exporter_finds_the_capture(
    provider: TracerProvider, kept: Kept, processor: Callable[[object], object]
) -> None:
    """Nothing but the exporter is needed, whether it is there before `instrument` or after; a flush is enough."""
    before, after = kept, Kept()
    provider.add_span_processor(processor(spanwise.ScoredExporter(before)))
    with spanwise.instrument(provider, on_first="silent"):
        provider.add_span_processor(processor(spanwise.ScoredExporter(after)))
        provider.get_tracer("app").start_span("run", attributes=AGENT).end()
        assert provider.force_flush()
        for one in (before, after):
            (span,) = one.spans
            assert "spanwise.score.overall.id" in span.attributes
    began = time.monotonic()
    assert provider.force_flush()
    assert 5 > time.monotonic() - began


def test_what_sampling_leaves_out(provider: TracerProvider, kept: Kept) -> None:
    """A run that sampling leaves out does not wait for the deadline, and is exported, whatever is kept."""
    exporter = spanwise.ScoredExporter(kept, keep=spanwise.Keep(sample=0.0), deadline_s=60)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with spanwise.instrument(provider, sampling=Sampling(default=0.0), on_first="silent"):
        provider.get_tracer("app").start_span("run", attributes=AGENT).end()
        assert until(lambda: kept.spans)
    assert {"not_scored": 1} == exporter.stats().unscored


def test_own_events_are_never_scored(provider: TracerProvider) -> None:
    """Events about a run that arrive at our own log processor make no new revision of the run."""
    results: list[RunResult] = []
    logs = LoggerProvider(shutdown_on_exit=False)
    with spanwise.instrument(provider, sinks=[OtelEventsSink(logs), results.append], on_first="silent") as handle:
        capture = LogCapture(handle._worker.intake)
        logs.add_log_record_processor(capture)
        provider.get_tracer("app").start_span("run", attributes=AGENT).end()
        for _ in range(4):
            assert handle.flush(WAIT_S)
        stats = handle.stats()
        assert (1, 1, 0) == (len(results), stats.scored, stats.again)
        assert len(results[0].scores) == stats.own
    logs.shutdown()


def test_scores_at_the_end_of_the_root(provider: TracerProvider, kept: Kept) -> None:
    """With `span_attributes="sync"` a processor that was there before sees the scores on the root at its end."""
    provider.add_span_processor(SimpleSpanProcessor(kept))
    with spanwise.instrument(
        provider, evaluators={"redundancy": Redundancy()}, span_attributes="sync", on_first="silent"
    ):
        tracer = provider.get_tracer("app")
        for _ in range(20):  # on a busy machine some are skipped
            tracer.start_span("run", attributes=AGENT).end()
        assert any("spanwise.score.redundancy.id" in one.attributes for one in kept.spans)
        count = len(kept.spans)
    tracer.start_span("run", attributes=AGENT).end()
    assert (count + 1, False) == (len(kept.spans), "spanwise.run.id" in kept.spans[-1].attributes)
