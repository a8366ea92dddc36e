"""TRAIL's nested traces become flat spans, whatever is wrong in them costs one clear error."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import sources
from spanwise.assembly.tree import build_trace
from spanwise.conventions._fields import is_text
from spanwise.model.raw import Attributes, RawEvent, RawLink, RawSpan, Scope
from spanwise.sources import trail as trail_source
from spanwise.sources.trail import LOGS, LazyAttributes
from tests.sources.exports import TRACE, lines, trail, trail_span
from tests.sources.otlp import Outcome

LONG = "said again, " * 40
START = 1_742_402_525_506_553_000
SCOPE = Scope(
    "openinference.instrumentation.smolagents",
    "0.1.6",
    {"telemetry.sdk.language": "python", "service.name": "shop"},
)


def read(document: object) -> Outcome:
    """What a document gives."""
    return Outcome(json.dumps(document).encode())


def spoilt(change: Callable[[dict[str, Any]], object]) -> Outcome:
    """What the example gives with its tool span changed."""
    document = trail()
    change(document["spans"][0]["child_spans"][1])
    return read(document)


def spans(outcome: Outcome) -> list[RawSpan]:
    """The spans that were read."""
    return [record for record in outcome.records if isinstance(record, RawSpan)]


def test_a_trace_becomes_flat_spans() -> None:
    """Spans come parents first, with ids, times, status, attributes, events and scope as TRAIL wrote them."""
    document = trail()
    root, model, tool = spans(read(document))
    failed = RawEvent(
        "exception",
        1_742_402_527_500_000_000,
        {"exception.type": "ValueError", "exception.message": "no network"},
    )
    expected = RawSpan(
        TRACE,
        "00000000000000c1",
        "00000000000000a1",
        "SearchTool",
        1_742_402_526_000_001_000,
        1_742_402_526_000_001_000 + 3_723_250_000_000,
        2,
        "ValueError: no network",
        document["spans"][0]["child_spans"][1]["span_attributes"],
        (failed,),
        SCOPE,
        span_kind=1,
    )
    assert expected == tool
    assert (None, "00000000000000a1", START, START + 1_500_000_000) == (
        root.parent_id, model.parent_id, root.start_ns, root.end_ns
    )  # fmt: skip
    assert [0, 1, 2] == [span.status_code for span in (root, model, tool)]


def test_scopes_are_shared() -> None:
    """Spans of one scope and resource hold the same object."""
    assert 1 == len({id(span.scope) for span in spans(read(trail()))})


def test_nesting_stands_in_for_a_parent_that_is_not_named() -> None:
    """A nested span without a parent id is a child of the span around it."""
    child = trail_span("00000000000000b1", "child")
    root = trail_span("00000000000000a1", "root", child)
    assert ["00000000000000a1"] == [
        span.parent_id for span in spans(read({"trace_id": TRACE, "spans": [root]})) if span.name == "child"
    ]


def test_logs_are_counted_and_left_out() -> None:
    """Log records are no part of the trace, and the tally says how many there were."""
    outcome = read(trail())
    assert ({LOGS: 1}, 3, 4) == (outcome.tally.ignored, outcome.tally.kept, outcome.tally.read)


def test_traces_on_lines() -> None:
    """A trace on each line is read line by line, and a broken line costs only itself."""
    outcome = Outcome(
        lines(trail()) + b'{"trace_id": "x", "spans": [{"span_id"\n\n' + lines({**trail(), "trace_id": "2" * 32})
    )
    assert ({TRACE, "2" * 32}, ["made, line 2: this is no TRAIL trace: Input data was truncated"]) == (
        {span.trace_id for span in spans(outcome)}, outcome.messages
    )  # fmt: skip
    assert outcome.adds_up()


def test_links_are_read() -> None:
    """A link has the ids that it names."""
    link = {"TraceId": "3" * 32, "SpanId": "4" * 16, "TraceState": "", "Attributes": {"why": "batch"}}
    (tool,) = [s for s in spans(spoilt(lambda span: span.update(links=[link]))) if s.name == "SearchTool"]
    assert (RawLink("3" * 32, "4" * 16, {"why": "batch"}),) == tool.links


def test_what_may_be_missing_may_be_null() -> None:
    """Only the id and the time of a span must be there."""
    bare = {"span_id": "00000000000000a1", "timestamp": "2025-03-19T16:42:05.506553Z"}
    nulls = dict.fromkeys(trail_span("", ""), None) | bare | {"resource_attributes": {}}
    expected = RawSpan(TRACE, "00000000000000a1", None, "", START, 0, 0, "", {}, (), Scope("", "", {}))
    assert [expected] == read({"trace_id": TRACE, "spans": [{**bare, "span_name": None}]}).records
    assert [expected] == read({"trace_id": TRACE, "spans": [nulls]}).records


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda span: span.update(span_name=[]),
            "made, $.spans[0].child_spans[1].span_name: this is no TRAIL trace: Expected `str | null`, got `array`",
        ),
        (
            lambda span: span.update(duration="soon"),
            "made, $.spans[0].child_spans[1].duration: this is no TRAIL trace: Invalid ISO8601 duration",
        ),
        (
            lambda span: span.pop("timestamp"),
            "made, $.spans[0].child_spans[1]: this is no TRAIL trace: Object missing required field `timestamp`",
        ),
        (lambda span: span.update(span_id=""), "made: a span is left out: it has no id"),
    ],
    ids=["name", "duration", "no time", "no id"],
)
def test_wrong_types_are_one_error(change: Callable[[dict[str, Any]], object], message: str) -> None:
    """A value of the wrong type is one error that says where it stands."""
    outcome = spoilt(change)
    assert ([message], True) == (outcome.messages, outcome.adds_up())


def test_what_keeps_no_span_is_counted_once() -> None:
    """Of a trace whose only span has no id, the refusal and the span's log records are told once."""
    nameless = {**trail_span("", "nameless"), "logs": [{}, {}]}
    outcome = read({"trace_id": TRACE, "spans": [nameless]})
    assert (["made: a span is left out: it has no id"], {LOGS: 2}, True) == (
        outcome.messages, outcome.tally.ignored, outcome.adds_up()
    )  # fmt: skip


def test_children_of_a_span_without_id_stay() -> None:
    """A span that is left out for want of an id leaves its children to the span above it."""
    inner = trail_span("00000000000000c1", "inner")
    root = trail_span("00000000000000a1", "root", trail_span("", "nameless", inner))
    found = [(span.name, span.parent_id) for span in spans(read({"trace_id": TRACE, "spans": [root]}))]
    assert [("root", None), ("inner", "00000000000000a1")] == found


@pytest.mark.parametrize("share", [0.5, 0.9, 0.999])
def test_a_file_that_is_cut_off_is_one_error(share: float) -> None:
    """A truncated file is one error, and no traceback."""
    content = json.dumps(trail(), indent=4).encode()
    outcome = Outcome(content[: int(len(content) * share)])
    assert (["made: this is no TRAIL trace: Input data was truncated"], []) == (outcome.messages, outcome.records)


@pytest.mark.parametrize(("levels", "read_whole"), [(100, True), (10_000, False)])
def test_deep_nesting_is_read_or_one_error(levels: int, read_whole: bool) -> None:
    """A hundred levels are read; ten thousand are one clear error."""
    head = '{"span_id":"%016x","timestamp":"2025-03-19T16:42:05Z","span_name":"s","child_spans":['
    nested = "".join(head % (level + 1) for level in range(levels)) + "]}" * levels
    outcome = Outcome(b'{"trace_id":"%b","spans":[%b]}' % (TRACE.encode(), nested.encode()))
    if read_whole:
        assert (levels, []) == (len(outcome.records), outcome.messages)
    else:
        assert ["made, $.spans: the spans are nested too deeply, more than a few hundred levels"] == outcome.messages


def test_bytes_that_are_no_text_are_replaced() -> None:
    """A byte that is no UTF-8 costs only itself, and where it stands in a name the repair is counted."""
    content = json.dumps(trail()).encode()
    in_value = Outcome(content.replace(b"How tall", b"How \xff tall"))
    in_name = Outcome(content.replace(b"SearchTool", b"Search\xffTool"))
    assert "How \ufffd tall is K2? 山" == spans(in_value)[1].attributes["llm.input_messages.0.message.content"]
    assert ("Search\ufffdTool", {"text that is no Unicode: replaced": 1}) == (in_name.names[2], in_name.tally.repairs)


def test_halves_of_character_pairs_are_replaced() -> None:
    """An escape that is half of a character pair is replaced and counted; whole pairs and backslashes stay."""
    asked = rb"\ud83d tall \ud83d\ude00 \\ud83d \udc00"
    outcome = Outcome(json.dumps(trail()).encode().replace(b"How tall", asked))
    said = spans(outcome)[1].attributes["llm.input_messages.0.message.content"]
    assert "\ufffd tall \U0001f600 \\ud83d \ufffd is K2? 山" == said
    assert ({"text that is no Unicode: replaced": 1}, []) == (outcome.tally.repairs, outcome.messages)


def test_a_number_beyond_all_floats_stays_text() -> None:
    """A number that no float can hold is given as it is written."""
    content = json.dumps(trail()).encode().replace(b'"12"', b"1e999")
    assert "1e999" == spans(Outcome(content))[1].attributes["llm.token_count.prompt"]


def test_keys_in_any_order() -> None:
    """A file is known and read alike when its keys are sorted, children before all else of a span."""
    expected, found = (Outcome(json.dumps(trail(), sort_keys=order).encode()) for order in (False, True))
    assert expected.records == found.records


def test_an_empty_document_gives_nothing() -> None:
    """A trace without spans has no records and no errors."""
    outcome = Outcome(b'{"trace_id": "x", "spans": [], "note": {"spans": [{"span_name": 1}]}}')
    assert [] == outcome.records


_PLAIN = {"trace_id": TRACE, "spans": [{"timestamp": "x", "parent_span_id": None, "span_name": "a", "events": []}]}


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize(
    ("document", "known"),
    [
        (trail(), True),
        (_PLAIN, True),
        ({**_PLAIN, "resourceSpans": []}, False),
        ({"trace_id": TRACE, "spans": [{"name": "span_name", "note": "span_name"}]}, False),
        ({"trace_id": TRACE, "spans": [{"span_id": 1, "child_spans": []}]}, True),
        ({"trace_id": 1, "spans": [{"span_attributes": {}}]}, True),
        ({"spans": [{"span_name": "a"}], "trace_id": TRACE}, True),
        ({"trace_id": TRACE, "spans": [["span_name"]]}, False),
    ],
)
def test_a_trace_is_known_at_its_start(document: object, known: bool, indent: int | None) -> None:
    """What begins as TRAIL's files do is known at once, and as what it would be known for at length."""
    head = json.dumps(document, indent=indent).encode()
    assert known is trail_source.sniff(head, "x")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trail_source, "_PLAIN_START", re.compile(rb"(?!)"))
        assert known is trail_source.sniff(head, "x")


@pytest.mark.parametrize("compiled", [True, False])
class TestAttributes:
    """Attributes that are decoded one by one behave as a mapping of what they decode to, compiled or not."""

    @staticmethod
    def attributes(*, compiled: bool) -> Attributes:
        """The attributes of the example's model span."""
        if compiled and trail_source.WIRE is None:
            pytest.skip("the compiled part was not built here")
        with pytest.MonkeyPatch.context() as patch:
            if not compiled:
                patch.setattr(trail_source, "WIRE", None)
            found = spans(read(trail(LONG)))[1].attributes
        assert compiled is not isinstance(found, LazyAttributes)
        assert isinstance(found, Mapping)
        return found

    def test_it_equals_what_was_written(self, compiled: bool) -> None:
        """It equals the dictionary that the file holds, and prints like it."""
        written = trail(LONG)["spans"][0]["child_spans"][0]["span_attributes"]
        assert written == self.attributes(compiled=compiled)
        assert self.attributes(compiled=compiled) == self.attributes(compiled=not compiled)
        assert self.attributes(compiled=compiled) != {}
        assert self.attributes(compiled=compiled) != []
        assert repr(written) == repr(self.attributes(compiled=compiled))
        assert len(written) == len(self.attributes(compiled=compiled))

    def test_going_through_it(self, compiled: bool) -> None:
        """Names and values come in the order in which they are written."""
        written = trail(LONG)["spans"][0]["child_spans"][0]["span_attributes"]
        assert list(written) == list(self.attributes(compiled=compiled))
        assert list(written) == list(self.attributes(compiled=compiled).keys())
        assert list(written.items()) == list(self.attributes(compiled=compiled).items())
        assert list(written.values()) == list(self.attributes(compiled=compiled).values())
        assert written == {**self.attributes(compiled=compiled)}

    def test_looking_up(self, compiled: bool) -> None:
        """A name is found or not, and a default stands in for what is not there."""
        found = self.attributes(compiled=compiled)
        assert (True, False, "o3-mini", "o3-mini", None, 7, [1, LONG]) == (
            "llm.model_name" in found,
            "nothing" in found,
            found["llm.model_name"],
            found.get("llm.model_name"),
            found.get("nothing"),
            found.get("nothing", 7),
            found["list"],
        )
        with pytest.raises(KeyError):
            found["nothing"]
        with pytest.raises(TypeError):
            hash(found)

    def test_what_is_text_is_told_without_decoding(self, compiled: bool) -> None:
        """A text is known as one before it is read, and afterwards."""
        found = self.attributes(compiled=compiled)
        for _ in range(2):
            assert [True, True, False, False] == [
                is_text(found, name) for name in ("llm.model_name", "output.value", "list", "nothing")
            ]
            assert LONG == found["output.value"]
            assert found["list"]

    def test_a_value_is_decoded_once(self, compiled: bool) -> None:
        """Asked again, the same object is given."""
        found = self.attributes(compiled=compiled)
        assert found["output.value"] is found["output.value"]

    def test_it_travels_between_processes(self, compiled: bool) -> None:
        """It can be pickled, decoded or not."""
        found = self.attributes(compiled=compiled)
        assert found == pickle.loads(pickle.dumps(found))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(sorted(trail_span("", ""))), inner, max_size=6)
        ),
        max_leaves=20,
    )
)
def test_random_json_never_raises(noise: object) -> None:
    """Whatever stands where a trace's spans are expected, reading ends in spans or in errors that say where."""
    for document in (
        {"trace_id": "x", "spans": [noise], "": {"child_spans": 1}},
        {"trace_id": noise, "spans": [trail_span("a", "b"), noise]},
    ):
        content = json.dumps(document).encode()
        outcome = Outcome(
            content if b'"child_spans"' in content[:20] else b'{"spans": [{"child_spans": []}], ' + content[1:]
        )
        for span in spans(outcome):
            assert dict(span.attributes) == span.attributes
        assert outcome.adds_up()


def test_the_benchmark_is_read(shared: Path) -> None:
    """Each of the benchmark's traces here is one tree of complete spans with a question, and nothing is repaired."""
    files = sorted((shared / "trail").glob("*/traces/*.json"))
    assert 84 == len(files)
    for file in files:
        tally = sources.Tally()
        records = list(sources.read(file, tally=tally))
        trace = build_trace(records[0].trace_id, [record for record in records if isinstance(record, RawSpan)])
        assert (1, True, (), {}, 1) == (
            len(trace.roots), trace.completeness.complete, trace.repairs, tally.repairs, len(trace.runs)
        ), file.name  # fmt: skip
        assert trace.runs[0].query, file.name
