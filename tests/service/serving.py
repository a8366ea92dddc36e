"""A real `spanwise serve` process on ports of its own choice, with what it writes in a folder."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from urllib.error import HTTPError
from urllib.request import urlopen

from tests.preloaded import Process, started
from tests.servers import wait_for

_LINE = re.compile(r"^listening (?:grpc=(?P<grpc>\S+))? ?(?:http=(?P<http>\S+))?$", re.MULTILINE)


class Service:
    """The process. Its scores are lines of a file; its write-ahead log stays in the folder when it is started again."""

    def __init__(self, folder: Path, *flags: str, settings: str = "", jsonl: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._flags = flags
        self._process: Process | None = None
        self._starts = 0
        self.grpc = self.http = ""
        sinks = f'[sinks]\njsonl = {{ to = "{folder / "runs.jsonl"}" }}\n' if jsonl else ""
        (folder / "spanwise.toml").write_text(f"{sinks}{settings}\n", encoding="utf-8")

    def __enter__(self) -> Service:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it takes spans."""
        self._starts += 1
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SPANWISE_")}
        environment |= {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "state")}
        addresses = ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        out = self.folder / f"out{self._starts}"
        with out.open("wb") as told, (self.folder / "log").open("ab") as log:
            self._process = started(
                "serve", *addresses, *self._flags, stdout=told, stderr=log, cwd=self.folder, environment=environment
            )
        process = self._process
        assert wait_for(lambda: process.poll() is not None or b"\n" in out.read_bytes(), timeout_s=60), self.log()
        found = _LINE.search(out.read_text())
        assert found is not None, self.log()
        self.grpc, self.http = found["grpc"] or "", found["http"] or ""
        assert wait_for(lambda: process.poll() is not None or self.page("/readyz")[0] == 200, timeout_s=60), self.log()

    def send(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM, *, timeout_s: float = 40.0) -> int:
        """Send it a signal, wait for its end, and give its exit code."""
        self.send(number)
        assert self._process is not None
        code = self._process.wait(timeout_s)
        self._process = None
        return code

    def kill(self) -> None:
        """End it as the system does."""
        if self._process is not None:
            self.end(signal.SIGKILL)

    def page(self, path: str) -> tuple[int, str]:
        """What one of its pages says."""
        try:
            with urlopen(f"http://{self.http}{path}", timeout=5) as answer:
                return int(answer.status), answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def metrics(self) -> dict[str, float]:
        """Every series of /metrics, by its name and labels."""
        lines = self.page("/metrics")[1].splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def undelivered(self) -> int:
        """How many parcels the outboxes of its sinks hold: what is on its way when the process is killed goes twice."""
        found = 0
        for path in (self.folder / "state").rglob("*.db"):
            with closing(sqlite3.connect(path, timeout=10)) as base:
                found += base.execute("SELECT count(*) FROM parcels").fetchone()[0]
        return found

    def runs(self) -> list[dict[str, object]]:
        """What the file of runs holds; a line that is still being written is not there yet."""
        path = self.folder / "runs.jsonl"
        return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []

    def scores(self) -> dict[str, dict[str, object]]:
        """The values of the last revision of each trace, by its id and the score's name."""
        return {str(run["trace_id"]): values_of(run["scores"]) for run in self.runs()}

    def log(self) -> str:
        """What it said on standard error, and where it listens."""
        return "".join(path.read_text(errors="replace") for path in (self.folder / "log", *self.folder.glob("out*")))


def values_of(scores: Sequence[dict[str, object]] | object) -> dict[str, object]:
    """Values by name."""
    assert isinstance(scores, list)
    return {str(score["name"]): score["value"] for score in scores}
