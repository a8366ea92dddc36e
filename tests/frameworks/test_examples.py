"""The examples that need a framework run as their first lines say, and print what they are there to show."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.frameworks.conftest import ROOT, RUN_S

Example = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture
def example(frameworks_python: str, tmp_path: Path) -> Example:
    """Runs an example to its end, with no key and a home of its own."""

    def run(name: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG", "LC_ALL", "TMPDIR"}}
        env = kept | {"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path)}
        command = [frameworks_python, str(ROOT / "examples" / f"{name}.py")]
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=RUN_S, check=False
        )
        assert 0 == done.returncode, done.stderr[-3000:]
        return done

    return run


def without_times(text: str) -> list[str]:
    """The lines, with what a clock has measured replaced."""
    return re.sub(r"under 1 ms|\b\d+(\.\d+)? m?s\b", "SOME TIME", text).splitlines()


def repeated(tool: str, arguments: str) -> str:
    """What is said of a call that was made twice."""
    twice = f"redundancy 0.67 | {tool} was called twice with the same arguments ({arguments})"
    return f"{twice}; the second call cost SOME TIME"


def test_live_langgraph(example: Example) -> None:
    """A LangGraph agent's run has its question, its calls with their results, and what was wrong with them."""
    done = example("live_langgraph")
    assert [
        "France: 68.4 million, Peru 34.0.",
        "asked: Which has more inhabitants, France or Peru?",
        "called: population {'country': 'France'} -> 68.4",
        "called: population {'country': 'Peru'} -> 34.0",
        "called: population {'country': 'France'} -> 68.4",
        repeated("population", '{"country":"France"}') + ".",
        'efficiency 0.67 | population ({"country":"France"}) repeats an earlier call.',
    ] == without_times(done.stdout)
    (line,) = done.stderr.splitlines()
    assert line.startswith("spanwise  geographer: overall 0.")


def test_live_openai_agents(example: Example) -> None:
    """A run of the OpenAI Agents SDK has its failed call, its cost, and nothing is sent to the SDK's vendor."""
    done = example("live_openai_agents")
    assert [
        "Your parcel is in Lyon since Monday.",
        "asked: Where is parcel A-17?",
        "called: parcel {'number': 'A-17'} ok -> in Lyon since Monday",
        "called: parcel {'number': 'A17'} error -> Error: no parcel has this number",
        "called: parcel {'number': 'A-17'} ok -> in Lyon since Monday",
        repeated("parcel", '{"number":"A-17"}') + ", 100 tokens and $0.000064.",
        'efficiency 0.67 | parcel ({"number":"A-17"}) repeats an earlier call.',
    ] == without_times(done.stdout)
    (line,) = done.stderr.splitlines()
    assert line.startswith("spanwise  concierge: overall 0.")


def test_live_fastapi(example: Example) -> None:
    """Eight runs of four requests at once bear the request, the chat and the user of theirs, and their own scores."""
    done = example("live_fastapi")
    expected = ['["It is open from 9 to 17 (zoo).","It is open from 9 to 17 (museum)."]']
    for number in range(4):
        who = f"r{number} chat-{number % 2} {('ann', 'bob')[number % 2]} /hours"
        expected += [f"{who} museum redundancy 1.0", f"{who} zoo redundancy 0.5"]
    assert expected == done.stdout.splitlines()
    lines = done.stderr.splitlines()
    assert (8, []) == (len(lines), [line for line in lines if not line.startswith("spanwise  guide: overall ")])
