"""What did the run cost?"""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.model.score import Score, not_measurable
from spanwise.model.trace import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Dollars of all model calls, as recorded, else estimated from tokens and list prices; the reason says which."""

    def __call__(self, run: Run, /) -> Score:
        calls = run.llm_calls
        if not calls:
            said = next((str(item) for item in run.missing if item.field in {"llm_calls", "spans"}), "")
            return not_measurable("cost", said or "No model call is recorded.", unit="USD")
        total = run.cost_usd
        if total is None:
            unpriced = next(call for call in calls if call.cost_usd is None)
            if unpriced.tokens.input is None and unpriced.tokens.output is None:
                why = "a model call records neither cost nor tokens. Turn on usage reporting of the model client."
            else:
                why = f"no list price is known for {unpriced.model or 'a model that is not named'}."
            return not_measurable("cost", f"The cost cannot be told: {why}", unit="USD")
        used = run.tokens
        spent = f"{used.input or 0} input and {used.output or 0} output tokens" if used else "tokens not recorded"
        how = "estimated from list prices" if run.cost_estimated else "as recorded"
        count = f"{len(calls)} model call{'s' if len(calls) > 1 else ''}"
        return Score(name="cost", value=total, unit="USD", reason=f"{count}, {spent}, {how}.")
