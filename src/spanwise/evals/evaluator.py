"""What the classes of `spanwise.evals.classes` have in common: a built-in asked about a case of pydantic-evals.

What a report shows of a score: a value in [0, 1], or one with a unit in its name (`latency_ms`), is a score with its
reason. A score that does not apply leaves the cell empty. One that could not be measured is the label
`NAME.status = not_measurable`, with the reason, and so is one that its evaluator calls an `error`: neither is a score
nor an assertion, so neither counts as a pass or enters an average. An evaluator that breaks is a failure of the
evaluator, as pydantic-evals tells it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from spanwise.errors import SpecError
from spanwise.evals.expectations import Expectations, expectations_of
from spanwise.evals.runs import found_in
from spanwise.evaluators.handoffs import Handoffs
from spanwise.evaluators.retrieval_relevance import RetrievalRelevance
from spanwise.evaluators.tool_arguments import ToolArguments
from spanwise.evaluators.tool_selection import ToolSelection
from spanwise.evaluators.tool_sequence import ToolSequence
from spanwise.model.expected_call import ExpectedCall
from spanwise.model.ports import Evaluator as RunAsked
from spanwise.model.score import VERSION, Score
from spanwise.model.trace import Run
from spanwise.parameters import fitted
from spanwise.rules import anti_patterns_of, rules_of

STATUS = "status"
OWN = "evaluation_name"
_FILLED: Mapping[object, Mapping[str, str]] = {
    ToolSelection: {"expected": "tools", "forbidden": "forbidden"},
    ToolSequence: {"expected": "order"},
    ToolArguments: {"expected": "calls"},
    Handoffs: {"expected": "handoffs"},
    RetrievalRelevance: {"expected": "documents"},
}
_READ: Mapping[str, Callable[[object, str], object]] = {"rules": rules_of, "anti_patterns": anti_patterns_of}


@dataclass(repr=False)
class RunEvaluator(Evaluator[object, object, object]):
    """An evaluator of pydantic-evals that asks a built-in of Spanwise about the run of a case.

    The same value is an evaluator of runs: called on a run it gives what the built-in gives.
    """

    made_of: ClassVar[Callable[..., RunAsked]]
    """The built-in: its fields are the class's own."""
    asked: ClassVar[str]
    """What the built-in, and its score, is called."""

    def __post_init__(self) -> None:
        errors: list[str] = []
        kind = type(self)
        for name, wanted in kind.parameters().items():
            value = _read(getattr(self, name), name, wanted, f"{kind.__name__}: {name}", errors)
            setattr(self, name, value)
        if errors:
            raise SpecError("\n".join(errors))
        self.built_in()

    @classmethod
    def parameters(cls) -> Mapping[str, object]:
        """The parameters of the built-in, with their types."""
        raise NotImplementedError

    def built_in(self) -> RunAsked:
        """The built-in with these parameters."""
        return type(self).made_of(**{name: getattr(self, name) for name in self.parameters()})

    def __call__(self, run: Run, /) -> Score | Sequence[Score]:
        return self.built_in()(run)

    def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> Mapping[str, EvaluationReason]:
        """What the built-in says of the run of a case, by the names of its scores."""
        found = found_in(ctx)
        called = self.get_default_evaluation_name()
        if found.run is None:
            return {f"{called}.{STATUS}": EvaluationReason("not_measurable", found.why)}
        said = filled(self.built_in(), lambda: expectations_of(ctx.metadata, ctx.expected_output))(found.run)
        scores = (said,) if isinstance(said, Score) else said
        return shown(scores, self.asked, called)

    def get_default_evaluation_name(self) -> str:
        """The name of the score: `evaluation_name` where it is given, so that a report may hold two configurations."""
        return getattr(self, OWN) or self.asked

    def get_evaluator_version(self) -> str:
        """The version that the built-in's scores carry."""
        return getattr(type(self).made_of, "version", VERSION)

    def build_serialization_arguments(self) -> dict[str, object]:
        """The parameters that differ from their defaults, as JSON and YAML have them."""
        return {name: plain(value) for name, value in super().build_serialization_arguments().items()}


def filled(built_in: RunAsked, expect: Callable[[], Expectations]) -> RunAsked:
    """The built-in, what it was not given taken from what a case expects, if it expects anything of a run."""
    places = _FILLED.get(type(built_in), {})
    if not places or not dataclasses.is_dataclass(built_in):
        return built_in
    expected = expect()
    usual = {one.name: one.default for one in dataclasses.fields(built_in)}
    said = {name: getattr(expected, place) for name, place in places.items() if getattr(built_in, name) == usual[name]}
    given = {name: value for name, value in said.items() if value is not None}
    return cast("RunAsked", dataclasses.replace(built_in, **given)) if given else built_in


def shown(scores: Sequence[Score], own: str, called: str) -> dict[str, EvaluationReason]:
    """Scores as a report shows them; the evaluator's own name in front of theirs is replaced by what it is called."""
    out: dict[str, EvaluationReason] = {}
    for score in scores:
        name = f"{called}{score.name[len(own) :]}" if _is_named(score.name, own) else score.name
        if score.value is not None:
            out[name] = EvaluationReason(score.value, score.reason or None)
        elif score.status != "not_applicable":
            out[f"{name}.{STATUS}"] = EvaluationReason(score.status, score.reason or None)
    return out


def _is_named(score: str, own: str) -> bool:
    return score == own or score.startswith(f"{own}_")


def _read(value: object, name: str, wanted: object, place: str, errors: list[str]) -> object:
    """A parameter as the built-in takes it, whether it was given in Python or read from a file."""
    if isinstance(value, list):
        listed = cast("list[object]", value)
        if any(dataclasses.is_dataclass(item) for item in listed):
            return tuple(listed)
        value = [list(cast("tuple[object, ...]", item)) if isinstance(item, tuple) else item for item in listed]
    elif not isinstance(value, Mapping):
        return value
    if name in _READ:
        try:
            return _READ[name](cast("object", value), place)
        except SpecError as error:
            errors += str(error).splitlines()
            return ()
    return fitted(cast("object", value), wanted, place, errors)


def plain(value: object) -> object:
    """A parameter as JSON and YAML have it: lists and tables, without what is as it is by default."""
    if isinstance(value, ExpectedCall):
        return {"tool": value.tool, "arguments": plain(value.arguments)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        shown = {one.name: (getattr(value, one.name), one.default) for one in dataclasses.fields(value)}
        return {name: plain(held) for name, (held, usual) in shown.items() if not callable(held) and held != usual}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in cast("Sequence[object]", value)]
    return value
