"""Every recorded fact is read right, or said to be missing."""

from __future__ import annotations

import pytest

from tests.corpus.facts import NAMES, differences, expected, has_logs, observed, runs_of


@pytest.mark.parametrize("name", NAMES)
def test_facts(name: str) -> None:
    """What is read from a recording, log events joined, is what was written down beside it."""
    want = expected(name, logs=True)
    got = [observed(run) for run in runs_of(name, logs=True)]
    assert [facts["root"] for facts in got] == [facts["root"] for facts in want]
    assert [list(differences(g, w)) for g, w in zip(got, want, strict=True)] == [[] for _ in want]


@pytest.mark.parametrize("name", [name for name in NAMES if has_logs(name)])
def test_facts_without_logs(name: str) -> None:
    """Without the file of log events the spans alone are read as far as they tell."""
    want = expected(name, logs=False)
    got = [observed(run) for run in runs_of(name, logs=False)]
    assert [list(differences(g, w)) for g, w in zip(got, want, strict=True)] == [[] for _ in want]
