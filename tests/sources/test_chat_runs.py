"""Runs that are made of transcripts: what is known of their calls, and what is not."""

from __future__ import annotations

import pytest

from tests.sources.transcripts import asking, run_of, said


@pytest.mark.parametrize(("together", "recovered"), [(True, False), (False, True)])
def test_calls_of_one_answer_ran_side_by_side(together: bool, recovered: bool) -> None:
    """A call that succeeds makes good one that failed before it was asked for, and none that was asked for with it."""
    failed, good = ({"role": "tool", "content": text} for text in ("Error: timeout", "8"))
    asked = asking("weather")
    turns = [asking("weather", "weather"), failed, good] if together else [asked, failed, asked, good]
    run = run_of(said(*turns, {"role": "assistant", "content": "8"}))
    assert [recovered] == [episode.recovered for episode in run.episodes]


def test_what_a_transcript_lacks() -> None:
    """Of what it does not hold the transcript is to blame, and no instrumentation."""
    unanswered, bare = run_of(said()), run_of(said(asking("f"), "go on", {"role": "assistant", "content": "a"}))
    assert {
        "answer": "Keep every message of the conversation in the transcript, with the results of its tools.",
        "llm_calls": "",
        "tokens": "",
    } == {item.field: item.switch for item in unanswered.missing}
    assert {
        "results": "Keep every message of the conversation in the transcript, with the results of its tools.",
        "tokens": "Keep `usage` with the transcript, or with its messages.",
    } == {item.field: item.switch for item in bare.missing}
