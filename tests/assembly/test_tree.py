"""Building a trace from its spans."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from spanwise.assembly.tree import build_trace
from spanwise.model.calls import Completeness
from spanwise.model.raw import RawEvent, RawSpan, Scope
from spanwise.model.trace import Trace
from tests.making import TRACE, agent, chat, log_event, span, span_id, tool, trace_of


def shape(trace: Trace) -> list[tuple[str, int, int, int, int]]:
    """All links of a trace."""
    return [(s.span_id, s.parent, s.run, s.agent, s.holder) for s in trace.spans]


def test_links_are_indices_by_start() -> None:
    """Spans stand by start, and parent, run, agent and holder are indices into them."""
    trace = trace_of(tool(5, parent=2), agent(2), chat(3, parent=2), tool(4, parent=3))
    assert shape(trace) == [
        (span_id(2), -1, 0, 0, -1),
        (span_id(3), 0, 0, 0, -1),
        (span_id(4), 1, 0, 0, 1),
        (span_id(5), 0, 0, 0, -1),
    ]
    assert (trace.roots, trace.run_roots, trace.completeness) == ([0], [0], Completeness())


def test_longer_of_equal_starts_is_first() -> None:
    """Of spans that start together the longer stands first, so a parent stands before its child."""
    trace = trace_of(span(2, parent=1, start=7, end=8), span(1, start=7, end=20))
    assert [s.span_id for s in trace.spans] == [span_id(1), span_id(2)]


def test_parent_of_equal_times_is_first() -> None:
    """A parent that starts with its child and does not outlast it stands before it, whatever its id; all else stays."""
    tied = [span(2, parent=1, start=7, end=9), span(1, parent=3, start=7, end=9), span(3, start=7, end=8)]
    beside = [span(4, start=7, end=9), span(5, start=7, end=8)]
    order = [s.span_id for s in trace_of(*tied, *beside, span(6, start=8)).spans]
    assert order == [span_id(number) for number in (3, 1, 2, 4, 5, 6)]
    cycle = trace_of(span(1, parent=2, start=7, end=9), span(2, parent=1, start=7, end=9))
    assert {span_id(1), span_id(2)} == {s.span_id for s in cycle.spans}


def test_each_outermost_agent_is_a_run() -> None:
    """Two agents below one request are two runs; an agent below an agent is part of its run."""
    trace = trace_of(span(1, end=5000), agent(2, parent=1), agent(3, parent=2, name="inner"), agent(2000, parent=1))
    assert [(run.run_id, [s.span_id for s in run.spans]) for run in trace.runs] == [
        (span_id(2), [span_id(2), span_id(3)]),
        (span_id(2000), [span_id(2000)]),
    ]


def test_trace_without_agent_is_one_run() -> None:
    """Without an agent or workflow span the whole trace is one run, without an id."""
    trace = trace_of(span(1), chat(2, parent=1))
    assert [(run.run_id, len(run.spans)) for run in trace.runs] == [("", 2)]


def test_setup_alone_is_no_run() -> None:
    """A trace in which an agent was only created, in a request perhaps, holds no run."""
    made = {"gen_ai.operation.name": "create_agent"}
    assert trace_of(span(1, attributes=made)).runs == ()
    assert trace_of(span(1, name="POST /chat"), span(2, parent=1, attributes=made)).runs == ()
    assert [len(run.spans) for run in trace_of(chat(1, parent=None), span(2, parent=1, attributes=made)).runs] == [2]


def test_whole_trace_on_request() -> None:
    """With unit="trace" the whole trace is one run whatever agents are in it."""
    trace = build_trace(TRACE, [agent(1), agent(5000)], unit="trace")
    assert [len(run.spans) for run in trace.runs] == [2]


def test_two_spans_of_one_id_that_disagree() -> None:
    """The fuller of two spans with one id stays, whichever came first, and the repair is said."""
    poor, rich = span(1, end=0), span(1, attributes={"a": 1})
    for order in ([poor, rich], [rich, poor]):
        trace = trace_of(*order)
        assert [s.raw for s in trace.spans] == [rich]
        assert trace.repairs == (f"spans that share an id and disagree, the fuller kept: {span_id(1)}",)


def test_same_span_twice_is_one() -> None:
    """A span that came twice is one span, and nothing needs to be said of it."""
    trace = trace_of(span(1), span(1))
    assert (len(trace.spans), trace.repairs) == (1, ())


def test_cycle_is_cut_at_its_earliest_span() -> None:
    """A cycle of parents is cut at its earliest span, also where what hangs below it starts before it."""
    trace = trace_of(span(5, parent=6), span(6, parent=5), span(1, parent=5))
    assert [(s.span_id, s.parent) for s in trace.spans] == [(span_id(1), 1), (span_id(5), -1), (span_id(6), 1)]
    assert trace.repairs == ("cycles of parents, each cut at its earliest span: 1",)


def test_own_parent() -> None:
    """A span that is its own parent becomes a root."""
    trace = trace_of(span(1, parent=1))
    assert (trace.roots, [s.parent for s in trace.spans]) == ([0], [-1])


def test_child_that_starts_before_its_parent() -> None:
    """A clock that runs behind turns no tree over: links do not depend on times, and no span is before its parent."""
    trace = trace_of(agent(10), tool(5, parent=10))
    assert [(s.kind, s.parent, s.run) for s in trace.spans] == [("agent", -1, 0), ("tool", 0, 0)]


def test_a_server_whose_clock_runs_behind() -> None:
    """The server's half of a call is folded into the client's, whichever of the two clocks is late."""
    served = [tool(number, parent=number + 12, name="search", result="found") for number in (8, 28)]
    asked = [tool(number, parent=1, name="search", arguments={"q": 1}) for number in (20, 40)]
    (run,) = trace_of(agent(1), *asked, *served).runs
    assert [("search", 20, "found"), ("search", 40, "found")] == [
        (c.name, c.start_ns, c.result) for c in run.tool_calls
    ]


def test_reasons_why_a_trace_is_partial() -> None:
    """An unseen parent, a span that did not end, and dropped attributes are told apart."""
    dropped = RawSpan(TRACE, span_id(3), span_id(1), "x", 3, 4, 0, "", {}, (), span(1).scope, dropped=2)
    trace = trace_of(span(1, parent=99), span(2, parent=1, end=0), dropped)
    assert trace.completeness == Completeness(
        complete=False,
        reasons=(
            "root span missing",
            "parent unseen of 1 span",
            "1 span not ended",
            "attributes, events or links dropped on 1 span",
        ),
    )


def test_attribute_limit_is_a_reason() -> None:
    """A span with exactly as many attributes as the default limit allows has most likely lost its oldest ones."""
    full = span(1, attributes={str(n): n for n in range(128)})
    dropped = [RawSpan(TRACE, span_id(n), span_id(1), "x", n, n, 0, "", {}, (), full.scope, dropped=1) for n in (2, 3)]
    assert trace_of(full, *dropped).completeness.reasons == (
        "attributes, events or links dropped on 2 spans",
        "attribute limit (128) reached on 1 span",
    )


def test_what_java_counts_as_dropped() -> None:
    """Java's SDK counts what was written anew as dropped: believed only where a limit is reached."""
    java = Scope("ai.koog", "", {"telemetry.sdk.language": "java"})
    few = {f"a{n}": n for n in range(3)}
    many = {f"a{n}": n for n in range(128)}
    written_anew = RawSpan(TRACE, span_id(1), None, "x", 1, 4, 0, "", few, (), java, dropped=2)
    assert trace_of(written_anew).completeness.complete
    at_the_limit = RawSpan(TRACE, span_id(1), None, "x", 1, 4, 0, "", many, (), java, dropped=2)
    assert ("attributes, events or links dropped on 1 span",) == trace_of(at_the_limit).completeness.reasons


def test_lost_parent_inside_a_run() -> None:
    """A span whose parent was lost belongs to the run in whose time it lies, one outside any run to none."""
    trace = trace_of(agent(1), tool(5, parent=99), tool(5000, parent=98))
    assert [(s.kind, s.run, s.agent) for s in trace.spans] == [("agent", 0, 0), ("tool", 0, 0), ("tool", -1, -1)]


def test_remote_parent_is_no_loss() -> None:
    """A local root whose parent is in another process is a root, and the trace is complete."""
    trace = trace_of(span(1, parent=99, remote=True), agent(2, parent=1))
    assert (trace.roots, trace.completeness) == ([0], Completeness())


def test_log_events_are_joined() -> None:
    """A log event goes to its span once, by time; one whose span is not here is counted."""
    early, late = log_event(1, name="early"), log_event(1, name="late")
    late.event.time_ns = 9
    trace = trace_of(span(1), events=[late, early, late, log_event(77)])
    assert [e.name for e in trace.spans[0].events] == ["early", "late"]
    assert trace.repairs == ("log events whose span is not here, left out: 1",)


def test_event_that_is_on_the_span_already() -> None:
    """An event that an instrumentation writes on the span and as a log record is one event."""
    event = RawEvent("e", 1, {})
    item = log_event(1)
    item.event = event
    assert trace_of(span(1, events=[event]), events=[item]).spans[0].events == (event,)


def test_chain_of_ten_thousand() -> None:
    """Depth costs no recursion: every ancestor of the deepest span is found."""
    spans = [span(n, parent=n - 1 if n > 1 else None) for n in range(1, 10_001)]
    trace = trace_of(*reversed(spans))
    assert sum(1 for _ in trace.ancestors(9_999)) == 9_999
    assert [len(found) for found in trace.children()] == [1] * 9_999 + [0]


@st.composite
def forests(draw: st.DrawFn) -> list[RawSpan]:
    """Random forests, many of them with cycles, doubles, unseen parents and odd times."""
    count = draw(st.integers(0, 12))
    kinds = st.sampled_from(["invoke_agent", "chat", "execute_tool", "retrieval", "create_agent", "other"])
    return [
        span(
            draw(st.integers(1, 12)),
            parent=draw(st.none() | st.integers(1, 14)),
            start=draw(st.integers(0, 5)),
            end=draw(st.integers(0, 8)),
            attributes={"gen_ai.operation.name": draw(kinds)},
            remote=draw(st.booleans()),
        )
        for _ in range(count)
    ]


@given(forests(), st.randoms())
def test_any_order_gives_the_same_tree(spans: list[RawSpan], random: Random) -> None:
    """Whatever the spans and their order, building never raises and gives the same links, runs, reasons and repairs."""
    shuffled = list(spans)
    random.shuffle(shuffled)
    one, other = build_trace(TRACE, spans), build_trace(TRACE, [*shuffled, *shuffled[:3]])
    assert shape(one) == shape(other)
    assert (one.run_roots, one.completeness, one.repairs) == (other.run_roots, other.completeness, other.repairs)


@given(forests())
def test_every_span_reaches_a_root(spans: list[RawSpan]) -> None:
    """No chain of parents outgrows the trace; each run's spans hang below its root, unless their parent was lost."""
    trace = build_trace(TRACE, spans)
    for item in trace.spans:
        above = [ancestor.index for ancestor in trace.ancestors(item.index)]
        assert len(above) < len(trace.spans)
        top = trace.spans[above[-1] if above else item.index]
        adopted = top.parent < 0 and top.raw.parent_id is not None and top.run != top.index
        if item.run >= 0 and not adopted:
            assert item.run in {item.index, *above}
