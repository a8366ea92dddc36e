"""What pydantic-evals' evaluators say of every recording, on the tree of its raw spans and on the normalised one.

What is right is written down beside the recording, by hand. Each evaluator is asked in a way that has it say yes, and
in one that has it say no: what passes both ways has seen nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias, cast

from pydantic_evals.evaluators import (
    ArgumentCorrectness,
    EvaluationReason,
    Evaluator,
    EvaluatorContext,
    HasMatchingSpan,
    MaxModelRequests,
    MaxToolCalls,
    ToolCorrectness,
    TrajectoryMatch,
)
from pydantic_evals.otel import SpanNode, SpanTree

from spanwise.evals.tree import moment_of, number_of, tree_of
from spanwise.model.trace import Run
from tests.corpus.facts import NAMES, expected, runs_of

Facts: TypeAlias = Mapping[str, object]
Question: TypeAlias = tuple[Evaluator[object, object, object], object]
"""An evaluator, and what it says of a run if it sees what is true."""
Verdict: TypeAlias = Literal["right", "wrong", "untold"]
_FAILED = frozenset({"error", "retry"})
_STATUS: Mapping[int, Literal["unset", "ok", "error"]] = {0: "unset", 1: "ok", 2: "error"}


def calls_of(facts: Facts, *, failed: bool) -> list[Mapping[str, object]]:
    """The calls that were made, those that only steer the run left out."""
    left_out = {"not_run"} if failed else {"not_run", "error", "retry"}
    listed = cast("Sequence[Mapping[str, object]]", facts["tool_calls"])
    return [call for call in listed if not call["control"] and call["status"] not in left_out]


def tool_correctness(facts: Facts) -> list[Question]:
    """The tools that were called, and one more."""
    names = [str(call["name"]) for call in calls_of(facts, failed=False)]
    return [(ToolCorrectness(names), True), (ToolCorrectness([*names, "no_such_tool"]), False)]


def trajectory_match(facts: Facts) -> list[Question]:
    """The tools in their order, and one more."""
    names = [str(call["name"]) for call in calls_of(facts, failed=False)]
    return [(TrajectoryMatch(names, "exact"), 1.0), (TrajectoryMatch([*names, "no_such_tool"], "exact"), 0.0)]


def argument_correctness(facts: Facts) -> list[Question]:
    """The arguments of each tool's first call, and others."""
    first: dict[str, Mapping[str, object]] = {}
    for call in calls_of(facts, failed=False):
        first.setdefault(str(call["name"]), call)
    told = {name: call["arguments"] for name, call in first.items() if isinstance(call["arguments"], dict)}
    questions: list[Question] = []
    for name, arguments in told.items():
        questions.append((ArgumentCorrectness(name, arguments, "exact"), True))
        questions.append((ArgumentCorrectness(name, {**arguments, "no_such_key": 1}), False))
    return questions


def max_tool_calls(facts: Facts) -> list[Question]:
    """As many calls as were made, and one less."""
    made = len(calls_of(facts, failed=True))
    return [(MaxToolCalls(made), True), *([(MaxToolCalls(made - 1), False)] if made else ())]


def max_model_requests(facts: Facts) -> list[Question]:
    """As many model calls as were made, and one less; nothing where the spans do not tell."""
    made = facts["llm_calls"]
    if not isinstance(made, int):
        return []
    return [(MaxModelRequests(made), True), (MaxModelRequests(made - 1), False)]


def has_matching_span(facts: Facts) -> list[Question]:
    """A span of each called tool, told by its name and attribute, failed ones by their status; none of another."""
    questions: list[Question] = []
    for name in dict.fromkeys(str(call["name"]) for call in calls_of(facts, failed=True)):
        failed = any(call["name"] == name and call["status"] in _FAILED for call in calls_of(facts, failed=True))
        query = {"name_equals": f"execute_tool {name}", "has_attributes": {"gen_ai.tool.name": name}}
        questions.append((HasMatchingSpan(query), True))
        questions.append((HasMatchingSpan({**query, "has_status": "error"}), failed))
    return questions and [*questions, (HasMatchingSpan({"name_equals": "execute_tool no_such_tool"}), False)]


EVALUATORS: Mapping[str, Callable[[Facts], list[Question]]] = {
    "ToolCorrectness": tool_correctness,
    "TrajectoryMatch": trajectory_match,
    "ArgumentCorrectness": argument_correctness,
    "MaxToolCalls": max_tool_calls,
    "MaxModelRequests": max_model_requests,
    "HasMatchingSpan": has_matching_span,
}


def raw_tree(run: Run) -> SpanTree:
    """The spans of a run as pydantic-evals takes them from the SDK: names and attributes as they are."""
    nodes = [
        SpanNode(
            name=span.name,
            trace_id=number_of(run.trace.trace_id, bits=128),
            span_id=number_of(span.span_id),
            parent_span_id=number_of(run.trace.spans[span.parent].span_id) if span.parent >= 0 else None,
            start_timestamp=moment_of(span.start_ns),
            end_timestamp=moment_of(span.end_ns),
            attributes={key: _plain(value) for key, value in span.attributes.items()},
            status=_STATUS[span.raw.status_code],
        )
        for span in run.spans
    ]
    tree = SpanTree()
    tree.add_spans(nodes)
    return tree


def _plain(value: object) -> object:
    return value if isinstance(value, str | bool | int | float | list) else json.dumps(value)


def answer(evaluator: Evaluator[object, object, object], tree: SpanTree) -> object:
    """What an evaluator says of a tree."""
    said = evaluator.evaluate_sync(
        EvaluatorContext(
            name="case",
            inputs=None,
            metadata=None,
            expected_output=None,
            output=None,
            duration=1.0,
            _span_tree=tree,
            attributes={},
            metrics={},
        )
    )
    return said.value if isinstance(said, EvaluationReason) else said


def verdict(name: str, evaluator: str, tree: Callable[[Run], SpanTree]) -> Verdict:
    """Whether an evaluator is right about all runs of a recording, on such trees; `untold` where no fact is known."""
    asked = [EVALUATORS[evaluator](facts) for facts in expected(name, logs=True)]
    if not any(asked):
        return "untold"
    runs = runs_of(name, logs=True)
    right = all(
        answer(question, tree(run)) == want
        for run, questions in zip(runs, asked, strict=True)
        for question, want in questions
    )
    return "right" if right else "wrong"


def table() -> dict[str, dict[str, tuple[Verdict, Verdict]]]:
    """For each recording and evaluator, the verdict on the raw tree and on the normalised one."""
    return {
        name: {one: (verdict(name, one, raw_tree), verdict(name, one, tree_of)) for one in EVALUATORS} for name in NAMES
    }
