"""What was put right in a run's spans before they were read."""

from __future__ import annotations

from spanwise.model.trace import Run


def repairs_of(run: Run) -> list[str]:
    """What was put right in its trace, and how many of its own spans end before they begin.

    The latter are counted here, where every span is looked at anyway: a trace that is only scored need not pay for it.
    """
    backwards = sum(0 < span.raw.end_ns < span.raw.start_ns for span in run.spans)
    said = [f"spans that end before they begin, how long they took left open: {backwards}"] if backwards else []
    return [*run.trace.repairs, *said]
