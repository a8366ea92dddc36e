"""The final answers of the recorded runs are judged as a person judged them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from spanwise.assembly.tree import build_trace
from spanwise.evaluators.grounding import Grounding, judged_of
from spanwise.grounding.answers import judge
from spanwise.grounding.pool import pool_of
from spanwise.model.raw import RawSpan
from spanwise.model.trace import Run
from tests.recordings_io import FOLDER, spans, with_logs

EXPECTED: Mapping[str, Any] = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))
SCORED: Mapping[str, int] = EXPECTED["scored"]["runs"]
GERMAN: Mapping[str, int] = EXPECTED["scored_in_german"]["runs"]
OTHERS: Mapping[str, int] = EXPECTED["scored_of_others"]["runs"]
CLIENTS: Mapping[str, int] = EXPECTED["scored_of_clients"]["runs"]
KINDS = ("scored_in_german", "scored_of_others", "scored_of_clients")


def runs_of(name: str) -> list[Run]:
    """The runs of a recording."""
    traces: dict[object, list[RawSpan]] = {}
    for span in with_logs(name) if (FOLDER / f"{name}.logs.json").is_file() else spans(name):
        traces.setdefault(span.trace_id, []).append(span)
    return [run for key, found in traces.items() for run in build_trace(str(key), found).runs]


def test_every_recording_is_judged() -> None:
    """There is an expectation for each recording, and none for another one."""
    names = {path.stem for path in FOLDER.glob("*.json") if not path.stem.endswith((".facts", ".logs"))}
    cannot = {*EXPECTED["not_measurable"], *EXPECTED["not_applicable"]}
    assert names == {*SCORED, *GERMAN, *OTHERS, *CLIENTS, *cannot}


@pytest.mark.parametrize("name", SCORED)
def test_answers(name: str) -> None:
    """Each answer is supported, and what is quoted stands in the evidence of the span that is named."""
    runs = runs_of(name)
    assert SCORED[name] == len(runs)
    for run in runs:
        assert (EXPECTED["scored"]["value"], "scored") == (Grounding()(run).value, Grounding()(run).status)
        claims = judged_of(run)
        assert EXPECTED["scored"]["verdicts"] == [one.verdict for one in claims]
        texts = [piece.text for piece in pool_of(run).pieces]
        for one in claims:
            assert "68.4 million" in one.quote
            assert one.quote == texts[one.piece][one.first : one.last]


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in KINDS for name in EXPECTED[kind]["runs"]],
)
def test_answers_to_other_questions(kind: str, name: str) -> None:
    """An answer in another language, or to another question, is supported by what its own tools returned."""
    runs = runs_of(name)
    assert EXPECTED[kind]["runs"][name] == len(runs)
    for run in runs:
        assert (EXPECTED[kind]["value"], "scored") == (Grounding()(run).value, Grounding()(run).status)
        assert EXPECTED[kind]["verdicts"] == [one.verdict for one in judged_of(run)]


@pytest.mark.parametrize("status", ["not_measurable", "not_applicable"])
def test_what_cannot_be_judged(status: str) -> None:
    """Where the answer is not recorded, or there is none, nothing is scored."""
    for name in EXPECTED[status]:
        assert {status} == {Grounding()(run).status for run in runs_of(name)}, name


@pytest.mark.parametrize("case", EXPECTED["altered"]["answers"], ids=lambda case: case["answer"][:40])
@pytest.mark.parametrize("name", ["langgraph__openinference", "pydantic-ai__builtin", "smolagents__openinference"])
def test_altered_answers(name: str, case: Mapping[str, str]) -> None:
    """The same answer with one thing changed is told from the right one."""
    (claim,) = judge(case["answer"], pool_of(runs_of(name)[0])).claims
    if case["verdict"] == "not supported":
        assert claim.verdict in {"unsupported", "contradicted"}, claim
    else:
        assert case["verdict"] == claim.verdict, claim
