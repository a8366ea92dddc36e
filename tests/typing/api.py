"""The public API as its users type it: checked by the type checker, never run."""

from collections.abc import Mapping
from pathlib import Path

import spanwise
from spanwise.evaluators.redundancy import Redundancy
from spanwise.fleet import Aggregate
from spanwise.model.ports import Evaluator
from spanwise.model.result import RunResult
from spanwise.model.score import Score, not_applicable
from spanwise.model.trace import Run

results: list[RunResult] = spanwise.score("traces/")
results = spanwise.score([Path("one.json"), "two.json"])
chosen: Mapping[str, Evaluator] = {"redundancy": Redundancy()}
results = spanwise.score("traces/", evaluators=chosen)
results = spanwise.score("traces/", profile="classic")
fleet: Aggregate = spanwise.aggregate(results)
rate: float | None = fleet.redundancy.value


class Short:
    """An evaluator of a user's own fits the protocol by its call alone."""

    def __call__(self, run: Run, /) -> Score:
        return (
            not_applicable("short", "The run has no answer.") if run.answer is None else Score(name="short", value=1.0)
        )


mine: Evaluator = Short()
value: float | None = results[0].scores[0].value
name: str | None = results[0].run.query
