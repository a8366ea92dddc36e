"""Collecting records into whole traces: when one is finished, what is refused, and where every record went."""

from __future__ import annotations

import pytest

from spanwise.assembly.assembler import LIVE, SERVICE, Assembler, AssemblySettings, AssemblyStats, Finished
from spanwise.assembly.sizes import size_of
from spanwise.errors import ModelError
from spanwise.model.raw import LogEvent, RawEvent, RawSpan
from tests.making import SCOPE, TRACE, agent, log_event, span, span_id, tool, trace_id


def told(finished: list[Finished]) -> list[tuple[str, int, str, list[str]]]:
    """Trace, revision, reason and span ids of what was handed out."""
    return [(f.trace.trace_id, f.revision, f.reason, [s.span_id for s in f.trace.spans]) for f in finished]


def assembler(*records: RawSpan | LogEvent, now: int = 0, **settings: object) -> Assembler:
    """An assembler that was given some records at one time."""
    made = Assembler(AssemblySettings(**settings))
    for record in records:
        made.add(record, now)
    return made


# When a trace is finished


def test_local_root_finishes_at_the_next_tick() -> None:
    """In a process a trace is finished once its local root has ended, though a child has not."""
    one = assembler(tool(2, parent=1, end=0), finish="local_root")
    assert [] == one.tick(0)
    one.add(agent(1), 0)
    assert [(TRACE, 1, "root ended", [span_id(1), span_id(2)])] == told(one.tick(0))
    assert [] == one.tick(0)


def test_remote_parent_makes_a_local_root() -> None:
    """In a process a span below another process's span is the local root; to a service it is not the topmost one."""
    record = span(1, parent=9, remote=True)
    assert [1] == [f.revision for f in assembler(record, finish="local_root").tick(0)]
    assert [] == assembler(record, finish="top_root").tick(10**18)


def test_topmost_root_finishes_after_the_grace() -> None:
    """A service waits the grace out once the topmost root has ended, counted from the root's arrival."""
    one = assembler(span(1), now=100, finish="top_root", grace_ns=50)
    one.add(span(2, parent=1), 149)
    assert [] == one.tick(149)
    assert [(TRACE, 1, "root ended", [span_id(1), span_id(2)])] == told(one.tick(150))


def test_root_that_has_not_ended_finishes_nothing() -> None:
    """A root that is only started finishes its trace no sooner than its end arrives."""
    one = assembler(span(1, end=0), finish="local_root")
    assert [] == one.tick(10**18)
    one.add(span(1), 0)
    assert [(TRACE, 1, "root ended", [span_id(1)])] == told(one.tick(0))


def test_second_root_moves_no_deadline() -> None:
    """A trace with two roots is due by the one that ended first."""
    one = assembler(span(1), finish="top_root", grace_ns=10)
    one.add(span(2), 9)
    assert [(TRACE, 1, "root ended", [span_id(1), span_id(2)])] == told(one.tick(10))
    assert [] == one.tick(10**18)


def test_idle_traces_finish() -> None:
    """A trace for which nothing came in the idle time is finished; one that was touched is not."""
    one = assembler(span(1, parent=9), span(1, parent=9, trace=trace_id(2)), idle_ns=10)
    one.add(span(2, parent=9), 5)
    assert [(trace_id(2), 1, "idle", [span_id(1)])] == told(one.tick(10))
    assert [(TRACE, 1, "idle", [span_id(1), span_id(2)])] == told(one.tick(15))


def test_idle_before_the_grace_is_over() -> None:
    """A trace that finished by idling is not finished again when its root's grace runs out."""
    one = assembler(span(1), finish="top_root", grace_ns=20, idle_ns=10, late_ns=100)
    assert ["idle"] == [f.reason for f in one.tick(10)]
    assert [] == one.tick(20)


def test_end_of_input() -> None:
    """Offline nothing is finished before the input ends; then everything is, and nothing stays."""
    one = assembler(agent(1), span(1, trace=trace_id(2)))
    assert [] == one.tick(10**18)
    assert [(TRACE, 1, "end of input", [span_id(1)]), (trace_id(2), 1, "end of input", [span_id(1)])] == told(
        one.drain(0)
    )
    assert (0, 0, []) == (one.held, one.open_traces, one.drain(0))


def test_unit_is_passed_on() -> None:
    """With unit="trace" a trace with two agents is one run."""
    (done,) = assembler(agent(1), agent(5000), unit="trace").drain(0)
    assert [-1] == list(done.trace.run_roots)


# What comes late


def test_late_span_makes_a_new_revision() -> None:
    """A span that comes in the late time hands its trace out again, whole, once per tick."""
    one = assembler(span(1), finish="local_root", late_ns=10)
    one.tick(0)
    one.add(span(2, parent=1), 4)
    one.add(log_event(1), 5)
    again = one.tick(6)
    assert [(TRACE, 2, "late spans", [span_id(1), span_id(2)])] == told(again)
    assert (2, 1, 1) == (again[0].trace.revision, one.stats.finished, one.stats.again)
    assert [] == one.tick(9)


def test_a_double_is_no_late_span() -> None:
    """A span that the finished trace has already makes no new revision; a fuller one does."""
    one = assembler(span(1), finish="local_root", late_ns=10)
    one.tick(0)
    one.add(span(1), 1)
    assert [] == one.tick(1)
    one.add(span(1, attributes={"a": 1}), 2)
    assert [2] == [f.revision for f in one.tick(2)]


def test_late_time_over() -> None:
    """After the late time only a tombstone is left: what comes is counted late, and the trace is named."""
    one = assembler(span(1), finish="local_root", late_ns=10)
    one.tick(0)
    one.tick(10)
    one.add(span(2, parent=1), 11)
    assert (0, 1, 1, [TRACE]) == (one.held, one.stats.released, one.stats.late, list(one.late_traces))
    assert [] == one.tick(12)


def test_tombstones_are_bounded() -> None:
    """The oldest tombstone makes room, and with it the name of its late trace; its spans open a trace again."""
    one = assembler(span(1), finish="local_root", max_tombstones=1)
    one.tick(0)
    one.add(span(2, parent=1), 0)
    assert [TRACE] == list(one.late_traces)
    one.add(span(1, trace=trace_id(2)), 1)
    one.tick(1)
    assert [] == list(one.late_traces)
    one.add(span(3), 2)
    assert [(TRACE, 1, "root ended", [span_id(3)])] == told(one.tick(2))


def test_a_trace_that_opens_again_has_its_own_deadlines() -> None:
    """A trace that is opened anew, its tombstone gone, is finished by its own root, age and late time only."""
    one = assembler(span(1), finish="local_root", grace_ns=50, max_age_ns=100, max_trace_spans=1, max_tombstones=0)
    one.add(span(2, parent=1), 0)  # refused
    one.add(span(3, parent=1), 80)
    assert ([], 1) == (one.tick(120), one.open_traces)
    assert ([], {"spans_per_trace": 2, "unfinished": 1}) == (one.tick(180), one.stats.refused)


def test_released_anew() -> None:
    """A finished trace that was refused and came again keeps its spans for its own late time."""
    one = assembler(span(1), finish="local_root", late_ns=50, max_trace_spans=1, max_tombstones=0)
    one.tick(0)
    one.add(span(2, parent=1), 1)  # refused
    one.add(span(30), 20)
    one.tick(20)
    one.tick(60)
    assert 1 == one.held
    one.tick(70)
    assert (0, 1) == (one.held, one.stats.released)


# Doubles


def test_the_fuller_of_two_spans_stays() -> None:
    """Of two spans of one id that differ the fuller one stays, whichever came first, and the trace says so."""
    poor, rich = span(1, end=0), span(1, attributes={"a": 1})
    for order in ([poor, rich], [rich, poor]):
        one = assembler(*order)
        (done,) = one.drain(0)
        assert [rich] == [s.raw for s in done.trace.spans]
        assert (f"spans that share an id and disagree, the fuller kept: {span_id(1)}",) == done.trace.repairs
        assert (1, 1) == (one.stats.doubled, one.stats.released)


def test_the_same_record_twice() -> None:
    """A span or log event that came twice is held once and counted as doubled."""
    one = assembler(span(1), span(1), log_event(1), log_event(1))
    assert (2, AssemblyStats(received=4, doubled=2)) == (one.held, one.stats)
    (done,) = one.drain(0)
    assert (1, ()) == (len(done.trace.spans[0].events), done.trace.repairs)


def test_nested_beyond_recursion() -> None:
    """Content nested deeper than repr goes is taken, doubled or not, with its size known."""
    deep: object = "core"
    for _ in range(5000):
        deep = [deep]
    one = assembler(
        span(1, attributes={"deep": deep}),
        span(1, attributes={"deep": deep}),
        log_event(1, attributes={"deep": deep}),
        log_event(1, attributes={"deep": deep}),
        max_bytes=10**9,
    )
    assert (2, 2) == (one.held, one.stats.doubled)
    (done,) = one.drain(0)
    assert (1, ()) == (len(done.trace.spans[0].events), done.trace.repairs)


# Bounds


def test_too_many_traces() -> None:
    """Past the bound on traces a new one is refused whole, at its first span and at every later one."""
    one = assembler(span(1), span(1, trace=trace_id(2)), max_traces=1)
    one.add(span(2, parent=1, trace=trace_id(2)), 0)
    assert (1, {"traces": 2}, {"traces": 1}) == (one.open_traces, one.stats.refused, one.stats.refused_traces)
    assert [TRACE] == [f.trace.trace_id for f in one.drain(0)]


def test_too_many_spans_in_a_trace() -> None:
    """The record that would make a trace too large takes the whole trace with it; others stay."""
    one = assembler(span(1), span(1, trace=trace_id(2)), log_event(1), span(3, parent=1), max_trace_spans=2)
    assert (1, {"spans_per_trace": 3}, {"spans_per_trace": 1}) == (
        one.held,
        one.stats.refused,
        one.stats.refused_traces,
    )
    one.add(span(4, parent=1), 0)
    assert {"spans_per_trace": 4} == one.stats.refused
    assert [trace_id(2)] == [f.trace.trace_id for f in one.drain(0)]


def test_too_many_spans() -> None:
    """Past the bound on all spans a new trace is refused at once, and an old one when it grows."""
    one = assembler(span(1), span(2), span(1, trace=trace_id(2)), max_spans=2)
    assert (2, {"spans": 1}) == (one.held, one.stats.refused)
    one.add(span(3), 0)
    assert (0, {"spans": 4}, {"spans": 2}) == (one.held, one.stats.refused, one.stats.refused_traces)


def test_too_many_bytes() -> None:
    """Past the bound on bytes the trace that grows is refused, or the new one; refusing makes room."""
    size = size_of(span(1))
    one = assembler(span(1), span(1, trace=trace_id(2)), max_bytes=2 * size)
    one.add(span(1, trace=trace_id(3)), 0)
    assert (2, {"bytes": 1}) == (one.held, one.stats.refused)
    one.add(span(2), 0)
    assert (1, {"bytes": 3}) == (one.held, one.stats.refused)
    one.add(span(1, trace=trace_id(4)), 0)
    assert 2 == one.held


def test_a_fuller_double_is_weighed_once() -> None:
    """Where a fuller span takes the place of another, only its own bytes count."""
    poor, rich = span(1, end=0), span(1)
    one = assembler(poor, rich, max_bytes=size_of(rich))
    assert (1, {}) == (one.held, one.stats.refused)


def test_finished_traces_make_room() -> None:
    """Past a bound the traces that were handed out go first, the oldest before the others, and late spans are late."""
    for bounds in ({"max_traces": 2}, {"max_spans": 2}, {"max_bytes": 2 * size_of(span(1))}):
        one = assembler(span(1), finish="local_root", late_ns=1000, **bounds)
        one.tick(0)
        for number in (2, 3):
            one.add(span(1, trace=trace_id(number)), number)
            assert 1 == len(one.tick(number))
        assert (2, 1, {}) == (one.held, one.stats.released, one.stats.refused)
        one.add(span(5, parent=1), 4)
        assert 1 == one.stats.late
        one.add(span(5, parent=1, trace=trace_id(3)), 4)
        if "max_traces" not in bounds:
            assert (2, 2, [2]) == (one.held, one.stats.released, [done.revision for done in one.tick(4)])


def test_the_oldest_finished_trace_grows() -> None:
    """It does not make room for itself: what breaks the bound is refused; one that is gone is passed over."""
    one = assembler(span(1), finish="local_root", late_ns=1000, max_spans=2)
    one.tick(0)
    one.add(span(2, parent=1), 1)
    one.add(span(3, parent=1), 1)
    assert (0, {"spans": 3}) == (one.held, one.stats.refused)
    for number in (2, 3, 4):
        one.add(span(number, trace=trace_id(number)), number)
        one.tick(number)
    assert (2, 1, {"spans": 3}) == (one.held, one.stats.released, one.stats.refused)


def test_too_old() -> None:
    """A trace that is not finished at its greatest age is given up, however lately it was touched."""
    one = assembler(span(1, parent=9), finish="local_root", max_age_ns=10)
    one.add(span(2, parent=9), 9)
    assert ([], 2) == (one.tick(9), one.held)
    assert ([], 0, {"unfinished": 2}) == (one.tick(10), one.held, one.stats.refused)


def test_age_of_a_finished_trace() -> None:
    """A finished trace is past its age without harm."""
    one = assembler(span(1), finish="local_root", max_age_ns=10, late_ns=100)
    one.tick(0)
    assert ([], 1, {}) == (one.tick(10), one.held, one.stats.refused)


def test_finished_trace_that_grows_too_large() -> None:
    """A late span that breaks a bound takes back what was held of the trace; it is not handed out again."""
    one = assembler(span(1), finish="local_root", late_ns=10, max_trace_spans=2)
    one.tick(0)
    one.add(span(2, parent=1), 1)
    one.add(span(3, parent=1), 2)
    assert ([], 0, {"spans_per_trace": 3}) == (one.tick(3), one.held, one.stats.refused)
    assert [] == one.tick(10**9)


def test_lines_stay_short() -> None:
    """Finished traces leave no trail: what is remembered of deadlines is bounded by what is open."""
    one = Assembler(AssemblySettings(finish="local_root", max_age_ns=10**18, max_tombstones=1))
    for number in range(1, 5000):
        one.add(span(1, trace=trace_id(number)), number)
        one.tick(number)
    assert len(one._ages) < 2000
    assert (4999, 0, 1) == (one.stats.released, len(one._retained), len(one._tombstones))


@pytest.mark.parametrize("name", ["grace_ns", "idle_ns", "late_ns", "max_age_ns"])
def test_negative_times_are_refused(name: str) -> None:
    """A negative time span is an error that names the setting."""
    with pytest.raises(ModelError, match=f"{name} is -1; a time span cannot be negative"):
        AssemblySettings(**{name: -1})


@pytest.mark.parametrize("name", ["max_traces", "max_trace_spans", "max_spans", "max_bytes"])
def test_bounds_of_nothing_are_refused(name: str) -> None:
    """A bound of 0 is an error that says how to have none."""
    with pytest.raises(ModelError, match=f"{name} is 0; use None for no bound"):
        AssemblySettings(**{name: 0})


def test_doors_have_their_bounds() -> None:
    """A live processor and a service are bounded in traces and spans, and each ends every trace some day."""
    for door in (LIVE, SERVICE):
        assert None not in (door.max_traces, door.max_trace_spans, door.max_spans)
        assert door.max_age_ns is not None or door.idle_ns is not None


def test_events_alone_give_an_empty_trace() -> None:
    """Log events whose spans never came are a trace without spans, which says what it leaves out."""
    (done,) = assembler(LogEvent(TRACE, span_id(1), RawEvent("e", 1, {}), SCOPE)).drain(0)
    assert (0, ("log events whose span is not here, left out: 1",)) == (len(done.trace.spans), done.trace.repairs)
