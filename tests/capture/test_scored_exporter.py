"""Spans leave with the scores of their runs, and are otherwise what they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from msgspec import structs
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExportResult
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from spanwise.capture.instrument import instrument
from spanwise.capture.keep import WEIGHT
from spanwise.capture.scored_exporter import Keep, ScoredExporter, SpanScores
from spanwise.sinks.evaluation_span import EvaluationSpanSink
from tests.capture.exporting import PROCESSORS, WAIT_S, App, Kept, added_up, make, until

__all__ = ["make"]


@pytest.mark.parametrize("first", ["exporter", "capture"])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_run_leaves_with_its_scores(make: Callable[..., App], processor: object, first: str) -> None:
    """The root span carries every score that the sinks get, behind either processor, whoever was added first."""
    app = make(processor, first=first)
    app.run()
    app.provider.force_flush()
    assert app.settled(3)
    (result,) = app.results
    told = app.kept.named("invoke_agent helper").attributes
    for score in result.scores:
        name = f"spanwise.score.{score.name}"
        assert (score.value, score.label or None, score.unit or None, result.id_of(score)) == (
            told.get(name), told.get(f"{name}.label"), told.get(f"{name}.unit"), told[f"{name}.id"]
        )  # fmt: skip
        assert (None if score.status == "scored" else score.status) == told.get(f"{name}.status")
    assert (result.run.run_id, 1) == (told["spanwise.run.id"], told["spanwise.score.revision"])
    assert {1} == set(app.kept.ids().values())
    assert ["execute_tool search"] * 2 == [
        one.name for one in app.kept.spans if not any(key.startswith("spanwise.") for key in one.attributes)
    ]
    assert added_up(app.exporter)
    assert {} == app.exporter.stats().unscored


def test_openinference_evaluations(make: Callable[..., App]) -> None:
    """The trace's root carries OpenInference's evaluations of the one run, wherever the run's own root is."""
    app = make()
    with app.tracer.start_as_current_span("POST /chat"):
        app.run()
    assert app.settled(4)
    (result,) = app.results
    top, own = app.kept.named("POST /chat").attributes, app.kept.named("invoke_agent helper").attributes
    for number, score in enumerate(result.scores):
        for held, prefix in ((top, "trace.evaluations"), (own, "evaluations")):
            start = f"{prefix}.{number}.evaluation"
            label = score.label if score.status == "scored" else score.status
            assert (score.name, score.value, label or None, "CODE", result.id_of(score)) == tuple(
                held.get(f"{start}.{key}") for key in ("name", "score", "label", "annotator_kind", "identifier")
            )
    assert not any(key.startswith("spanwise.score.") for key in top)


def test_several_runs_in_a_trace(make: Callable[..., App]) -> None:
    """Each run's root carries its own scores; the request's span, which stands for no single run, carries none."""
    app = make()
    with app.tracer.start_as_current_span("POST /chat"):
        with app.agent("first"), app.tool():
            pass
        with app.agent("second"), app.tool(), app.tool(query="b"):
            pass
    assert app.settled(6)
    for result in app.results:
        told = app.kept.named(f"invoke_agent {result.run.agents[0].name}").attributes
        assert result.run.run_id == told["spanwise.run.id"]
        assert {one.name: one.value for one in result.scores if one.value is not None} == {
            one.name: told.get(f"spanwise.score.{one.name}") for one in result.scores if one.value is not None
        }
    assert {} == dict(app.kept.named("POST /chat").attributes)


def test_two_requests_of_one_trace(make: Callable[..., App]) -> None:
    """A second local root of a trace waits for its own run's scores, when the first one's are out."""
    app = make()
    remote = SpanContext(0xA1, 0xB2, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    context = set_span_in_context(NonRecordingSpan(remote))
    fields = {"gen_ai.operation.name": "invoke_agent"}
    first = app.tracer.start_span("first", context, attributes=fields)
    second = app.tracer.start_span("second", context, attributes=fields)
    app.tracer.start_span("inner", set_span_in_context(second)).end()
    first.end()
    assert app.settled(2)
    assert ["first", "inner"] == sorted(one.name for one in app.kept.spans)
    second.end()
    assert app.settled(3)
    told = {one.name: (one.attributes or {}).get("spanwise.score.revision") for one in app.kept.spans}
    assert {"first": 1, "inner": None, "second": 2} == told
    assert {} == app.exporter.stats().unscored


def test_the_span_stays_what_it_was() -> None:
    """All fields of a scored span, and what its limits dropped, are those of the original."""
    kept, plain = Kept(), Kept()
    provider = TracerProvider(shutdown_on_exit=False, span_limits=SpanLimits(max_attributes=4, max_events=1))
    exporter = ScoredExporter(kept)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    provider.add_span_processor(SimpleSpanProcessor(plain))
    scores = SpanScores(lambda _: True)
    with instrument(provider, sinks={"scores": scores}, on_first="silent") as handle:
        link = trace.Link(SpanContext(7, 8, is_remote=True))
        with provider.get_tracer("app", "2").start_as_current_span(
            "run", kind=trace.SpanKind.SERVER, links=[link], attributes={"gen_ai.operation.name": "invoke_agent"}
        ) as span:
            for number in range(5):
                span.set_attribute(f"k{number}", number)
                span.add_event(f"e{number}")
            span.set_attribute("gen_ai.operation.name", "invoke_agent")
            span.set_status(trace.StatusCode.ERROR, "no")
        assert handle.flush(WAIT_S)
        assert until(lambda: kept.spans)
    (was,), (now,) = plain.spans, kept.spans
    assert was is not now
    for name in (
        "name", "context", "parent", "resource", "events", "links", "kind", "status", "start_time", "end_time",
        "instrumentation_scope", "dropped_attributes", "dropped_events", "dropped_links",
    ):  # fmt: skip
        assert getattr(was, name) == getattr(now, name), name
    assert dict(was.attributes).items() <= dict(now.attributes).items()
    assert (3, 4) == (now.dropped_attributes, now.dropped_events)
    exporter.shutdown()


def test_without_a_capture() -> None:
    """Where nothing is scored, spans go straight through, and the inner exporter's answer with them."""
    kept = Kept()
    exporter = ScoredExporter(kept)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    provider.get_tracer("app").start_span("one").end()
    assert ["one"] == [one.name for one in kept.spans]
    kept.result = SpanExportResult.FAILURE
    assert SpanExportResult.FAILURE is exporter.export(kept.spans[:])
    kept.error = RuntimeError("no")
    assert SpanExportResult.FAILURE is exporter.export(kept.spans[:1])
    stats = exporter.stats()
    assert (4 - 1, 1, 2, 0) == (stats.received, stats.exported, stats.failed, stats.held)
    provider.shutdown()
    assert kept.ended


def test_a_trace_that_is_not_scored(make: Callable[..., App]) -> None:
    """A trace that sampling leaves out is exported at once, when the pipeline says so."""
    app = make(keep=Keep(sample=0.0))
    root = app.tracer.start_span("root")
    app.tracer.start_span("child", set_span_in_context(root)).end()
    app.scores.unscored(f"{root.get_span_context().trace_id:032x}")
    assert app.settled(1)
    root.end()
    assert 2 == len(app.kept.spans)
    assert {"not_scored": 1} == app.exporter.stats().unscored


def test_the_exporting_thread_is_not_traced(make: Callable[..., App]) -> None:
    """HTTP clients see the switch that keeps them from tracing the export."""
    app = make()
    app.run()
    assert app.settled(3)
    assert {True} == app.kept.suppressed


def test_pending_spans(make: Callable[..., App]) -> None:
    """What announces a span before it ends does not wait, unless what is exported depends on the scores."""
    pending = {"logfire.span_type": "pending_span"}
    app = make()
    root = app.tracer.start_span("root")
    app.tracer.start_span("announced", set_span_in_context(root), attributes=pending).end()
    assert 1 == len(app.kept.spans)
    choosing = make(keep=lambda _: False)
    root = choosing.tracer.start_span("root")
    choosing.tracer.start_span("announced", set_span_in_context(root), attributes=pending).end()
    assert 1 == choosing.exporter.stats().held


def test_a_later_revision(make: Callable[..., App]) -> None:
    """A root that has not gone out when its run is scored again carries the later scores."""
    app = make(BatchSpanProcessor)
    app.run()
    assert app.handle.flush(WAIT_S)
    (result,) = app.results
    app.scores.emit([replace(result, revision=2, scores=result.scores[:1])])
    app.provider.force_flush()
    assert app.settled(3)
    told = app.kept.named("invoke_agent helper").attributes
    assert 2 == told["spanwise.score.revision"]
    assert 1 == sum(key.startswith("spanwise.score.") and key.endswith(".id") for key in told)


def test_scores_that_come_in_two_parts(make: Callable[..., App]) -> None:
    """What evaluators in a helper process add before the root goes out stands beside the rest."""
    app = make(BatchSpanProcessor)
    app.run()
    assert app.handle.flush(WAIT_S)
    (result,) = app.results
    app.scores.emit([replace(result, scores=(structs.replace(result.scores[0], name="mine"),))])
    app.provider.force_flush()
    assert app.settled(3)
    told = app.kept.named("invoke_agent helper").attributes
    names = {told[key] for key in told if key.endswith(".evaluation.name")}
    assert {"mine", *(one.name for one in result.scores)} == names
    assert "spanwise.score.mine.id" in told
    assert WEIGHT not in told


@pytest.mark.parametrize("kept", [True, False])
def test_evaluation_spans_go_with_their_trace(make: Callable[..., App], kept: bool) -> None:
    """A span with the scores is exported once, with the trace that it is about; if that is left out, so is it."""
    app = make(keep=lambda _: kept)
    sink = EvaluationSpanSink(app.provider)
    app.handle.subscribe(lambda result: sink.emit([result]))
    app.run()
    assert app.handle.flush(WAIT_S)
    assert app.settled(4 if kept else 0)
    assert until(lambda: app.exporter.stats().left_out == (0 if kept else 4))
    names = sorted(one.name for one in app.kept.spans)
    assert (["evaluate helper", "execute_tool search", "execute_tool search", "invoke_agent helper"] * kept) == names
    assert {} == app.exporter.stats().unscored
