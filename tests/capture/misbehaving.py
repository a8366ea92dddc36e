"""Evaluators that do what an app must survive."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spanwise.model.score import Evidence, Score
from spanwise.model.trace import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """How many tool calls the run has, with a span as evidence; it is what a well-behaved one looks like."""

    most: int = 10

    def __call__(self, run: Run, /) -> Sequence[Score]:
        evidence = tuple(Evidence(span_id=call.span_id, quote=str(call.arguments)) for call in run.work)
        share = min(1.0, len(run.work) / self.most)
        return [
            Score(name="calls", value=share, reason=f"{run.query} -> {run.answer}", evidence=evidence),
            Score(name="calls_pid", value=float(os.getpid()), unit="pid"),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """Takes its time."""

    seconds: float = 0.05

    def __call__(self, run: Run, /) -> Score:
        time.sleep(self.seconds)
        return Score(name="slow", value=1.0)


def fine(run: Run) -> Score:
    """An evaluator that is content with everything."""
    return Score(name="fine", value=1.0)


def counts(run: Run) -> Score:
    """Gives a number that is no float."""
    return Score(name="counts", value=True, issues=("one",))


def mumbles(run: Run) -> Score:
    """Gives a score whose parts are of the wrong kind."""
    issues: Any = (threading.Lock(), 7)
    return Score(name="mumbles", value=1.0, issues=issues)


def raises(run: Run) -> Score:
    """Fails."""
    raise ValueError("no good")


def exits(run: Run) -> Score:
    """Asks Python to end."""
    sys.exit(4)


def hangs(run: Run) -> Score:
    """Never comes back."""
    while True:
        pass


def hangs_in_c(run: Run) -> Score:
    """Never comes back, and holds the interpreter's lock: no other thread of its process runs."""
    ctypes.PyDLL(None).sleep(600)
    return fine(run)


def ends_process(run: Run) -> Score:
    """Ends its process without a word."""
    os._exit(3)


def segfaults(run: Run) -> Score:
    """Reads where nothing is."""
    ctypes.string_at(0)
    return fine(run)


def eats_memory(run: Run) -> Score:
    """Takes a gigabyte, and writes to all of it."""
    return Score(name="eats_memory", value=float(len(b"x" * (1 << 30)) > 0))


def prints(run: Run) -> Score:
    """Prints, and asks for input that it does not get."""
    sys.stdout.write("printed by an evaluator\n")
    sys.stdout.flush()
    os.write(1, b"written by an evaluator\n")
    return Score(name="prints", value=1.0, reason=repr(sys.stdin.read()))


def starts_a_process(run: Run) -> Score:
    """Starts a process that sleeps on, says its number, and hangs."""
    sleeper = subprocess.Popen(["sleep", "600"])
    sys.stderr.write(f"sleeper {sleeper.pid}\n")
    threading.Event().wait()
    return fine(run)


def inside(run: Run) -> Score:
    """Says what the helper process is like."""
    shown = f"{threading.active_count()} {sys.argv} {sys.modules['__main__']!r}"
    return Score(name="inside", value=1.0, reason=shown)


def refuses_to_be_made() -> None:
    """What an evaluator's state calls when it is unpickled in the helper process."""
    if os.environ.get("SPANWISE_ISOLATED") == "1":
        raise RuntimeError("only in the app")


class Picky:
    """Can be pickled, and cannot be made in a helper process."""

    def __setstate__(self, state: object) -> None:
        refuses_to_be_made()

    def __getstate__(self) -> object:
        return {"a": 1}

    def __call__(self, run: Run, /) -> Score:
        return fine(run)
