"""`spanwise store`."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spanwise.cli.main import app
from spanwise.cli.store import bytes_of, seconds_of
from spanwise.errors import SpecError
from spanwise.report.contract import to_contract
from spanwise.store.store import Store
from tests.cli.command import spanwise
from tests.making import agent, span_id, tool
from tests.store.keeping import result_of, results_of


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store of three runs, and a trace of two more."""
    path = tmp_path / "runs.db"
    with Store.open(path, document=to_contract) as store:
        store.add([result_of(number, session=f"s-{number}", calls=number) for number in (1, 2, 3)])
        store.add(results_of([agent(10, name="first"), tool(11, parent=10), agent(3000, name="second")]))
    return path


def run(*arguments: str | Path) -> tuple[int, str]:
    """The exit code and what was printed."""
    result = CliRunner().invoke(app, ["store", *map(str, arguments)])
    return result.exit_code, result.output


def listed(*arguments: str | Path) -> list[dict[str, object]]:
    """The objects that are listed."""
    code, out = run("ls", "--format", "json", *arguments)
    assert 0 == code
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def test_list(place: Path) -> None:
    """Runs are listed, the newest first, as a table or one object per line."""
    code, out = run("ls", "--store", place)
    assert (0, True, True) == (code, "helper" in out, "second" in out)
    found = listed("--store", place)
    assert ["second", "first", "helper", "helper", "helper"] == [run["agent"] for run in found]


@pytest.mark.parametrize(
    ("arguments", "sessions"),
    [
        (("--session", "s-2"), ["s-2"]),
        (("--request", "r-3"), ["s-3"]),
        (("--label", "alert"), ["s-2", "s-3"]),
        (("--score", "redundancy", "--below", "0.4"), ["s-3"]),
        (("--agent", "first"), [None]),
        (("--since", "1d"), []),
        (("-n", "1"), [None]),
    ],
)
def test_list_of_some(place: Path, arguments: tuple[str, ...], sessions: list[str | None]) -> None:
    """Runs are found by session, request, agent, label, score and age."""
    found = [run["session_id"] for run in listed("--store", place, *arguments)]
    assert sessions == sorted(found, key=str)


def test_an_empty_list_is_fine(place: Path) -> None:
    """When no run is what was asked for, a note says so, and the exit code is 0."""
    done = spanwise("store", "ls", "--store", place, "--session", "none")
    assert (0, "", f"note: no run in {place} is what was asked for\n") == (done.code, done.out, done.err)


def test_show(place: Path) -> None:
    """A trace is shown with its scores; JSON is the contract of `spanwise score`."""
    code, out = run("show", f"{2:032x}", "--store", place)
    assert (0, True, True) == (code, "How many people?" in out, "repeat an earlier one" in out)
    code, out = run("show", f"{2:032x}", "--store", place, "--format", "json")
    told = json.loads(out)
    expected = json.loads(json.dumps(to_contract(result_of(2, session="s-2", calls=2))))
    assert expected == told


def test_show_by_beginning_and_by_run(place: Path) -> None:
    """The beginning of one trace's id is enough; its runs come by start, and one of them can be named."""
    code, out = run("show", "1111", "--store", place, "--format", "json")
    assert (0, ["first", "second"]) == (code, [json.loads(line)["agents"][0] for line in out.splitlines()])
    code, out = run("show", "1111", "--store", place, "--format", "json", "--run", span_id(3000))
    assert (0, ["second"]) == (code, json.loads(out)["agents"])


def test_show_what_is_not_there(place: Path) -> None:
    """An unknown trace, an unknown run and a beginning of several traces are unusable input."""
    for arguments, words in (
        (("ffff",), "has no run of a trace 'ffff'"),
        (("",), "has no run of a trace ''"),
        (("1111", "--run", "x"), "has no run of a trace '1111'"),
        (("0000",), "the beginning of several traces"),
    ):
        code, out = run("show", *arguments, "--store", place)
        assert (2, True) == (code, words in out)


def test_prune(place: Path) -> None:
    """Old runs are deleted and counted, as words or JSON."""
    code, out = run("prune", "--store", place)
    assert (0, True) == (code, "0 runs of 0 traces" in out)
    code, out = run("prune", "--store", place, "--max-size", "1", "--format", "json")
    told = json.loads(out)
    assert (0, 4, 5) == (code, told["traces"], told["runs"])
    assert [] == listed("--store", place)


def test_the_variable_names_the_store(place: Path) -> None:
    """Without --store, the verbs read the store that SPANWISE_STORE names."""
    done = spanwise("store", "ls", "--format", "json", SPANWISE_STORE=str(place))
    assert (0, 5, "") == (done.code, len(done.out.splitlines()), done.err)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("{folder}/none.db", "there is no store"),
        ("{folder}", "there is no store"),
        ("{folder}/text.db", "is no SQLite file"),
        ("mysql://u:s3cret@h/d", "'mysql'"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_stores_that_cannot_be_used(tmp_path: Path, place: str, words: str) -> None:
    """A store that is not there, or is none, is unusable input, told in one line without a password."""
    (tmp_path / "text.db").write_text("text, " * 1000)
    done = spanwise("store", "ls", "--store", place.format(folder=tmp_path))
    assert (2, "", 1, True, False) == (
        done.code,
        done.out,
        len(done.err.splitlines()),
        words in done.err,
        "s3cret" in done.err,
    )


def test_a_store_that_others_hold_is_an_infrastructure_error(place: Path) -> None:
    """When the file stays locked, pruning ends with exit code 3."""
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        code, out = run("prune", "--store", place)
    assert (3, True) == (code, "is locked by another process" in out)


def test_without_sqlalchemy_the_line_that_installs_it_is_told(place: Path, tmp_path: Path) -> None:
    """Where SQLAlchemy is not installed, the verbs say what to install."""
    hidden = tmp_path / "hidden" / "sqlalchemy"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError('no', name='sqlalchemy')\n")
    path = os.pathsep.join((str(hidden.parent), os.environ.get("PYTHONPATH", "")))
    done = spanwise("store", "ls", "--store", place, PYTHONPATH=path)
    expected = "error: the store needs sqlalchemy; install it with: pip install 'spanwise[store]'\n"
    assert (2, expected) == (done.code, done.err)


def test_ages_and_sizes() -> None:
    """Ages have a unit; sizes may have one, of powers of ten."""
    assert [30, 1800, 43200, 604800, 5400] == [seconds_of(text, "-") for text in ("30s", "30m", "12h", "1w", "1.5h")]
    assert [5, 5, 2_000, 1_500_000_000] == [bytes_of(text, "-") for text in ("5", "5B", "2 kb", "1.5GB")]
    for read, text in ((seconds_of, "7"), (seconds_of, "0d"), (seconds_of, ""), (bytes_of, "-1"), (bytes_of, "GB")):
        with pytest.raises(SpecError, match="--opt: read"):
            read(text, "--opt")
