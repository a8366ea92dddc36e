"""Real scorers: `spanwise serve` processes on fixed ports, each with a folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from tests.preloaded import Process, started
from tests.servers import free_port, wait_for


class Scorer:
    """A scorer process.

    Args:
        folder: Where its settings, its write-ahead log, its outboxes and its log are.
        scores_to: The Collector's receiver of scores.
        handoff_to: The Collector's receiver of unfinished traces.
        spans_to: Where finished traces go with their scores, if anywhere.
        command: What `serve` is a verb of; this environment's `spanwise` where nothing else is named.
        environment: More variables, such as LANGFUSE_*.
        settings: More settings of `[serve]`, as TOML.
    """

    def __init__(
        self,
        folder: Path,
        *,
        scores_to: str,
        handoff_to: str,
        spans_to: str = "",
        command: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        settings: str = "",
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._command = folder, command
        self._environment = dict(environment or {})
        self._process: Process | None = None
        self.port, self._http = free_port(), free_port()
        lines = [
            "[serve]",
            f'grpc = "127.0.0.1:{self.port}"',
            f'http = "127.0.0.1:{self._http}"',
            f'wal = {{ folder = "{folder / "wal"}" }}',
            f'scores_to = "{scores_to}"',
            f'handoff_to = "{handoff_to}"',
            "grace_s = 1",
            *([f'spans_to = "{spans_to}"'] if spans_to else []),
            settings,
        ]
        (folder / "spanwise.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def __enter__(self) -> Scorer:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGKILL)

    def begin(self) -> None:
        """Start it; `ready` waits for it."""
        environment = {
            **os.environ,
            "HOME": str(self._folder),
            "XDG_STATE_HOME": str(self._folder),
            **self._environment,
        }
        environment.pop("SPANWISE_CONFIG", None)
        with (self._folder / "log").open("ab") as log:
            self._process = (
                subprocess.Popen([*self._command, "serve"], stdout=log, stderr=log, cwd=self._folder, env=environment)
                if self._command
                else started("serve", stdout=log, stderr=log, cwd=self._folder, environment=environment)
            )

    def ready(self, *, timeout_s: float = 60.0) -> None:
        """Wait until it takes requests."""
        assert self._process is not None
        process = self._process
        there = wait_for(lambda: process.poll() is not None or self._answers(), timeout_s=timeout_s)
        is_up = there and process.poll() is None
        assert is_up, f"a scorer did not start: {self.log()[-3000:]}"

    def start(self) -> None:
        """Start it, and wait until it takes requests."""
        self.begin()
        self.ready()

    def tell(self, how: signal.Signals) -> None:
        """Send it a signal; `ended` waits for its end."""
        assert self._process is not None
        self._process.send_signal(how)

    def ended(self) -> int:
        """Wait until it is gone, and tell its exit code."""
        process, self._process = self._process, None
        assert process is not None
        try:
            return process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
            raise AssertionError(f"a scorer did not end: {self.log()[-3000:]}") from None

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it by a signal, wait until it is gone, and tell its exit code."""
        if self._process is None:
            return 0
        self.tell(how)
        return self.ended()

    def log(self) -> str:
        """All that it said."""
        return (self._folder / "log").read_text(errors="replace")

    def page(self, path: str) -> tuple[int, str]:
        """What one of its pages says; status 0 where nobody answers."""
        try:
            with urlopen(f"http://127.0.0.1:{self._http}{path}", timeout=2) as answer:
                return int(answer.status), str(answer.read().decode())
        except HTTPError as error:
            return int(error.code), error.read().decode()
        except OSError:
            return 0, ""

    def _answers(self) -> bool:
        return self.page("/readyz")[0] == 200
