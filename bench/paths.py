"""The ways from raw spans to results that are measured, and the result by which they are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from bench.dialects import fresh
from bench.timing import spent_ns
from spanwise.assembly.tree import build_trace
from spanwise.evaluators.cost import Cost
from spanwise.evaluators.handoffs import Handoffs
from spanwise.evaluators.latency import Latency
from spanwise.evaluators.loops import Loops
from spanwise.evaluators.recovery import Recovery
from spanwise.evaluators.redundancy import Redundancy
from spanwise.evaluators.tool_selection import ToolSelection
from spanwise.model.ports import AnyEvaluator
from spanwise.model.raw import RawSpan
from spanwise.model.result import RunResult
from spanwise.model.trace import Run, Trace
from spanwise.run import evaluate

STRUCTURAL: dict[str, AnyEvaluator] = {
    "tool_selection": ToolSelection(check_arguments=False),
    "redundancy": Redundancy(),
    "loops": Loops(),
    "recovery": Recovery(),
    "latency": Latency(),
    "cost": Cost(),
    "handoffs": Handoffs(),
}

Way: TypeAlias = Callable[[Sequence[RawSpan]], object]


def tree(spans: Sequence[RawSpan]) -> Trace:
    """Canonical spans with their kinds and links, runs and completeness."""
    return build_trace(spans[0].trace_id, spans)


def facts_of(trace: Trace) -> Sequence[Run]:
    """The runs of a trace, with their structural facts read: tool calls, model calls with tokens, agents."""
    runs = trace.runs
    for run in runs:
        _ = run.tool_calls, run.llm_calls, run.tokens, run.agents
    return runs


def scores_of(trace: Trace) -> list[RunResult]:
    """The structural scores of each run, its facts read before."""
    return [evaluate(run, STRUCTURAL) for run in facts_of(trace)]


def facts(spans: Sequence[RawSpan]) -> Sequence[Run]:
    """The tree, and the structural facts of each run."""
    return facts_of(tree(spans))


def scores(spans: Sequence[RawSpan]) -> list[RunResult]:
    """The tree, the facts and the structural scores of each run."""
    return scores_of(tree(spans))


def told(run: Run) -> object:
    """A run's structural facts as plain values, without ids of spans: those differ between doors and dialects."""
    calls = [(call.name, call.status, call.call_id, call.origin, call.start_ns) for call in run.tool_calls]
    models = [(call.model, call.tokens, call.failed, call.start_ns) for call in run.llm_calls]
    return calls, models, run.tokens, [agent.name for agent in run.agents]


def scored(result: RunResult) -> object:
    """The scores of a run as plain values."""
    return [(score.name, score.value, score.status, score.label, score.reason) for score in result.scores]


def outcome(results: Iterable[RunResult]) -> list[tuple[str, object, object]]:
    """Everything that must not depend on the path: facts and scores of each run, by trace."""
    found = [(result.run.trace.trace_id, told(result.run), scored(result)) for result in results]
    return sorted(found, key=lambda item: item[0])


def each(way: Way, traces: Sequence[Sequence[RawSpan]]) -> None:
    """One trace after the other, each result dropped before the next, as a worker does."""
    for spans in traces:
        way(spans)


def spent_on_new(way: Way, traces: Sequence[Sequence[RawSpan]], *, batches: int = 1) -> int:
    """What a way takes on spans that were just made, outside of what is timed: no text was looked at before."""
    taken = 0
    for _ in range(batches):
        made = [[fresh(span) for span in spans] for spans in traces]
        taken += spent_ns(partial(each, way, made))
    return taken
