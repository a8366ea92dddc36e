"""Did the agent call its tools in the right order?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from spanwise.errors import ModelError
from spanwise.model.abstention import no_tool_called
from spanwise.model.antipatterns import AntiPattern
from spanwise.model.calls import ToolCall
from spanwise.model.expectation import all_of, candidates, effecting, told_missing, told_surplus, tool_names, unseen
from spanwise.model.score import Evidence, Score, not_applicable, not_measurable
from spanwise.model.sequences import closest, edit_distance, intervals
from spanwise.model.trace import Run
from spanwise.text import excerpt

Mode: TypeAlias = Literal["exact", "in_order", "any_order", "subset", "superset", "edit", "unordered", "strict"]
Vocabulary: TypeAlias = Literal["spanwise", "agentci", "langchain"]

MODES: Mapping[str, Mapping[str, str]] = {
    "spanwise": {
        "exact": "exact",
        "strict": "exact",
        "in_order": "in_order",
        "any_order": "any_order",
        "unordered": "unordered",
        "subset": "subset",
        "superset": "superset",
        "edit": "edit",
    },
    "langchain": {"strict": "exact", "unordered": "unordered", "subset": "subset", "superset": "superset"},
    "agentci": {
        "strict": "exact",
        "unordered": "unordered names",
        "subset": "superset names",
        "superset": "subset names",
    },
}
"""What each vocabulary's words for a mode mean.

`subset` says of the calls that they are among the expected ones, here and in LangChain's agentevals. AgentCI says it of
the expected ones: they are among the calls; and it compares names, however often each stands there.
"""
_NAME = "tool_sequence"
_DONE = frozenset({"ok", "unknown"})
_ORDERED = frozenset({"exact", "in_order", "edit"})
_SHOWN = 8


class _Match(NamedTuple):
    """How the calls match the expected sequence: a value, and what there is to say of it."""

    value: float
    reason: str = ""
    wrong: tuple[ToolCall, ...] = ()
    issues: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSequence:
    """How well the calls match the expected sequence, less what anti-patterns cost.

    Only calls that ran and succeeded count, or whose outcome is not recorded. Calls that ran side by side may stand in
    any order. Without `expected` the score is 1 less the penalties.
    """

    expected: tuple[str, ...] | None = None
    mode: Mode = "in_order"
    vocabulary: Vocabulary = "spanwise"
    anti_patterns: tuple[AntiPattern, ...] = ()
    effects_only: bool = False
    effect_tools: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        tool_names(self.expected or (), "tool_sequence: expected")
        tool_names(self.effect_tools or (), "tool_sequence: effect_tools")
        words = MODES.get(self.vocabulary)
        if words is None:
            known = ", ".join(MODES)
            raise ModelError(f"tool_sequence: vocabulary: read {self.vocabulary!r}, expected one of {known}")
        if self.expected is not None and self.mode not in words:
            known = f"{', '.join(words)} (vocabulary {self.vocabulary!r})"
            raise ModelError(f"tool_sequence: mode: read {self.mode!r}, expected one of {known}")
        all_of(self.anti_patterns, AntiPattern, "tool_sequence: anti_patterns")

    def __call__(self, run: Run, /) -> Score:
        expected, patterns = self.expected, self.anti_patterns
        if expected is None and not patterns:
            return not_applicable(_NAME, "No sequence was expected of this run. Give `expected`, or `anti_patterns`.")
        named = (*(expected or ()), *(name for one in patterns for name in one.named)) if patterns else expected or ()
        calls = candidates(run, named)
        if self.effects_only:
            acting = effecting(run, {*named, *(call.name for call in calls)}, self.effect_tools)
            calls = [call for call in calls if call.name in acting]
            expected = None if expected is None else tuple(name for name in expected if name in acting)
        done = [call for call in calls if call.status in _DONE]
        if expected is None and not done:
            if run.tool_calls:
                return not_applicable(_NAME, "No tool call succeeded in which anti-patterns could be found.")
            return no_tool_called(_NAME, run)
        if not calls:
            why = unseen(run)
            if why:
                return not_measurable(_NAME, f"Which tools were called cannot be told: {why}")
        met = _Match(1.0) if expected is None else self._match(run, calls, done, expected)
        if not patterns:
            return _score(met, met.value, met.reason)
        times = intervals(run, done)
        found = [(one, one.found(done, times)) for one in patterns]
        cost = math.fsum(one.penalty for one, where in found for _ in where)
        reason = f"{met.reason} Anti-patterns: {sum(len(where) for _, where in found)} found, {cost:.2f} taken off."
        marked = {id(call): call for _, where in found for call in where}
        met = met._replace(
            wrong=tuple({**{id(call): call for call in met.wrong}, **marked}.values()),
            issues=(*met.issues, *(said for one, where in found for said in one.told(where))),
        )
        return _score(met, max(0.0, met.value - cost), reason.strip())

    def _match(self, run: Run, calls: Sequence[ToolCall], done: Sequence[ToolCall], expected: Sequence[str]) -> _Match:
        """The calls laid against the expected sequence."""
        meaning, _, names_only = MODES[self.vocabulary][self.mode].partition(" ")
        if names_only:
            done, expected = list({call.name: call for call in reversed(done)}.values()), list(dict.fromkeys(expected))
        names = [call.name for call in done]
        if names == list(expected):
            matched = len(names)
        elif meaning in _ORDERED:
            done, matched = closest(run, done, expected)
        else:
            matched = (Counter(names) & Counter(expected)).total()
        value = _value(meaning, matched, done, expected)
        reason = _reason(self.mode, matched, len(names), len(expected))
        if value == 1.0:
            return _Match(1.0, reason)
        return _explained(_Match(value, reason), meaning, done, calls, expected)


def _value(meaning: str, matched: int, done: Sequence[ToolCall], expected: Sequence[str]) -> float:
    made, wanted = len(done), len(expected)
    if meaning == "subset":
        return float(matched == made)
    if meaning == "superset":
        return float(matched == wanted)
    if meaning in {"exact", "unordered"}:
        return float(matched == made == wanted)
    if not made and not wanted:
        return 1.0
    if meaning == "edit":
        return 1.0 - edit_distance([call.name for call in done], expected) / max(made, wanted)
    return 2 * matched / (made + wanted)


def _reason(mode: str, matched: int, made: int, wanted: int) -> str:
    if not made or not wanted:
        return f"{mode}: {made or 'no'} calls, {wanted or 'none'} expected."
    rates = f"precision {matched / made:.2f}, recall {matched / wanted:.2f}, F1 {2 * matched / (made + wanted):.2f}"
    return f"{mode}: {matched} of {made} calls match {wanted} expected; {rates}."


def _explained(
    met: _Match, meaning: str, done: Sequence[ToolCall], calls: Sequence[ToolCall], expected: Sequence[str]
) -> _Match:
    """The match with what is missing, surplus and out of order; `done` in the order that was compared."""
    have, want = Counter([call.name for call in done]), Counter(expected)
    missing = {} if meaning == "subset" else {name: n for name in want if (n := want[name] - have.get(name, 0)) > 0}
    surplus = set[str]() if meaning == "superset" else {name for name in have if have[name] > want.get(name, 0)}
    failed = {call.name for call in calls if call.status not in _DONE} if missing else ()
    wrong: dict[str, ToolCall] = {}
    kept = done
    if surplus:
        kept, left = list[ToolCall](), dict(want)
        for call in done:
            name = call.name
            if name not in surplus or left.get(name, 0) > 0:
                kept.append(call)
                left[name] = left.get(name, 0) - 1
            else:
                wrong.setdefault(name, call)
    issues = [told_missing(name, want[name], have[name], failed=name in failed) for name in missing]
    issues += [told_surplus(name, want[name], have[name]) for name in have if name in surplus]
    advice = [
        f"Make {name} work, or its error say what a valid call looks like."
        if name in failed and not have[name]
        else f"Say in the instructions when {name} is to be called."
        for name in missing
    ]
    if meaning in _ORDERED:
        early = _misplaced(kept, expected, missing)
        if early is not None:
            call, name = early
            wrong.setdefault(call.name, call)
            issues.append(f"{call.name} was called before {name}; expected {_shown(expected)}.")
            advice.append(f"Say in the instructions that {name} comes before {call.name}.")
    return met._replace(wrong=tuple(wrong.values()), issues=tuple(issues), advice=tuple(advice))


def _misplaced(
    kept: Sequence[ToolCall], expected: Sequence[str], missing: Mapping[str, int]
) -> tuple[ToolCall, str] | None:
    """The first call that stands where another tool was expected, and that tool; None where the order is right."""
    if missing:
        left = dict(missing)
        present: list[str] = []
        for name in reversed(expected):
            if left.get(name, 0):
                left[name] -= 1
            else:
                present.append(name)
        expected = present[::-1]
    return next(((call, name) for call, name in zip(kept, expected, strict=False) if call.name != name), None)


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _score(met: _Match, value: float, reason: str) -> Score:
    return Score(
        name=_NAME,
        value=value,
        reason=reason,
        evidence=tuple([Evidence(span_id=call.span_id, quote=excerpt(call.raw_arguments)) for call in met.wrong]),
        issues=met.issues,
        recommendations=met.advice,
    )
