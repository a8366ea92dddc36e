"""The run of a case: attached by a capture, or read out of pydantic-evals' own span tree."""

from __future__ import annotations

import dataclasses

import pytest
from pydantic_evals.evaluators import EvaluatorContext, MaxToolCalls
from pydantic_evals.otel import SpanTree, SpanTreeRecordingError

from spanwise.catalog import default_evaluators
from spanwise.evals.contexts import context_of
from spanwise.evals.runs import NO_SPANS, attach, found_in, run_of
from spanwise.run import evaluate
from tests.corpus.facts import runs_of
from tests.evals.conformance import answer, raw_tree
from tests.making import agent, chat, span, tool, trace_of

OWN = (
    "pydantic-ai__builtin",
    "pydantic-ai__logfire",
    "langgraph__openinference",
    "openai-agents__openinference",
    "smolagents__openinference",
    "openai-agents__traceloop",
)
"""Instrumentations that record content in attributes: that tree has no events."""


def context(tree: SpanTree | SpanTreeRecordingError, **metrics: float) -> EvaluatorContext[object, object, object]:
    """A context as `Dataset.evaluate` makes it."""
    return EvaluatorContext(
        name="case",
        inputs="question",
        metadata=None,
        expected_output=None,
        output="answer",
        duration=1.0,
        _span_tree=tree,
        attributes={},
        metrics=metrics,
    )


@pytest.mark.parametrize("name", OWN)
def test_their_own_tree_is_read(name: str) -> None:
    """Without a capture the run is built from the span tree that pydantic-evals gives, with the calls that it shows."""
    (run,) = runs_of(name, logs=True)
    found = run_of(context(raw_tree(run)))
    assert found is not None
    assert [call.name for call in run.tool_calls] == [call.name for call in found.tool_calls]
    assert (run.query, run.answer) == (found.query, found.answer)
    asked = {"redundancy": default_evaluators()["redundancy"], "loops": default_evaluators()["loops"]}
    assert [one.value for one in evaluate(run, asked).scores] == [one.value for one in evaluate(found, asked).scores]


def test_a_tree_is_read_once() -> None:
    """However many evaluators ask, the run of a case is one."""
    ctx = context(raw_tree(runs_of("pydantic-ai__builtin", logs=True)[0]))
    assert run_of(ctx) is run_of(dataclasses.replace(ctx, metrics={}))


def test_spans_above_the_tree_are_not_missing() -> None:
    """The span of the evaluation, which encloses the tree, is not in it, and the run is complete nevertheless."""
    trace = trace_of(span(1, end=9000), agent(2, parent=1), tool(3, parent=2, arguments={}))
    tree = raw_tree(trace.runs[0])
    assert 1 == len(tree.roots)
    found = run_of(context(tree))
    assert found is not None
    assert found.completeness.complete


@pytest.mark.parametrize("tree", [SpanTree(), SpanTreeRecordingError("no provider")])
def test_no_spans(tree: SpanTree | SpanTreeRecordingError) -> None:
    """An empty tree, or none, is no run, and the reason says what to do."""
    assert (None, NO_SPANS) == (run_of(context(tree)), found_in(context(tree)).why)


def test_an_attached_run_reaches_every_evaluator() -> None:
    """A run that a capture attached is the case's, its tree is normalised, and a changed context keeps it."""
    trace = trace_of(agent(1), tool(2, parent=1, arguments={}))
    ctx = attach(context(SpanTree()), trace)
    assert trace.runs[0].spans == getattr(run_of(dataclasses.replace(ctx, metadata={"a": 1})), "spans", None)
    assert False is answer(MaxToolCalls(0), ctx.span_tree)


def test_several_runs_are_one_case() -> None:
    """A task that runs agents one after the other has done what all of them did."""
    trace = trace_of(
        span(1, end=9000),
        agent(2, parent=1),
        tool(3, parent=2, arguments={}),
        agent(5000, parent=1),
        tool(5001, parent=5000, arguments={}),
    )
    found = run_of(attach(context(SpanTree()), trace))
    assert found is not None
    assert (2, 2) == (len(trace.runs), len(found.tool_calls))


def test_nothing_captured_is_told_to_both_sides() -> None:
    """Without a span their limits on calls do not hold either, and ours say why."""
    ctx = attach(context(SpanTree()), None, why="The task was never traced.")
    assert "The task was never traced." == found_in(ctx).why
    assert False is MaxToolCalls(5).evaluate(ctx).value
    assert NO_SPANS == found_in(attach(context(SpanTree()), None)).why


def test_metrics_count_each_call_once() -> None:
    """The metrics of a case are put right where wrappers had them counted twice; those of a user's own stay."""
    trace = trace_of(agent(1), chat(2, parent=1, tokens=(10, 5)), chat(3, parent=2, tokens=(10, 5)))
    ctx = attach(context(SpanTree(), requests=2, input_tokens=20, mine=7), trace)
    assert {"requests": 1, "input_tokens": 10, "output_tokens": 5, "mine": 7}.items() <= ctx.metrics.items()


def test_a_context_of_a_run() -> None:
    """Query and answer are inputs and output; duration and metrics are the run's."""
    (run,) = runs_of("langgraph__openinference", logs=True)
    ctx = context_of(run, name="one", metadata={"a": 1}, expected_output="x")
    assert (run.query, run.answer, "one", {"a": 1}, "x") == (
        ctx.inputs, ctx.output, ctx.name, ctx.metadata, ctx.expected_output,
    )  # fmt: skip
    assert run.duration_ms / 1000 == pytest.approx(ctx.duration)
    assert len(run.llm_calls) == ctx.metrics["requests"]
    assert run is run_of(ctx)
