"""Gates of limits."""

from __future__ import annotations

import pytest

from spanwise.assembly.tree import build_trace
from spanwise.errors import SpecError
from spanwise.gate.limits import FAILED, PASSED, UNANSWERED, UNUSABLE, Gate, Limits, Verdict, parse_limits
from spanwise.model.result import RunResult
from spanwise.model.score import Score, not_applicable, not_measurable
from tests.making import agent, trace_id


def result(*scores: Score, number: int = 1, revision: int = 1) -> RunResult:
    """The scores of a run of its own trace."""
    trace = build_trace(trace_id(number), [agent(1)])
    return RunResult(run=trace.runs[0], scores=scores, source=f"{number}.json", revision=revision)


def scored(value: float, *, label: str = "", unit: str = "", name: str = "x") -> Score:
    """A score."""
    return Score(name=name, value=value, label=label, unit=unit, reason="why")


def verdict(limits: Limits, *results: RunResult, reasons: bool = True) -> Verdict:
    """The gate's answer to these results."""
    gate = Gate(limits, reasons=reasons)
    for one in results:
        gate.add(one)
    return gate.verdict()


UNDER = Limits(under={"x": 0.9})
BROKEN = Score(name="x", status="error", reason="KeyError: 'secret'")


@pytest.mark.parametrize(
    ("limits", "scores", "code"),
    [
        (UNDER, [scored(0.9)], PASSED),
        (UNDER, [scored(0.89)], FAILED),
        (UNDER, [scored(0.3 + 0.6)], PASSED),
        (UNDER, [scored(1.0), not_applicable("x", "no tool")], PASSED),
        (UNDER, [not_applicable("x", "no tool")], UNANSWERED),
        (UNDER, [scored(1.0), not_measurable("x", "no data")], UNANSWERED),
        (UNDER, [scored(0.0), not_measurable("x", "no data")], UNANSWERED),
        (UNDER, [scored(1.0), BROKEN], UNANSWERED),
        (UNDER, [scored(1.0), scored(1.0, name="y")], UNANSWERED),
        (UNDER, [], UNANSWERED),
        (UNDER, [scored(5.0, unit="USD")], UNUSABLE),
        (Limits(under={"x": 0.9}, allow_not_measurable=True), [scored(1.0), not_measurable("x", "no data")], PASSED),
        (Limits(under={"x": 0.9}, allow_not_measurable=True), [not_measurable("x", "no data")], UNANSWERED),
        (Limits(under={"x": 0.9}, allow_not_measurable=True), [scored(1.0), BROKEN], UNANSWERED),
        (Limits(on="alert"), [scored(0.5, label="warn")], PASSED),
        (Limits(on="alert"), [scored(0.5, label="alert")], FAILED),
        (Limits(on="warn"), [scored(0.5, label="warn")], FAILED),
        (Limits(on="warn"), [scored(0.5, label="alert")], FAILED),
        (Limits(on="warn"), [scored(0.5, label="ok")], PASSED),
        (Limits(on="alert"), [scored(1.0, label="ok"), not_measurable("x", "no data")], UNANSWERED),
        (Limits(on="alert"), [scored(1.0, label="ok"), not_measurable("cost", "no", unit="USD")], PASSED),
        (Limits(on="alert"), [scored(3.0, unit="USD")], UNANSWERED),
        (Limits(on="alert"), [], UNANSWERED),
    ],
)
def test_a_gate_gives_its_code(limits: Limits, scores: list[Score], code: int) -> None:
    """What is scored passes or fails; what is not, or nothing at all, is no answer, and the gravest counts."""
    results = [result(score, number=number) for number, score in enumerate(scores, start=1)]
    assert code == verdict(limits, *results).code


def test_no_limits_are_no_gate() -> None:
    """Limits that ask for nothing are false."""
    assert (False, True, True) == (bool(Limits(allow_not_measurable=True)), bool(UNDER), bool(Limits(on="warn")))


def test_a_verdict_names_run_and_reason() -> None:
    """What speaks against passing names the file, the trace, the run, the score and why it is what it is."""
    (said,) = verdict(UNDER, result(scored(0.5))).failed
    assert f"1.json {trace_id(1)} run {1:016x}: x 0.5 is under 0.9: why" == said


def test_reasons_can_be_left_out() -> None:
    """Without reasons only that of a score which could not be measured stays."""
    found = verdict(UNDER, result(BROKEN), result(not_measurable("x", "no data"), number=2), reasons=False)
    assert [False, True] == ["secret" in " ".join(found.unanswered), "no data" in " ".join(found.unanswered)]


def test_a_run_given_again_replaces_itself() -> None:
    """A run that failed at first and holds at its second revision has not failed."""
    assert PASSED == verdict(UNDER, result(scored(0.1)), result(scored(1.0), revision=2)).code


def test_words_of_many_runs_are_counted_only() -> None:
    """Of more than fifty runs in the way the rest is a number, and still fails the gate."""
    found = verdict(UNDER, *(result(scored(0.1), number=number) for number in range(1, 61)))
    assert (FAILED, 50, 10) == (found.code, len(found.failed), found.more)


def test_limits_are_read_from_text() -> None:
    """NAME=VALUE gives a least value; an evaluator's further scores have its name in front."""
    assert {"x": 0.5, "latency_ms": 1.0} == parse_limits(["x=0.5", "latency_ms=1"], evaluators=["x", "latency"])


@pytest.mark.parametrize("text", ["x", "x=", "=1", "x=high", "x=nan", "y=0.5", "xx=1", ""])
def test_other_texts_are_refused(text: str) -> None:
    """A text without a name, a number or a known score is an error that quotes what was read."""
    with pytest.raises(SpecError, match=r"expected NAME=VALUE|is no score of an evaluator"):
        parse_limits([text], evaluators=["x"])


@pytest.mark.parametrize("value", ["2", "90", "-0.1", "inf", "-inf"])
def test_values_that_no_score_has_are_refused(value: str) -> None:
    """A least value that every run holds, or none, is an error: a percentage, most likely."""
    with pytest.raises(SpecError, match=f"read 'x={value}', expected a value from 0 to 1"):
        parse_limits([f"x={value}"], evaluators=["x"])
