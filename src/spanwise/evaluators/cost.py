"""What did the run cost?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from spanwise.errors import ModelError
from spanwise.model.calls import LLMCall, Tokens
from spanwise.model.score import Score, not_measurable
from spanwise.model.trace import Run
from spanwise.model.waste import dollars, waste_of

_BUDGETS = ("budget_usd", "budget_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Dollars of all model calls, as recorded, else estimated from tokens and list prices; the reason says which.

    With `budget_usd` a second score, `cost_budget`, is min(1, budget / cost). More tokens than `budget_tokens` are an
    issue.
    """

    budget_usd: float | None = None
    budget_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in _BUDGETS:
            given = getattr(self, name)
            if given is not None and not _is_amount(given):
                raise ModelError(f"cost: {name} is {given!r}; give a number, 0 or more.")

    def __call__(self, run: Run, /) -> Score | tuple[Score, Score]:
        score = self._cost(run)
        if self.budget_tokens is not None:
            score = structs.replace(score, issues=(*score.issues, *_over(run.tokens, self.budget_tokens)))
        return score if self.budget_usd is None else (score, _within(self.budget_usd, score))

    def _cost(self, run: Run) -> Score:
        calls, total = run.llm_calls, run.cost_usd
        if total is None and not calls:
            said = str(run.lacks("spans", "llm_calls") or "")
            return not_measurable("cost", said or "No model call is recorded.", unit="USD")
        if total is None:
            return not_measurable("cost", f"The cost cannot be told: {_unpriced(calls)}", unit="USD")
        how = "estimated from list prices" if run.cost_estimated else "as recorded"
        count = f"{len(calls)} model call{'s' if len(calls) > 1 else ''}" if calls else "Model calls without spans"
        return Score(
            name="cost",
            value=total,
            unit="USD",
            reason=f"{count}, {_spent(run.tokens)}, {how}.{_by_model(calls)}{_left_out(calls)}",
            issues=_lost(run, total),
        )


def _is_amount(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < math.inf


def _unpriced(calls: Sequence[LLMCall]) -> str:
    unpriced = next((call for call in calls if call.cost_usd is None and not call.came_to_nothing), None)
    if unpriced is None:
        return "every model call failed, and none records cost or tokens."
    if unpriced.usage.input_tokens is None and unpriced.usage.output_tokens is None:
        return "a model call records neither cost nor tokens. Turn on usage reporting of the model client."
    return f"no list price is known for {unpriced.model or 'a model that is not named'}."


def _spent(used: Tokens | None) -> str:
    """The tokens by kind; those that are part of others in brackets behind them."""
    if used is None or (used.input is None and used.output is None):
        return "tokens not recorded"
    cached = [
        f"{count} {what}"
        for count, what in ((used.cache_read, "read from a cache"), (used.cache_write, "written to one"))
        if count
    ]
    sides = [] if used.input is None else [f"{used.input} input" + (f" ({', '.join(cached)})" if cached else "")]
    if used.output is not None:
        sides.append(f"{used.output} output" + (f" ({used.reasoning} reasoning)" if used.reasoning else ""))
    return f"{' and '.join(sides)} tokens"


def _by_model(calls: Sequence[LLMCall]) -> str:
    """What each model cost, the dearest first; empty where there is only one."""
    calls = [call for call in calls if call.cost_usd is not None]
    if len({call.usage.model for call in calls}) <= 1:
        return ""
    costs: dict[str | None, list[float]] = {}
    for call in calls:
        costs.setdefault(call.usage.model, []).append(call.cost_usd or 0.0)
    sums = sorted((-math.fsum(listed), model or "not named") for model, listed in costs.items())
    return f" {', '.join(f'{model} {dollars(-cost)}' for cost, model in sums)}."


def _left_out(calls: Sequence[LLMCall]) -> str:
    """How many calls failed without a word of what they cost."""
    count = sum(call.came_to_nothing for call in calls)
    if not count:
        return ""
    return f" Without {count} that failed and record{'s' if count == 1 else ''} neither cost nor tokens."


def _lost(run: Run, total: float) -> tuple[str, ...]:
    """What of the cost went to calls that led nowhere."""
    out: list[str] = []
    repeats = len(run.repeats.duplicates)
    repeated = waste_of(run).usd
    if repeated:
        out.append(f"{_share(repeated, total)} went to {repeats} repeated tool call{'s' if repeats > 1 else ''}.")
    failed = [call.cost_usd or 0.0 for call in run.failed_llm_calls]
    if any(failed):
        calls = f"{len(failed)} failed model call{'s' if len(failed) > 1 else ''}"
        out.append(f"{_share(math.fsum(failed), total)} went to {calls}.")
    return tuple(out)


def _share(part: float, total: float) -> str:
    return f"{dollars(part)} of {dollars(total)} ({part / total:.0%})"


def _over(used: Tokens | None, budget: int) -> tuple[str, ...]:
    if used is None or (used.input is None and used.output is None):
        return (f"Whether the run kept to its budget of {budget:,} tokens cannot be told: tokens are not recorded.",)
    spent = (used.input or 0) + (used.output or 0)
    if spent <= budget:
        return ()
    return (f"The run used {spent:,} tokens, {spent - budget:,} more than its budget of {budget:,}.",)


def _within(budget: float, cost: Score) -> Score:
    if cost.value is None:
        return not_measurable("cost_budget", cost.reason)
    over = cost.value > budget
    return Score(
        name="cost_budget",
        value=budget / cost.value if over else 1.0,
        reason=f"{dollars(cost.value)} of a budget of {dollars(budget)}.",
        issues=(f"The run cost {dollars(cost.value)}, {dollars(cost.value - budget)} over its budget.",)
        if over
        else (),
    )
