"""Runs inside a real `Dataset.evaluate`: tagged, skipped or scored like any other, and judges' runs never scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spanwise.offline.reading import Reading
from tests.frameworks.conftest import run_script

FIRST, SECOND, ALONE = "Is tulip right?", "And now?", "Alone?"
MINE = [["mine"], {"a": 1}]


def evaluated(python: str, home: Path, *words: str) -> dict[str, Any]:
    """What came of an evaluation under a policy."""
    told = run_script(python, "drive_evaluate.py", *words, home=home)
    assert [True, True] == told["judged"]
    told["queries"] = [query for query, _ in told["runs"]]
    return told


def named(case: str) -> list[object]:
    """What the tagged run of a case bears, beside what the app says of it."""
    names = {"experiment": "nightly", "dataset": "logins", "case": case}
    return [["mine", "pydantic-evals"], {"a": 1, "pydantic_evals": names}]


def test_a_run_is_tagged(frameworks_python: str, tmp_path: Path) -> None:
    """By default each case's run is scored once and bears the tag and the names; other runs are as ever."""
    told = evaluated(frameworks_python, tmp_path, "tag", "alone")
    assert ([ALONE, SECOND, FIRST], 3, {"judge": 2}) == (told["queries"], told["scored"], told["unscored"])
    assert [[[], None], named("second"), named("first")] == told["who"]


def test_a_run_is_tagged_without_spans_of_the_evaluation(frameworks_python: str, tmp_path: Path) -> None:
    """Where Logfire is not configured, the tag is there and the names are not."""
    told = evaluated(frameworks_python, tmp_path, "tag", "bare", "alone")
    tagged = [["mine", "pydantic-evals"], {"a": 1}]
    assert [[[], None], tagged, tagged] == told["who"]
    assert {"judge": 2} == told["unscored"]


@pytest.mark.parametrize("bare", [(), ("bare",)])
def test_a_run_is_skipped(frameworks_python: str, tmp_path: Path, bare: tuple[str, ...]) -> None:
    """Skipped runs are counted with their reason; others are scored."""
    told = evaluated(frameworks_python, tmp_path, "skip", "alone", *bare)
    assert ([ALONE], {"in_evaluate": 2, "judge": 2}) == (told["queries"], told["unscored"])


def test_a_run_is_scored_like_any_other(frameworks_python: str, tmp_path: Path) -> None:
    """Then it bears no tag; judges' runs are still not scored."""
    told = evaluated(frameworks_python, tmp_path, "score")
    assert ([MINE, MINE], {"judge": 2}) == (told["who"], told["unscored"])


@pytest.mark.parametrize("bare", [(), ("bare",)])
def test_a_run_is_not_scored_twice(frameworks_python: str, tmp_path: Path, bare: tuple[str, ...]) -> None:
    """What somebody else says to score is counted and left to them."""
    told = evaluated(frameworks_python, tmp_path, "tag", "seam", *bare)
    assert ([], {"scored_in_evaluate": 2, "judge": 2}) == (told["queries"], told["unscored"])


def test_scrubbed_content_is_no_content(frameworks_python: str, tmp_path: Path) -> None:
    """Live the run is read as it was recorded; in what Logfire exports a scrubbed result counts as not recorded."""
    told = evaluated(frameworks_python, tmp_path, "tag", str(tmp_path / "spans.json"))
    live = [["login", {"user": "ann", "password": "tulip"}, "auth of ann with tulip: granted"]]
    assert [[SECOND, live], [FIRST, live]] == told["runs"]
    traces = Reading(paths=[str(tmp_path / "spans.json")]).traces_of()
    runs = {run.query: run for trace in traces for run in trace.runs}
    (call,) = runs[FIRST].tool_calls
    assert "[Scrubbed due to 'auth']" == call.result
    assert ["results"] == [missing.field for missing in runs[FIRST].missing]
