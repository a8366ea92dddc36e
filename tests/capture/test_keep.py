"""Which traces are exported, by their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import StatusCode, set_span_in_context

from spanwise.capture.keep import WEIGHT, Keep
from spanwise.capture.sampling import randomness
from spanwise.capture.scored_exporter import _captures
from spanwise.errors import ModelError
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run
from spanwise.sinks.otel_metrics import OtelMetricsSink
from tests.capture.exporting import PROCESSORS, WAIT_S, App, added_up, make
from tests.making import agent, run_of, tool

__all__ = ["make"]


def judge(run: Run, /) -> Iterator[Score] | tuple[Score, ...]:
    """Says what the run's query says."""
    name = run.root_span.name if run.root_span else ""
    if "broken" in name:
        raise RuntimeError("no")
    if "dark" in name:
        return (Score(name="judge", status="not_measurable", reason="r"),)
    return (Score(name="judge", value=0.1 if "bad" in name else 1.0),)


def result(*scores: Score, failed: bool = False) -> RunResult:
    """A result with these scores."""
    return RunResult(run=run_of(agent(1), tool(2, parent=1, failed=failed)), scores=scores)


@pytest.mark.parametrize(
    ("given", "without", "stands_out"),
    [
        (result(Score(name="a", value=1.0, label="ok")), "", False),
        (result(Score(name="a", status="not_applicable", reason="r")), "", False),
        (result(Score(name="a", value=0.1, label="alert")), "alerts", True),
        (result(Score(name="a", status="not_measurable", reason="r")), "unmeasurable", True),
        (result(Score(name="a", status="error", reason="r")), "errors", True),
        (result(Score(name="a", value=1.0), Score(name="b", value=1.0, label="ok"), failed=True), "errors", True),
    ],
)
def test_what_stands_out(given: RunResult, without: str, stands_out: bool) -> None:
    """An alert, an error or something not measurable stands out, each unless it is switched off."""
    assert stands_out is Keep()(given)
    if without:
        assert not Keep(**{without: False})(given)


@pytest.mark.parametrize("sample", [-0.1, 1.1, float("nan")])
def test_what_is_no_share(sample: float) -> None:
    """A sample outside [0, 1] is refused."""
    with pytest.raises(ModelError, match="sample"):
        Keep(sample=sample)


def test_the_sample() -> None:
    """The trace's id decides, at the rate that was given; the whole and nothing are exact."""
    ids = [f"{number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:032x}" for number in range(1, 4001)]
    kept = [one for one in ids if Keep(sample=0.25).weight_of(one)]
    assert 900 < len(kept) < 1100
    assert {4.0} == {Keep(sample=0.25).weight_of(one) for one in kept}
    assert min(map(randomness, kept)) > max(randomness(one) for one in set(ids) - set(kept))
    assert ({0.0}, {1.0}) == (
        {Keep(sample=0.0).weight_of(one) for one in ids}, {Keep(sample=1.0).weight_of(one) for one in ids}
    )  # fmt: skip


@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_bad_ones_are_exported(make: Callable[..., App], processor: object) -> None:
    """Whole traces that stand out are exported and stand for themselves; the others are not, and all are measured."""
    reader = InMemoryMetricReader()
    meters = MeterProvider([reader], shutdown_on_exit=False)
    app = make(processor, keep=Keep(sample=0.0), evaluators={"judge": judge})
    metrics = OtelMetricsSink(meters)
    app.handle.subscribe(lambda one: metrics.emit([one]))
    for name in ("fine", "bad", "dark", "broken", "fine"):
        with app.tracer.start_as_current_span(f"GET /{name}"), app.agent(name), app.tool(name):
            pass
    with app.agent("failing") as span:
        span.set_status(StatusCode.ERROR)
    app.provider.force_flush()
    assert app.settled(10)
    names = {one.name for one in app.kept.spans if one.parent is None}
    assert {"GET /bad", "GET /dark", "GET /broken", "invoke_agent failing"} == names
    assert {1} == set(app.kept.ids().values())
    weights = [one.attributes[WEIGHT] for one in app.kept.spans if "invoke_agent" in one.name]
    assert [1.0] * 4 == weights
    stats = app.exporter.stats()
    assert (16, 10, 6, 0) == (stats.received, stats.exported, stats.left_out, stats.held)
    data = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    (runs,) = [one for one in data if one.name == "spanwise.runs"]
    assert 6 == sum(point.value for point in runs.data.data_points)
    meters.shutdown()


def test_the_sampled_ones_carry_their_weight(make: Callable[..., App]) -> None:
    """Of the traces in which nothing stands out those of the sample are exported, each with its weight."""
    app = make(BatchSpanProcessor, keep=Keep(sample=0.5), evaluators={"judge": judge})
    for _ in range(60):
        with app.agent("fine"), app.tool():
            pass
    app.provider.force_flush()
    wanted = {one.run.trace.key for one in app.results if Keep(sample=0.5).weight_of(one.run.trace.trace_id)}
    assert app.settled(2 * len(wanted))
    assert 10 < len(wanted) < 50
    assert wanted == {one.context.trace_id for one in app.kept.spans}
    assert {2.0} == {one.attributes[WEIGHT] for one in app.kept.spans if one.parent is None}
    assert added_up(app.exporter)


def test_a_function_chooses(make: Callable[..., App], caplog: pytest.LogCaptureFixture) -> None:
    """A function of the app's own may choose; where it fails, the trace is exported."""

    def keep(found: RunResult) -> bool:
        if found.run.agents[0].name == "odd":
            raise KeyError("odd")
        return found.run.agents[0].name == "wanted"

    app = make(keep=keep)
    for name in ("wanted", "other", "odd", "odd"):
        with app.agent(name):
            pass
    assert app.handle.flush(WAIT_S)
    assert app.settled(3)
    assert ["invoke_agent odd", "invoke_agent odd", "invoke_agent wanted"] == sorted(one.name for one in app.kept.spans)
    assert (1, 2 * len(_captures)) == (app.exporter.stats().left_out, app.exporter.stats().keep_failures)
    assert 1 == sum("`keep` failed" in one.getMessage() for one in caplog.records)
    assert not any(WEIGHT in one.attributes for one in app.kept.spans)


def test_what_is_not_scored_is_exported(make: Callable[..., App]) -> None:
    """A trace that went out unscored is exported whole, whatever its runs score later."""
    app = make(keep=lambda _: False)
    root = app.tracer.start_span("root", attributes={"gen_ai.operation.name": "invoke_agent"})
    app.tracer.start_span("child", set_span_in_context(root)).end()
    assert app.exporter.force_flush()
    assert 1 == len(app.kept.spans)
    root.end()
    assert app.handle.flush(WAIT_S)
    assert app.settled(2)


def test_a_late_alert(make: Callable[..., App]) -> None:
    """Where a later revision stands out, what is left of the trace goes out; what was left out before stays so."""
    app = make(keep=lambda found: len(found.run.tool_calls) > 1)
    with app.agent() as root:
        with app.tool():
            pass
        context = set_span_in_context(root)
    assert app.handle.flush(WAIT_S)
    assert (2, 0) == (app.exporter.stats().left_out, len(app.kept.spans))
    fields = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "late"}
    app.tracer.start_span("late", context, attributes=fields).end()
    assert app.handle.flush(WAIT_S)
    assert app.settled(1)
    assert (2, "late") == (app.exporter.stats().left_out, app.kept.spans[0].name)
