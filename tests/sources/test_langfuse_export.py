"""Langfuse's exports become the spans that its SDK would have sent, whatever door they came out of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import sources
from spanwise.assembly.tree import build_trace
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.trace import Run
from spanwise.sources.langfuse_export import BARE, SCORES
from tests.sources.exports import (
    TRACE,
    UUID,
    blob_row,
    lines,
    observation,
    observation_v2,
    observations,
    trace,
    trace_row,
)
from tests.sources.otlp import Outcome

START = 1_794_982_380_100_000_000


def read(document: object) -> Outcome:
    """What a document gives."""
    return Outcome(json.dumps(document).encode())


def spans(outcome: Outcome) -> list[RawSpan]:
    """The spans that were read."""
    return [record for record in outcome.records if isinstance(record, RawSpan)]


def one(row: object) -> RawSpan:
    """The span of a row of observations."""
    (span,) = spans(read([row]))
    return span


def run_of(outcome: Outcome) -> Run:
    """The only run of what was read."""
    (run,) = build_trace(UUID, spans(outcome)).runs
    return run


def test_a_trace_with_its_observations() -> None:
    """Observations become spans with Langfuse's attributes; the root takes what the trace itself says."""
    helper, answer, search = spans(read(trace()))
    assert (
        RawSpan(
            UUID,
            "obs-helper",
            None,
            "helper",
            START,
            START + 1_500_000_000,
            0,
            "",
            {
                "user.id": "user-7",
                "session.id": "sess-42",
                "langfuse.trace.tags": ["demo"],
                "langfuse.environment": "default",
                "langfuse.version": "7",
                "langfuse.trace.name": "question",
                "langfuse.trace.input": {"question": "How tall is K2?"},
                "langfuse.trace.output": "8611 m",
                "langfuse.trace.metadata.plan": "free",
                "langfuse.observation.type": "agent",
                "langfuse.observation.level": "DEFAULT",
                "langfuse.observation.input": {"question": "How tall is K2?"},
                "langfuse.observation.output": "8611 m",
            },
            (),
            Scope("langfuse-sdk", "", {}),
        )
        == helper
    )
    assert {
        "langfuse.environment": "default",
        "langfuse.observation.type": "generation",
        "langfuse.observation.level": "DEFAULT",
        "langfuse.observation.input": [{"role": "user", "content": "How tall is K2?"}],
        "langfuse.observation.output": {"role": "assistant", "content": "8611 m"},
        "langfuse.observation.model.name": "gpt-4o-mini",
        "langfuse.observation.model.parameters": {"temperature": 0.2},
        "langfuse.observation.usage_details": {"input": 12, "output": 3, "total": 15},
        "langfuse.observation.cost_details": {"input": 0.001, "output": 0.002, "total": 0.003},
        "langfuse.observation.metadata.ls_provider": "openai",
    } == answer.attributes
    assert ("obs-helper", 2, "no network", "call_1") == (
        search.parent_id,
        search.status_code,
        search.status_message,
        search.attributes["langfuse.observation.metadata.tool_call_id"],
    )


def test_a_trace_reads_as_a_run() -> None:
    """The convention reads from an export who asked what, what failed, what it cost."""
    run = run_of(read(trace()))
    assert ("How tall is K2?", "8611 m", 0.003, "sess-42", True) == (
        run.query, run.answer, run.cost_usd, run.who.session_id, run.completeness.complete
    )  # fmt: skip
    assert [("search", {"q": "K2"}, "error", "call_1")] == [
        (call.name, call.arguments, call.status, call.call_id) for call in run.tool_calls
    ]


def recorded(recordings: Path) -> dict[str, Any]:
    """A recording of Langfuse's SDK as the server would give it back."""
    rows: list[dict[str, Any]] = []
    for record in sources.read(recordings / "langgraph__langfuse.json"):
        assert isinstance(record, RawSpan)
        get = record.attributes.get
        prefix = "langfuse.observation."
        metadata = {
            key.removeprefix(f"{prefix}metadata."): value
            for key, value in record.attributes.items()
            if key.startswith(f"{prefix}metadata.")
        }
        rows.append(
            observation(
                record.name,
                str(get(f"{prefix}type")).upper(),
                0,
                id=record.span_id,
                traceId=record.trace_id,
                parentObservationId=record.parent_id,
                startTime=record.start_ns // 1_000_000,
                endTime=record.end_ns // 1_000_000,
                input=get(f"{prefix}input"),
                output=get(f"{prefix}output"),
                model=get(f"{prefix}model.name"),
                usageDetails=json.loads(str(get(f"{prefix}usage_details", "{}"))),
                level=get(f"{prefix}level", "DEFAULT"),
                statusMessage=get(f"{prefix}status_message"),
                metadata=metadata,
            )
        )
    return trace(id=rows[0]["traceId"], userId="user-7", sessionId="sess-42", observations=rows)


def facts(run: Run) -> tuple[object, ...]:
    """What a run tells."""
    calls = [(call.name, call.arguments, call.result, call.status, call.call_id) for call in run.tool_calls]
    documents = [(found.query, found.documents) for found in run.retrievals]
    return run.query, run.answer, run.agents, calls, documents, run.tokens, run.who.session_id, run.who.user_id


def test_an_export_tells_what_the_spans_told(recordings: Path) -> None:
    """A run read from an export of a recording is the run read from the recording."""
    whole = list(sources.read(recordings / "langgraph__langfuse.json"))
    document = recorded(recordings)
    (sent,) = build_trace(document["id"], [span for span in whole if isinstance(span, RawSpan)]).runs
    (given_back,) = build_trace(document["id"], spans(read(document))).runs
    assert facts(sent) == facts(given_back)


def test_several_roots_are_held_by_the_trace() -> None:
    """Where no single observation is the root, the trace becomes a span above those that have no parent."""
    rows = [observation("plan", "SPAN", 1), observation("answer", "GENERATION", 2, endTime=None)]
    above, plan, answer = spans(read(trace(observations=rows)))
    assert (UUID, None, "question", START - 100_000_000, plan.end_ns, "span") == (
        above.span_id, above.parent_id, above.name, above.start_ns, above.end_ns,
        above.attributes["langfuse.observation.type"],
    )  # fmt: skip
    assert ([UUID, UUID], 0, False) == ([plan.parent_id, answer.parent_id], answer.end_ns, plan.parent_remote)


def test_a_trace_without_observations_is_not_whole() -> None:
    """A row of traces is a span of its own that is known to be partial, with the trace's latency as its length."""
    outcome = read({"data": [trace_row(observations=["obs-1"], scores=["s1"])], "meta": {"page": 1}})
    run = run_of(outcome)
    assert ("How tall is K2?", "8611 m", 4500.0, False) == (
        run.query, run.answer, run.duration_ms, run.completeness.complete
    )  # fmt: skip
    assert ({BARE: 1}, {SCORES: 1}, True) == (outcome.tally.repairs, outcome.tally.ignored, outcome.adds_up())


def test_rows_of_observations_fit_rows_of_traces() -> None:
    """Observations and traces of one file, in any order, make one tree; observations alone have their own root."""
    together = build_trace(UUID, spans(Outcome(lines(*observations(), trace_row()))))
    alone = build_trace(UUID, spans(Outcome(lines(*observations()))))
    assert (["question"], ["helper"]) == (
        [together.spans[at].name for at in together.roots], [alone.spans[at].name for at in alone.roots]
    )  # fmt: skip
    assert alone.completeness.complete


def test_the_download_of_the_ui() -> None:
    """The UI's file of trace, observations and scores reads like the API's answer."""
    scores = [{"id": "s1", "dataType": "NUMERIC", "value": 1}]
    outcome = read({"trace": trace_row(), "observations": observations(), "scores": scores, "comments": []})
    assert (spans(read(trace())), {SCORES: 1}) == (spans(outcome), outcome.tally.ignored)


def test_a_row_of_the_second_api() -> None:
    """A v2 row has content as text, what was never recorded as empty text, and the trace's fields with it."""
    assert {
        "session.id": "sess-42",
        "langfuse.trace.tags": ["demo"],
        "langfuse.environment": "default",
        "langfuse.trace.name": "question",
        "langfuse.observation.level": "DEFAULT",
        "langfuse.observation.cost_details": {"input": 0.1, "output": 0.2, "total": 0.3},
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": '{"messages":[{"role":"user","content":"How tall is K2?"}]}',
        "langfuse.observation.output": '{"role":"assistant","content":"8611 m"}',
        "langfuse.observation.model.name": "gpt-4o",
        "langfuse.observation.model.parameters": {"temperature": 0.2},
        "langfuse.observation.usage_details": {"input": 98, "output": 68, "total": 166},
    } == one(observation_v2()).attributes


def test_a_root_of_the_app_has_its_parent_elsewhere() -> None:
    """An observation that the SDK marked as the root, below a parent of another service, is a root."""
    span = one(observation_v2(parentObservationId="ffffffffffffffff"))
    assert ("ffffffffffffffff", True) == (span.parent_id, span.parent_remote)


def test_a_row_of_blob_storage() -> None:
    """A row in snake_case with times in words reads like one of the API; its total cost joins the parts."""
    span = one(blob_row())
    assert (TRACE, "a1b2c3d4e5f60718", TRACE, True, START, START + 1_500_000_000) == (
        span.trace_id, span.span_id, span.parent_id, span.parent_remote, span.start_ns, span.end_ns
    )  # fmt: skip
    assert {
        "langfuse.observation.model.name": "gpt-4o",
        "langfuse.observation.cost_details": {"input": 0.1, "output": 0.2, "total": 0.3},
        "gen_ai.tool.definitions": [{"name": "search", "description": "Searches."}],
        "user.id": "user-7",
    }.items() <= span.attributes.items()


def test_an_id_that_is_the_traces_own() -> None:
    """An observation with its trace's id, as LangChain's first handler wrote it, is no child of itself."""
    assert None is one(observation("run", "CHAIN", 0, id=UUID)).parent_id


def test_an_event_is_a_point_in_time() -> None:
    """An observation of type EVENT ends when it starts; any other without an end has not ended."""
    event, span = (one(observation("x", kind, 0, endTime=None)) for kind in ("EVENT", "SPAN"))
    assert (START, 0) == (event.end_ns, span.end_ns)


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (7, "made, $[1]: this is neither a trace nor an observation of Langfuse"),
        ({"id": "x"}, "made, $[1]: this is neither a trace nor an observation of Langfuse"),
        (observation("x", "SPAN", 0, traceId=None), "made, $[1]: the observation is left out: it has no traceId"),
        (observation("x", "SPAN", 0, id={}), "made, $[1]: the observation is left out: it has no id"),
        (trace_row(id=None), "made, $[1]: the trace is left out: it has no id"),
        (
            trace(observations=[observation("a", "SPAN", 0), 7]),
            "made, $[1], observations[1]: the observation is left out: it is no object",
        ),
    ],
    ids=["number", "too little", "no trace", "no id", "trace without id", "within a trace"],
)
def test_an_unusable_row_costs_only_itself(odd: object, message: str) -> None:
    """A row that cannot be placed is one error with its place; the others are read."""
    outcome = read([observation("first", "SPAN", 0), odd, observation("last", "SPAN", 1)])
    assert ([message], True) == (outcome.messages, outcome.adds_up())
    assert ["first", "last"] == [outcome.names[0], outcome.names[-1]]


def test_a_time_that_is_none_is_said() -> None:
    """A start that cannot be read is taken as unknown and counted."""
    outcome = read([observation("x", "SPAN", 0, startTime="0001-01-01T00:00:00Z")])
    assert ({"start time missing or unreadable: taken as unknown": 1}, 0) == (
        outcome.tally.repairs, spans(outcome)[0].start_ns
    )  # fmt: skip


def test_rows_of_scores_are_counted_and_left_out() -> None:
    """Rows of scores among observations carry nothing for a trace."""
    score = {"id": "s1", "timestamp": "2026-11-18T06:13:00Z", "traceId": UUID, "dataType": "NUMERIC", "value": 1}
    outcome = Outcome(lines(observations()[0], score))
    assert ({SCORES: 1}, 1, True) == (outcome.tally.ignored, len(outcome.records), outcome.adds_up())


def test_a_broken_line_costs_only_itself() -> None:
    """A line that is no JSON is one error with its number."""
    outcome = Outcome(lines(observations()[0]) + b'{"id": "obs-2"\n' + lines(observations()[2]))
    assert (["helper", "search"], ["made, line 2: this is not valid JSON, or nested too deeply"]) == (
        outcome.names, outcome.messages
    )  # fmt: skip


NOISE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=4) | st.sampled_from(["attributes", "scope", "input", "unit", "total", "id"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(NOISE, st.sampled_from(sorted(trace())), st.sampled_from(sorted({**observation_v2(), **observations()[0]})))
def test_random_json_never_raises(noise: object, of_trace: str, of_row: str) -> None:
    """Whatever stands in a trace or an observation, reading ends in spans or in errors that say where."""
    rows = [observation("first", "SPAN", 0), {**observation("odd", "GENERATION", 1), of_row: noise}, noise]
    for document in (
        [trace(**{of_trace: noise})],
        [trace(observations=rows), noise],
        [*rows, observation_v2(**{of_row: noise})],
    ):
        assert Outcome(json.dumps([observation("head", "SPAN", 0), *document]).encode()).adds_up()
