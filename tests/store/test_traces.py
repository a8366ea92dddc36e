"""Traces built again from their spans in a store, to be scored again."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.catalog import default_evaluators
from spanwise.errors import SinkError
from spanwise.model.result import RunResult
from spanwise.run import evaluate
from spanwise.store import Store
from tests.corpus.facts import NAMES, runs_of
from tests.making import agent, tool, trace_of
from tests.store.keeping import result_of


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_trace_is_the_trace(tmp_path: Path, name: str) -> None:
    """A trace out of the store has the runs that were stored, with the same scores, reasons and evidence."""
    runs = runs_of(name, logs=True)
    with Store.open(tmp_path / "runs.db", max_age_s=None) as store:
        store.add([evaluate(run, default_evaluators()) for run in runs])
        for run in runs:
            trace = store.trace(run.trace.trace_id)
            assert trace is not None
            (again,) = [one for one in trace.runs if one.run_id == run.run_id]
            assert evaluate(run, default_evaluators()).scores == evaluate(again, default_evaluators()).scores


def test_a_partial_trace_stays_partial(tmp_path: Path) -> None:
    """What was missing of a trace when it was stored is missing when it is read again."""
    trace = trace_of(agent(2, parent=1), tool(3, parent=2, arguments={}))
    assert not trace.completeness.complete
    with Store.open(tmp_path / "runs.db", max_age_s=None) as store:
        store.add([RunResult(run=trace.runs[0], scores=(), revision=3, source="a.json")])
        again = store.trace(trace.trace_id)
    assert again is not None
    assert (trace.completeness, 3, "a.json") == (again.completeness, again.revision, again.source)


def test_spans_without_content_are_refused(tmp_path: Path) -> None:
    """A store that keeps no content says so, instead of giving runs without calls."""
    with Store.open(tmp_path / "runs.db", content="none", max_age_s=None) as store:
        result = result_of(1)
        store.add([result])
        with pytest.raises(SinkError, match="its spans were stored without content, and cannot be scored again"):
            store.trace(result.run.trace.trace_id)
        assert None is store.trace("f" * 32)
