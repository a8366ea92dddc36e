"""Staying attached to providers that others have set, and leaving them as they are."""

from __future__ import annotations

import time

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import spanwise
from spanwise.model.result import RunResult

WAIT_S = 10.0


class Wrapper(trace.TracerProvider):
    """A provider around another one that can be replaced, as Logfire's is when it is configured again."""

    def __init__(self, provider: TracerProvider) -> None:
        self.provider = provider

    def set_provider(self, provider: TracerProvider) -> None:
        """Use another one from now on."""
        self.provider = provider

    def configure(self, provider: TracerProvider) -> None:
        """Shut down what is there, and use another one."""
        self.provider.shutdown()
        self.set_provider(provider)

    def get_tracer(self, *args: str, **kwargs: str) -> trace.Tracer:
        """One of the provider that there is now."""
        return self.provider.get_tracer(*args, **kwargs)

    def add_span_processor(self, processor: SpanProcessor) -> None:
        """Add it to the provider that there is now."""
        self.provider.add_span_processor(processor)


class Replacing(TracerProvider):
    """A provider that throws its default processor away for another one, as Phoenix's earlier releases do."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        super().__init__(shutdown_on_exit=False)
        self.exporter = exporter
        super().add_span_processor(SimpleSpanProcessor(exporter))

    def add_span_processor(self, span_processor: SpanProcessor) -> None:
        """Only the new one counts."""
        self.exporter.shutdown()
        super().add_span_processor(span_processor)


def agent(provider: trace.TracerProvider, name: str) -> None:
    """An agent's run."""
    fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    with provider.get_tracer("app").start_as_current_span(name, attributes=fields):
        pass


def names(results: list[RunResult]) -> list[str]:
    """Whose runs were scored."""
    return [result.run.agents[0].name or "" for result in results]


def plain(**options: object) -> TracerProvider:
    """A provider of the SDK's."""
    return TracerProvider(shutdown_on_exit=False, **options)


def test_a_provider_that_is_configured_again() -> None:
    """The new one inside is attached to, once, and nothing is closed; after the undo there is no trace of us."""
    results: list[RunResult] = []
    wrapper = Wrapper(plain())
    with spanwise.instrument(wrapper, sinks=[results.append], score_unsampled=True) as handle:
        agent(wrapper, "a")
        wrapper.configure(plain())
        agent(wrapper, "b")
        wrapper.configure(plain(sampler=ALWAYS_OFF))
        agent(wrapper, "c")
        again = spanwise.instrument(wrapper.provider, sinks=[print])
        assert handle.flush(WAIT_S)
        assert handle.last(9) == again.last(9)
    assert ["a", "b", "c"] == names(results)
    assert "set_provider" not in vars(wrapper)
    wrapper.configure(plain())
    agent(wrapper, "d")
    assert 3 == handle.stats().captured


def test_going_along_is_guarded(caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be attached to is told, and the app's call does not fail."""
    wrapper = Wrapper(plain())
    with spanwise.instrument(wrapper, sinks=[print]):
        wrapper.set_provider(None)  # pyright: ignore[reportArgumentType]  # nothing that takes processors
    assert "spanwise: could not go along with the app's new provider" in [one.getMessage() for one in caplog.records]


def test_nothing_is_thrown_away_for_us() -> None:
    """A provider of Phoenix's keeps its exporter, also where it cannot be told to."""
    kind = type("TracerProvider", (Replacing,), {"__module__": "phoenix.otel.otel"})
    exporter, results = InMemorySpanExporter(), list[RunResult]()
    provider = kind(exporter)
    with spanwise.instrument(provider, sinks=[results.append]) as handle:
        agent(provider, "a")
        assert handle.flush(WAIT_S)
    assert (["a"], ["a"]) == (names(results), [span.name for span in exporter.get_finished_spans()])


def test_a_flush_after_the_end_does_not_wait() -> None:
    """Others flush the provider at exit, after us: that must not take its time."""
    provider = plain()
    handle = spanwise.instrument(provider, sinks=[lambda result: None])
    agent(provider, "a")
    assert handle.flush(WAIT_S)
    handle.uninstrument()
    begun = time.monotonic()
    assert provider.force_flush(5_000)
    assert handle.flush(5.0)
    provider.shutdown()
    assert 1.0 > time.monotonic() - begun
