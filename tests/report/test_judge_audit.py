"""What an audit found, as text and as JSON."""

from __future__ import annotations

import io
import json

from spanwise.judges.agreement import Judged, Limits, findings
from spanwise.judges.audit import Audit
from spanwise.report.judge_audit import show_audit, to_audit
from spanwise.report.terminal import console


def audit_of(*runs: Judged) -> Audit:
    """An audit that found so."""
    return Audit(judge="goal", models=("m",), findings=findings(runs, Limits(labels=1)), runs=runs, skipped=2, labels=1)


def text_of(found: Audit) -> str:
    """What is printed."""
    out = io.StringIO()
    show_audit(console(out, width=120), found)
    return out.getvalue()


def test_the_runs_to_look_at_are_named() -> None:
    """Runs that contradict rules or people, flip, or broke are listed with their ids, ten at most."""
    odd = Judged(trace_id="abc", run_id="r1", numbers=(3, 0), passes=(True, False), rules=False, label=False)
    broken = Judged(trace_id="def\x1b[2J", run_id="", numbers=(), passes=(), error="ReplyError: \x1b[2J")
    text = text_of(audit_of(odd, *[broken] * 12))
    for words in (
        "goal: UNRELIABLE",
        "abc r1",
        "the judge says pass, rules say fail",
        "flips when asked again",
        "the judge says pass, a person says fail",
        "and 5 more",
    ):
        assert words in text
    assert "\x1b" not in text


def test_what_is_not_known_is_null() -> None:
    """Shares of nothing, and kappa without labels, are null in JSON and not known in text."""
    found = audit_of()
    told = json.loads(json.dumps(to_audit(found)))
    assert ({"count": 0, "of": 0, "share": None}, None) == (told["flips"], told["kappa"]["value"])
    assert "not known" in text_of(found)
    assert "to look at" not in text_of(found)
