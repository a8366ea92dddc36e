"""Auditing a judge, with real requests."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from spanwise.judges import Goal, Panel, ToolChoice, UnaskedError
from spanwise.judges.agreement import Limits
from spanwise.judges.audit import audit
from spanwise.judges.labels import read_labels
from spanwise.model.score import Score
from spanwise.model.trace import Run
from tests.judges.runs import asked_and_answered
from tests.judges.standin import MODEL, Answer, Standin, failure, verdict
from tests.making import agent, run_of, span

EMPTY = run_of(span(1, name="GET /"))


def by_answer(body: dict) -> object:
    """A judge that passes what is good, whenever it is asked."""
    return verdict(3 if "good" in str(body["messages"][-1]["content"]) else 0)


RUNS = [asked_and_answered(query=str(number), answer="good" if number % 2 else "poor") for number in range(8)]


def test_a_judge_that_is_right_is_trusted(standin: Standin, panel: Panel) -> None:
    """It says the same twice and what people say; runs without the data are skipped."""
    standin.choose(by_answer)
    row = json.dumps({"trace_id": RUNS[1].trace.trace_id, "label": "pass"})
    labels = read_labels(row, source="l", judge="goal", scale=Goal().scope.scale)
    found = audit(Goal(panel=panel), [*RUNS, EMPTY], retests=2, labels=labels, limits=Limits(labels=1))
    what = found.findings
    assert (8, 1, (MODEL,)) == (what.runs, found.skipped, found.models)
    assert (0, 8, 0) == (what.flips.count, what.flips.of, what.errors.count)
    assert 24 == len(standin.requests)


def test_flips_are_found(standin: Standin, panel: Panel) -> None:
    """A judge that says something else each time is unreliable: a second answer is not one that is remembered."""
    asked: dict[str, int] = {}

    def flipping(body: dict) -> object:
        text = str(body["messages"][-1]["content"])
        asked[text] = asked.get(text, 0) + 1
        return verdict(3 if asked[text] % 2 else 0)

    standin.choose(flipping)
    found = audit(Goal(panel=panel), RUNS)
    assert ("UNRELIABLE", 8, 8) == (found.findings.trust, found.findings.flips.count, found.findings.moves.count)


def test_rules_are_compared_although_they_decide(standin: Standin, panel: Panel) -> None:
    """The judge is asked about runs that rules decide too, and is held against them."""

    def alarmed(run: Run) -> Score:
        return Score(name="check", value=0.0)

    judge = ToolChoice(panel=panel, after=("check",), checks={"check": alarmed})
    found = audit(judge, RUNS).findings
    assert (8, 8, "UNRELIABLE") == (found.disagreement.count, found.disagreement.of, found.trust)


def test_errors_are_counted(standin: Standin, panel: Panel) -> None:
    """A run without a verdict counts as an error, with its reason."""
    standin.script(failure(404))
    found = audit(Goal(panel=panel), RUNS[:2])
    assert ("UNRELIABLE", 2) == (found.findings.trust, found.findings.errors.count)
    assert all("HTTP 404" in run.error for run in found.runs)


def test_without_a_model_there_is_no_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody can be asked the audit says what to set."""
    monkeypatch.delenv("SPANWISE_JUDGE_MODEL", raising=False)
    with pytest.raises(UnaskedError, match="SPANWISE_JUDGE_MODEL"):
        audit(Goal(), RUNS)


def test_a_budget_may_end_amid_an_audit(standin: Standin, panel: Panel) -> None:
    """What was judged until then is told, and what was not is an error."""
    dear = replace(panel, prices=(0.0, 100.0), reply_tokens=1000, run_usd=1.0, day_usd=0.115)
    found = audit(Goal(panel=dear), RUNS, retests=0, threads=1)
    assert 0 < found.findings.errors.count < 8
    assert any("day_usd" in run.error for run in found.runs)


def test_agents_without_content_are_skipped() -> None:
    """Of runs that record no content nothing is asked, and so nothing found."""
    found = audit(Goal(panel=Panel(models=(MODEL,))), [run_of(agent(1))])
    assert (0, 1) == (found.findings.runs, found.skipped)


def test_an_interrupted_audit_does_not_wait(standin: Standin, panel: Panel) -> None:
    """Who interrupts an audit is not kept waiting for the runs that are left."""
    standin.script(Answer(body=verdict(3).body, delay_s=0.5))

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        audit(Goal(panel=panel), RUNS * 5, threads=1, retests=9, on_run=stop)
    assert time.monotonic() - begun < 15.0
