"""Why a question about the tool calls of a run cannot be answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from spanwise.model.calls import ToolCall
from spanwise.model.score import Score, not_applicable, not_measurable
from spanwise.model.trace import Run


def no_tool_called(name: str, run: Run) -> Score:
    """The score of a run without tool calls: the question does not arise, unless calls may have gone unseen."""
    if not run.tool_calls:
        if not run.completeness.complete:
            return not_measurable(name, f"The trace is partial: {'; '.join(run.completeness.reasons)}.")
        unseen = run.lacks("spans", "tool_calls")
        if unseen is not None:
            return not_measurable(name, str(unseen))
    return not_applicable(name, "The run called no tool.")


def why_missing(run: Run, *fields: str) -> str:
    """What is not recorded, and the switch that would record it, for the first of some fields that is missing."""
    missing = run.lacks(*fields)
    return f"The {' and the '.join(fields)} are not recorded whole." if missing is None else str(missing)


def has_arguments(call: ToolCall) -> bool:
    """The arguments of the call are recorded whole."""
    return call.raw_arguments is not None and call.arguments_state == "present"


def bare_repeats(calls: Sequence[ToolCall]) -> list[str]:
    """Names of tools that were called more than once, and not always with recorded arguments."""
    bare = {call.name for call in calls if not has_arguments(call)}
    if not bare:
        return []
    count = Counter(call.name for call in calls)
    return [name for name in count if name in bare and count[name] > 1]
