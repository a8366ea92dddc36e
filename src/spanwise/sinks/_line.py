"""A run in one line, for logs and terminals."""

from __future__ import annotations

from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.text import excerpt

_REASON = 120


def line_of(result: RunResult) -> str:
    """Who ran, how well, the worst score with its reason, how long it took and what it cost."""
    run = result.run
    who = run.agents[0].name if run.agents else (run.root_span.name if run.root_span else "run")
    parts = [f"{who}: {_overall(result)}"]
    worst = worst_of(result)
    if worst is not None:
        why = f" ({excerpt(worst.reason, limit=_REASON)})" if worst.reason else ""
        parts.append(f"worst {worst.name} {worst.value:.2f}{why}")
    unknown = [score.name for score in result.scores if score.status == "not_measurable"]
    if unknown:
        parts.append(f"not measurable: {', '.join(unknown)}")
    broken = [score.name for score in result.scores if score.status == "error"]
    if broken:
        parts.append(f"failed: {', '.join(broken)}")
    took = run.duration_ms
    if took is not None:
        parts.append(f"{took / 1000:.2f} s")
    cost = run.cost_usd
    if cost is not None:
        parts.append(f"${cost:.4f}")
    if result.revision > 1:
        parts.append(f"revision {result.revision}")
    return "; ".join(parts) + f"; trace {run.trace.trace_id}"


def worst_of(result: RunResult) -> Score | None:
    """The lowest score without a unit that is not perfect; the overall one is none of them."""
    judged = [one for one in result.scores if one.value is not None and not one.unit and one.name != "overall"]
    lowest = min(judged, key=lambda one: one.value or 0.0, default=None)
    return lowest if lowest is not None and lowest.value is not None and lowest.value < 1.0 else None


def _overall(result: RunResult) -> str:
    found = next((score for score in result.scores if score.name == "overall"), None)
    if found is None:
        return f"{len(result.scores)} scores"
    return f"overall {found.value:.2f} {found.label}" if found.value is not None else f"overall {found.status}"
