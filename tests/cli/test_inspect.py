"""`spanwise inspect`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spanwise.cli.main import app
from tests.cli.command import environment, spanwise

RECORDINGS = Path(__file__).resolve().parent.parent / "recordings"
NAMES = sorted(
    path.name for path in RECORDINGS.glob("*.json") if ".facts." not in path.name and ".logs." not in path.name
)


def inspected(*arguments: object) -> tuple[int, str]:
    """The exit code, and what is printed."""
    result = CliRunner().invoke(app, ["inspect", *map(str, arguments)])
    return result.exit_code, result.output


@pytest.mark.parametrize("name", NAMES)
def test_every_recording_is_shown(name: str) -> None:
    """Each recording gives at least one run, with the tools that are written down beside it."""
    logs = RECORDINGS / name.replace(".json", ".logs.json")
    code, text = inspected(RECORDINGS / name, *([logs] if logs.exists() else []), "--width", 300)
    facts = json.loads((RECORDINGS / name.replace(".json", ".facts.json")).read_text(encoding="utf-8"))
    tools = {call["name"] for run in facts["runs"] for call in run["tool_calls"] or ()}
    assert (0, set()) == (code, {tool for tool in tools if tool not in text})


def test_json_has_one_object_per_run() -> None:
    """JSON lists the spans of each run, with the kind that each was taken for."""
    code, text = inspected(RECORDINGS / "pydantic-ai__builtin__remote-parent.json", "--format", "json")
    runs = [json.loads(line) for line in text.splitlines()]
    assert (0, 2, {"agent", "llm", "tool"}) == (
        code,
        len(runs),
        {span["kind"] for run in runs for span in run["spans"]},
    )


def test_all_shows_more_spans() -> None:
    """With --all the spans that only carry others have lines too."""
    name = RECORDINGS / "langgraph__openinference.json"
    assert inspected(name)[1].count("workflow ") < inspected(name, "--all")[1].count("workflow ")


def test_width_is_kept() -> None:
    """No line is longer than --width, long names of files and traces aside."""
    _, text = inspected(RECORDINGS / "pydantic-ai__builtin.json", "--width", 50)
    assert [] == [line for line in text.splitlines()[1:] if len(line) > 50]


def test_content_stays_out_when_asked() -> None:
    """With --no-content the tree holds no arguments, results, questions or answers."""
    for form in ("tree", "json"):
        code, text = inspected(RECORDINGS / "pydantic-ai__builtin.json", "--no-content", "--format", form)
        assert (0, []) == (code, [word for word in ("France", "68.4", "population") if word in text])


def test_a_broken_file_does_not_stop_the_others(tmp_path: Path) -> None:
    """An unusable file is one line on standard error and exit 2; the others are shown."""
    broken = tmp_path / "broken.json"
    broken.write_bytes(b'{"resourceSpans": [{"x": "\xff')
    done = spanwise("inspect", broken, RECORDINGS / "pydantic-ai__builtin.json")
    assert (2, 1, True) == (done.code, len(done.err.splitlines()), "research_agent" in done.out)
    assert done.err.startswith(f"error: {broken}")


def test_nothing_found_is_unusable_input(tmp_path: Path) -> None:
    """Where there is no run, the exit is 2 and standard error says so."""
    path = tmp_path / "empty.json"
    path.write_text('{"resourceSpans": []}')
    done = spanwise("inspect", path)
    assert (2, "", True) == (done.code, done.out, done.err.startswith("error: "))


def test_terminal_escapes_in_a_file_are_harmless(tmp_path: Path) -> None:
    """Escape sequences in names, attributes and even file names reach neither stream."""
    text = (RECORDINGS / "pydantic-ai__builtin.json").read_text(encoding="utf-8")
    hostile = tmp_path / "a\x1b[31m.json"
    hostile.write_text(text.replace("search_docs", "\\u001b]0;x\\u0007[bold]s").replace("France", "\\u009b2J\\u202e"))
    missing = tmp_path / "b\x1b[31m.json"
    done = spanwise("inspect", hostile, missing)
    assert (2, []) == (done.code, [char for char in done.out + done.err if ord(char) in {0x1B, 7, 0x9B, 0x202E}])
    assert "[bold]s" in done.out


def test_a_plain_terminal_gets_plain_characters() -> None:
    """Where the output's encoding lacks a character, it is escaped and nothing breaks."""
    done = spanwise("inspect", RECORDINGS / "pydantic-ai__builtin.json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (0, "", True) == (done.code, done.err, done.out.isascii())


def test_a_reader_who_leaves_is_no_error() -> None:
    """When the reader of the tree leaves, the command stops quietly with 0."""
    command = [sys.executable, "-m", "spanwise", "inspect", str(RECORDINGS), "--all"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert (0, b"") == (process.returncode, said)
