"""The memory of refused traces is bounded, and what is forgotten is not taken for another trace."""

from spanwise.assembly.assembler import Assembler, AssemblySettings
from spanwise.assembly.refusals import Refusals, time_of
from tests.making import TRACE, log_event, span, trace_id

BOUNDS = AssemblySettings(finish="local_root", max_trace_spans=1, max_tombstones=1)


def test_the_last_are_known_by_name() -> None:
    """The oldest name makes room for the newest, and leaves the time behind by which its trace had begun."""
    refusals = Refusals(1)
    refusals.add("a", "queue", 20)
    assert ("queue", False) == (refusals.of("a"), refusals.doubted(span(20)))
    refusals.add("b", "spans", 10)
    assert (1, None, "spans") == (len(refusals), refusals.of("a"), refusals.of("b"))
    assert (True, False) == (refusals.doubted(span(20)), refusals.doubted(span(21)))


def test_time_of_a_record() -> None:
    """A trace has begun when any span of it starts, or ends where that is all it says, and when an event happens."""
    assert (1, 7) == (time_of(span(1)), time_of(span(2, start=0, end=7)))
    event = log_event(1)
    assert event.event.time_ns == time_of(event)


def test_the_rest_of_a_forgotten_trace_is_refused() -> None:
    """A trace that was refused and forgotten opens again with its next span; its root makes no run of the rest."""
    one = Assembler(BOUNDS)
    one.add(span(2, parent=1), 0)
    one.add(span(3, parent=1), 0)
    one.add(span(52, parent=51, trace=trace_id(9)), 0)
    one.add(span(53, parent=51, trace=trace_id(9)), 0)  # the first trace is forgotten
    one.add(span(1, end=90), 1)
    assert ([], {"spans_per_trace": 4, "doubtful": 1}) == (one.tick(1), one.stats.refused)
    one.add(span(51, end=90, trace=trace_id(9)), 1)
    assert ([], 2) == (one.tick(1), one.stats.refused["doubtful"])
    one.add(span(53, trace=trace_id(3)), 2)
    assert [trace_id(3)] == [done.trace.trace_id for done in one.tick(2)]


def test_losses_without_a_name() -> None:
    """After losses whose traces nobody can name, only traces that begin later are scored."""
    one = Assembler(BOUNDS)
    one.doubt(100)
    one.add(span(100), 0)
    one.add(span(101, trace=trace_id(2)), 0)
    assert [trace_id(2)] == [done.trace.trace_id for done in one.tick(0)]
    assert {"doubtful": 1} == one.stats.refused


def test_a_loss_after_a_trace_was_handed_out() -> None:
    """It is handed out no more: a revision with some of its late spans would be torn."""
    one = Assembler(AssemblySettings(finish="local_root", late_ns=10))
    one.add(span(1), 0)
    assert 1 == len(one.tick(0))
    one.add(span(2, parent=1), 1)
    one.refuse(TRACE, "queue", 50)
    one.add(span(3, parent=1), 2)
    assert ([], 0, 2, 1) == (one.tick(3), one.held, one.stats.released, one.stats.late)


def test_a_loss_in_a_trace() -> None:
    """A trace that lost a span elsewhere is refused, whether anything of it was here or not, and once only."""
    one = Assembler(AssemblySettings(finish="local_root"))
    one.add(span(2, parent=1), 0)
    for key in (TRACE, trace_id(2), trace_id(2)):
        one.refuse(key, "queue", 50)
    one.add(span(1), 1)
    one.add(span(1, trace=trace_id(2)), 1)
    assert ([], {"queue": 3}, {"queue": 2}) == (one.tick(1), one.stats.refused, one.stats.refused_traces)


def test_closing_gives_up_what_has_not_ended() -> None:
    """At the end what has ended is handed out, and a trace without its root is refused."""
    one = Assembler(AssemblySettings(finish="local_root", late_ns=10))
    one.add(span(1), 0)
    one.add(span(2, parent=9, trace=trace_id(2)), 0)
    assert [TRACE] == [done.trace.trace_id for done in one.close(0)]
    assert (0, 1, {"unfinished": 1}) == (one.held, one.stats.released, one.stats.refused)
