"""Did the agent repeat work that it had already done?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from spanwise.model.calls import ToolCall, canonical_of
from spanwise.model.effects import has_effect
from spanwise.model.score import Evidence, Score, not_applicable, not_measurable
from spanwise.model.trace import Run
from spanwise.text import excerpt


@dataclass(frozen=True, slots=True, kw_only=True)
class Redundancy:
    """1 - duplicates / (calls - exempt).

    A duplicate equals an earlier call that succeeded (same tool, same canonical arguments) with no call of a tool with
    side effects in between. A call after failed ones only is a retry, and a repeated read whose result changed is
    polling: both are exempt, they count neither way.
    """

    def __call__(self, run: Run, /) -> Score:
        calls = [call for call in run.tool_calls if not call.control and call.status != "not_run"]
        if not calls:
            return _nothing(run)
        bare = _repeated_without_arguments(calls)
        if bare:
            return not_measurable(
                "redundancy",
                f"Whether calls of {', '.join(bare)} repeat each other cannot be told: {_why(run, 'arguments')}",
            )
        duplicates, exempt = _sort(run, calls)
        judged = len(calls) - exempt
        value = 1.0 - len(duplicates) / judged
        return Score(
            name="redundancy",
            value=value,
            reason=f"{len(duplicates)} of {judged} tool calls repeat an earlier one"
            + (f", {exempt} exempt." if exempt else "."),
            evidence=tuple(Evidence(span_id=again.span_id, quote=excerpt(again.arguments)) for _, again in duplicates),
            issues=tuple(_issue(first, again) for first, again in duplicates),
            recommendations=_advice(duplicates),
        )


def _nothing(run: Run) -> Score:
    if run.llm_calls or any(span.kind == "agent" for span in run.spans):
        return not_applicable("redundancy", "The run called no tool.")
    return not_measurable("redundancy", _why(run, "spans"))


def _why(run: Run, field: str) -> str:
    said = next((str(item) for item in run.missing if item.field == field), "")
    return said or "No span of an agent, a model or a tool is here."


def _repeated_without_arguments(calls: list[ToolCall]) -> list[str]:
    """Names of tools that were called more than once and not always with recorded arguments."""
    bare = {call.name for call in calls if call.raw_arguments is None or call.arguments_state != "present"}
    if not bare:
        return []
    count = Counter(call.name for call in calls)
    return [name for name in count if name in bare and count[name] > 1]


def _sort(run: Run, calls: list[ToolCall]) -> tuple[list[tuple[ToolCall, ToolCall]], int]:
    """The duplicates, each with the call that it repeats, and the number of exempt calls."""
    keys = [(call.name, canonical_of(call)) for call in calls]
    if len(set(keys)) == len(keys):  # nothing repeats: which tools change something need not be known
        return [], 0
    acting = _acting(run, calls)
    done: dict[tuple[str, bytes], tuple[ToolCall, int]] = {}
    failed: set[tuple[str, bytes]] = set()
    duplicates: list[tuple[ToolCall, ToolCall]] = []
    exempt = effects = 0
    for call, key in zip(calls, keys, strict=True):
        before = done.get(key)
        fresh = before is None or before[1] != effects
        if before is not None and not fresh:
            if call.name not in acting and _changed(before[0], call):
                exempt += 1
                fresh = True
            else:
                duplicates.append((before[0], call))
        elif before is None and failed and key in failed:
            exempt += 1
        if call.failed:
            failed.add(key)
            continue
        if call.name in acting:
            effects += 1
        done[key] = (call if before is None or fresh else before[0], effects)
    return duplicates, exempt


def _acting(run: Run, calls: list[ToolCall]) -> set[str]:
    """The names of the tools that change something."""
    hints = {tool.name: tool.hints for tool in run.tool_definitions or ()}
    return {name for name in {call.name for call in calls} if has_effect(name, hints.get(name))}


def _changed(first: ToolCall, again: ToolCall) -> bool:
    if first.raw_result == again.raw_result:
        return False
    if first.result_state != "present" or again.result_state != "present" or again.status in {"error", "retry"}:
        return False
    return first.result != again.result


def _issue(first: ToolCall, again: ToolCall) -> str:
    took = f"; the repeat took {again.duration_ns / 1e6:.0f} ms" if again.origin == "span" else ""
    with_ = f" ({excerpt(again.arguments, limit=80)})" if again.arguments is not None else ""
    return f"{first.name} was called again with the same arguments{with_}{took}."


def _advice(duplicates: list[tuple[ToolCall, ToolCall]]) -> tuple[str, ...]:
    names = list(dict.fromkeys(first.name for first, _ in duplicates))
    return tuple(
        f"Keep the first result of {name} in the conversation, or cache {name} by its arguments." for name in names
    )
