"""Phoenix's exports become the spans that were sent to it, whatever form they were saved in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import sources
from spanwise.model.raw import RawEvent, RawSpan, Scope
from tests.sources.exports import PHOENIX, TRACE
from tests.sources.otlp import Outcome

SPAN = "00000000000000a1"
SENT = (
    "langgraph__openinference__subagent",
    "openai-agents__openinference",
    "smolagents__openinference",
)
FORMS = sorted(path.name for path in PHOENIX.glob("*.json*"))


def row(**fields: Any) -> dict[str, Any]:
    """A span as the REST API gives it."""
    return {
        "id": "U3Bhbjox",
        "name": "search",
        "context": {"trace_id": TRACE, "span_id": SPAN},
        "span_kind": "TOOL",
        "parent_id": None,
        "start_time": "2026-11-18T06:13:43.369307+00:00",
        "end_time": "2026-11-18T06:13:43.422322+00:00",
        "status_code": "OK",
        "status_message": "",
        "attributes": {},
        "events": [],
        **fields,
    }


def read(*rows: object) -> Outcome:
    """What a page of rows gives; a sound row before them tells the format."""
    return Outcome(json.dumps({"data": [row(name="first"), *rows], "next_cursor": None}).encode())


def spans(outcome: Outcome) -> list[RawSpan]:
    """The spans that were read."""
    return [record for record in outcome.records if isinstance(record, RawSpan)]


def attributes(given: Mapping[str, object]) -> Mapping[str, object]:
    """The attributes of a tool span that has the given ones."""
    return spans(read(row(attributes=given)))[1].attributes


def plain(value: object) -> object:
    """The value taken out of JSON text, with all in a list as text: the forms differ in what they keep as which."""
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return plain(json.loads(value))
        except ValueError:
            return value
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [str(item) for item in value] if isinstance(value, list | tuple) else value


def test_a_row_becomes_a_span() -> None:
    """A span has the row's ids, times, status, attributes and events, and its kind as OpenInference's attribute."""
    failed = {"name": "exception", "timestamp": "2026-11-18T06:13:43.4+00:00", "attributes": {"exception.type": "E"}}
    found = read(
        row(
            parent_id="00000000000000b1",
            status_code="ERROR",
            status_message="broke",
            attributes={"tool.name": "search"},
            events=[failed],
        )
    )
    expected = RawSpan(
        TRACE,
        SPAN,
        "00000000000000b1",
        "search",
        1_794_982_423_369_307_000,
        1_794_982_423_422_322_000,
        2,
        "broke",
        {"tool.name": "search", "openinference.span.kind": "TOOL"},
        (RawEvent("exception", 1_794_982_423_400_000_000, {"exception.type": "E"}),),
        Scope("", "", {}),
    )
    assert ([expected], [], True) == (found.records[1:], found.messages, found.adds_up())


@pytest.mark.parametrize("form", FORMS)
def test_what_a_server_gives_back_is_what_it_was_sent(form: str, recordings: Path) -> None:
    """In every form, each span out of a real server has the ids, status, events and attributes of its recording."""
    sent = {
        record.span_id: record
        for name in SENT
        for record in sources.read(recordings / f"{name}.json")
        if isinstance(record, RawSpan)
    }
    found = spans(Outcome((PHOENIX / form).read_bytes()))
    assert 9 == len(found)
    for span in found:
        origin = sent[span.span_id]
        assert (origin.trace_id, origin.parent_id, origin.name, origin.status_code, origin.status_message) == (
            span.trace_id, span.parent_id, span.name, span.status_code, span.status_message
        )  # fmt: skip
        assert {key: plain(value) for key, value in origin.attributes.items()} == {
            key: plain(value) for key, value in span.attributes.items()
        }
        assert [(event.name, event.attributes) for event in origin.events] == [
            (event.name, event.attributes) for event in span.events
        ]
        # The tables hold milliseconds, the API microseconds.
        assert 0 <= (origin.start_ns - span.start_ns) + 1_000 <= (1_001_000 if form.startswith("frame") else 2_000)


def test_nested_attributes_are_flattened() -> None:
    """Attributes that a server nests become OpenInference's dotted names, lists of objects by index."""
    nested = {
        "llm": {
            "input_messages": [{"message": {"role": "user", "contents": [{"message_content": {"text": "hi"}}]}}],
            "token_count": {"prompt": 3},
            "model_name": "m",
        },
        "tag": {"tags": ["a", "b"]},
    }
    assert {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.contents.0.message_content.text": "hi",
        "llm.token_count.prompt": 3,
        "llm.model_name": "m",
        "tag.tags": ["a", "b"],
        "openinference.span.kind": "TOOL",
    } == attributes(nested)


def test_objects_of_others_are_put_together_again() -> None:
    """The leaves of metadata, of a schema and of a document's metadata become one object each, lists in them too."""
    leaves = {
        "metadata.user": "u",
        "metadata.path": ["a", 0],
        "tool.parameters.properties.q.type": "string",
        "metadata.dotted": 1,
        "metadata.dotted.name": 2,
        "tool.parameters.anyOf.0.items.type": "null",
        "tool.parameters.anyOf.1.type": "object",
        "retrieval.documents.0.document.metadata.score": 0.5,
        "retrieval.documents.0.document.content": "text",
    }
    assert {
        "metadata": {"user": "u", "path": ["a", 0], "dotted": 1, "dotted.name": 2},
        "tool.parameters": {
            "properties": {"q": {"type": "string"}},
            "anyOf": [{"items": {"type": "null"}}, {"type": "object"}],
        },
        "retrieval.documents.0.document.metadata": {"score": 0.5},
        "retrieval.documents.0.document.content": "text",
        "openinference.span.kind": "TOOL",
    } == attributes(leaves)


def test_the_empty_cells_of_a_table_are_no_attributes() -> None:
    """Columns that a span has no value in leave nothing, and counts that a table made floats are whole again."""
    cells = {
        "name": "chat",
        "span_kind": "LLM",
        "parent_id": None,
        "context.trace_id": TRACE,
        "context.span_id": SPAN,
        "start_time": 1_794_982_423_369,
        "end_time": None,
        "status_code": "UNSET",
        "events": None,
        "attributes.tool.name": None,
        "attributes.llm.token_count.prompt": 12.0,
        "attributes.metadata": {"a": 1.0},
    }
    content = json.dumps([cells | {"attributes.x": float("nan")}]).encode()
    (span,) = spans(Outcome(content))
    assert {
        "llm.token_count.prompt": 12,
        "metadata": {"a": 1.0},
        "openinference.span.kind": "LLM",
    } == span.attributes
    assert (1_794_982_423_369_000_000, 0, None, ()) == (span.start_ns, span.end_ns, span.parent_id, span.events)


def test_a_kind_that_phoenix_does_not_know_is_left_out() -> None:
    """A span of another convention keeps its own attributes and is given no kind."""
    (_, span) = spans(read(row(span_kind="UNKNOWN", attributes={"gen_ai": {"operation": {"name": "chat"}}})))
    assert {"gen_ai.operation.name": "chat"} == span.attributes


def test_events_as_text_are_read() -> None:
    """Events that a table holds as JSON text are read like events."""
    (_, span) = spans(read(row(events='[{"name": "e", "timestamp": "2026-11-18T06:13:43Z"}]')))
    assert (RawEvent("e", 1_794_982_423_000_000_000, {}),) == span.events


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (7, "made, $, data[1]: the span is left out: it is no object"),
        (row(context={}), "made, $, data[1]: the span is left out: it has no context.trace_id"),
        (row(context={"trace_id": TRACE}), "made, $, data[1]: the span is left out: it has no context.span_id"),
        (
            {"start_time_unix_nano": 1, "trace_id": "zz", "span_id": SPAN},
            "made, $, data[1], traceId: the span is left out: the id 'zz' is not 32 hexadecimal digits",
        ),
    ],
    ids=["no object", "no ids", "no span id", "no hex"],
)
def test_an_unusable_row_costs_only_itself(odd: object, message: str) -> None:
    """A row that says not which span it is is one error with its place; the others are read."""
    outcome = read(odd, row(name="last"))
    assert (["first", "last"], [message], True) == (outcome.names, outcome.messages, outcome.adds_up())


def test_a_time_that_is_none_is_said() -> None:
    """A start that cannot be read is taken as unknown and counted."""
    outcome = read(row(start_time="soon", end_time="later", events=[{"name": "e", "timestamp": []}]))
    assert ({"start time missing or unreadable: taken as unknown": 1}, 0, 0) == (
        outcome.tally.repairs, spans(outcome)[1].start_ns, spans(outcome)[1].end_ns
    )  # fmt: skip


def test_a_page_that_is_cut_off_is_one_error() -> None:
    """A truncated page is one error that says so."""
    content = (PHOENIX / "rest.json").read_bytes()
    assert [f"made, byte {len(content) - 50}: the JSON ends in the middle"] == Outcome(content[:-50]).messages


def test_a_list_that_is_cut_off_keeps_its_whole_rows() -> None:
    """Of a truncated list the rows before the cut are read."""
    content = json.dumps([row(name="a"), row(name="b")]).encode()[:-20]
    outcome = Outcome(content)
    assert (["a"], 1) == (outcome.names, len(outcome.messages))


NOISE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from([*row(), "context.span_id", "data"]), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(NOISE, st.sampled_from(sorted(row())), st.booleans())
def test_random_json_never_raises(noise: object, key: str, whole: bool) -> None:
    """Whatever stands in a row or instead of one, reading ends in spans or in errors that say where."""
    outcome = read(noise if whole else row(**{key: noise}), row(attributes={"llm": noise, "metadata.a": noise}))
    assert outcome.adds_up()
    assert "first" in outcome.names


@given(NOISE)
def test_random_tables_never_raise(noise: object) -> None:
    """Whatever stands in a table's cells, reading ends in spans or in errors."""
    columns = {"context.span_id": {"0": SPAN, "1": noise}, "context.trace_id": {"0": TRACE, "1": TRACE}, "name": noise}
    split = {"columns": ["context.span_id", noise], "index": [0], "data": [[SPAN, noise], noise]}
    for table in (columns, split, {"0": {"context.span_id": SPAN, "events": noise}, "1": {"context.span_id": noise}}):
        assert Outcome(json.dumps(table).encode()).adds_up()
