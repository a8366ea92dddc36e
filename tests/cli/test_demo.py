"""`spanwise demo`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from tests.cli.command import environment, spanwise

# A module set to None in sys.modules cannot be imported: as if it were not installed.
WITHOUT = "import sys; sys.modules['pydantic_ai'] = None; from spanwise.cli.main import main; sys.exit(main())"
CALLS = [("north", "ok"), ("sout", "retry"), ("south", "ok"), ("north", "ok")]


def calls_in(path: Path) -> list[tuple[str, str]]:
    """The tool calls in a file of spans: what each asked for, and how it went."""
    done = spanwise("score", path, "--format", "json")
    return [(call["arguments"]["warehouse"], call["status"]) for call in json.loads(done.out)["tool_calls"]]


def test_a_real_agent_runs_and_is_scored(require: Callable[[str], str], tmp_path: Path) -> None:
    """The agent runs, its tree and scores are shown, and its spans are kept where asked."""
    require("pydantic_ai")
    kept = tmp_path / "demo.json"
    done = spanwise("demo", "--save", kept)
    assert (0, "") == (done.code, done.err)
    assert [True] * 5 == [
        word in done.out
        for word in ("ran here", "stock_keeper", "asked for a retry", "not measurable", f"score {kept}")
    ]
    assert CALLS == calls_in(kept)


def test_without_the_framework_a_recorded_run_is_shown() -> None:
    """Where Pydantic AI is missing, the pip line is said and a run that was recorded before is shown."""
    command = [sys.executable, "-c", WITHOUT, "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, env=environment())
    assert (0, "") == (done.returncode, done.stderr)
    assert [True] * 3 == [word in done.stdout for word in ("pip install pydantic-ai-slim", "stock_keeper", "0.75")]


def test_the_recorded_run_is_the_same_agent(tmp_path: Path) -> None:
    """The spans in the package are those of the agent that would run, and name no machine."""
    text = resources.files("spanwise.cli").joinpath("demo.json").read_text(encoding="utf-8")
    path = tmp_path / "demo.json"
    path.write_text(text, encoding="utf-8")
    assert CALLS == calls_in(path)
    assert [] == re.findall(r"host\.|process\.|/home/", text)


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """A place where the spans cannot be kept is exit 2."""
    done = spanwise("demo", "--save", tmp_path / "none" / "x.json")
    assert (2, "", True) == (done.code, done.out, "cannot be written" in done.err)
