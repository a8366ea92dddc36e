"""Runs inside a `Dataset.evaluate` of pydantic-evals: which ones they are, and what is done with them.

pydantic-evals leaves spans around them: `evaluate`, below it a `case` for each, and in that `execute` around the task
and `evaluator` around each evaluator. Where they are not recorded, since Logfire is not configured, the task is known
by pydantic-evals' own context variable, and its judges by their names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from spanwise.capture._mark import is_judging, scored_below
from spanwise.capture._sdk_private import evaluated_task
from spanwise.capture.context import ContextStamp
from spanwise.capture.sampling import Gate
from spanwise.errors import SpecError
from spanwise.model.ports import AnyEvaluator
from spanwise.model.span import Span
from spanwise.model.trace import Run

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Span as SdkSpan

InEvaluate: TypeAlias = Literal["tag", "skip", "score"]
TAG = "pydantic-evals"
_SCOPE = "pydantic-evals"
_MARK = "spanwise.evaluate"
_TASK, _SCORED, _JUDGE = "task", "scored", "judge"
_EVALUATOR = ("evaluator:", "report_evaluator:")
_CASE = ("execute ", "case:", "evaluate ")
_JUDGES = frozenset(
    {
        "judge_output",
        "judge_input_output",
        "judge_output_expected",
        "judge_input_output_expected",
        "judge_g_eval",
        "judge_without_text",
    }
)
"""The agents of pydantic-evals that judge."""
_NAMES = {"case:": ("case", "case_name"), "evaluate ": ("experiment", "name")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What a run is to the evaluation that it is inside of."""

    what: Literal["task", "judge", "experiment"]
    """The task's run; one of an evaluator's own; a whole trace, in which no agent's run stands out."""
    scored: bool = False
    """By whoever called `scored_here` around it."""
    names: Mapping[str, str] | None = None
    """The experiment's, the dataset's and the case's, where they are known."""


def stamping() -> Callable[[SdkSpan, Context | None], None]:
    """What writes on spans as they begin what `spanwise.context` holds, and that they begin inside an evaluated task.

    It is called for every span of the app, so it is a function of local names.
    """
    write, modules = ContextStamp().stamp, sys.modules

    def stamp(span: SdkSpan, parent_context: Context | None = None) -> None:
        write(span, parent_context)
        if "pydantic_evals" in modules:
            _stamp(span)

    return stamp


def _stamp(span: SdkSpan) -> None:
    parent, below = span.parent, scored_below()
    begins = parent is None or parent.is_remote
    if is_judging():
        span.set_attribute(_MARK, _JUDGE)
    elif below is not None and (parent is None or begins or parent.span_id == below):
        span.set_attribute(_MARK, _SCORED)
    elif begins and evaluated_task() is not None:
        span.set_attribute(_MARK, _TASK)


def inside(run: Run) -> Inside | None:
    """What the run is to an evaluation around it; None for a run in no evaluation."""
    root = run.root_span
    if root is None:
        spans = [run.trace.spans[at] for at in run.trace.roots]
        if any(span.attributes.get(_MARK) == _JUDGE for span in spans):
            return Inside(what="judge")
        found = any(_is_of(span, _CASE) for span in spans)
        return Inside(what="experiment", names=_names(spans)) if found else None
    around = (root, *run.trace.ancestors(run.root)) if root.parent >= 0 else (root,)
    what: Literal["task", "judge"] | None = "judge" if _is_judge(root) else None
    scored = False
    for span in around:
        mark = span.attributes.get(_MARK)
        scored = scored or mark == _SCORED
        if what is None and (mark == _JUDGE or _is_of(span, _EVALUATOR)):
            what = "judge"
        elif what is None and (mark is not None or _is_of(span, _CASE)):
            what = "task"
    return None if what is None else Inside(what=what, scored=scored, names=_names(around))


def _is_of(span: Span, starts: tuple[str, ...]) -> bool:
    return span.raw.scope.name == _SCOPE and span.raw.name.startswith(starts)


def _is_judge(root: Span) -> bool:
    return root.raw.scope.name == "pydantic-ai" and root.attributes.get("gen_ai.agent.name") in _JUDGES


def _names(spans: tuple[Span, ...] | list[Span]) -> Mapping[str, str] | None:
    found: dict[str, str] = {}
    for span in spans:
        for start, (name, attribute) in _NAMES.items():
            if _is_of(span, (start,)) and isinstance(value := span.attributes.get(attribute), str):
                found.setdefault(name, value)
                dataset = span.attributes.get("dataset_name")
                if isinstance(dataset, str):
                    found.setdefault("dataset", dataset)
    return found or None


class EvaluateGate:
    """Applies the policy for runs inside evaluations, before sampling looks at them, and counts what it keeps out."""

    def __init__(self, policy: InEvaluate = "tag", inner: Gate | None = None) -> None:
        if policy not in get_args(InEvaluate):
            raise SpecError(f"in_evaluate: read {policy!r}, expected 'tag', 'skip' or 'score'")
        self._policy = policy
        self._inner = inner
        self._counts: dict[str, int] = {}

    @property
    def counts(self) -> dict[str, int]:
        """Why runs were not scored: what this kept out, and what sampling did."""
        return {**self._counts, **(self._inner.admission.counts if self._inner is not None else {})}

    def admit(self, run: Run, evaluators: Mapping[str, AnyEvaluator], now_ns: int, /) -> Mapping[str, AnyEvaluator]:
        """The evaluators that see the run; none if it is not scored."""
        found = inside(run)
        if found is not None:
            reason = self._reason(found)
            if reason:
                self._counts[reason] = self._counts.get(reason, 0) + 1
                return {}
            if self._policy == "tag":
                _tag(run, found)
        return evaluators if self._inner is None else self._inner.admit(run, evaluators, now_ns)

    def _reason(self, found: Inside) -> str:
        if found.what == "judge":
            return "judge"
        if self._policy == "score":
            return ""
        if found.scored:
            return "scored_in_evaluate"
        if self._policy == "skip":
            return "in_evaluate"
        return "experiment" if found.what == "experiment" else ""


def _tag(run: Run, found: Inside) -> None:
    who = run.who
    metadata = {**(who.metadata or {}), **({"pydantic_evals": dict(found.names)} if found.names else {})}
    # A run reads each of its facts once, and keeps it here.
    vars(run)["who"] = replace(who, tags=tuple(dict.fromkeys((*who.tags, TAG))), metadata=metadata or None)
