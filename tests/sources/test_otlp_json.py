"""OTLP/JSON: every layout and every spelling is read alike, and what is broken costs only itself."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise.model.raw import EMPTY, RawSpan, Scope
from tests.sources.otlp import (
    SPAN,
    START,
    TRACE,
    Outcome,
    dump,
    edited,
    json_document,
    json_logs,
    json_span,
    json_value,
    made,
    said,
)

Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> Outcome:
    """What a document gives whose middle span of three was changed by hand."""
    return Outcome(dump(edited(change)))


def put(**fields: object) -> Change:
    """Change these fields of a span."""
    return lambda span: span.update(fields)


# Layouts


def test_every_field_is_read() -> None:
    """A span has all that its JSON says, attributes of every type among it."""
    assert [made()] == Outcome(dump(json_document([made()]))).records


def test_a_bare_span_is_read() -> None:
    """A span that says nothing but ids, name and start has the defaults elsewhere."""
    bare = RawSpan(TRACE, SPAN, None, "bare", START, 0, 0, "", EMPTY, (), Scope("", "", {}))
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [json_span(bare)]}]}]}
    assert [bare] == Outcome(dump(document)).records


def test_log_events_are_read() -> None:
    """A log record that belongs to a span becomes an event with its name, time, attributes and body."""
    assert [said()] == Outcome(dump(json_logs([said()]))).records


@pytest.mark.parametrize("indent", [None, 2], ids=["compact", "indented"])
@pytest.mark.parametrize(
    "layout",
    [
        lambda one, two, indent: dump({**one, **two}, indent=indent),
        lambda one, two, indent: dump(one, two),
        lambda one, two, indent: dump(one, two, indent=2),
        lambda one, two, indent: dump(one, two).replace(b"\n", b"\r\n\r\n"),
        lambda one, two, indent: dump([one, two], indent=indent),
        lambda one, two, indent: dump(one).strip() + dump(two).strip(),
        lambda one, two, indent: b"\xef\xbb\xbf \n" + dump(one, two, indent=indent),
    ],
    ids=["both signals", "lines", "concatenated", "blank lines", "array", "no newline", "mark"],
)
def test_every_layout_gives_the_same(layout: Callable[..., bytes], indent: int | None) -> None:
    """Documents together, in a list, one after another or on lines give the same records."""
    spans = [made("a"), made("b", events=(), links=())]
    outcome = Outcome(layout(json_document(spans), json_logs([said()]), indent))
    assert ([*spans, said()], [], True) == (outcome.records, outcome.messages, outcome.adds_up())


def test_lines_of_the_sdk_exporter() -> None:
    """A line of the Python SDK's file exporter is read as it stands in its file."""
    line = (
        b'{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"unknown_service"}}]},'
        b'"scopeSpans":[{"scope":{"name":"x"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331",'
        b'"flags":257,"name":"inner","kind":1,"startTimeUnixNano":"1794982431574655053","endTimeUnixNano":"1794982431574655054",'
        b'"attributes":[{"key":"k","value":{"arrayValue":{"values":[{"doubleValue":"NaN"},{"intValue":"7"}]}}}],"status":{}}]}]}]}\n'
    )
    (span,) = Outcome(line).records
    assert isinstance(span, RawSpan)
    assert ("inner", "x", {"service.name": "unknown_service"}) == (span.name, span.scope.name, span.scope.resource)
    assert math.isnan(span.attributes["k"][0])
    assert 7 == span.attributes["k"][1]


def test_bare_resource_spans_are_read() -> None:
    """Lines that hold a ResourceSpans without the request around it, as the Java SDK logs them, are read."""
    document = json_document([made()])["resourceSpans"][0]
    assert [made(), made()] == Outcome(dump(document, document)).records


def test_other_signals_are_counted_and_passed_over() -> None:
    """Metrics between the spans, as the Collector writes them into one file, cost nothing and are counted."""
    outcome = Outcome(
        dump({"resourceMetrics": [{"scopeMetrics": [{}]}]}, json_document([made()]), {"resourceProfiles": []})
    )
    assert ([made()], {"metrics": 1, "profiles": 1}, []) == (outcome.records, outcome.tally.ignored, outcome.messages)


def test_log_records_without_a_span_are_counted() -> None:
    """Log records without ids, or with ids of zeros, are counted and passed over."""
    document = json_logs([said(), said(), said(), said()])
    records = document["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    del records[0]["spanId"]
    records[1].update(traceId="0" * 32, spanId="0" * 16)
    records[2].update(traceId="")
    outcome = Outcome(dump(document))
    assert ([said()], {"log record without trace and span id": 3}) == (outcome.records, outcome.tally.ignored)
    assert outcome.adds_up()


def test_an_event_may_be_named_by_an_attribute() -> None:
    """Without a name of its own, a log event has the one that the attribute `event.name` gives."""
    document = json_logs([said("")])
    document["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["attributes"] = [
        {"key": "event.name", "value": {"stringValue": "gen_ai.user.message"}}
    ]
    (event,) = Outcome(dump(document)).records
    assert "gen_ai.user.message" == event.event.name


def test_empty_lists_hold_nothing() -> None:
    """A request without spans is no error."""
    outcome = Outcome(b'{"resourceSpans": []}')
    assert ([], []) == (outcome.records, outcome.messages)


def test_equal_scopes_are_one(recordings: Path) -> None:
    """Lines with the same resource and scope share one Scope, so it is held once."""
    line = dump(json_document([made()]))
    first, second = Outcome(line * 2).records
    assert first.scope is second.scope


def test_resource_and_scope_may_stand_behind_their_spans() -> None:
    """The order of an object's keys does not matter, whatever stands last."""
    document = json_document([made()])
    for holder in (document["resourceSpans"][0], document["resourceSpans"][0]["scopeSpans"][0]):
        first = next(iter(holder))
        holder[first] = holder.pop(first)
    assert [made()] == Outcome(dump(document)).records


def test_old_names_are_read() -> None:
    """Instrumentation libraries, as scopes were called, are read as scopes."""
    document = json_document([made()])
    resource = document["resourceSpans"][0]
    scopes = resource.pop("scopeSpans")
    scopes[0]["instrumentationLibrary"] = scopes[0].pop("scope")
    resource["instrumentationLibrarySpans"] = scopes
    assert [made()] == Outcome(dump(document)).records


def test_snake_case_is_read() -> None:
    """Keys as protobuf names them, all the way down, are read."""

    def snake(value: object) -> object:
        if isinstance(value, list):
            return [snake(item) for item in value]
        if isinstance(value, dict):
            return {
                "".join(f"_{c.lower()}" if c.isupper() else c for c in key): snake(item) for key, item in value.items()
            }
        return value

    outcome = Outcome(dump(snake(json_document([made()])), snake(json_logs([said()]))))
    assert ([made(), said()], {}) == (outcome.records, outcome.tally.repairs)


# Spellings that say the same


@pytest.mark.parametrize(
    "fields",
    [
        {"traceId": TRACE.upper(), "spanId": SPAN.upper()},
        {
            "traceId": base64.b64encode(bytes.fromhex(TRACE)).decode(),
            "spanId": base64.b64encode(bytes.fromhex(SPAN)).decode(),
        },
        {"kind": "SPAN_KIND_CLIENT", "status": {"code": "STATUS_CODE_ERROR", "message": "it failed"}},
        {"kind": "client", "status": {"code": "Error", "message": "it failed"}},
        {"kind": "3", "status": {"code": "2", "message": "it failed"}},
        {"startTimeUnixNano": START, "endTimeUnixNano": START + 1500, "droppedAttributesCount": "4", "flags": "769"},
        {
            "links": [
                {
                    "traceId": "1" * 32,
                    "spanId": ("2" * 16).upper(),
                    "attributes": [{"key": "why", "value": json_value("retry")}],
                }
            ]
        },
        {"traceState": "a=b", "unknown": {"deep": [1]}},
        {"droppedAttributesCount": 1, "droppedEventsCount": 3},
    ],
    ids=[
        "upper case",
        "base64",
        "names",
        "bare names",
        "digits",
        "numbers",
        "links",
        "unknown fields",
        "dropped events",
    ],
)
def test_other_spellings_are_read_alike(fields: dict[str, Any]) -> None:
    """Ids, enums and numbers written in another allowed way give the same span, without a repair."""
    outcome = changed(put(**fields))
    assert ([made("before"), made("odd"), made("after")], {}) == (outcome.records, outcome.tally.repairs)


@pytest.mark.parametrize("parent", ["", None], ids=repr)
def test_an_empty_parent_is_none(parent: str | None) -> None:
    """A span whose parent id is empty or null is a root."""
    assert None is changed(put(parentSpanId=parent)).records[1].parent_id


@pytest.mark.parametrize(
    ("flags", "remote"), [(0x301, True), (0x300, True), (0x101, False), (0x200, False), (0, False), (None, False)]
)
def test_remote_parents_are_known_by_both_flags(flags: int | None, remote: bool) -> None:
    """A parent is remote where the flags say that this is known, and that it is so."""
    assert remote == changed(put(flags=flags)).records[1].parent_remote


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ({"intValue": 5}, 5),
        ({"intValue": "-9223372036854775808"}, -(2**63)),
        ({"doubleValue": "Infinity"}, math.inf),
        ({"doubleValue": 2}, 2.0),
        ({"boolValue": "true"}, True),
        ({"bytesValue": "aGk="}, b"hi"),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {}}, {}),
        ({"arrayValue": {"values": [{}, {"arrayValue": {"values": [{"intValue": "1"}]}}]}}, [None, [1]]),
        (
            {"kvlistValue": {"values": [{"key": "a", "value": {"kvlistValue": {"values": [{"key": "b"}]}}}]}},
            {"a": {"b": None}},
        ),
        ({"stringValue": ""}, ""),
        ({"stringValue": None}, None),
        ({}, None),
        (None, None),
    ],
    ids=str,
)
def test_attribute_values(written: object, value: object) -> None:
    """A value of each type, nested ones among them, is read as Python writes it."""
    outcome = changed(put(attributes=[{"key": "k", "value": written}]))
    assert ({"k": value}, {}) == (outcome.records[1].attributes, outcome.tally.repairs)


# What is put right, and counted


@pytest.mark.parametrize(
    ("fields", "expected", "words"),
    [
        ({"kind": 99}, {"span_kind": 0}, "span kind unknown: left unspecified"),
        ({"kind": "SPAN_KIND_NEW"}, {"span_kind": 0}, "span kind unknown: left unspecified"),
        ({"status": {"code": 7}}, {"status_code": 0}, "status code unknown: left unset"),
        (
            {"status": {"code": [], "message": "m"}},
            {"status_code": 0, "status_message": "m"},
            "status code unknown: left unset",
        ),
        ({"startTimeUnixNano": "0"}, {"start_ns": START + 1500}, "start time missing: the end time taken"),
        ({"startTimeUnixNano": "-5"}, {"start_ns": START + 1500}, "negative time: taken as unknown"),
        ({"endTimeUnixNano": -1}, {"end_ns": 0}, "negative time: taken as unknown"),
        ({"parentSpanId": "0" * 16}, {"parent_id": None}, "parent id of zeros: taken as none"),
        ({"parentSpanId": "xyz"}, {"parent_id": "xyz"}, "parent id unreadable: kept as a parent that is not here"),
        ({"links": [{"traceId": "1", "spanId": "2"}]}, {"links": ()}, "link without usable ids: left out"),
        ({"links": [7]}, {"links": ()}, "links that are no objects: left out"),
        ({"name": 7}, {"name": "7"}, "name that is no text: written as text"),
        ({"flags": "x"}, {"parent_remote": False}, "flags that is no count: taken as 0"),
        ({"droppedAttributesCount": -3}, {"dropped": 0}, "droppedAttributesCount that is no count: taken as 0"),
        (
            {"attributes": {"a": {"b": [1]}}},
            {"attributes": {"a": {"b": [1]}}},
            "attributes written as a plain object: taken as they are",
        ),
        (
            {"attributes": {"a": {"stringValue": "x"}, "b": {"int_value": "7"}}},
            {"attributes": {"a": "x", "b": 7}},
            "attributes written as a plain object: taken as they are",
        ),
        ({"attributes": [{"value": {"intValue": 1}}]}, {"attributes": {}}, "attribute without a key: left out"),
        (
            {"attributes": [{"key": "k", "value": "v"}]},
            {"attributes": {"k": "v"}},
            "attribute value without its type: taken as it is",
        ),
        (
            {"attributes": [{"key": "k", "value": {"new": 1}}]},
            {"attributes": {"k": None}},
            "attribute value of an unknown type: left empty",
        ),
        (
            {"attributes": [{"key": "k", "value": {"intValue": "many"}}]},
            {"attributes": {"k": "many"}},
            "attribute value that is not of its type: taken as it is",
        ),
        (
            {"attributes": [{"key": "k", "value": {"stringValue": 5}}]},
            {"attributes": {"k": 5}},
            "attribute value that is not of its type: taken as it is",
        ),
        (
            {"attributes": [{"key": "k", "value": {"doubleValue": "much"}}]},
            {"attributes": {"k": "much"}},
            "attribute value that is not of its type: taken as it is",
        ),
        (
            {"attributes": [{"key": "k", "value": {"boolValue": 3}}]},
            {"attributes": {"k": 3}},
            "attribute value that is not of its type: taken as it is",
        ),
        (
            {"attributes": [{"key": "k", "value": {"bytesValue": "?"}}]},
            {"attributes": {"k": "?"}},
            "attribute value that is not of its type: taken as it is",
        ),
        (
            {"attributes": [{"key": "k", "value": {"stringValue": "cut \ud83d"}}]},
            {"attributes": {"k": "cut �"}},
            "text that is no Unicode: replaced",
        ),
    ],
    ids=str,
)
def test_repairs_are_made_and_counted(fields: dict[str, Any], expected: dict[str, Any], words: str) -> None:
    """What must be guessed is put right, counted by what was done, and changes nothing else."""
    outcome = changed(put(**fields))
    odd = outcome.records[1]
    assert expected == {name: getattr(odd, name) for name in expected}
    assert 1 == outcome.tally.repairs[words]
    assert ([made("before"), made("after")], []) == ([outcome.records[0], outcome.records[2]], outcome.messages)


def test_bare_nan_is_read() -> None:
    """Numbers that JSON does not have, as Python's own encoder writes them, are read."""
    text = dump(edited(put(attributes=[{"key": "k", "value": {"doubleValue": math.nan}}])))
    assert b"NaN" in text
    outcome = Outcome(text)
    assert math.isnan(outcome.records[1].attributes["k"])
    assert 3 == len(outcome.records)


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    """A span with bytes that are no UTF-8 is kept with these replaced, and counted."""
    outcome = Outcome(dump(edited(lambda span: None, name="MARK")).replace(b"MARK", b"a\xff\xfe"))
    assert (["before", "a��", "after"], {"text that is no Unicode: replaced": 1}) == (
        outcome.names,
        outcome.tally.repairs,
    )


def test_values_nested_without_end_are_left_out() -> None:
    """Of a value nested beyond what anyone reads, the depth is left out, and the span stays."""
    value: dict[str, Any] = {"intValue": "1"}
    for _ in range(240):
        value = {"arrayValue": {"values": [value]}}
    outcome = changed(put(attributes=[{"key": "deep", "value": value}], kind="internal"))
    depth, held = 0, outcome.records[1].attributes["deep"]
    while isinstance(held, list):
        depth, held = depth + 1, held[0]
    assert (100, None) == (depth, held)
    assert {"value nested more than 100 levels deep: left out": 1} == outcome.tally.repairs


# What is refused, each alone
