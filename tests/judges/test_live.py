"""Judges beside a live app: they answer later, block nothing, and leave no trace of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from opentelemetry import trace as api
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwise
from spanwise.judges import Goal, Panel
from spanwise.judges.silence import silent
from spanwise.model.result import RunResult
from tests.judges.standin import Answer, Standin, verdict


@pytest.fixture
def exported() -> InMemorySpanExporter:
    """All spans that a provider exports."""
    return InMemorySpanExporter()


@pytest.fixture
def provider(exported: InMemorySpanExporter) -> Iterator[TracerProvider]:
    """A provider whose spans are exported at once."""
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(exported))
    yield made
    made.shutdown()


def until(holds: Callable[[], object], seconds: float = 15.0) -> bool:
    """Whether something came to hold in time."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(holds())


def test_a_live_judge_scores_runs_and_nothing_of_its_own(
    standin: Standin, panel: Panel, provider: TracerProvider, exported: InMemorySpanExporter
) -> None:
    """With everything instrumented, two runs of an agent give two judged runs: the judge leaves no span, and no run."""
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings
    from pydantic_ai.models.test import TestModel

    found: list[RunResult] = []
    handle = spanwise.instrument(
        provider, evaluators={"loops": spanwise_loops(), "goal": Goal(panel=panel)}, sinks=[found.append]
    )
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    try:
        agent = Agent(TestModel(custom_output_text="A return costs 5 dollars."), name="helper")
        for query in ("What does a return cost?", "And an exchange?"):
            agent.run_sync(query)
        assert until(lambda: handle.flush(5.0) and goals(found) == 2)
        time.sleep(0.3)
        handle.flush(5.0)
    finally:
        Agent.instrument_all(False)
        handle.uninstrument()
    assert {"helper"} == {agent.name for result in found for agent in result.run.agents}
    assert [1.0, 1.0] == [score.value for result in found for score in result.scores if score.name == "goal"]
    assert 2 == len({result.run.trace.trace_id for result in found})
    assert 2 == len(standin.requests)
    assert not [span.name for span in exported.get_finished_spans() if "verdict" in span.name or "gpt" in span.name]


def spanwise_loops() -> Callable[..., object]:
    """A built-in evaluator."""
    from spanwise.evaluators.loops import Loops

    return Loops()


def goals(found: list[RunResult]) -> int:
    """How many goals were judged."""
    return sum(score.name == "goal" for result in found for score in result.scores)


def test_the_worker_does_not_wait_for_judges(standin: Standin, provider: TracerProvider) -> None:
    """While a model takes its time, built-in scores of this run and of later ones come at once."""
    standin.script(Answer(body=verdict(3).body, delay_s=2.0))
    found: list[RunResult] = []
    judge = Goal(panel=Panel(models=("openai-chat:slow",)))
    handle = spanwise.instrument(provider, evaluators={"loops": spanwise_loops(), "goal": judge}, sinks=[found.append])
    try:
        tracer = provider.get_tracer("app")
        for number in range(3):
            one_run(tracer, number)
        begun = time.monotonic()
        handle.flush(5.0)
        assert time.monotonic() - begun < 1.0
        assert (3, 0) == (len(found), goals(found))
        assert until(lambda: handle.flush(5.0) and goals(found) == 3)
    finally:
        handle.uninstrument()


def one_run(tracer: api.Tracer, number: int) -> None:
    """An agent's run with a query and an answer."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "helper",
        "gen_ai.input.messages": f'[{{"role":"user","parts":[{{"type":"text","content":"q {number}"}}]}}]',
        "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"a"}]}]',
    }
    with tracer.start_as_current_span("invoke_agent helper", attributes=attributes):
        pass


def test_what_judges_leave_belongs_to_no_run(provider: TracerProvider, exported: InMemorySpanExporter) -> None:
    """In a silent context the app's span is not current, and what a sampler asks its parent about is dropped."""
    tracer = provider.get_tracer("app")
    with tracer.start_as_current_span("the app's") as outer, silent():
        current = api.get_current_span().get_span_context()
        assert current.trace_id != outer.get_span_context().trace_id
        assert not current.trace_flags.sampled
        with tracer.start_as_current_span("of a client that does not listen"):
            pass
    assert ["the app's"] == [span.name for span in exported.get_finished_spans()]


def test_instrumentations_are_told_to_be_silent() -> None:
    """Instrumentations that ask find themselves switched off, within the block only."""
    from opentelemetry.instrumentation.utils import is_http_instrumentation_enabled, is_instrumentation_enabled

    with silent():
        assert (False, False) == (is_instrumentation_enabled(), is_http_instrumentation_enabled())
    assert (True, True) == (is_instrumentation_enabled(), is_http_instrumentation_enabled())
