"""`spanwise store to-dataset`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_evals import Dataset
from typer.testing import CliRunner

from spanwise.catalog import default_evaluators
from spanwise.cli.main import app
from spanwise.run import evaluate
from spanwise.store import Store
from tests.cli.command import spanwise
from tests.corpus.facts import runs_of
from tests.store.keeping import result_of

Read = Dataset[object, object, dict[str, object]]


def run(*arguments: str | Path) -> tuple[int, str]:
    """The exit code and what was printed."""
    result = CliRunner().invoke(app, ["store", "to-dataset", *map(str, arguments)])
    return result.exit_code, result.output


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store of a recorded run, and of three others."""
    path = tmp_path / "runs.db"
    (run,) = runs_of("langgraph__openinference", logs=True)
    with Store.open(path, max_age_s=None) as store:
        store.add([result_of(number, session=f"s-{number}", calls=number) for number in (1, 2, 3)])
        store.add([evaluate(run, default_evaluators())])
    return path


def test_to_dataset(place: Path, tmp_path: Path) -> None:
    """Stored runs become the cases of a dataset, the newest first, with its schema beside it."""
    out = tmp_path / "cases.yaml"
    done = spanwise("store", "to-dataset", "--store", place, "-o", out)
    assert (0, "", f"note: 4 cases written to {out}\n") == (done.code, done.out, done.err)
    read = Read.from_file(out)
    assert "cases" == read.name
    assert "How many people lived in France in 2024, and what is 10% of that?" in [case.inputs for case in read.cases]
    assert (tmp_path / "cases_schema.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "cases"),
    [(("--session", "s-2"), 1), (("--score", "redundancy", "--below", "0.4"), 1), (("-n", "2"), 2)],
)
def test_to_dataset_of_some(place: Path, tmp_path: Path, arguments: tuple[str, ...], cases: int) -> None:
    """Runs are selected as they are listed."""
    out = tmp_path / "some.json"
    code, _ = run("--store", place, "-o", out, "--name", "mine", *arguments)
    assert 0 == code
    read = Read.from_file(out)
    assert ("mine", cases) == (read.name, len(read.cases))


def test_to_dataset_of_nothing(place: Path, tmp_path: Path) -> None:
    """Where nothing is what was asked for, or nothing can be written, no file is made, and the exit code says so."""
    out = tmp_path / "cases.yaml"
    told = run("--store", place, "-o", out, "--session", "none")
    assert ((2, f"error: no run in {place} is what was asked for\n"), False) == (told, out.exists())
    code, told = run("--store", place, "-o", tmp_path / "cases.txt")
    assert (2, True) == (code, "expected a file that ends in .yaml" in told)


def test_to_dataset_without_content(tmp_path: Path) -> None:
    """Runs that were stored without content are left out, and told."""
    with Store.open(tmp_path / "runs.db", content="none", max_age_s=None) as store:
        store.add([result_of(1)])
    code, told = run("--store", tmp_path / "runs.db", "-o", tmp_path / "cases.yaml")
    assert (2, True) == (code, "its spans were stored without content" in told)
