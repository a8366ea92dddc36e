"""Collecting records, whatever comes when: nothing raises, nothing is torn, nothing goes uncounted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from spanwise.assembly.assembler import Assembler, AssemblySettings, Finished
from spanwise.assembly.tree import build_trace
from spanwise.model.raw import LogEvent, RawSpan
from spanwise.model.trace import Trace
from tests.making import agent, chat, event_of, span, tool, trace_id


def shape(trace: Trace) -> object:
    """All that may depend on the order of arrival, and must not."""
    return (
        trace.key,
        [(s.raw, s.kind, s.parent, s.run, s.agent, s.holder) for s in trace.spans],
        trace.roots,
        trace.run_roots,
        trace.completeness,
        trace.repairs,
    )


def accounted(one: Assembler) -> int:
    """The records that the counters tell of."""
    stats = one.stats
    return one.held + stats.released + stats.doubled + stats.late + sum(stats.refused.values())


@st.composite
def records(draw: st.DrawFn, *, traces: int = 3) -> RawSpan | LogEvent:
    """A record of one of a few traces: spans that may repeat or disagree, with or without an end, and log events."""
    trace = trace_id(draw(st.integers(1, traces)))
    number = draw(st.integers(1, 6))
    if draw(st.integers(0, 3)) == 0:
        return event_of(trace, number, name=draw(st.sampled_from("ab")))
    parent = draw(st.none() | st.integers(1, 6))
    make = draw(st.sampled_from([agent, chat, tool, span]))
    made = make(number, parent=parent)
    made.trace_id = trace
    made.parent_remote = draw(st.booleans())
    if draw(st.booleans()):
        made.end_ns = 0
    return made


LIMITS = st.none() | st.integers(1, 6)
TIMES = st.none() | st.integers(0, 5)


class Accounts(RuleBasedStateMachine):
    """Any records at any times under any settings: nothing raises, nothing is torn, nothing goes uncounted."""

    @initialize(
        finish=st.sampled_from(["local_root", "top_root", "end"]),
        grace=st.integers(0, 3),
        idle=TIMES,
        late=st.integers(0, 3),
        age=TIMES,
        limits=st.tuples(LIMITS, LIMITS, LIMITS, st.none() | st.integers(1, 3000)),
        tombstones=st.integers(0, 3),
    )
    def begin(
        self,
        finish: str,
        grace: int,
        idle: int | None,
        late: int,
        age: int | None,
        limits: tuple[int | None, ...],
        tombstones: int,
    ) -> None:
        """Start with some settings and an empty account."""
        self.settings = AssemblySettings(
            finish=finish,
            grace_ns=grace,
            idle_ns=idle,
            late_ns=late,
            max_age_ns=age,
            max_traces=limits[0],
            max_trace_spans=limits[1],
            max_spans=limits[2],
            max_bytes=limits[3],
            max_tombstones=tombstones,
        )
        self.one = Assembler(self.settings)
        self.now = 0
        self.added = 0
        self.given: dict[object, list[RawSpan | LogEvent]] = {}
        self.revisions: dict[object, int] = {}

    @rule(record=records())
    def add(self, record: RawSpan | LogEvent) -> None:
        """Add a record; what is refused, late or forgotten begins anew."""
        before = self.one.stats.late + sum(self.one.stats.refused.values())
        self.one.add(record, self.now)
        self.added += 1
        if self.one.stats.late + sum(self.one.stats.refused.values()) > before:
            self.given.pop(record.trace_id, None)
        else:
            self.given.setdefault(record.trace_id, []).append(record)
        self.forget()

    @rule(by=st.integers(0, 4))
    def tick(self, by: int) -> None:
        """Let time pass."""
        self.now += by
        self.check(self.one.tick(self.now))

    @rule()
    def drain(self) -> None:
        """Empty it, as at a shutdown after which more comes."""
        self.check(self.one.drain(self.now))
        assert (0, 0) == (self.one.held, self.one.open_traces)
        self.given.clear()

    def check(self, finished: list[Finished]) -> None:
        """Each trace handed out is what building it from all its records gives."""
        for item in finished:
            held = self.given[item.trace.key]
            spans = [record for record in held if isinstance(record, RawSpan)]
            events = {repr(record): record for record in held if isinstance(record, LogEvent)}
            assert shape(build_trace(item.trace.key, spans, events=events.values())) == shape(item.trace)
            assert (item.revision == 1) == (item.reason != "late spans")
        self.forget()

    def forget(self) -> None:
        """Traces that are held no longer, perhaps since they gave way to others, begin anew."""
        self.given = {key: held for key, held in self.given.items() if self.one.holds(key)}

    @invariant()
    def every_record_is_accounted_for(self) -> None:
        """What was received is held, released, doubled, late or refused, at every moment."""
        if hasattr(self, "one"):
            assert self.added == self.one.stats.received == accounted(self.one)

    @invariant()
    def bounds_hold(self) -> None:
        """No bound is ever exceeded between calls."""
        if hasattr(self, "one"):
            s = self.settings
            assert s.max_traces is None or self.one.open_traces <= s.max_traces
            assert s.max_spans is None or self.one.held <= s.max_spans
            assert s.max_bytes is None or self.one._bytes <= s.max_bytes
            entries = [*self.one._open.values(), *self.one._done.values()]
            assert s.max_trace_spans is None or all(entry.held <= s.max_trace_spans for entry in entries)
            assert self.one.held == sum(entry.held for entry in entries)
            assert self.one._bytes == sum(entry.bytes for entry in entries)
            assert max(len(self.one._tombstones), len(self.one._refusals)) <= s.max_tombstones
            assert len(self.one.late_traces) <= s.max_tombstones


TestAccounts = Accounts.TestCase
TestAccounts.__doc__ = Accounts.__doc__


def handed_out(*records: RawSpan | LogEvent) -> list[Finished]:
    """What an unbounded assembler makes of some records."""
    one = Assembler()
    for record in records:
        one.add(record, 0)
    return one.drain(0)


@given(st.lists(records(), max_size=25), st.permutations(range(25)))
def test_any_order_gives_the_same_traces(given_records: list[RawSpan | LogEvent], order: list[int]) -> None:
    """Complete input gives the trees that building each trace at once gives, whatever the order and the doubles."""
    shuffled = [given_records[at] for at in order if at < len(given_records)]
    handed = {f.trace.key: shape(f.trace) for f in handed_out(*shuffled, *shuffled[:3])}
    keys = {record.trace_id for record in given_records}
    expected: dict[object, object] = {}
    for key in keys:
        own = [record for record in given_records if record.trace_id == key]
        spans = [record for record in own if isinstance(record, RawSpan)]
        events = {repr(record): record for record in own if isinstance(record, LogEvent)}
        expected[key] = shape(build_trace(key, spans, events=events.values()))
    assert expected == handed
