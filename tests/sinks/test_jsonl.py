"""Results as JSON lines."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from spanwise.errors import ModelError, SinkError
from spanwise.masking import DEFAULT
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.report.contract import to_contract
from spanwise.report.encode import to_line
from spanwise.sinks.jsonl import JsonLinesSink
from tests.making import agent, run_of, tool
from tests.sinks.results import result


def read(path: Path) -> list[dict[str, object]]:
    """The objects in a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def sink_at(path: Path, **options: object) -> JsonLinesSink:
    """A sink that writes there as the contract says."""
    return JsonLinesSink(path, document=to_contract, **options)


def test_one_line_per_run(tmp_path: Path) -> None:
    """Each run is a line: the contract and the run's revision; a second sink appends."""
    path = tmp_path / "a" / "runs.jsonl"
    given = result()
    for revision in (1, 2):
        sink = sink_at(path)
        sink.emit([replace(given, revision=revision)])
        sink.close()
    expected = json.loads(to_line(to_contract(given)))
    assert [{**expected, "revision": 1}, {**expected, "revision": 2}] == read(path)


@pytest.mark.skipif(os.name != "posix", reason="this system has no modes")
def test_the_file_is_the_users_own(tmp_path: Path) -> None:
    """A new file and its folder are for their user only; the mode of one that is there stays."""
    path, there = tmp_path / "a" / "runs.jsonl", tmp_path / "there.jsonl"
    there.touch()
    there.chmod(0o644)
    for one in (path, there):
        sink = sink_at(one)
        sink.emit([result()])
        sink.close()
    assert [0o600, 0o700, 0o644] == [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent, there)]


def test_levels_and_secrets(tmp_path: Path) -> None:
    """Below all no argument is written; secrets are masked in what is."""
    calls = [tool(n, parent=1, arguments={"to": "a@b.test"}, result="r") for n in (10, 30)]
    score = Score(name="mine", value=1.0, reason="asked")
    given = RunResult(run=run_of(agent(1), *calls), scores=(score,))
    told: dict[str, tuple[object, object]] = {}
    for content in ("none", "evidence", "all"):
        sink = sink_at(tmp_path / content, content=content, mask=DEFAULT)
        sink.emit([given])
        sink.close()
        (line,) = read(tmp_path / content)
        told[content] = (line["tool_calls"][0]["arguments"], line["scores"][0]["reason"])
    assert {
        "none": (None, None),
        "evidence": (None, "asked"),
        "all": ({"to": "[masked: email]"}, "asked"),
    } == told


def test_streams() -> None:
    """What is open already is written to, and stays open."""
    stream = io.StringIO()
    sink = JsonLinesSink(stream, document=to_contract)
    sink.emit([result(), result()])
    sink.close()
    assert (2, False, None) == (len(stream.getvalue().splitlines()), stream.closed, sink.path)


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place is the one given, else that of the variable, else a file among the user's state."""
    monkeypatch.delenv("SPANWISE_JSONL", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert tmp_path / "spanwise" / "runs.jsonl" == JsonLinesSink().path
    monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")
    assert Path.home() / ".local/state/spanwise/runs.jsonl" == JsonLinesSink().path
    monkeypatch.setenv("SPANWISE_JSONL", "~/x.jsonl")
    assert Path.home() / "x.jsonl" == JsonLinesSink().path
    assert Path.cwd() / "y.jsonl" == JsonLinesSink("y.jsonl").path


def test_what_a_door_gives(tmp_path: Path) -> None:
    """A door says how runs are spelt and masked where that was not given; its level goes before the own one."""
    sink = JsonLinesSink(tmp_path / "a", content="all")
    with pytest.raises(SinkError, match=r"give JsonLinesSink\(document=to_contract\)"):
        sink.emit([result()])
    sink.equip(content="none", document=to_contract, mask=DEFAULT)
    sink.emit([result()])
    assert ("none", None) == (sink.emits, read(tmp_path / "a")[0]["answer"])
    sink.close()
    kept = JsonLinesSink(tmp_path / "b", content="evidence", document=lambda *_, **more: {"content": more["content"]})
    kept.equip(content=None, document=to_contract, mask=None)
    kept.emit([result()])
    kept.close()
    assert [{"content": "evidence", "revision": 1}] == read(tmp_path / "b")


def test_content_that_json_has_no_words_for(tmp_path: Path) -> None:
    """Huge numbers and halves of surrogate pairs are written; what cannot be at all leaves the scores."""
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    documents: list[Mapping[str, object]] = [
        {"x": 10**30, "y": "\ud800"},
        {"x": deep},
        {"x": float("nan"), "y": "\ud800"},
    ]
    for number, one in enumerate(documents):
        spelt = lambda _, content, mask, one=one: one if content == "all" else {"bare": True}  # noqa: E731
        sink = JsonLinesSink(tmp_path / str(number), document=spelt)
        sink.emit([result()])
        sink.close()
    assert [{"x": 10**30, "y": "\ud800", "revision": 1}] == read(tmp_path / "0")
    assert [{"bare": True, "revision": 1}] * 2 == read(tmp_path / "1") + read(tmp_path / "2")


# Files that grow, move, and fill


def test_rotation(tmp_path: Path) -> None:
    """Past its bound the file becomes the backup, in the place of the one before; no line is torn."""
    path = tmp_path / "runs.jsonl"
    size = len(to_line(to_contract(result()))) + 30
    sink = sink_at(path, max_bytes=3 * size)
    for revision in range(1, 9):
        sink.emit([replace(result(), revision=revision)])
    sink.close()
    assert ["runs.jsonl", "runs.jsonl.1"] == sorted(one.name for one in tmp_path.iterdir())
    revisions = [line["revision"] for name in ("runs.jsonl.1", "runs.jsonl") for line in read(tmp_path / name)]
    assert list(range(revisions[0], 9)) == revisions
    assert max(one.stat().st_size for one in tmp_path.iterdir()) <= 3 * size


def test_a_run_that_is_too_large(tmp_path: Path) -> None:
    """A line above the bound is refused by name; the others of the batch are written."""
    path = tmp_path / "runs.jsonl"
    large = RunResult(run=run_of(agent(1), tool(2, parent=1, arguments={"q": "x" * 9000})), scores=())
    sink = sink_at(path, max_bytes=9000)
    with pytest.raises(SinkError, match=r"a run of \d+ bytes is larger than .*runs\.jsonl may become \(9000\)"):
        sink.emit([large, result()])
    sink.close()
    assert 1 == len(read(path))
    with pytest.raises(ModelError, match="max_bytes 0 must lie above 0"):
        JsonLinesSink(path, max_bytes=0)


def test_a_file_that_was_moved(tmp_path: Path) -> None:
    """Where somebody moves or deletes the file, the next line begins a new one."""
    path = tmp_path / "runs.jsonl"
    sink = sink_at(path)
    for action in (lambda: path.rename(tmp_path / "moved"), path.unlink, lambda: None):
        sink.emit([result()])
        action()
    sink.close()
    assert (1, 1) == (len(read(path)), len(read(tmp_path / "moved")))


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """What stands in the way is one error that names the file; once it is gone, lines are written."""
    path = tmp_path / "runs.jsonl"
    path.mkdir()
    sink = sink_at(path)
    with pytest.raises(SinkError, match=r"runs\.jsonl cannot be written: .*Is a directory"):
        sink.emit([result()])
    path.rmdir()
    sink.emit([result()])
    sink.close()
    assert 1 == len(read(path))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of file sizes differ elsewhere")
def test_a_full_disk(tmp_path: Path) -> None:
    """A line that could be written in part only is an error, and spoils no other line."""
    path = tmp_path / "runs.jsonl"
    sink = sink_at(path)
    sink.emit([result()])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, hard))
        with pytest.raises(SinkError, match=r"took 100 of \d+ bytes of a line; the disk may be full"):
            sink.emit([result()])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    sink.emit([result()])
    sink.close()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert (3, 100) == (len(lines), len(lines[1]))
    assert [1, 1] == [json.loads(lines[at])["revision"] for at in (0, 2)]


WRITER = """
import sys
from dataclasses import replace
from spanwise.report.contract import to_contract
from spanwise.sinks.jsonl import JsonLinesSink
from tests.sinks.results import result

path, number, bound = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sink = JsonLinesSink(path, document=to_contract, max_bytes=bound or None)
given = result()
for at in range(200):
    sink.emit([replace(given, revision=number * 1000 + at)])
sink.close()
"""


@pytest.mark.parametrize("bound", [0, 300_000])
def test_several_processes(tmp_path: Path, root: Path, bound: int) -> None:
    """Lines of several processes never mix, and none is lost but with an old backup."""
    path = tmp_path / "runs.jsonl"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(root / "src"), str(root)))}
    writers = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(WRITER), str(path), str(number), str(bound)], env=env)
        for number in range(3)
    ]
    assert [0, 0, 0] == [writer.wait(60) for writer in writers]
    backup = path.with_name("runs.jsonl.1")
    told = [line["revision"] for one in (backup, path) if one.is_file() for line in read(one)]
    everything = [number * 1000 + at for number in range(3) for at in range(200)]
    assert len(told) == len(set(told))
    assert (set(told) == set(everything)) is (bound == 0)
    for number in range(3):
        own = [one for one in told if one // 1000 == number]
        assert everything[(number + 1) * 200 - len(own) : (number + 1) * 200] == own


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child(tmp_path: Path) -> None:
    """A forked child opens the file for itself."""
    path = tmp_path / "runs.jsonl"
    sink = sink_at(path)
    sink.emit([result()])

    def child() -> None:
        sink.emit([result()])

    in_child(child)
    sink.emit([result()])
    sink.close()
    assert 3 == len(read(path))


def in_child(action: Callable[[], None]) -> None:
    """Do something in a forked child."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
