"""A worker process of a task queue: each process that is forked from the instrumented one scores its own runs.

python examples/live_worker.py
"""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.queues import Queue

import spanwise
from spanwise import record


def work(tasks: Queue[str | None], done: Queue[str]) -> None:
    """Take tasks until there is none, and tell how each was scored."""
    handle = spanwise.instrument()
    while (task := tasks.get()) is not None:
        with (
            spanwise.context(request_id=task),
            record.run("worker", query=task) as run,
            run.start_tool("add", {"a": 1}) as call,
        ):
            call.end(2)
        handle.flush()
        result = handle.last()[0]
        overall = result.scores[-1]
        done.put(f"{result.run.who.request_id}: {len(result.run.tool_calls)} call, {overall.name} {overall.status}")


if __name__ == "__main__":
    spanwise.instrument()
    processes = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    tasks, done = processes.Queue(), processes.Queue()
    workers = [processes.Process(target=work, args=(tasks, done)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for number in range(4):
        tasks.put(f"task-{number}")
    for _ in workers:
        tasks.put(None)
    print("\n".join(sorted(done.get(timeout=30) for _ in range(4))))
    for worker in workers:
        worker.join(timeout=30)
