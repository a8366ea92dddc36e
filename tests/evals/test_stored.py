"""Stored runs as contexts: history replayed out of files and out of a store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic_evals.evaluators import HasMatchingSpan, MaxToolCalls
from pydantic_evals.online import EvaluatorContextSource, SpanReference, run_evaluators

from spanwise import evals
from spanwise.catalog import PROFILES, default_evaluators
from spanwise.errors import SinkError, SourceError
from spanwise.model.result import RunResult
from spanwise.run import evaluate
from spanwise.store import Store
from tests.corpus.facts import NAMES, RECORDINGS, has_logs, runs_of
from tests.making import span, tool, trace_of

EVALUATORS = (evals.Redundancy(), evals.Recovery(), evals.Overall(), MaxToolCalls(3))


def replayed(source: EvaluatorContextSource, references: Sequence[SpanReference]) -> list[dict[str, object]]:
    """What evaluators say of each run that is named."""

    async def work() -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        for ctx in await source.fetch_many(references):
            results, failures = await run_evaluators(EVALUATORS, ctx)
            assert [] == failures
            found.append({result.name: result.value for result in results})
        return found

    return asyncio.run(work())


def files(name: str) -> list[Path]:
    """The files of a recording."""
    logs = [RECORDINGS / f"{name}.logs.json"] if has_logs(name) else []
    return [RECORDINGS / f"{name}.json", *logs]


def kept(tmp_path: Path, name: str) -> Path:
    """A store that holds the runs of a recording."""
    path = tmp_path / "runs.db"
    with Store.open(path, max_age_s=None) as store:
        store.add([evaluate(run, default_evaluators()) for run in runs_of(name, logs=True)])
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_says_the_same(tmp_path: Path, name: str) -> None:
    """For each recording, files and a store give back the runs, and every score of them is the same as at first."""
    runs = runs_of(name, logs=True)
    want = [evaluate(run, default_evaluators(), overall=PROFILES["default"].overall).scores for run in runs]
    out_of_files, out_of_store = evals.FileContexts(*files(name)), evals.StoreContexts(kept(tmp_path, name))
    for source in (out_of_files, out_of_store):
        references = source.references()
        assert [(run.trace.trace_id, run.run_id) for run in runs] == [(one.trace_id, one.span_id) for one in references]
        told = replayed(source, references)
        for said, scores in zip(told, want, strict=True):
            first = {score.name: score.value for score in scores if score.status == "scored"}
            assert {one: first.get(one) for one in ("redundancy", "recovery", "overall")} == {
                one: said.get(one) for one in ("redundancy", "recovery", "overall")
            }
            assert isinstance(said["MaxToolCalls"], bool)


def test_references(recordings: Path) -> None:
    """A run is named by its own span, by any span in it, or, if alone, by its trace; in any case."""
    source = evals.FileContexts(recordings / "langgraph__openinference.json")
    (whole,) = source.references()
    (run,) = runs_of("langgraph__openinference", logs=True)
    named = [whole.span_id, run.spans[-1].span_id, "", "0" * 16, whole.span_id.upper()]
    contexts = asyncio.run(source.fetch_many([SpanReference(trace_id=whole.trace_id, span_id=one) for one in named]))
    assert {(run.query, run.answer)} == {(ctx.inputs, ctx.output) for ctx in contexts}
    assert 1 == len({id(ctx) for ctx in contexts})
    assert run.query == asyncio.run(source.fetch(whole)).inputs


def test_the_order_is_that_of_the_references(recordings: Path) -> None:
    """Contexts of several traces come in the order in which they are asked for, also out of a store."""
    source = evals.FileContexts(
        *(recordings / f"{name}.json" for name in ("langgraph__openinference", "autogen__builtin"))
    )
    references = source.references()[::-1]
    contexts = asyncio.run(source.fetch_many(references))
    assert [one.trace_id for one in references] == [str(ctx.name).partition("/")[0] for ctx in contexts]


def test_what_is_not_there_is_an_error(recordings: Path, tmp_path: Path) -> None:
    """A trace or a span that is not there, and a file that cannot be read, are errors that name it."""
    source = evals.FileContexts(recordings / "langgraph__openinference.json")
    (there,) = source.references()
    with pytest.raises(SourceError, match=f"there is no trace '{'0' * 31}1'"):
        asyncio.run(source.fetch(SpanReference(trace_id="0" * 31 + "1", span_id="")))
    with pytest.raises(SourceError, match=rf"has no run with span 'ffff'; its runs: {there.span_id}"):
        asyncio.run(source.fetch(SpanReference(trace_id=there.trace_id, span_id="ffff")))
    with pytest.raises(SourceError, match="nowhere"):
        evals.FileContexts(tmp_path / "nowhere.json").references()
    with pytest.raises(SinkError, match="there is no store"):
        evals.StoreContexts(tmp_path / "nowhere.db").references()


def test_a_run_without_a_span_of_its_own(tmp_path: Path) -> None:
    """A trace without an agent's span is one run, which is named by an empty span id or by any span."""
    trace = trace_of(tool(1, parent=None, arguments={"q": 1}), span(2, parent=1))
    with Store.open(tmp_path / "runs.db", max_age_s=None) as store:
        store.add([RunResult(run=trace.runs[0], scores=())])
        source = evals.StoreContexts(store)
        (reference,) = source.references()
        ctx = asyncio.run(source.fetch(reference))
    assert ("", trace.trace_id) == (reference.span_id, ctx.name)
    assert HasMatchingSpan({"name_equals": "execute_tool search"}).evaluate(ctx)
