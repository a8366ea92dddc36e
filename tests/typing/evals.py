"""The evaluators for pydantic-evals as their users type them: checked by the type checker, never run."""

from collections.abc import Sequence
from typing import Literal

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, MaxToolCalls
from pydantic_evals.online import EvaluatorContextSource

from spanwise import evals
from spanwise.evals.repeats import Repeats
from spanwise.model.expected_call import ExpectedCall
from spanwise.model.ports import Evaluator as RunAsked
from spanwise.model.trace import Run
from spanwise.offline.reading import Reading

near: Literal["issue", "count", "off"] = evals.Redundancy(near_duplicates="count").near_duplicates
evals.Redundancy(near_duplicates="sometimes")  # pyright: ignore[reportArgumentType]  # that is the point
evals.Redundancy(near="count")  # pyright: ignore[reportCallIssue]  # so it is here
target: float | None = evals.Latency(target_ms=100).target_ms
expected: tuple[str, ...] | None = evals.ToolSelection(expected=["a"], evaluation_name="mine").expected
evals.ToolArguments(expected=[ExpectedCall(tool="a")], overrides={"a": "superset"})
evals.Handoffs(expected=["billing", ("triage", "billing")])
dataset = Dataset[str, str, dict[str, object]](
    name="typed",
    cases=[Case(name="a", inputs="q", evaluators=[evals.Loops()])],
    evaluators=[evals.Redundancy(), evals.Overall(weights={"loops": 1.0}), MaxToolCalls(3)],
    report_evaluators=[evals.RepeatStatistics(minimum={"redundancy": 0.9})],
)
dataset = Dataset[str, str, dict[str, object]].from_file("cases.yaml", custom_evaluator_types=evals.ALL)
every: Sequence[type[Evaluator[object, object, object]]] = evals.ALL
theirs: RunAsked = evals.as_evaluator(MaxToolCalls(3))
found: Repeats = evals.print_repeats(dataset.evaluate_sync(str.upper, repeat=3), k=2)
source: EvaluatorContextSource = evals.FileContexts("traces/")
source = evals.StoreContexts("runs.db")
runs: list[Run] = [run for trace in Reading(paths=["traces/"]).traces_of() for run in trace.runs]
evals.dataset_of(runs, name="mine").to_file("cases.yaml", custom_evaluator_types=evals.ALL)
first: str = next(iter(evals.tree_of(runs[0]))).name
