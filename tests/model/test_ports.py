"""The protocols that evaluators fit."""

from __future__ import annotations

from collections.abc import Iterator

from spanwise.catalog import EVALUATORS
from spanwise.model.ports import Evaluator, Record, SteppedEvaluator
from spanwise.model.raw import LogEvent, PackedSpan, RawSpan
from spanwise.model.score import Score
from spanwise.model.trace import Run


class Stepped:
    """An evaluator that works in steps."""

    def steps(self, run: Run, /) -> Iterator[Score | None]:
        """Yield once, then the score."""
        yield None
        yield Score(name="stepped", value=1.0)


def test_built_ins_are_evaluators() -> None:
    """Every built-in, and any function of a run, is an evaluator; text is none."""
    assert all(isinstance(make(), Evaluator) for make in EVALUATORS.values())
    assert isinstance(len, Evaluator)
    assert not isinstance("redundancy", Evaluator)


def test_stepped_evaluators_are_told_apart() -> None:
    """An evaluator that works in steps is known by them."""
    assert isinstance(Stepped(), SteppedEvaluator)
    assert not isinstance(Stepped(), Evaluator)
    stepped = {name for name, make in EVALUATORS.items() if isinstance(make(), SteppedEvaluator)}
    assert {"grounding", "recovery", "retrieval_relevance", "tool_arguments"} <= stepped


def test_records() -> None:
    """What a source hands over is a span, be it still packed, or a log event."""
    assert RawSpan | PackedSpan | LogEvent == Record
