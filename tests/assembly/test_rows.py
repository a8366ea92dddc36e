"""Many records at once: the same as one by one, in Python and compiled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.assembly import rows
from spanwise.assembly.assembler import LIVE, SERVICE, Assembler, AssemblySettings
from spanwise.assembly.sizes import size_of
from spanwise.model.ports import Record
from spanwise.model.raw import Frame, LogEvent, PackedSpan, RawEvent, RawSpan
from spanwise.native import core
from tests.assembly.test_assembler_laws import LIMITS, TIMES, records
from tests.making import SCOPE, TRACE, log_event, span, span_id, trace_id

WAYS = pytest.mark.parametrize(
    "compiled",
    [False, pytest.param(True, marks=pytest.mark.skipif(core is None, reason="the compiled part was not built here"))],
)


def packed(number: int, *, parent: int | None = None, content: bytes = b"1234") -> PackedSpan:
    """A span as bytes."""
    above = None if parent is None else span_id(parent)
    return PackedSpan(TRACE, span_id(number), above, number, 0, False, SCOPE, content, cast("Frame", None))


def seen(one: Assembler) -> object:
    """All that an assembler tells of what it holds."""
    entries = [(entry.key, dict(entry.spans), list(entry.events), entry.bytes) for entry in one._open.values()]
    return one.stats, one.held, one._bytes, one.open_traces, one.unfinished, entries, list(one._done), one.late_traces


def added(items: Iterable[Record], now: int, one: Assembler) -> Assembler:
    """An assembler that was given the records one by one."""
    for record in items:
        one.add(record, now)
    return one


@pytest.fixture
def way(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled way, or its twin."""
    if not compiled:
        monkeypatch.setattr(rows, "_ROWS", None)


@pytest.mark.usefixtures("way")
@WAYS
@pytest.mark.parametrize("settings", [LIVE, SERVICE, AssemblySettings(), AssemblySettings(max_spans=3)])
def test_a_trace_at_once(settings: AssemblySettings) -> None:
    """Spans of one trace, then another's, a root, a double and a log event are held as one by one."""
    items: list[Record] = [
        *(span(number, parent=1, attributes={"a": "text", "b": [1, 2]}) for number in range(2, 6)),
        span(3, parent=1, attributes={"a": "more text", "c": 1}),
        span(7, parent=1, events=[RawEvent("e", 1, {"key": "value"})]),
        log_event(3),
        *(span(number, parent=9, trace=trace_id(5)) for number in (7, 8)),
        *(packed(number, parent=1) for number in (10, 11)),
        packed(12),
        span(1),
        span(13, parent=1),
    ]
    one = Assembler(settings)
    one.add_all(items, 5)
    assert seen(added(items, 5, Assembler(settings))) == seen(one)


@st.composite
def settings_of(draw: st.DrawFn) -> AssemblySettings:
    """Any settings with small bounds."""
    return AssemblySettings(
        finish=draw(st.sampled_from(["local_root", "top_root", "end"])),
        idle_ns=draw(TIMES),
        late_ns=draw(st.integers(0, 3)),
        max_traces=draw(LIMITS),
        max_trace_spans=draw(LIMITS),
        max_spans=draw(LIMITS),
        max_bytes=draw(st.none() | st.integers(1, 3000)),
    )


@WAYS
@given(settings=settings_of(), parts=st.lists(st.lists(records(), max_size=12), max_size=4))
def test_the_same_as_one_by_one(
    compiled: bool, settings: AssemblySettings, parts: list[list[RawSpan | LogEvent]]
) -> None:
    """Whatever comes under whatever bounds, in whatever parts, is held, refused and counted as one by one."""
    at_once, each = Assembler(settings), Assembler(settings)
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(rows, "_ROWS", None)
        for now, part in enumerate(parts):
            at_once.add_all(list(part), now)
            added(part, now, each)
            assert seen(each) == seen(at_once)
            assert [(f.trace.key, f.reason) for f in each.tick(now)] == [
                (f.trace.key, f.reason) for f in at_once.tick(now)
            ]


@pytest.mark.skipif(core is None, reason="the compiled part was not built here")
def test_what_the_compiled_way_is_given() -> None:
    """Errors in weighing come out, an odd place holds nothing, and types without the fields are refused."""
    assert core is not None

    def weigh(record: Record) -> int:
        raise LookupError("no weight")

    heavy: list[object] = [span(1, parent=2, attributes={"a": [1]})]
    made = core.Rows(RawSpan, PackedSpan, weigh, 1, 1)
    held: dict[object, object] = {}
    with pytest.raises(LookupError, match="no weight"):
        made.hold(heavy, 0, TRACE, held, (9, 9))
    assert ({}, (0, 0)) == (held, made.hold(heavy, -1, TRACE, held, (9, -1)))
    assert (1, 0) == made.hold(heavy, 0, TRACE, held, (9, -1))
    with pytest.raises(AttributeError):
        core.Rows(Frame, PackedSpan, size_of, 1, 1)
