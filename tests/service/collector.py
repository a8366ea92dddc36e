"""A real OpenTelemetry Collector that runs a configuration of this repository on free ports of the loopback."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.request import urlopen

from tests.servers import free_port, wait_for

ROOT = Path(__file__).resolve().parents[2]
ONE_MACHINE = (ROOT / "collector-config.yaml",)
EDGE = (ROOT / "docs" / "collector" / "two-tier-edge.yaml",)
GATEWAY = (*ONE_MACHINE, ROOT / "docs" / "collector" / "two-tier-gateway.yaml")
TAIL_SAMPLING = (*ONE_MACHINE, ROOT / "docs" / "collector" / "tail-sampling.yaml")
APPS_GRPC, APPS_HTTP, SCORES, HANDOFF, SCORED = 4317, 4318, 4319, 4320, 4321
GATEWAY_GRPC, GATEWAY_SCORES, GATEWAY_HANDOFF = 4417, 4419, 4420
HEALTH, PROMETHEUS = 13133, 8889
"""The ports as the configurations name them; `Collector.port` tells which one stands for it."""
SCORERS = (4331, 4332, 4333)
_ADDRESS = re.compile(r"(127\.0\.0\.1:|\bport: )(\d+)")
_HOSTNAMES = re.compile(r"hostnames: \[.*\]")


def binary() -> Path | str:
    """The Collector that scripts/collector finds or builds; a sentence where there is none and no Go to build it."""
    script = str(ROOT / "scripts" / "collector")
    found = subprocess.run([script, "--find"], capture_output=True, text=True, check=False, timeout=60)
    if found.returncode != 0:
        if shutil.which("go") is None:
            return "needs a Collector, which `make collector` builds with Go, and there is no Go"
        found = subprocess.run([script], capture_output=True, text=True, check=False, timeout=1800)
    return Path(found.stdout.strip()) if found.returncode == 0 else f"needs a Collector: {found.stderr.strip()[-600:]}"


def validated(otelcol: Path, configs: Sequence[Path], folder: Path) -> tuple[int, str]:
    """What the Collector says of a configuration as it stands."""
    command = [str(otelcol), "validate", *_flags(configs)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def _flags(configs: Sequence[Path]) -> list[str]:
    return [word for path in configs for word in ("--config", str(path))]


class Collector:
    """A Collector process. The configuration is run as it stands, but for its ports, which are free ones.

    Args:
        otelcol: The program.
        folder: Where its queues, its log and its configuration are.
        configs: The files of the configuration, each over those before it.
        ports: Which ports stand for those that the configuration names, where that matters.
        environment: Variables that the configuration reads.
    """

    def __init__(
        self,
        otelcol: Path,
        folder: Path,
        *,
        configs: Sequence[Path] = ONE_MACHINE,
        ports: Mapping[int, int] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._otelcol, self._folder = otelcol, folder
        self._texts = {folder / path.name: path.read_text(encoding="utf-8") for path in configs}
        self._ports = dict(ports or {})
        self._environment = {"SPANWISE_COLLECTOR_DIR": str(folder / "queues"), **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._write()

    def __enter__(self) -> Collector:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGKILL)

    def port(self, named: int) -> int:
        """The port that stands for one that the configuration names."""
        return self._ports.setdefault(named, free_port())

    def url(self, named: int) -> str:
        """The address of a port that the configuration names."""
        return f"http://127.0.0.1:{self.port(named)}"

    def log(self) -> str:
        """All that it said."""
        path = self._folder / "log"
        return path.read_text(errors="replace") if path.is_file() else ""

    def start(self) -> None:
        """Start it, and wait until it takes requests."""
        environment = {**os.environ, **self._environment}
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._otelcol), *_flags(list(self._texts))],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=environment,
            )
        if not wait_for(self._is_over_or_ready, timeout_s=60) or self._process.poll() is not None:
            self.stop(signal.SIGKILL)
            raise AssertionError(f"the Collector did not start: {self.log()[-3000:]}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it by a signal, and wait until it is gone."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)

    def balance_over(self, scorers: Sequence[int]) -> None:
        """Write these ports of scorers into the configuration, which the next `reload` or `start` reads."""
        self._write(", ".join(f"127.0.0.1:{port}" for port in scorers))

    def reload(self) -> None:
        """Have it read its configuration again, and wait until it takes requests."""
        assert self._process is not None
        said = self.log().count("Everything is ready")
        self._process.send_signal(signal.SIGHUP)
        again = wait_for(lambda: self.log().count("Everything is ready") > said and self._answers(), timeout_s=60)
        assert again, f"the Collector did not come back: {self.log()[-3000:]}"

    def _write(self, hostnames: str = "") -> None:
        for path, text in self._texts.items():
            mapped = _ADDRESS.sub(lambda found: found[1] + str(self.port(int(found[2]))), text)
            if hostnames:
                mapped = _HOSTNAMES.sub(f"hostnames: [{hostnames}]", mapped)
            path.write_text(mapped, encoding="utf-8")

    def _is_over_or_ready(self) -> bool:
        assert self._process is not None
        return self._process.poll() is not None or self._answers()

    def _answers(self) -> bool:
        try:
            with urlopen(self.url(HEALTH), timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False
