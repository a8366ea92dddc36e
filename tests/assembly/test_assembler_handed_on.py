"""Traces that go on from process to process: taken up again, looked at, let go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spanwise.assembly.assembler import Assembler, AssemblySettings
from spanwise.model.raw import Key, RawSpan
from tests.making import TRACE, agent, log_event, span_id, tool

SERVICE = AssemblySettings(finish="top_root", grace_ns=10, late_ns=100, max_spans=6)


def holding(*records: RawSpan) -> tuple[Assembler, list[tuple[Key, str]]]:
    """An assembler with these, and what it tells of traces that are gone."""
    gone: list[tuple[Key, str]] = []
    found = Assembler(SERVICE)
    found.on_gone = lambda key, reason: gone.append((key, reason))
    for record in records:
        found.add(record, 0)
    return found, gone


def test_a_finished_trace_is_taken_up_again() -> None:
    """It is not handed out for what is held of it, and under the next revision for what comes yet."""
    found, gone = holding(agent(1), tool(2, parent=1))
    found.restore(TRACE, 3, 0, finished=True)
    assert [] == found.tick(50)
    found.add(tool(3, parent=1), 60)
    assert [(4, "late spans", 3)] == [(one.revision, one.reason, len(one.trace.spans)) for one in found.tick(60)]
    assert [] == found.tick(100)
    assert ([(TRACE, "released")], False) == (gone, found.holds(TRACE))


def test_an_open_trace_is_taken_up_again() -> None:
    """It is finished in its time, under the next revision."""
    found, _ = holding(agent(1), tool(2, parent=1))
    found.restore(TRACE, 2, 0, finished=False)
    assert [(TRACE, 2)] == found.open_keys()
    assert [(3, "root ended")] == [(one.revision, one.reason) for one in found.tick(10)]


def test_late_spans_are_named() -> None:
    """A trace that is handed out again says which spans came since, at first none; records are kept when asked for."""
    found = Assembler(replace(SERVICE, records=True))
    spans = [agent(1), *(tool(number, parent=1) for number in (2, 3, 4))]
    for record in spans[:2]:
        found.add(record, 0)
    told = found.tick(10)
    for record in (spans[1], spans[2], spans[3]):
        found.add(record, 20)
    told += found.tick(20)
    assert [None, {span_id(3), span_id(4)}] == [one.trace.late for one in told]
    assert {one.span_id: one for one in spans} == told[1].trace.records
    plain, _ = holding(*spans)
    assert [None] == [one.trace.records for one in plain.tick(10)]


@pytest.mark.parametrize("order", [(2, 3, 4, 1), (4, 2, 1, 3), (1, 3, 2, 4)])
def test_late_spans_of_a_trace_that_is_taken_up_again(order: tuple[int, ...]) -> None:
    """Those are late that were not handed out before, in whatever order all of them came again."""
    made = {1: agent(1), **{number: tool(number, parent=1) for number in (2, 3, 4)}}
    found, _ = holding(*(made[number] for number in order))
    found.restore(TRACE, 1, 0, finished=False, handed={span_id(1), span_id(2), span_id(9)})
    (told,) = found.tick(10)
    assert (2, {span_id(3), span_id(4)}, 4) == (told.revision, told.trace.late, len(told.trace.spans))


def test_a_trace_that_is_handed_out_anew() -> None:
    """One whose scores are repeated under their revision has no late spans, and is not taken for one that is new."""
    found, _ = holding(agent(1), tool(2, parent=1))
    found.restore(TRACE, 0, 0, finished=False)
    assert [(TRACE, 1)] == found.open_keys()
    (told,) = found.tick(10)
    assert (1, frozenset()) == (told.revision, told.trace.late)


def test_a_trace_that_is_not_held_is_not_taken_up() -> None:
    """Nothing is made of a trace of which nothing came."""
    found, _ = holding()
    found.restore(TRACE, 2, 0, finished=True)
    assert not found.holds(TRACE)


def test_an_open_trace_is_let_go() -> None:
    """What is held of it can be looked at; once taken it is released, and nothing of it is left."""
    found, gone = holding(tool(2, parent=1), log_event(2))
    spans, events = found.look(TRACE)
    assert (1, 1) == (len(spans), len(events))
    found.take(TRACE)
    found.take(TRACE)
    assert ([(TRACE, "taken")], 0, 2) == (gone, found.held, found.stats.released)
    assert ([], []) == found.look(TRACE)


def test_what_is_finished_is_not_unfinished() -> None:
    """Finished traces and their late spans do not count to what cannot give way; refused ones are told."""
    found, gone = holding(agent(1), tool(2, parent=1))
    assert (1, 2) == found.unfinished[:2]
    found.tick(10)
    assert (0, 0, 2) == (*found.unfinished[:2], found.held)
    found.add(tool(3, parent=1), 11)
    assert ((0, 0), 3) == (found.unfinished[:2], found.held)
    for number in range(4, 9):
        found.add(tool(number, parent=1), 12)
    assert ([(TRACE, "spans")], (0, 0), 0) == (gone, found.unfinished[:2], found.held)
