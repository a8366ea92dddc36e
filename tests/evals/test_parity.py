"""One evaluator gives one score, whichever door the run came through: a file, the live capture, `Dataset.evaluate`.

The recordings are emitted again by the real SDK with their ids and times, so nothing may differ but `source`, the name
of the file, which the other doors have none of. Times are compared as they were recorded: a run that were timed anew
would differ in latency. Of a case a report shows values and reasons only; what else there is of a score, such as
evidence and ids, is compared by what evaluators are given there. A recording without its log events is scored as such
from its file; here each is read with them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import TypeAlias, cast

import pytest
from opentelemetry._logs import NoOpLoggerProvider
from pydantic_evals import Case, Dataset

import spanwise
from spanwise import evals
from spanwise.capture.settings import scoring_of
from spanwise.evals.capture import Capture
from spanwise.evaluators.retrieval_relevance import RetrievalRelevance
from spanwise.model.result import RunResult
from spanwise.offline.reading import Reading
from spanwise.report.contract import to_contract
from spanwise.run import evaluate
from tests.capture.processes import python
from tests.corpus.facts import NAMES
from tests.evals.replay import provider_of, replay, traces_of
from tests.recordings_io import FOLDER

Told: TypeAlias = Mapping[str, object]
ROWS = [(name, trace_id) for name in NAMES for trace_id in traces_of(name)]


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, str], Told]:
    """What the two doors say of each run."""
    import_module("pydantic_evals")
    folder = tmp_path_factory.mktemp("replayed")
    done = python(f"from tests.evals.replayed import main\nmain({NAMES!r})", folder=folder, timeout_s=180)
    assert not done.returncode, done.stderr
    told = cast("list[Told]", [json.loads(line) for line in done.stdout.splitlines()])
    return {(str(one["name"]), str(one["trace"])): one for one in told}


def from_file(name: str, trace_id: str, unit: str) -> RunResult:
    """What is said of a recording that is read from its file."""
    paths = [path for path in (FOLDER / f"{name}.json", FOLDER / f"{name}.logs.json") if path.exists()]
    reading = Reading(paths=list(map(str, paths)), unit="trace" if unit == "trace" else "run")
    (run,) = (run for trace in reading.traces_of() if trace.trace_id == trace_id for run in trace.runs)
    scoring = scoring_of(None)
    return evaluate(run, scoring.evaluators, overall=scoring.overall)


def cells(result: RunResult) -> dict[str, list[object]]:
    """What a report is to show of the scores."""
    found: dict[str, list[object]] = {}
    for score in result.scores:
        if score.value is not None:
            found[score.name] = [score.value, score.reason]
        elif score.status != "not_applicable":
            found[f"{score.name}.status"] = [score.status, score.reason]
    return found


def test_every_recording_is_compared(replayed: Mapping[tuple[str, str], Told]) -> None:
    """No run of any recording is left out."""
    assert (set(NAMES), set(ROWS)) == ({name for name, _ in ROWS}, set(replayed))


@pytest.mark.parametrize(("name", "trace_id"), ROWS, ids=[f"{name}-{trace_id[:6]}" for name, trace_id in ROWS])
def test_scores_are_the_same_at_every_door(replayed: Mapping[tuple[str, str], Told], name: str, trace_id: str) -> None:
    """All that the contract holds of a run is equal, and so is what a report of pydantic-evals shows."""
    told = replayed[name, trace_id]
    found = from_file(name, trace_id, str(told["unit"]))
    expected = {**json.loads(json.dumps(to_contract(found))), "source": ""}
    assert expected == told["live"]
    assert expected == told["evaluate"]
    assert cells(found) == told["cells"]


def test_expected_documents_count_the_same_at_every_door() -> None:
    """What was to be found is given to the evaluator, or stands in the metadata of a case: the score is one."""
    name, expected = "langgraph__openinference", ("doc-fr-1", "doc-de-1")
    evaluator = RetrievalRelevance(expected=expected)
    (result,) = spanwise.score(FOLDER / f"{name}.json", evaluators={"retrieval_relevance": evaluator})
    (wanted,) = result.scores
    assert (0.5, "doc-de-1") == (wanted.value, wanted.reason[-9:-1])

    provider, ids = provider_of(name)
    results: list[RunResult] = []
    with spanwise.instrument(
        provider, sinks=[results.append], evaluators={"retrieval_relevance": evaluator}, on_first="silent"
    ) as handle:
        replay(name, provider, ids, NoOpLoggerProvider())
        assert handle.flush(30)
    assert [wanted] == [score for one in results for score in one.scores if score.name != "overall"]

    provider, ids = provider_of(name)
    case = Case(name=name, inputs=None, metadata={"expected_documents": list(expected)})
    report = Dataset(name="one", cases=[case], evaluators=[evals.RetrievalRelevance()]).evaluate_sync(
        lambda _: replay(name, provider, ids, NoOpLoggerProvider()),
        lifecycle=partial(Capture, provider=provider),
        progress=False,
    )
    found = report.cases[0].scores["retrieval_relevance"]
    assert (wanted.value, wanted.reason) == (found.value, found.reason)
