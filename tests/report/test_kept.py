"""Runs that a store kept, as tables and JSON."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spanwise.model.score import Score
from spanwise.offline import score
from spanwise.report.contract import to_contract
from spanwise.report.encode import to_line
from spanwise.report.kept import show_kept, show_listed, to_kept, to_listed
from spanwise.report.terminal import console
from spanwise.store.kept import KeptRun
from tests.store.keeping import result_of

WHEN = datetime(2026, 11, 18, 12, tzinfo=UTC)
BARE = KeptRun(trace_id="ab", run_id="", created_at=WHEN)


@pytest.fixture
def kept(tmp_path: Path) -> KeptRun:
    """A run that went through a store."""
    from spanwise.store.store import Store

    with Store.open(tmp_path / "runs.db", document=to_contract) as store:
        store.add([result_of(1)])
        (listed,) = store.recent()
        found = store.get(listed.trace_id, listed.run_id)
    assert found is not None
    return found


def printed(show: object, what: object) -> str:
    """What is printed on 120 columns."""
    file = io.StringIO()
    show(console(file, width=120), what)
    return file.getvalue()


def test_what_was_kept_is_the_contract(recordings: Path, tmp_path: Path) -> None:
    """Of each recording, the JSON from the store is that of `spanwise score`, key by key."""
    from spanwise.store.store import Store

    results = [next(iter(score(path))) for path in sorted(recordings.glob("*__builtin.json"))]
    with Store.open(tmp_path / "runs.db", document=to_contract) as store:
        store.add(results)
        for result in results:
            found = store.get(result.run.trace.trace_id, result.run.run_id)
            assert found is not None
            assert json.loads(to_line(to_contract(result))) == json.loads(to_line(to_kept(found)))


def test_what_was_not_kept_is_null() -> None:
    """Without the contract's JSON the columns are told, and content is null."""
    told = to_kept(BARE)
    assert ("spanwise.score/1", "ab", None, []) == (told["schema"], told["trace_id"], told["query"], told["scores"])


def test_one_of_many(kept: KeptRun) -> None:
    """A listed run has its facts, and each score by name."""
    told = to_listed(kept)
    scores = told["scores"]
    assert isinstance(scores, dict)
    assert ("spanwise.run/1", "helper", "s-1") == (told["schema"], told["agent"], told["session_id"])
    assert (0.5, "alert") == (scores["redundancy"]["value"], scores["redundancy"]["label"])


def test_the_list_shows_the_lowest_score(kept: KeptRun) -> None:
    """A line of the list has the trace, the agent, time, tokens, cost, the overall score and the lowest one."""
    text = printed(show_listed, [kept])
    assert [] == [part for part in (kept.trace_id, "helper", "1,460", "redundancy 0.50") if part not in text]


def test_a_run_in_full(kept: KeptRun) -> None:
    """One run is shown with its question and answer, its scores with reasons, issues and advice."""
    text = printed(show_kept, kept)
    parts = ("How many people?", "68 million.", "s-1", "r-1", "ann", "repeat an earlier one", "issues", "advice")
    assert [] == [part for part in parts if part not in text]


def test_what_is_not_known_is_left_out() -> None:
    """A run of which little is known is listed with dashes, and shown with what there is."""
    assert 6 <= printed(show_listed, [BARE]).count(" - ")
    assert "of the whole trace" in printed(show_kept, BARE)


def test_nothing_from_a_store_moves_the_cursor() -> None:
    """Names with control characters are printed as escapes."""
    odd = KeptRun(
        trace_id="a\x1b[2J",
        run_id="\x07",
        agent="x\x1b]0;y",
        created_at=WHEN,
        scores=(Score(name="\x1b[1m", value=0.5, reason="\x08"),),
    )
    text = printed(show_listed, [odd]) + printed(show_kept, odd)
    assert "" == "".join(character for character in text if ord(character) < 32 and character != "\n")
