"""Did the agent repeat work that it had already done?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from spanwise.errors import ModelError
from spanwise.model.abstention import no_tool_called
from spanwise.model.calls import ToolCall
from spanwise.model.repeats import Pair
from spanwise.model.score import Evidence, Score, not_measurable
from spanwise.model.trace import Run
from spanwise.model.waste import Waster, told
from spanwise.text import excerpt

_MODES = ("issue", "count", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redundancy:
    """1 - duplicates / (calls - exempt).

    A duplicate equals an earlier call that succeeded (same tool, same canonical arguments) with no call of a tool with
    side effects in between. A call after failed ones only is a retry, and a repeated read whose result changed is
    polling: both are exempt, they count neither way. Calls that ask nearly the same (`near_duplicates`) are named as
    issues, or count as duplicates, or are not looked for.
    """

    near_duplicates: Literal["issue", "count", "off"] = "issue"

    def __post_init__(self) -> None:
        if self.near_duplicates not in _MODES:
            raise ModelError(
                f"redundancy: near_duplicates is {self.near_duplicates!r}; it is one of {', '.join(map(repr, _MODES))}."
            )

    def __call__(self, run: Run, /) -> Score:
        calls = run.work
        if not calls:
            return no_tool_called("redundancy", run)
        untold = run.asked.untold
        if untold:
            return not_measurable(
                "redundancy",
                f"Whether calls of {', '.join(untold)} repeat each other cannot be told: {_why(run)}",
            )
        exact, exempt = run.repeats.duplicates, len(run.repeats.exempt)
        near = () if self.near_duplicates == "off" else run.near_repeats
        counted = self.near_duplicates == "count"
        judged = len(calls) - exempt
        wrong = len(exact) + (len(near) if counted else 0)
        if not exact and not near:
            return Score(name="redundancy", value=1.0, reason=_reason(0, judged, exempt))
        waster = Waster(run)
        waste = told(waster.of([again for _, again in (*exact, *(near if counted else ()))])) if wrong else ""
        return Score(
            name="redundancy",
            value=1.0 - wrong / judged,
            reason=_reason(wrong, judged, exempt) + (f" Wasted: {waste}." if waste else ""),
            evidence=_evidence((*exact, *near)),
            issues=(
                *(_issue(first, repeats, waster) for first, *repeats in _groups(exact)),
                *(_near_issue(first, repeats, waster) for first, *repeats in _groups(near)),
            ),
            recommendations=_advice(exact, near),
        )


def _reason(wrong: int, judged: int, exempt: int) -> str:
    return f"{wrong} of {judged} tool calls repeat an earlier one" + (f", {exempt} exempt." if exempt else ".")


def _why(run: Run) -> str:
    other = "their arguments are masked, or not recorded whole."
    return str(run.lacks("arguments") or other)


def _evidence(pairs: Sequence[Pair]) -> tuple[Evidence, ...]:
    """The span of each repeat; what many of them were given is put on one line once."""
    quotes: dict[object, str] = {}
    out: list[Evidence] = []
    for _, again in pairs:
        given = again.raw_arguments
        quote = quotes.get(given) if isinstance(given, str) else None
        if quote is None:
            quote = excerpt(again.arguments)
            if isinstance(given, str):
                quotes[given] = quote
        out.append(Evidence(span_id=again.span_id, quote=quote))
    return tuple(out)


def _groups(pairs: Sequence[Pair]) -> Iterable[list[ToolCall]]:
    """Each call that was repeated with its repeats behind it."""
    groups: dict[int, list[ToolCall]] = {}
    for first, again in pairs:
        groups.setdefault(id(first), [first]).append(again)
    return groups.values()


def _issue(first: ToolCall, repeats: Sequence[ToolCall], waster: Waster) -> str:
    given = excerpt(first.arguments, limit=80)
    return f"{first.name} was called {_times(repeats)} with the same arguments ({given}){_cost(repeats, waster)}."


def _near_issue(first: ToolCall, repeats: Sequence[ToolCall], waster: Waster) -> str:
    before, after = excerpt(first.arguments, limit=80), excerpt(repeats[0].arguments, limit=80)
    cost = _cost(repeats, waster)
    return f"{first.name} was called {_times(repeats)} with nearly the same arguments ({before}, then {after}){cost}."


def _times(repeats: Sequence[ToolCall]) -> str:
    return "twice" if len(repeats) == 1 else f"{len(repeats) + 1} times"


def _cost(repeats: Sequence[ToolCall], waster: Waster) -> str:
    waste = told(waster.of(repeats))
    which = "the second call" if len(repeats) == 1 else f"the {len(repeats)} repeats"
    return f"; {which} cost {waste}" if waste else ""


def _advice(exact: Sequence[Pair], near: Sequence[Pair]) -> tuple[str, ...]:
    names: Mapping[str, None] = dict.fromkeys(first.name for first, _ in exact)
    alike = [name for name in dict.fromkeys(first.name for first, _ in near) if name not in names]
    return (
        *(f"Keep the first result of {name} in the conversation, or cache {name} by its arguments." for name in names),
        *(f"Bring the texts that {name} is given into one form before it is called or cached." for name in alike),
    )
