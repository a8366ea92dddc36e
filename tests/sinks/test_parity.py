"""One result, every destination, the same ids: each sink carries the scores of one recorded run alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

import spanwise
from spanwise.capture.settings import sinks_of
from spanwise.catalog import PROFILES, SINKS, default_evaluators
from spanwise.delivery import Delivery
from spanwise.masking import shown
from spanwise.model.ports import Content
from spanwise.model.result import RunResult
from spanwise.model.score import Score, not_measurable
from spanwise.model.trace import Run
from spanwise.sinks._line import line_of
from tests.sinks.outlets import OUTLETS, Local, Row, expected
from tests.sinks.outlets_remote import REMOTE

ALL = {**OUTLETS, **REMOTE}
LINES = ("log", "console")
RECORDINGS = ("pydantic-ai__builtin", "langgraph__openinference", "strands__builtin")


class Broken:
    """An evaluator that always fails."""

    def __call__(self, run: Run, /) -> Score:
        raise LookupError("not there")


def unsure(run: Run) -> Score:
    """An evaluator that never knows."""
    return not_measurable("unsure", "the spans do not tell")


def results(recordings: Path) -> list[RunResult]:
    """The recorded runs, with every status of score."""
    evaluators = {**default_evaluators(), "broken": Broken(), "unsure": unsure}
    found = [
        result
        for name in RECORDINGS
        for result in spanwise.score(
            recordings / f"{name}.json", evaluators=evaluators, overall=PROFILES["default"].overall
        )
    ]
    assert {"scored", "not_applicable", "not_measurable", "error"} == {
        score.status for result in found for score in result.scores
    }
    return found


def deliver(
    outlet: Local, name: str, given: Sequence[RunResult], folder: Path, *, level: Content | None = "all"
) -> None:
    """Give results to a sink as a running app does."""
    to = sinks_of({name: outlet.open(folder)}, emit_content=None if level is None else {name: level})
    failures: list[tuple[str, BaseException]] = []
    delivery = Delivery(to.sinks, to.delivery, lambda name, error: failures.append((name, error)))
    for one in given:
        delivery.emit([one], lambda: None)
    assert delivery.flush(30)
    delivery.close()
    assert ([], {}) == (failures, delivery.drops())


def delivered(
    name: str, given: Sequence[RunResult], folder: Path, require: Callable[[str], str]
) -> tuple[Sequence[Row] | None, str]:
    """What results are at a destination: row by row, and as text."""
    outlet = ALL[name]()
    for package in outlet.needs:
        require(package)
    try:
        deliver(outlet, name, given, folder)
        return outlet.rows(), outlet.raw() or ""
    finally:
        outlet.close()


@pytest.mark.parametrize("name", ALL)
def test_every_sink_carries_the_same(
    name: str, recordings: Path, tmp_path: Path, require: Callable[[str], str]
) -> None:
    """Names, values, units, labels, statuses, ids and reasons are those of the result, as far as a sink has them."""
    given = results(recordings)
    rows, raw = delivered(name, given, tmp_path, require)
    told = [shown(result, content="all") for result in given]
    if name in LINES:
        assert [line_of(result) for result in told] == [line.removeprefix("spanwise  ") for line in raw.splitlines()]
    elif rows is None:
        assert [] == [score.name for result in given for score in result.scores if score.name not in raw]
    if rows is None:
        return
    by_id = {row["id"]: row for row in rows}
    assert len(by_id) == len(rows)
    wanted = expected(told)
    assert {str(row["id"]) for row in wanted} == set(by_id)
    for row in wanted:
        found = by_id[row["id"]]
        assert {name: row[name] for name in found} == found
    assert {"id", "name", "value", "label", "status"} <= set(rows[0])


@pytest.mark.parametrize("name", ALL)
def test_revisions(name: str, recordings: Path, tmp_path: Path, require: Callable[[str], str]) -> None:
    """A later revision has the same ids; after it the highest revision at the destination has its values alone."""
    first = results(recordings)[0]
    again = replace(
        first,
        revision=2,
        scores=tuple(
            structs.replace(score, revision=2, value=0.25)
            if score.name == "redundancy"
            else structs.replace(score, revision=2)
            for score in first.scores[:-1]
        ),
    )
    rows, raw = delivered(name, [first, again], tmp_path, require)
    if name in LINES:
        assert "revision 2" in raw.splitlines()[1]
    if rows is None:
        return
    latest = [row for row in rows if row["revision"] == 2 and row["status"] != "not_applicable"]
    wanted = [row for row in expected([again]) if row["status"] != "not_applicable"]
    assert {row["id"]: row["value"] for row in wanted} == {row["id"]: row["value"] for row in latest}


def test_every_sink_has_an_outlet() -> None:
    """Whatever is in the table of outlets is in the catalogue of sinks."""
    assert set() == set(ALL) - set(SINKS)
