"""Runs of LangChain that were started side by side and hang below one another."""

from __future__ import annotations

import pytest

from spanwise.conventions._batches import is_started_apart
from spanwise.model.raw import RawSpan, Scope
from tests.making import chat, run_of, span, trace_of

OUTERMOST = {
    "opentelemetry.instrumentation.langchain": {"traceloop.span.kind": "workflow", "traceloop.entity.path": ""},
    "langfuse-sdk": {
        "langfuse.observation.type": "chain",
        "langfuse.observation.metadata.is_langchain_root": "true",
    },
}


def chain(number: int, *, parent: int | None, scope: str, name: str = "RunnableSequence", **more: object) -> RawSpan:
    """The outermost span of a chain's run."""
    attributes = {**OUTERMOST.get(scope, {}), **more}
    return span(number, parent=parent, name=name, end=number + 900, attributes=attributes, scope=Scope(scope, "1", {}))


@pytest.mark.parametrize("scope", OUTERMOST)
def test_a_batch_is_as_many_runs(scope: str) -> None:
    """Each input of a batch is a run of its own, with its own model call, however deep its span hangs."""
    spans = [chain(n, parent=n - 1 or None, scope=scope) for n in (1, 2, 3)]
    spans += [chat(n + 10, parent=n, tokens=(n, n)) for n in (1, 2, 3)]
    runs = trace_of(*spans).runs
    assert [1, 2, 3] == [run.tokens.input for run in runs if run.tokens is not None]


def test_below_a_span_of_the_app() -> None:
    """The inputs of a batch hang where the first one does; a workflow of the app's around them is one run."""
    first, second = (chain(n, parent=n - 1, scope="langfuse-sdk") for n in (2, 3))
    trace = trace_of(span(1, name="POST /ask", end=2000), first, second)
    assert ([-1, 0, 0], 2) == ([one.parent for one in trace.spans], len(trace.runs))
    around = span(1, attributes={"gen_ai.operation.name": "invoke_workflow"}, end=2000)
    assert 1 == len(run_of(around, first, second, chat(9, parent=3)).llm_calls)


def test_steps_are_no_runs() -> None:
    """A chain that another one calls, or an agent another agent's tool, is a step of it."""
    scope = "opentelemetry.instrumentation.langchain"
    above = chain(1, parent=None, scope=scope)
    task = {"traceloop.span.kind": "task"}
    assert not is_started_apart(chain(2, parent=1, scope=scope, **task), above)
    assert not is_started_apart(chain(2, parent=1, scope=scope, **{"traceloop.entity.path": "a"}), above)
    assert not is_started_apart(chain(2, parent=1, scope=scope, name="other"), above)
    assert not is_started_apart(chain(2, parent=1, scope="tests"), chain(1, parent=None, scope="tests"))
    assert 1 == len(trace_of(above, chain(2, parent=1, scope=scope, **task)).runs)


def test_a_run_that_hangs_below_one_that_is_over() -> None:
    """Runs of LlamaIndex's whose spans OpenLLMetry hangs below an earlier run's, when that is over, are runs."""
    scope = Scope("opentelemetry.instrumentation.llamaindex", "1", {})
    kinds = {"traceloop.span.kind": "workflow"}
    starts = ((1, 1, 100), (2, 200, 300), (3, 400, 500))
    runs = [
        span(n, parent=n - 1 or None, name="run.workflow", start=start, end=end, attributes=kinds, scope=scope)
        for n, start, end in starts
    ]
    assert 3 == len(trace_of(*runs).runs)
    inner = span(4, parent=1, name="inner.workflow", start=50, end=90, attributes=kinds, scope=scope)
    assert 1 == len(trace_of(runs[0], inner).runs)
