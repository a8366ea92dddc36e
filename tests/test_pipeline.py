"""From records to sinks: whoever fails on the way costs only itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from spanwise.assembly.assembler import LIVE
from spanwise.delivery import DeliverySettings
from spanwise.evaluators.loops import Loops
from spanwise.evaluators.recovery import Recovery
from spanwise.evaluators.redundancy import Redundancy
from spanwise.evaluators.tool_arguments import ToolArguments
from spanwise.model.ports import AnyEvaluator
from spanwise.model.raw import RawSpan
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run
from spanwise.pipeline import Pipeline, Scoring
from tests.making import agent, tool

SETTINGS = replace(LIVE, late_ns=100)


@dataclass
class Kept:
    """A sink that keeps what it is given."""

    results: list[RunResult] = field(default_factory=list["RunResult"])
    closed: bool = False

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Keep the results."""
        self.results += results

    def close(self) -> None:
        """Remember that."""
        self.closed = True


class Failing:
    """A sink that can do nothing."""

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Fail."""
        raise OSError("full")

    def close(self) -> None:
        """Fail."""
        raise OSError("gone")


class Nobody:
    """A gatekeeper that lets no run in."""

    def admit(self, run: Run, evaluators: Mapping[str, AnyEvaluator], now_ns: int, /) -> Mapping[str, AnyEvaluator]:
        """None at all."""
        return {}


class Breaking:
    """A gatekeeper with an error in it."""

    def admit(self, run: Run, evaluators: Mapping[str, AnyEvaluator], now_ns: int, /) -> Mapping[str, AnyEvaluator]:
        """Fail."""
        raise KeyError("oops")


def run_through(pipeline: Pipeline, *spans: RawSpan) -> None:
    """Give a pipeline some spans, and time to score them."""
    for at, span in enumerate(spans):
        pipeline.add(span, at)
    pipeline.work(10)


def spans() -> list[RawSpan]:
    """A run with one call; the root comes last, as it ends last."""
    return [tool(2, parent=1, arguments={"q": "a"}, result="r"), agent(1)]


def test_every_sink_gets_every_result() -> None:
    """A sink that fails is counted, and the others are served and closed."""
    first, last = Kept(), Kept()
    pipeline = Pipeline(
        Scoring(evaluators={"redundancy": Redundancy()}), {"a": first, "b": Failing(), "c": last}, settings=SETTINGS
    )
    run_through(pipeline, *spans())
    pipeline.close(20)
    assert first.results == last.results
    assert [["redundancy"]] == [[score.name for score in result.scores] for result in last.results]
    assert (1, {"b": 2}, True) == (pipeline.stats.scored, pipeline.stats.sink_failures, last.closed)


def test_runs_that_are_kept_out() -> None:
    """A run that the gatekeeper lets nobody see is counted and given to no sink."""
    kept = Kept()
    pipeline = Pipeline(Scoring(evaluators={}), {"kept": kept}, settings=SETTINGS, gatekeeper=Nobody())
    run_through(pipeline, *spans())
    assert ([], 1, 0) == (kept.results, pipeline.stats.unscored, pipeline.stats.scored)


def test_a_run_that_cannot_be_scored() -> None:
    """An error outside of any evaluator costs that run only, and is counted."""
    pipeline = Pipeline(Scoring(evaluators={}), {"kept": Kept()}, settings=SETTINGS, gatekeeper=Breaking())
    run_through(pipeline, *spans())
    assert (1, 0) == (pipeline.stats.broken, pipeline.stats.scored)


def test_others_may_run_between_the_pieces() -> None:
    """The pause is called while the trace and its facts are read, before each evaluator, sink and masked text."""
    pauses: list[None] = []
    pipeline = Pipeline(
        Scoring(evaluators={"redundancy": Redundancy()}),
        {"kept": Kept()},
        settings=SETTINGS,
        delivery=DeliverySettings(content={"kept": "evidence"}),
        pause=lambda: pauses.append(None),
    )
    run_through(pipeline, *spans())
    assert 3 + 1 < len(pauses)


def test_a_long_run_is_read_in_small_pieces() -> None:
    """The pauses grow with the run, its scores are the same, and what is handed on pauses no more."""
    evaluators = {"tool_arguments": ToolArguments(), "recovery": Recovery(), "loops": Loops()}
    counts: list[int] = []
    for size in (400, 1600):
        tools = [tool(number, parent=1, arguments={"q": number}, result="r") for number in range(2, size + 2)]
        pauses: list[None] = []
        found: list[Sequence[Score]] = []
        for options in ({}, {"pause": lambda pauses=pauses: pauses.append(None)}):
            kept = Kept()
            pipeline = Pipeline(Scoring(evaluators=evaluators), {"kept": kept}, settings=SETTINGS, **options)
            for span in (*tools, agent(1)):
                pipeline.add(span, 0)
            pipeline.work(10)
            (result,) = kept.results
            assert result.run.trace.pause is None
            found.append(result.scores)
        assert found[0] == found[1]
        counts.append(len(pauses))
    assert 2 * 400 / 64 < counts[0]
    assert 2 * 1200 / 64 < counts[1] - counts[0]  # compiled code reads up to 64 spans between two pauses


def test_what_has_not_ended_is_given_up() -> None:
    """At the end a trace without its root's end is counted, not scored."""
    kept = Kept()
    pipeline = Pipeline(Scoring(evaluators={}), {"kept": kept}, settings=SETTINGS)
    run_through(pipeline, spans()[0])
    pipeline.close(20)
    assert ([], {"unfinished": 1}) == (kept.results, pipeline.assembler.stats.refused)
