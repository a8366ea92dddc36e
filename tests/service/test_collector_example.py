"""The example of the Collector does what its page says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.servers import wait_for

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def started(root: Path, otelcol: Path, tmp_path: Path, require: Callable[[str], str]) -> Iterator[dict[str, str]]:
    """The example's environment, with everything running in it."""
    for name in ("grpc", "uvicorn", "curl"):
        require(name)
    assert otelcol.is_file()
    command = tmp_path / "spanwise"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m spanwise "$@"\n')
    command.chmod(0o755)
    environment = {**os.environ, "SPANWISE": str(command), "SPANWISE_EXAMPLE_DIR": str(tmp_path / "example")}
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(["examples/collector/start"], cwd=root, stdout=out, stderr=out, env=environment)
    try:
        there = wait_for(lambda: "Ctrl-C" in log.read_text() or process.poll() is not None, timeout_s=90)
        assert (True, None) == (there, process.poll()), log.read_text()
        yield environment
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def test_the_app_gets_its_scores(root: Path, started: dict[str, str]) -> None:
    """The app's runs have their scores at the backend, and in the histogram."""
    command = [sys.executable, "examples/collector/app.py"]
    done = subprocess.run(command, cwd=root, env=started, capture_output=True, text=True, check=False, timeout=90)
    assert (0, "") == (done.returncode, done.stderr)
    said = [re.sub(r"(latency|overall)=[\d.]+", r"\1", line) for line in done.stdout.splitlines()]
    assert said == [
        "Which of Quito and Hanoi is larger?",
        "  latency loops=1.00 overall redundancy=0.67",
        "How large is Oslo?",
        "  latency loops=1.00 overall redundancy=1.00",
    ]
    with urlopen("http://127.0.0.1:8889/metrics", timeout=5) as answer:
        text = answer.read().decode()
    assert 'spanwise_score_sum{agent="cities",job="cities",label="ok",name="redundancy"} 1' in text
