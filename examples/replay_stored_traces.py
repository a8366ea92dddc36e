"""History replayed: stored runs of any framework, asked by evaluators of pydantic-evals and of Spanwise.

python examples/replay_stored_traces.py tests/recordings/langgraph__openinference.json
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from pydantic_evals.evaluators import HasMatchingSpan, MaxToolCalls, ToolCorrectness
from pydantic_evals.online import run_evaluators

import spanwise
from spanwise import evals
from spanwise.store import Store

EVALUATORS = [
    ToolCorrectness(["search_docs", "calculator"], allow_extra=True),
    MaxToolCalls(3),
    HasMatchingSpan({"name_equals": "execute_tool calculator", "has_status": "error"}, evaluation_name="a call failed"),
    evals.Redundancy(),
    evals.Recovery(),
]


async def replay(store: Store) -> None:
    """Ask every stored run."""
    source = evals.StoreContexts(store)
    for context in await source.fetch_many(source.references()):
        print(context.inputs)
        results, failures = await run_evaluators(EVALUATORS, context)
        for result in results:
            print(f"  {result.name}: {result.value} | {result.reason or ''}")
        for failure in failures:
            print(f"  {failure.name} broke: {failure.error_message}")


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("give files of spans, such as tests/recordings/langgraph__openinference.json")
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "runs.db", max_age_s=None) as kept:
        kept.add(spanwise.score(sys.argv[1:]))  # what `spanwise.instrument(app, store=True)` does in an app
        asyncio.run(replay(kept))
