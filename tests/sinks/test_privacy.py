"""What people, models and tools wrote leaves by no sink at level none, and secrets leave by none at any level."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from spanwise.catalog import PROFILES, SINKS, default_evaluators
from spanwise.model.ports import AnyEvaluator
from spanwise.model.raw import RawSpan
from spanwise.model.result import RunResult
from spanwise.model.score import Evidence, Score, Status
from spanwise.model.trace import Run
from spanwise.run import evaluate
from tests.making import agent, asks, chat, returns, run_of, says, span, tool, user
from tests.sinks.test_parity import ALL, deliver

PIECE = 12
# Spelt in pieces, so that no scanner takes this file for one that leaks.
SECRETS = (
    "sk" + "-proj-" + "Ab3dEf6hIj9kLm2nOp5q",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "jane.doe@mail.example.test",
    "4111 1111 1111 1111",
    "eyJhbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxMjMifQ" + "." + "SflKxwRJSMeKKF2QT4",
)
CONTENT = {
    "prompt": "whether quixotic marmalade outlives its umbrella in Zanzibar",
    "system": "you are a velvet orangutan who answers in limericks only",
    "completion": "my dear, the marmalade outlived eleven umbrellas and one judge",
    "argument": "umbrella longevity statistics for the archipelago since 1911",
    "result": "table seven lists umbrellas by age and the fruit they carried",
    "failure": "the librarian swallowed the index card before it could be read",
    "document": "chapter nine: on the preservation of citrus by means of patience",
    "search": "citrus preservation patience archipelago chapter headings",
    "definition": "looks up how long umbrellas last in a given archipelago",
    "metadata": "ticket raised by a customer who collects silver teaspoons",
}


@dataclass(frozen=True, slots=True)
class Chatty:
    """An evaluator of somebody's that quotes all it saw, in a score of a certain status."""

    status: Status

    def __call__(self, run: Run, /) -> Score:
        """Quote the run."""
        said = " ".join((*CONTENT.values(), *SECRETS))
        return Score(
            name=f"chatty_{self.status}",
            value=0.1 if self.status == "scored" else None,
            status=self.status,
            reason=said,
            evidence=(Evidence(span_id=run.run_id, quote=said),),
            issues=(said,),
            recommendations=(said,),
        )


class Loud:
    """An evaluator that fails with what it saw."""

    def __call__(self, run: Run, /) -> Score:
        raise ValueError(f"{CONTENT['prompt']} {' '.join(SECRETS)}")


def evaluators() -> dict[str, AnyEvaluator]:
    """The built-ins, one that quotes all it saw in a score of each status, and one that fails with it."""
    statuses: Sequence[Status] = ("scored", "not_applicable", "not_measurable", "error")
    return {**default_evaluators(), **{f"chatty_{one}": Chatty(one) for one in statuses}, "loud": Loud()}


def spans(extra: str = "") -> list[RawSpan]:
    """A run with distinctive content in every place that instrumentations write it to."""
    words = {name: f"{text} {extra}".strip() for name, text in CONTENT.items()}
    call, failed = {"q": words["argument"]}, {"q": words["argument"], "again": words["search"]}
    definitions = [{"type": "function", "name": "lookup", "description": words["definition"]}]
    retrieval = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": words["search"],
        "retrieval.documents.0.document.content": words["document"],
        "retrieval.documents.0.document.id": "doc-1",
        "retrieval.documents.0.document.score": 0.4,
    }
    return [
        agent(1, **{"gen_ai.system_instructions": json.dumps([{"type": "text", "content": words["system"]}])}),
        chat(
            2,
            parent=1,
            sent=[user(words["prompt"])],
            got=[asks(("c1", "lookup", call), ("c2", "lookup", call), ("c3", "lookup", failed))],
            **{"gen_ai.tool.definitions": json.dumps(definitions), "langfuse.trace.metadata.note": words["metadata"]},
        ),
        tool(3, parent=1, name="lookup", arguments=call, result=words["result"], call_id="c1"),
        tool(4, parent=1, name="lookup", arguments=call, result=words["result"], call_id="c2"),
        span(
            5,
            parent=1,
            name="execute_tool lookup",
            status=2,
            message=words["failure"],
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "lookup",
                "gen_ai.tool.call.id": "c3",
                "gen_ai.tool.call.arguments": json.dumps(failed),
            },
        ),
        span(6, parent=1, name="retrieve", attributes=retrieval),
        chat(
            7,
            parent=1,
            sent=[user(words["prompt"]), returns(("c1", words["result"]))],
            got=[says(words["completion"])],
        ),
    ]


def recorded(extra: str = "") -> RunResult:
    """That run, scored."""
    run = run_of(*spans(extra))
    assert [f"{CONTENT[kind]} {extra}".strip() for kind in ("prompt", "completion")] == [run.query, run.answer]
    return evaluate(run, evaluators(), overall=PROFILES["default"].overall)


def left(name: str, result: RunResult, folder: Path, require: Callable[[str], str], level: str) -> str:
    """All that left the process by a sink."""
    outlet = ALL[name]()
    for package in outlet.needs:
        require(package)
    try:
        deliver(outlet, name, [result], folder, level=level)
        return outlet.raw() or ""
    finally:
        outlet.close()


def pieces(text: str) -> set[str]:
    """Every piece of twelve characters."""
    return {text[at : at + PIECE] for at in range(len(text) - PIECE + 1)}


def told_in(gone: str) -> dict[str, list[str]]:
    """Pieces of content in what left, by the kind of content."""
    told = {kind: [piece for piece in pieces(text) if piece in gone] for kind, text in CONTENT.items()}
    return {kind: found for kind, found in told.items() if found}


@pytest.mark.parametrize("name", [name for name, make in ALL.items() if make().leaves])
def test_at_none_no_content_leaves(name: str, tmp_path: Path, require: Callable[[str], str]) -> None:
    """No piece of a prompt, completion, argument, result, failure, document or definition is in what left."""
    gone = left(name, recorded(), tmp_path, require, "none")
    assert gone
    assert {} == told_in(gone)


def test_every_sink_is_in_a_table() -> None:
    """Every sink of the catalogue is tested here; that of Logfire in test_privacy_logfire.py, in its own process."""
    assert set(SINKS) == {*ALL, "logfire"}


@pytest.mark.parametrize("name", ["store", "jsonl"])
def test_at_evidence_only_quotes_leave(name: str, tmp_path: Path, require: Callable[[str], str]) -> None:
    """What no evaluator quotes stays, be it a prompt, a completion, an argument or a definition."""
    result = recorded()
    quiet = [score for score in result.scores if not score.name.startswith(("chatty", "loud"))]
    bare = RunResult(run=result.run, scores=tuple(quiet))
    quoted = json.dumps([(one.reason, one.issues, one.recommendations, str(one.evidence)) for one in quiet])
    gone = left(name, bare, tmp_path, require, "evidence")
    for kind, text in CONTENT.items():
        assert [] == [piece for piece in pieces(text) if piece in gone and piece not in quoted], kind
    assert all(CONTENT[kind] not in gone for kind in ("system", "definition", "metadata"))


@pytest.mark.parametrize("level", ["none", "evidence", "all"])
@pytest.mark.parametrize("name", [name for name, make in ALL.items() if make().leaves])
def test_secrets_never_leave(name: str, level: str, tmp_path: Path, require: Callable[[str], str]) -> None:
    """Keys, tokens, passwords, addresses and cards are in nothing that left: content, quotes, reasons, failures."""
    gone = left(name, recorded(" ".join(SECRETS)), tmp_path, require, level)
    assert [] == [secret for secret in SECRETS if secret in gone]
    if level == "all" and name in {"store", "jsonl"}:
        assert CONTENT["prompt"] in gone
        assert "[masked: api key]" in gone
