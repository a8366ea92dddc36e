"""What an audit of a judge found, for people and as JSON."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from spanwise.judges.agreement import Judged, Share
from spanwise.judges.audit import Audit
from spanwise.report.escapes import visible
from spanwise.report.terminal import rows

SCHEMA = "spanwise.judge_audit/1"
_STYLES = {"TRUSTWORTHY": "bold green", "NEEDS CALIBRATION": "bold yellow", "UNRELIABLE": "bold red"}
_SHOWN = 10


def to_audit(found: Audit) -> dict[str, object]:
    """The findings as JSON spells them; what is not known is null."""
    what = found.findings
    return {
        "schema": SCHEMA,
        "judge": found.judge,
        "models": list(found.models),
        "verdict": what.trust,
        "reasons": list(what.reasons),
        "runs": what.runs,
        "skipped": found.skipped,
        "labels": found.labels,
        "errors": _share(what.errors),
        "abstained": _share(what.abstained),
        "disagreement": _share(what.disagreement),
        "flips": _share(what.flips),
        "moves": _share(what.moves),
        "kappa": {
            "value": what.kappa.value,
            "low": what.kappa.low,
            "high": what.kappa.high,
            "observed": what.kappa.observed,
            "expected": what.kappa.expected,
            "n": what.kappa.n,
            "weighted": what.weighted_kappa,
        },
        "judged": [_run(run) for run in found.runs],
    }


def _share(share: Share) -> dict[str, object]:
    return {"count": share.count, "of": share.of, "share": share.value}


def _run(run: Judged) -> dict[str, object]:
    return {
        "trace_id": run.trace_id,
        "run_id": run.run_id,
        "scores": list(run.numbers),
        "passes": list(run.passes),
        "rules_pass": run.rules,
        "label_passes": run.label,
        "label_score": run.label_number,
        "error": run.error or None,
    }


def show_audit(to: Console, found: Audit) -> None:
    """Print the verdict, what it rests on, and the runs to look at."""
    what = found.findings
    to.print(Text.assemble(visible(found.judge), ": ", (what.trust, _STYLES[what.trust])))
    rows(to, (("-", visible(reason), "") for reason in what.reasons), indent=2)
    to.print()
    kappa = what.kappa
    measured = "not measurable"
    if kappa.value is not None and kappa.low is not None and kappa.high is not None:
        weighted = "" if what.weighted_kappa is None else f", weighted {what.weighted_kappa:.2f}"
        measured = f"{kappa.value:.2f} (95 %: {kappa.low:.2f} to {kappa.high:.2f}){weighted}"
    rows(
        to,
        (
            ("models", visible(", ".join(found.models)), ""),
            ("runs", f"{what.runs}, and {found.skipped} of which the question does not arise", ""),
            ("no verdict", _told(what.errors), ""),
            ("cannot tell", _told(what.abstained), ""),
            ("against rules", _told(what.disagreement), ""),
            ("flips when asked again", _told(what.flips), ""),
            ("another number", _told(what.moves), ""),
            ("kappa", f"{measured}, of {kappa.n} labelled verdicts", ""),
        ),
        indent=2,
    )
    _look(to, found)


def _told(share: Share) -> str:
    return "not known" if share.value is None else f"{share.count} of {share.of} ({share.value:.0%})"


def _look(to: Console, found: Audit) -> None:
    """The runs that somebody should look at."""
    lines = [
        (run, f"the judge says {_word(run.passes[0])}, rules say {_word(run.rules)}") for run in found.findings.opposed
    ]
    lines += [(run, "flips when asked again") for run in found.runs if len(set(run.passes)) > 1]
    lines += [
        (run, f"the judge says {_word(run.passes[0])}, a person says {_word(run.label)}")
        for run in found.runs
        if run.label is not None and run.passes and run.passes[0] not in {None, run.label}
    ]
    lines += [(run, run.error) for run in found.runs if run.error]
    if not lines:
        return
    to.print()
    to.print(Text("to look at", style="bold"))
    rows(
        to,
        ((visible(f"{run.trace_id} {run.run_id}".strip()) or "-", visible(text), "") for run, text in lines[:_SHOWN]),
        indent=2,
    )
    if len(lines) > _SHOWN:
        to.print(f"  and {len(lines) - _SHOWN} more")


def _word(passes: bool | None) -> str:  # noqa: FBT001  (a verdict, not a switch)
    return "cannot tell" if passes is None else "pass" if passes else "fail"
