"""Datasets made of traces, in Python and by `spanwise store to-dataset`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic_evals import CaseLifecycle, Dataset
from pydantic_evals.evaluators import EvaluatorContext

from spanwise import evals
from spanwise.errors import SpecError
from spanwise.evals.datasets import observed, save
from spanwise.evals.expectations import expectations_of
from spanwise.evals.runs import attach
from tests.corpus.facts import NAMES, runs_of
from tests.making import agent, chat, says, span, tool, trace_of, user

Read = Dataset[object, object, dict[str, object]]


def test_a_case_of_a_run() -> None:
    """A case has query and answer, and what the run did: no failed call, and none that repeats an earlier one."""
    (run,) = runs_of("langgraph__openinference", logs=True)
    (case,) = evals.dataset_of([run]).cases
    assert (run.query, run.answer) == (case.inputs, case.expected_output)
    assert case.metadata == {
        "trace_id": run.trace.trace_id,
        "span_id": run.run_id,
        "expected_tools": ["search_docs", "calculator"],
        "expected_order": ["search_docs", "calculator"],
        "expected_calls": [
            {"tool": "search_docs", "arguments": {"query": "population of France 2024"}},
            {"tool": "calculator", "arguments": {"expression": "68400000 * 0.1"}},
        ],
        "expected_documents": ["doc-fr-1", "doc-fr-2", "doc-fr-3"],
    }


def test_handoffs_and_documents() -> None:
    """Hand-offs are expected as pairs, documents by their ids."""
    (run,) = runs_of("openai-agents__openinference__handoff", logs=True)
    assert [[one.source, one.target] for one in run.handoffs] == observed(run)["expected_handoffs"]
    found = [observed(run).get("expected_documents") for name in NAMES for run in runs_of(name, logs=True)]
    assert any(found)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_observed_is_what_is_expected(tmp_path: Path, name: str) -> None:
    """A dataset is read again as it was written; its expectations are those that evaluators read."""
    runs = runs_of(name, logs=True)
    dataset = evals.dataset_of(runs, name=name)
    save(dataset, tmp_path / "cases.yaml")
    read = Read.from_file(tmp_path / "cases.yaml", custom_evaluator_types=evals.ALL)
    assert (name, dataset.cases) == (read.name, read.cases)
    for case, run in zip(read.cases, runs, strict=True):
        expected = expectations_of(case.metadata)
        done = {call.name for call in run.work if not call.failed}
        assert done == set(expected.tools or ())


def test_the_run_itself_passes() -> None:
    """The run that a case was made of does what the case expects, but for what it did too often."""
    (run,) = runs_of("pydantic-ai__builtin", logs=True)

    class Attached(CaseLifecycle[object, object, dict[str, object]]):
        async def prepare_context(self, ctx: EvaluatorContext) -> EvaluatorContext:
            return attach(ctx, run)

    dataset = evals.dataset_of([run])
    dataset.evaluators = [evals.ToolSelection(), evals.ToolSequence(mode="superset"), evals.ToolArguments()]
    report = asyncio.run(dataset.evaluate(lambda inputs: "answer", progress=False, lifecycle=Attached))
    scores = {name: one.value for name, one in report.cases[0].scores.items()}
    assert (1.0, 1.0, pytest.approx(2 / 3)) == tuple(
        scores[name] for name in ("tool_selection", "tool_sequence", "tool_arguments")
    )


def test_the_documents_of_the_run_itself_are_found() -> None:
    """The run that a case was made of retrieves the documents that the case expects, and no others."""
    (run,) = runs_of("langgraph__openinference", logs=True)
    expected = expectations_of(observed(run)).documents
    score = evals.RetrievalRelevance(expected=expected, measure="f1")(run)
    assert 1.0 == score.value


def test_what_was_not_seen_is_not_expected() -> None:
    """Of a run without a call, an empty expectation is made only if a call would have been seen."""
    quiet = trace_of(agent(1), chat(2, parent=1, sent=[user("Q")], got=[says("A")])).runs[0]
    blind = trace_of(span(1, name="handler")).runs[0]
    failed = trace_of(agent(1), tool(2, parent=1, failed=True)).runs[0]
    assert [[], None, None] == [observed(run).get("expected_tools") for run in (quiet, blind, failed)]


def test_cases_have_names_of_their_own() -> None:
    """Runs of one beginning get a number behind their name."""
    run = trace_of(span(1)).runs[0]
    assert ["11111111", "11111111-2"] == [case.name for case in evals.dataset_of([run, run]).cases]


def test_files_of_other_names_are_refused(tmp_path: Path) -> None:
    """A file is YAML or JSON, in a folder that is there."""
    dataset = evals.dataset_of([])
    with pytest.raises(SpecError, match=r"expected a file that ends in \.yaml, \.yml, \.json"):
        save(dataset, tmp_path / "cases.txt")
    with pytest.raises(SpecError, match="cannot be written: No such file or directory"):
        save(dataset, tmp_path / "nowhere" / "cases.yaml")
