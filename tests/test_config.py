"""Settings of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.catalog import EVALUATORS
from spanwise.config import Settings, chosen, load
from spanwise.errors import SpecError
from spanwise.run import THRESHOLDS


def write(folder: Path, text: str, name: str = "spanwise.toml") -> Path:
    """A file of settings."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str, name: str = "spanwise.toml") -> list[str]:
    """The lines of the error that a text gives, without the path."""
    with pytest.raises(SpecError) as caught:
        load(write(folder, text, name))
    return [line.removeprefix(str(folder / name)).lstrip(":, ") for line in str(caught.value).splitlines()]


def test_without_a_file_everything_runs(tmp_path: Path) -> None:
    """The defaults are all evaluators and the built-in thresholds."""
    (tmp_path / ".git").mkdir()
    assert Settings(evaluators=tuple(EVALUATORS), thresholds=dict(THRESHOLDS)) == load(start=tmp_path)


def test_settings_are_read(tmp_path: Path) -> None:
    """Evaluators and thresholds are what the file says, and what it does not say stays."""
    path = write(tmp_path, 'evaluators = ["cost"]\n[thresholds.redundancy]\nok = 1\n[thresholds.mine]\nalert = 0.1\n')
    found = load(path)
    assert (("cost",), (1.0, 0.85), (0.8, 0.1), THRESHOLDS["recovery"], str(path)) == (
        found.evaluators,
        found.thresholds["redundancy"],
        found.thresholds["mine"],
        found.thresholds["recovery"],
        found.source,
    )


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    """A file is looked for from the folder upwards; a pyproject.toml without settings is passed over."""
    write(tmp_path, '[tool.spanwise]\nevaluators = ["recovery"]', "pyproject.toml")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    write(inner.parent, "[tool.other]\nx = 1", "pyproject.toml")
    assert ("recovery",) == load(start=inner).evaluators


def test_a_repository_is_not_left(tmp_path: Path) -> None:
    """What lies above the folder that holds the repository is not read."""
    write(tmp_path, 'evaluators = ["recovery"]')
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    assert "" == load(start=tmp_path / "repository").source


def test_spanwise_toml_goes_first(tmp_path: Path) -> None:
    """Of two files in a folder, the one of its own counts."""
    write(tmp_path, 'evaluators = ["cost"]')
    write(tmp_path, '[tool.spanwise]\nevaluators = ["recovery"]', "pyproject.toml")
    assert ("cost",) == load(start=tmp_path).evaluators


def test_all_errors_are_told_at_once(tmp_path: Path) -> None:
    """Each error names its place, what was read and what was expected."""
    text = (
        'evalutors = 1\nevaluators = ["nope"]\n[thresholds]\nx = 3\n'
        "[thresholds.redundancy]\nok = 0.5\nalert = 0.9\n[thresholds.cost]\nok = true\nwarn = 1\n"
    )
    assert [
        "evalutors: unknown key; known: evaluators, thresholds",
        f"evaluators: unknown evaluator 'nope'; known: {', '.join(EVALUATORS)}",
        "thresholds.x: read 3, expected a table",
        "thresholds.redundancy: alert 0.9 lies above ok 0.5",
        "thresholds.cost.warn: unknown key; known: ok, alert",
        "thresholds.cost.ok: read True, expected a number from 0 to 1",
    ] == refused(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "name", "error"),
    [
        ("a = ", "spanwise.toml", "is not TOML: Invalid value (at end of document)"),
        ("evaluators = []", "spanwise.toml", "evaluators: read [], expected a list of names of evaluators"),
        ("evaluators = 'cost'", "spanwise.toml", "evaluators: read 'cost', expected a list of names of evaluators"),
        ("[tool]\nspanwise = 3", "pyproject.toml", "tool.spanwise: read 3, expected a table"),
        ("[tool.spanwise]\nx = 3", "pyproject.toml", "tool.spanwise.x: unknown key; known: evaluators, thresholds"),
    ],
)
def test_unusable_files_are_refused(tmp_path: Path, text: str, name: str, error: str) -> None:
    """A file that is no TOML, or holds something else than settings, is one error."""
    assert [error] == refused(tmp_path, text, name)


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    """A file that was asked for and cannot be read is an error; it is not text, likewise."""
    with pytest.raises(SpecError, match="cannot be read: No such file"):
        load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="is not TOML"):
        load(tmp_path / "bytes.toml")


def test_a_named_pyproject_without_settings_gives_the_defaults(tmp_path: Path) -> None:
    """A pyproject.toml that was asked for may have nothing to say."""
    path = write(tmp_path, "", "pyproject.toml")
    assert (tuple(EVALUATORS), str(path)) == (load(path).evaluators, load(path).source)


def test_evaluators_are_chosen_by_name() -> None:
    """Names give evaluators in the catalogue's order; one that is not known is an error that lists the known."""
    assert ["redundancy", "cost"] == list(chosen(["cost", "redundancy"]))
    with pytest.raises(SpecError, match="unknown evaluator 'x'; known: redundancy"):
        chosen(["x"])
