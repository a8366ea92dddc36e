"""Results to keep, and the content of a store to compare."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.evaluators.cost import Cost
from spanwise.evaluators.latency import Latency
from spanwise.evaluators.overall import Overall
from spanwise.evaluators.recovery import Recovery
from spanwise.evaluators.redundancy import Redundancy
from spanwise.model.ports import AnyEvaluator
from spanwise.model.raw import RawSpan
from spanwise.model.result import RunResult
from spanwise.run import evaluate
from tests.making import agent, chat, says, tool, trace_id, trace_of, user

# Without the extra there is no store, which the tests' configuration takes for a reason to skip.
importlib.import_module("sqlalchemy")
importlib.import_module("alembic")

if TYPE_CHECKING:
    from spanwise.store.store import Store

EVALUATORS: Mapping[str, AnyEvaluator] = {
    "redundancy": Redundancy(),
    "recovery": Recovery(),
    "latency": Latency(),
    "cost": Cost(),
}
NOW_NS = 1_795_000_000_000_000_000


def spans_of(number: int, *, session: str = "s-1", calls: int = 2, question: str = "How many people?") -> list[RawSpan]:
    """The spans of one agent run in a trace of its own, which repeats its call of a tool."""
    more = {"gen_ai.conversation.id": session, "request.id": f"r-{number}", "user.id": "ann"}
    spans = [agent(1, **more), chat(2, parent=1, sent=[user(question)], tokens=(500, 20))]
    spans += [
        tool(3 + at, parent=1, arguments={"q": "France"}, result={"n": 68}, call_id=f"c{at}") for at in range(calls)
    ]
    spans.append(chat(90, parent=1, sent=[user(question)], got=[says("68 million.")], tokens=(900, 40)))
    for span in spans:
        span.trace_id = trace_id(number)
    return spans


def result_of(
    number: int,
    *,
    revision: int = 1,
    evaluators: Mapping[str, AnyEvaluator] = EVALUATORS,
    session: str = "s-1",
    calls: int = 2,
    question: str = "How many people?",
) -> RunResult:
    """The result of one agent run."""
    trace = trace_of(*spans_of(number, session=session, calls=calls, question=question))
    (run,) = trace.runs
    return evaluate(run, evaluators, revision=revision, overall=Overall())


def results_of(spans: Sequence[RawSpan], *, revision: int = 1) -> list[RunResult]:
    """The results of all runs of one trace."""
    return [evaluate(run, EVALUATORS, revision=revision) for run in trace_of(*spans).runs]


def content_of(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, in an order of its own."""
    from sqlalchemy import select

    from spanwise.store.schema import metadata

    return store._database.read(
        lambda connection: {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in metadata.sorted_tables
        }
    )


def size_of(path: Path) -> int:
    """The bytes of a store with its write-ahead log."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
