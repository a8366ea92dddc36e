"""Spans outside the export sample reach processors, with all they carry, and no exporter."""

from collections.abc import Sequence

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    Decision,
    ParentBased,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

from spanwise.capture._sdk_private import made_tracers
from spanwise.capture.unsampled import RecordAll, install, uninstall

TRACE_ID = 0x1234567890ABCDEF1234567890ABCDEF


class Seen(SpanProcessor):
    """Keeps the spans that end."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return True


class Marking(Sampler):
    """Drops every span, and says so in attributes and trace state. It takes what the SDK passes and no more."""

    def should_sample(self, parent_context, trace_id, name, kind=None, attributes=None, links=None):
        return SamplingResult(Decision.DROP, {"sampler.mark": "dropped"}, TraceState([("vendor", "7")]))

    def get_description(self) -> str:
        return "Marking"


def provider_of(sampler: Sampler) -> tuple[TracerProvider, Seen, InMemorySpanExporter, InMemorySpanExporter]:
    """A provider with a processor that sees all, and both of the SDK's exporting ones."""
    provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    seen, batched, simple = Seen(), InMemorySpanExporter(), InMemorySpanExporter()
    provider.add_span_processor(seen)
    provider.add_span_processor(BatchSpanProcessor(batched))
    provider.add_span_processor(SimpleSpanProcessor(simple))
    return provider, seen, batched, simple


def remote(*, sampled: bool) -> Context:
    """The context of a request whose sender sampled it, or did not."""
    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    return trace.set_span_in_context(NonRecordingSpan(SpanContext(TRACE_ID, 7, is_remote=True, trace_flags=flags)))


def test_dropped_spans_reach_processors_and_no_exporter() -> None:
    """With a sampler that drops all, a tree of spans ends in the processor, whole, and nothing is exported."""
    provider, seen, batched, simple = provider_of(ParentBased(ALWAYS_OFF))
    install(provider)
    tracer = provider.get_tracer("app")
    with (
        tracer.start_as_current_span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"}),
        tracer.start_as_current_span("execute_tool") as tool,
    ):
        tool.set_attribute("gen_ai.tool.name", "search")
    assert provider.force_flush()
    assert ["execute_tool", "invoke_agent"] == [span.name for span in seen.spans]
    assert [{"gen_ai.tool.name": "search"}, {"gen_ai.operation.name": "invoke_agent"}] == [
        dict(span.attributes or {}) for span in seen.spans
    ]
    assert seen.spans[0].parent is not None
    assert seen.spans[1].context.span_id == seen.spans[0].parent.span_id
    assert ((), ()) == (batched.get_finished_spans(), simple.get_finished_spans())
    provider.shutdown()


def test_what_is_exported_stays_the_same() -> None:
    """Of many traces exactly those are exported that the sampler samples, and all reach the processor."""
    sampler = ParentBased(TraceIdRatioBased(0.3))
    provider, seen, batched, simple = provider_of(sampler)
    install(provider)
    tracer = provider.get_tracer("app")
    for _ in range(200):
        with tracer.start_as_current_span("root"), tracer.start_as_current_span("child"):
            pass
    provider.force_flush()
    bound = TraceIdRatioBased(0.3).bound
    expected = {span.context.trace_id for span in seen.spans if span.context.trace_id & (2**64 - 1) < bound}
    assert 400 == len(seen.spans)
    assert 0 < len(expected) < 200
    for exporter in (batched, simple):
        exported = exporter.get_finished_spans()
        assert (expected, 2 * len(expected)) == ({span.context.trace_id for span in exported}, len(exported))
    provider.shutdown()


@pytest.mark.parametrize("sampled", [True, False])
def test_a_remote_parent_decides_as_before(sampled: bool) -> None:
    """A request whose sender did not sample it is recorded only, its children too; one that was sampled is exported."""
    provider, seen, batched, _ = provider_of(ParentBased(ALWAYS_ON))
    install(provider)
    tracer = provider.get_tracer("app")
    with (
        tracer.start_as_current_span("request", context=remote(sampled=sampled)),
        tracer.start_as_current_span("inside") as inside,
    ):
        assert sampled == inside.get_span_context().trace_flags.sampled
    provider.force_flush()
    assert 2 == len(seen.spans)
    assert 2 * sampled == len(batched.get_finished_spans())
    provider.shutdown()


def test_what_the_inner_sampler_says_is_kept() -> None:
    """Its attributes and trace state are on the span beside the span's own attributes; its description is ours."""
    provider, seen, *_ = provider_of(Marking())
    install(provider)
    provider.get_tracer("app").start_span("one", attributes={"own": 1}).end()
    assert {"own": 1, "sampler.mark": "dropped"} == dict(seen.spans[0].attributes or {})
    assert "7" == seen.spans[0].context.trace_state.get("vendor")
    assert "Marking" == provider.sampler.get_description()
    provider.shutdown()


@pytest.mark.parametrize("sampler", [ALWAYS_ON, ALWAYS_OFF, ParentBased(ALWAYS_OFF), TraceIdRatioBased(0.5), Marking()])
def test_only_drop_is_changed(sampler: Sampler) -> None:
    """Every other decision comes through as the very result of the inner sampler."""
    outer = RecordAll(sampler)
    given = {"a": 1}
    for number in range(1, 50):
        inner = sampler.should_sample(None, number << 58, "x", None, given, ())
        found = outer.should_sample(None, number << 58, "x", None, given, ())
        expected = Decision.RECORD_ONLY if inner.decision is Decision.DROP else inner.decision
        assert (expected, inner.trace_state) == (found.decision, found.trace_state)
        assert {**given, **(inner.attributes or {})} == dict(found.attributes or {})


def test_it_is_taken_back() -> None:
    """After uninstall nothing that is dropped is recorded, by tracers made before, between and after."""
    provider, seen, *_ = provider_of(ALWAYS_OFF)
    first = provider.get_tracer("first")
    changed = install(provider)
    assert changed == install(provider)
    second = provider.get_tracer("second")
    uninstall(provider)
    uninstall(provider)
    assert ALWAYS_OFF is provider.sampler
    for tracer in (first, second, provider.get_tracer("third")):
        tracer.start_span("dropped").end()
    assert [] == seen.spans
    provider.shutdown()


def test_tracers_made_before_are_changed_where_they_can_be_found() -> None:
    """An older tracer records too where the SDK lists its tracers; where it does not, install says so."""
    provider, seen, *_ = provider_of(ALWAYS_OFF)
    old = provider.get_tracer("old")
    changed = install(provider)
    old.start_span("old").end()
    provider.get_tracer("new").start_span("new").end()
    listed = made_tracers(provider) is not None
    assert (1 if listed else None) == changed
    assert (["old", "new"] if listed else ["new"]) == [span.name for span in seen.spans]
    provider.shutdown()


def test_a_shared_sampler_stays_untouched() -> None:
    """Another provider with the same sampler object drops as before."""
    first, _, *_ = provider_of(ALWAYS_OFF)
    second, seen, *_ = provider_of(ALWAYS_OFF)
    install(first)
    second.get_tracer("app").start_span("dropped").end()
    assert [] == seen.spans
    for provider in (first, second):
        provider.shutdown()


def test_links_and_many_attributes_survive() -> None:
    """A recorded span has its links and every attribute it was started with."""
    provider, seen, *_ = provider_of(ALWAYS_OFF)
    install(provider)
    link = trace.Link(SpanContext(5, 6, is_remote=False))
    attributes = {f"key.{number}": number for number in range(100)}
    provider.get_tracer("app").start_span("one", links=[link], attributes=attributes).end()
    links: Sequence[trace.Link] = seen.spans[0].links
    assert ([5], attributes) == ([one.context.trace_id for one in links], dict(seen.spans[0].attributes or {}))
    provider.shutdown()
