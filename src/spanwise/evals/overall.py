"""The overall score of a case: every built-in is asked, and their scores are weighed into one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from spanwise.catalog import default_evaluators
from spanwise.evals.evaluator import STATUS, filled, plain, shown
from spanwise.evals.expectations import expectations_of
from spanwise.evals.runs import found_in
from spanwise.evaluators import overall
from spanwise.model.ports import Evaluator as RunAsked
from spanwise.model.score import VERSION
from spanwise.run import evaluate

NAME = "overall"


@dataclass(repr=False)
class Overall(Evaluator[object, object, object]):
    """Weighted mean of the scores of every built-in, the weights of those that do not apply shared among the others.

    Args:
        weights: How much each score weighs, by its name; the usual weights where it is empty.
        without: For some scores the value that counts where there is none, or exactly 0.
        evaluation_name: What the score is called in the report.
    """

    weights: dict[str, float] = field(default_factory=dict[str, float])
    without: dict[str, float] = field(default_factory=dict[str, float])
    evaluation_name: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self._weighing()

    def _weighing(self) -> overall.Overall:
        weights: Mapping[str, float] = self.weights or overall.DEFAULT
        return overall.Overall(weights=weights, without=self.without, known=tuple(default_evaluators()))

    def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> Mapping[str, EvaluationReason]:
        """What the scores of all built-ins for the run of a case are together."""
        found = found_in(ctx)
        called = self.get_default_evaluation_name()
        if found.run is None:
            return {f"{called}.{STATUS}": EvaluationReason("not_measurable", found.why)}
        expected = expectations_of(ctx.metadata, ctx.expected_output)
        asked = {
            name: filled(one, lambda: expected) if isinstance(one, RunAsked) else one
            for name, one in default_evaluators().items()
        }
        said = evaluate(found.run, asked, overall=self._weighing())
        return shown(said.scores[-1:], NAME, called)

    def get_default_evaluation_name(self) -> str:
        """The name of the score: `evaluation_name` where it is given."""
        return self.evaluation_name or NAME

    def get_evaluator_version(self) -> str:
        """The version that the score carries."""
        return VERSION

    def build_serialization_arguments(self) -> dict[str, object]:
        """The parameters that differ from their defaults, as JSON and YAML have them."""
        return {name: plain(value) for name, value in super().build_serialization_arguments().items()}
