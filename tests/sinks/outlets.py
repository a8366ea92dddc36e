"""Every sink with its real local destination, and what is found there: for tests that hold all sinks to one promise.

A new sink gets a class here, or in outlets_remote.py, and a line in the table. `open` starts the destination and gives
what `instrument` is to be given; after the results were delivered, `rows` reads the scores back as far as the
destination can express them, and `raw` everything that left the process, as text.
"""

from __future__ import annotations

import io
import json
import logging
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from spanwise.config import SinkSettings
from spanwise.model.result import RunResult
from spanwise.sinks.jsonl import JsonLinesSink

Row: TypeAlias = Mapping[str, object]
"""A score as it arrived; only what the destination can express is in it: the names of FIELDS."""
FIELDS = (
    *("id", "trace_id", "run_id", "name", "value", "unit", "label", "status"),
    *("reason", "evaluator", "version", "revision"),
)


@dataclass
class Local:
    """A sink and its destination."""

    needs: Sequence[str] = ()
    """Packages that have to be there."""
    leaves: bool = True
    """What it is given leaves the process, as `raw` tells; else only the object is handed over."""

    def open(self, folder: Path) -> object:
        """What `instrument` is given."""
        raise NotImplementedError

    def rows(self) -> Sequence[Row] | None:
        """The scores at the destination; None where it has no scores one by one."""
        return None

    def raw(self) -> str | None:
        """Everything that left; None where nothing did."""
        return None

    def close(self) -> None:
        """End the destination."""


def expected(results: Sequence[RunResult]) -> list[dict[str, object]]:
    """The rows that results make at a destination that can express everything."""
    return [
        {
            "id": result.id_of(score),
            "trace_id": result.run.trace.trace_id,
            "run_id": result.run.run_id,
            "name": score.name,
            "value": score.value,
            "unit": score.unit,
            "label": score.label,
            "status": score.status,
            "reason": score.reason,
            "evaluator": score.evaluator,
            "version": score.version,
            "revision": result.revision,
        }
        for result in results
        for score in result.scores
    ]


@dataclass
class Jsonl(Local):
    """JSON lines in a file."""

    path: Path = field(default_factory=Path)

    def open(self, folder: Path) -> object:
        """A sink for a file."""
        self.path = folder / "runs.jsonl"
        return JsonLinesSink(self.path)

    def rows(self) -> Sequence[Row]:
        """The scores in the lines."""
        lines = map(json.loads, self.path.read_text(encoding="utf-8").splitlines())
        return [
            {
                **{name: score[name] for name in FIELDS if name in score},
                "unit": score["unit"] or "",
                "label": score["label"] or "",
                "trace_id": line["trace_id"],
                "run_id": line["run_id"],
                "revision": line["revision"],
            }
            for line in lines
            for score in line["scores"]
        ]

    def raw(self) -> str:
        """The file."""
        return self.path.read_text(encoding="utf-8")


@dataclass
class Store(Local):
    """The local store, in SQLite."""

    needs: Sequence[str] = ("sqlalchemy", "alembic")
    path: Path = field(default_factory=Path)

    def open(self, folder: Path) -> object:
        """A store in a file."""
        self.path = folder / "runs.db"
        return SinkSettings(use="store", options={"where": str(self.path)})

    def rows(self) -> Sequence[Row]:
        """The table of scores."""
        connection = sqlite3.connect(self.path)
        try:
            found = connection.execute(f"select {', '.join(FIELDS)} from scores order by trace_id, run_id, position")
            return [dict(zip(FIELDS, row, strict=True)) for row in found]
        finally:
            connection.close()

    def raw(self) -> str:
        """Whatever is in its files, journals among them."""
        files = sorted(self.path.parent.glob("runs.db*"))
        return "\n".join(file.read_bytes().decode("utf-8", "replace") for file in files)


@dataclass
class Callback(Local):
    """A function of the app's own: it is given the run itself, which never leaves the process."""

    leaves: bool = False
    results: list[RunResult] = field(default_factory=list["RunResult"])

    def open(self, folder: Path) -> object:
        """A function."""
        del folder
        return self.results.append

    def rows(self) -> Sequence[Row]:
        """The scores that it was called with."""
        return expected(self.results)


@dataclass
class Log(Local):
    """The line in the app's log."""

    stream: io.StringIO = field(default_factory=io.StringIO)

    def open(self, folder: Path) -> object:
        """The log, with a handler of the app's."""
        del folder
        logger = logging.getLogger("spanwise")
        handler = logging.StreamHandler(self.stream)
        handler.addFilter(lambda record: record.name == "spanwise")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)

        def undo() -> None:
            logger.removeHandler(handler)
            logger.setLevel(logging.NOTSET)

        self.undo = undo
        return "log"

    def raw(self) -> str:
        """The lines."""
        self.undo()
        return self.stream.getvalue()


@dataclass
class Console(Local):
    """The line on standard error."""

    stream: io.StringIO = field(default_factory=io.StringIO)

    def open(self, folder: Path) -> object:
        """The console; standard error is read here."""
        del folder
        before, sys.stderr = sys.stderr, self.stream
        self.undo: Callable[[], None] = lambda: setattr(sys, "stderr", before)
        return "console"

    def raw(self) -> str:
        """The lines."""
        self.undo()
        return self.stream.getvalue()


OUTLETS: Mapping[str, Callable[[], Local]] = {
    "log": Log,
    "console": Console,
    "callback": Callback,
    "store": Store,
    "jsonl": Jsonl,
}
"""By the name of the sink in the catalogue: what stays on this machine. The others are in outlets_remote.py."""
