"""The evaluator classes: made of the built-ins, used in Python and in files, and what a report shows of them."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import pickle
import subprocess
import sys
import typing
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_evals import Case, CaseLifecycle, Dataset
from pydantic_evals.evaluators import EvaluatorContext
from pydantic_evals.reporting import EvaluationReport

from spanwise import evals
from spanwise.catalog import EVALUATORS, PROFILES, default_evaluators
from spanwise.errors import ModelError, SpecError
from spanwise.evals.evaluator import RunEvaluator
from spanwise.evals.runs import attach
from spanwise.model.antipatterns import AntiPattern
from spanwise.model.expectation import Rule
from spanwise.model.expected_call import ExpectedCall
from spanwise.model.trace import Run
from spanwise.run import evaluate
from tests.corpus.facts import NAMES, runs_of
from tests.making import agent, chat, says, span, tool, trace_of, user

Made = Dataset[str, object, dict[str, object]]
MADE = [kind for kind in evals.ALL if issubclass(kind, RunEvaluator)]
FULL = (
    evals.ToolSelection(expected=["a", "b"]),
    evals.ToolSelection(forbidden=("x",), rules=[Rule(name="r", words=("w",), expected=("a",))], evaluation_name="two"),
    evals.ToolSequence(expected=("a",), mode="exact", anti_patterns=[AntiPattern(kind="repeat", tool="a")]),
    evals.ToolArguments(expected=[ExpectedCall(tool="t", arguments={"x": [1]})], overrides={"t": "superset"}),
    evals.Redundancy(near_duplicates="count"),
    evals.Loops(minimum=4, minimum_rounds=3),
    evals.Efficiency(step_bands=[(3, 1.0), (5, 0.8)]),
    evals.Recovery(),
    evals.Latency(target_ms=100.0, gap_ms=5.0),
    evals.Cost(budget_usd=1.0),
    evals.RetrievalRelevance(admissions=["nothing there"], expected=["doc-1"], measure="f1"),
    evals.Handoffs(expected=["billing", ("triage", "billing")]),
    evals.Overall(weights={"redundancy": 1.0}),
)


def evaluated(run: Run | None, evaluators: object = (), **case: object) -> EvaluationReport[object, object, object]:
    """The report of a dataset with one case, whose run a lifecycle attaches as a capture does."""

    class Attached(CaseLifecycle[object, object, object]):
        async def prepare_context(self, ctx: EvaluatorContext) -> EvaluatorContext:
            return attach(ctx, run)

    dataset = Dataset(name="one", cases=[Case(name="case", inputs="question", **case)], evaluators=list(evaluators))
    return asyncio.run(dataset.evaluate(lambda inputs: "answer", progress=False, lifecycle=Attached))


def told(report: EvaluationReport[object, object, object]) -> dict[str, object]:
    """The scores and labels of the one case."""
    (case,) = report.cases
    return {name: one.value for name, one in {**case.scores, **case.labels}.items()}


def test_one_class_per_built_in() -> None:
    """Each built-in of the catalogue has a class with its name, its fields, their defaults and its words."""
    assert [*[kind.__name__ for kind in EVALUATORS.values()], "Overall"] == [kind.__name__ for kind in evals.ALL]
    for kind, (name, built_in) in zip(MADE, EVALUATORS.items(), strict=True):
        assert (name, built_in, built_in.__doc__) == (kind.asked, kind.made_of, kind.__doc__)
        assert [one.name for one in dataclasses.fields(built_in)] == [
            one.name for one in dataclasses.fields(kind) if one.name != "evaluation_name"
        ]
        assert default_evaluators()[name] == kind().built_in()


def test_the_stub_is_up_to_date(root: Path, require: Callable[[str], str]) -> None:
    """classes.pyi is what scripts/evals_stub.py writes."""
    require("ruff")
    command = [sys.executable, "scripts/evals_stub.py", "--check"]
    assert 0 == subprocess.run(command, cwd=root, check=False, timeout=60).returncode


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_datasets_are_written_and_read(tmp_path: Path, ending: str) -> None:
    """A dataset with every class and every sort of parameter is the same after it was written and read."""
    path = tmp_path / f"cases.{ending}"
    dataset = Made(name="d", cases=[Case(name="a", inputs="q", evaluators=list(FULL[:2]))], evaluators=list(FULL))
    dataset.to_file(path, custom_evaluator_types=evals.ALL)
    read = Made.from_file(path, custom_evaluator_types=evals.ALL)
    assert (list(FULL), list(FULL[:2])) == (read.evaluators, read.cases[0].evaluators)
    assert [one.built_in() for one in FULL if isinstance(one, RunEvaluator)] == [
        one.built_in() for one in read.evaluators if isinstance(one, RunEvaluator)
    ]


def test_short_forms() -> None:
    """In a file a class stands alone, with its first parameter, or with several by name."""
    text = """
    name: d
    cases: [{name: a, inputs: q}]
    evaluators:
    - Redundancy
    - ToolSelection: [search]
    - Handoffs: [billing, [triage, billing]]
    - Latency: {target_ms: 100, gap_ms: 5}
    """
    read = Made.from_text(text, custom_evaluator_types=evals.ALL)
    assert [
        evals.Redundancy(),
        evals.ToolSelection(expected=["search"]),
        evals.Handoffs(expected=["billing", ("triage", "billing")]),
        evals.Latency(target_ms=100, gap_ms=5),
    ] == read.evaluators


def test_the_schema_describes_every_class() -> None:
    """The JSON schema names each class, its parameters and their types."""
    schema = json.dumps(Made.model_json_schema_with_evaluators(custom_evaluator_types=evals.ALL))
    for name in EVALUATORS.values():
        assert f'"{name.__name__}"' in schema
    for part in ('"near_duplicates"', '"enum": ["issue", "count", "off"]', '"forbidden"', '"anti_patterns"', '"tool"'):
        assert part in schema


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Redundancy: sometimes", "Redundancy.*: near_duplicates is 'sometimes'"),
        ("Redundancy: {near: count}", "unexpected keyword argument 'near'"),
        ("ToolSelection: {rules: [{words: [a]}]}", "rules"),
        ("Latency: {target_ms: -1}", "target_ms"),
        ("ToolSelection: {expected: {a: 1}}", r"ToolSelection: expected: read \{'a': 1\}, expected a list of text"),
    ],
)
def test_parameters_that_do_not_fit_are_told(text: str, said: str) -> None:
    """A file with a parameter that does not fit is refused, with the class, the parameter and what was read."""
    with pytest.raises(ExceptionGroup) as caught:
        Made.from_text(
            f"name: d\ncases: [{{name: a, inputs: q}}]\nevaluators: [{{{text}}}]", custom_evaluator_types=evals.ALL
        )
    assert caught.group_contains(ValueError, match=said)


def test_parameters_in_python_are_checked() -> None:
    """So is a parameter that is given in Python."""
    with pytest.raises(ModelError, match="sometimes"):
        evals.Redundancy(near_duplicates=typing.cast("typing.Any", "sometimes"))
    with pytest.raises(SpecError, match=r"ToolSelection: expected: read \[1\]|ToolSelection: expected\[1\]: read 1"):
        evals.ToolSelection(expected=typing.cast("typing.Any", [1]))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_scores_as_from_a_file(name: str) -> None:
    """For each recording `Dataset.evaluate` gives the scores that are given from the file, with their reasons."""
    for run in runs_of(name, logs=True):
        report = evaluated(run, [kind() for kind in evals.ALL])
        (case,) = report.cases
        result = evaluate(run, default_evaluators(), overall=PROFILES["default"].overall)
        want = {score.name: (score.value, score.reason) for score in result.scores if score.status == "scored"}
        assert want == {one: (found.value, found.reason or "") for one, found in case.scores.items()}
        lacking = {f"{score.name}.status": score.reason for score in result.scores if score.status == "not_measurable"}
        assert lacking == {one: found.reason for one, found in case.labels.items()}
        assert ({}, []) == (case.assertions, case.evaluator_failures)


def test_what_a_report_shows() -> None:
    """A score has its name, reason and version; what does not apply is an empty cell."""
    run = trace_of(
        agent(1), chat(2, parent=1, sent=[user("Q")], got=[says("A")]), tool(20, parent=1, arguments={})
    ).runs[0]
    report = evaluated(run, [evals.Redundancy(), evals.Recovery(), evals.Loops(evaluation_name="cycles")])
    assert {"redundancy": 1.0, "cycles": 1.0} == told(report)
    found = report.cases[0].scores["redundancy"]
    assert ("0 of 1 tool calls repeat an earlier one.", "1", "Redundancy") == (
        found.reason, found.evaluator_version, found.source.name,
    )  # fmt: skip
    assert "not_applicable" not in report.render(width=200, include_reasons=True)


def test_without_spans_nothing_is_a_pass() -> None:
    """A case of which no span was captured shows a label with the reason, no score and no assertion."""
    report = evaluated(None, [evals.Redundancy(), evals.Overall()])
    assert {"redundancy.status": "not_measurable", "overall.status": "not_measurable"} == told(report)
    assert "No span of this case was captured" in str(report.cases[0].labels["overall.status"].reason)
    assert None is report.averages().assertions
    assert "redundancy.status: not_measurable" in report.render(width=200)


def test_an_evaluator_that_breaks_is_a_failure() -> None:
    """Metadata that cannot be read breaks the evaluator, which the report shows; the others are not concerned."""
    run = trace_of(agent(1), tool(20, parent=1, arguments={})).runs[0]
    report = evaluated(run, [evals.ToolSelection(), evals.Redundancy()], metadata={"expected_tools": "search"})
    (failure,) = report.cases[0].evaluator_failures
    assert "SpecError: case: expected_tools: read 'search', expected a list of names" == failure.error_message
    assert {"redundancy": 1.0} == told(report)


@pytest.mark.parametrize(
    ("evaluator", "metadata", "value"),
    [
        (evals.ToolSelection(), {"expected_tools": ["search"]}, 1.0),
        (evals.ToolSelection(), {"expected_tools": []}, 0.0),
        (evals.ToolSelection(), {"expected_order": ["search", "calculator"]}, 2 / 3),
        (evals.ToolSelection(expected=["search"]), {"expected_tools": ["other"]}, 1.0),
        (evals.ToolSelection(expected=()), {"expected_tools": ["search"]}, 0.0),
        (evals.ToolSelection(), {"expected_tools": ["search"], "forbidden_tools": ["search2"]}, 1.0),
        (evals.ToolSelection(expected=["other"]), {"forbidden_tools": ["search"]}, 0.0),
        (evals.ToolSequence(mode="exact"), {"expected_order": ["search"]}, 1.0),
        (evals.ToolSequence(mode="exact"), {"expected_order": ["calculator"]}, 0.0),
        (evals.ToolArguments(), {"expected_calls": [{"tool": "search", "arguments": {"q": "x"}}]}, 1.0),
        (evals.ToolArguments(), {"expected_calls": [{"tool": "search", "arguments": {"q": "y"}}]}, 0.0),
        (evals.RetrievalRelevance(), {"expected_documents": ["doc-1", "doc-2"]}, 0.5),
        (evals.RetrievalRelevance(expected=["doc-1"]), {"expected_documents": ["doc-2"]}, 1.0),
        (evals.RetrievalRelevance(), {"expected_tools": ["search"]}, 0.9),
    ],
)
def test_expectations_of_a_case(evaluator: RunEvaluator, metadata: dict[str, object], value: float) -> None:
    """What a case expects stands in its metadata; what the constructor was given goes before it."""
    found = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.documents": json.dumps([{"id": "doc-1", "score": 0.9}]),
    }
    retrieval = span(30, parent=1, name="retrieval", attributes=found)
    run = trace_of(agent(1), tool(20, parent=1, arguments={"q": "x"}), retrieval).runs[0]
    assert value == pytest.approx(told(evaluated(run, [evaluator], metadata=metadata))[evaluator.asked])


def test_expectations_count_for_the_overall_score() -> None:
    """The overall score is one of scores against what the case expects, here by its expected output."""
    run = trace_of(agent(1), tool(20, parent=1, arguments={"q": "x"})).runs[0]
    overall = evals.Overall(weights={"tool_selection": 1.0}, evaluation_name="all")
    assert {"all": 1.0} == told(evaluated(run, [overall], expected_output={"expected_tools": ["search"]}))
    assert {"all": 0.0} == told(evaluated(run, [overall], expected_output={"expected_tools": ["other"]}))


def test_values_are_called_on_runs_too() -> None:
    """A value of a class is an evaluator of runs, and can be pickled."""
    run = trace_of(agent(1), tool(20, parent=1, arguments={})).runs[0]
    one = pickle.loads(pickle.dumps(evals.Redundancy()))
    assert EVALUATORS["redundancy"]()(run) == one(run)


@pytest.mark.parametrize("name", ["Redundanz", "capture_all"])
def test_names_that_are_not_there(name: str) -> None:
    """A name that the package does not have is an error that names it."""
    with pytest.raises(AttributeError, match=name):
        getattr(evals, name)


def test_reprs_are_short() -> None:
    """A value shows the parameters that differ from their defaults."""
    assert "Redundancy()" == repr(evals.Redundancy())
    assert "ToolSelection(expected=('a',))" == repr(evals.ToolSelection(expected=["a"]))
