"""Runs as normalised trees: right verdicts of pydantic-evals' evaluators, whatever the spans are."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from pydantic_evals.otel import SpanNode, SpanTree

from spanwise.evals.tree import moment_of, number_of, tree_of
from spanwise.model.trace import Run
from tests.corpus.facts import NAMES, runs_of
from tests.evals.conformance import EVALUATORS, answer, max_model_requests, raw_tree, table, verdict
from tests.making import agent, chat, says, span, tool, trace_of

REPLACED = ("tool_arguments", "gen_ai.operation.name", "logfire.msg", "gen_ai.tool.call")


def named(tree: SpanTree, start: str) -> list[SpanNode]:
    """The nodes whose name begins so, by start."""
    return [node for node in tree if node.name.startswith(start)]


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("name", NAMES)
def test_conformance(name: str, evaluator: str) -> None:
    """On every recording each of their evaluators is right, both when it says yes and when it says no."""
    assert verdict(name, evaluator, tree_of) in {"right", "untold"}


def test_what_it_takes() -> None:
    """On the raw spans most of their verdicts are wrong, which is why the tree is normalised."""
    found = table()
    before = [row[one][0] for row in found.values() for one in EVALUATORS]
    after = [row[one][1] for row in found.values() for one in EVALUATORS]
    assert before.count("right") < 0.5 * after.count("right")
    assert 0 == after.count("wrong")


@pytest.mark.parametrize("name", NAMES)
def test_a_tree_holds_every_span(name: str) -> None:
    """Each span of a run is a node with its id and its attributes; parents are nodes of the tree."""
    for run in runs_of(name, logs=True):
        tree = tree_of(run)
        assert {number_of(one.span_id) for one in run.spans} <= {node.span_id for node in tree}
        assert run is tree.run
        for node in tree:
            assert node.parent_span_id is None or node.parent is not None
            assert node.end_timestamp >= node.start_timestamp
        held = {node.span_id: node.attributes for node in tree}
        assert [] == [
            key
            for one in run.spans
            for key in one.attributes
            if key not in held[number_of(one.span_id)] and not key.startswith(REPLACED)
        ]


def test_renamed_spans_keep_their_names() -> None:
    """A span that is renamed has its recorded name, and every node its kind, as attributes."""
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "search"}
    run = trace_of(agent(1), span(2, parent=1, name="FunctionTool.acall", attributes=attributes)).runs[0]
    (node,) = named(tree_of(run), "execute_tool")
    assert ("FunctionTool.acall", "tool", "TOOL") == tuple(
        node.attributes.get(key) for key in ("spanwise.name", "spanwise.kind", "openinference.span.kind")
    )


def test_a_call_without_a_span_has_a_node() -> None:
    """A call that is known from messages only is a node below its agent; one that was never made is none."""
    (run,) = runs_of("google-genai__openinference", logs=True)
    calls = named(tree_of(run), "execute_tool")
    assert [(call.name, call.failed) for call in run.work] == [
        (node.attributes["gen_ai.tool.name"], node.status == "error") for node in calls
    ]
    (other,) = runs_of("langchain__langsmith-otel__create_agent_parallel_hallucinated", logs=True)
    assert "web_search" in {call.name for call in other.tool_calls}
    assert not [node for node in tree_of(other) if node.attributes.get("gen_ai.tool.name") == "web_search"]


def test_doubles_count_once() -> None:
    """A wrapper around a model call, and a second span of a tool call, are not counted again."""
    run = trace_of(
        agent(1),
        chat(2, parent=1, got=[says("A")]),
        chat(3, parent=2, got=[says("A")]),
        tool(20, parent=1, arguments={"q": 1}, start=20, end=60),
        tool(21, parent=20, arguments={"q": 1}, start=30, end=50),
    ).runs[0]
    for question, want in max_model_requests({"llm_calls": 1}):
        assert want is answer(question, tree_of(run))
    assert 2 == len(run.by_kind["tool"])
    assert 1 == len([one for one in tree_of(run) if "pydantic_ai.tool.deferral.name" not in one.attributes
                     and one.name.startswith("execute_tool")])  # fmt: skip


def test_a_whole_trace_is_a_tree() -> None:
    """Of a trace with several runs, the tree of the trace holds all, and that of a run its own."""
    trace = trace_of(span(1, end=9000), agent(2, parent=1), tool(3, parent=2), agent(5000, parent=1))
    assert (4, 2) == (len(list(tree_of(trace))), len(list(tree_of(trace.runs[0]))))


def test_large_trees_are_made_in_bulk() -> None:
    """Ten times the spans take about ten times as long, not a hundred times."""

    def made(count: int) -> float:
        spans = [agent(1), *(tool(number, parent=1, arguments={"n": number}) for number in range(2, count))]
        run = Run(trace_of(*spans), 0)
        assert count - 1 == len(run.tool_calls) + 1
        began = time.perf_counter()
        assert count - 1 == len(list(tree_of(run)))
        return time.perf_counter() - began

    made(500)
    assert made(5000) < 40 * max(made(500), 0.001)


@pytest.mark.parametrize(
    ("text", "number"), [("00000000000000ff", 255), ("FF", 255), ("", None), ("not hex", None), ("f" * 17, None)]
)
def test_ids_become_numbers(text: str, number: int | None) -> None:
    """An id of hex digits is their number; any other becomes one that is the same every time and fits."""
    found = number_of(text)
    assert found == (number if number is not None else number_of(text))
    assert 0 < found < 1 << 64


@pytest.mark.parametrize(("ns", "year"), [(0, 1970), (-5, 1970), (1 << 80, 9999), (1_700_000_000_000_000_000, 2023)])
def test_times_stay_within_the_calendar(ns: int, year: int) -> None:
    """A time that no calendar has is the nearest that it has."""
    assert datetime(year, 1, 1, tzinfo=UTC).year == moment_of(ns).year


def test_the_raw_tree_is_theirs(recordings: object) -> None:
    """What the comparison starts from are the spans as recorded."""
    (run,) = runs_of("pydantic-ai__builtin", logs=True)
    assert [one.name for one in run.spans] == [node.name for node in raw_tree(run)]
