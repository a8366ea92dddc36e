"""Whatever comes in whatever order: each span that waits goes on once, or is left out, or still waits."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, TraceFlags

from spanwise.assembly.tree import build_trace
from spanwise.capture._held import Held, Told, Waiting, size_of
from spanwise.capture.keep import Keeper
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.result import RunResult
from spanwise.model.score import Score

SCOPE = Scope("app", "", {})
AGENT = {"gen_ai.operation.name": "invoke_agent"}
FLAGS = TraceFlags(TraceFlags.SAMPLED)


def span(trace: int, number: int, *, text: int = 0) -> ReadableSpan:
    """A span; the first of a trace is its root."""
    parent = None if number == 1 else SpanContext(trace, 1, is_remote=False)
    context = SpanContext(trace, trace * 100 + number, is_remote=False, trace_flags=FLAGS)
    return ReadableSpan(f"{trace}.{number}", context, parent, attributes={"text": "x" * text})


def told(trace: int, numbers: set[int], revision: int, keeper: Keeper) -> Told:
    """A result of a trace that covers these spans."""
    raws = [
        RawSpan(trace, trace * 100 + one, None if one == 1 else trace * 100 + 1, "s", one, one, 0, "", AGENT, (), SCOPE)
        for one in sorted(numbers)
    ]
    runs = build_trace(trace, raws).runs
    score = Score(name="a", value=1.0)
    return Told.of([RunResult(run=run, scores=(score,), revision=revision) for run in runs], keeper)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 4), st.booleans()),
        st.tuples(st.just("settle"), st.integers(1, 4), st.sets(st.integers(1, 12), min_size=1)),
        st.tuples(st.just("give_up"), st.integers(1, 4), st.none()),
        st.tuples(st.just("later"), st.integers(1, 8), st.none()),
        st.tuples(st.just("everything"), st.just(0), st.none()),
    ),
    max_size=60,
)


@given(STEPS, st.sampled_from([None, True, False]), st.integers(1, 12))
def test_no_span_is_lost_or_goes_twice(steps: list[tuple[str, int, object]], keep: bool | None, most: int) -> None:
    """What came in is what went on, what was left out and what waits; what waits is counted rightly and bounded."""
    keeper = Keeper(None if keep is None else lambda _: bool(keep))
    held = Held(Waiting(deadline_ns=3, open_ns=7, max_spans=most, max_bytes=10**6, remember_ns=5), keeper)
    out: list[ReadableSpan] = []
    added: Counter[int] = Counter()
    now = revision = 0
    for step, which, more in steps:
        if step == "add":
            number = added[which] = added[which] + 1
            passed = held.add(span(which, number, text=number), now, scoring=bool(more))
            out += [passed] if passed is not None else []
            out += held.surplus(now)
        elif step == "settle" and isinstance(more, set):
            revision += 1
            out += held.settle(told(which, more, revision, keeper), now)
        elif step == "give_up":
            out += held.give_up(which, now)
        elif step == "later":
            now += which
            out += held.due(now)
        else:
            out += held.everything(now, "flush")
        waiting = [one for group in held._groups.values() for one in group.spans]
        assert (len(waiting), sum(map(size_of, waiting))) == (held.spans, held.bytes)
        assert most >= held.spans
        assert sum(added.values()) == len(out) + held.stats.left_out + held.spans
        assert sum(one.weight for one in held._settled.values()) == held._weight
    counts = Counter(one.context.span_id for one in out)
    assert {1} >= set(counts.values())
    if keep is not False:
        assert 0 == held.stats.left_out
    held.due(now + 100)
    assert 0 == held.spans == held.bytes


def test_what_is_remembered_is_bounded() -> None:
    """Of traces whose root never comes, the scores are remembered for a time only, and not of too many."""
    keeper = Keeper(None)
    held = Held(Waiting(deadline_ns=3, open_ns=7, max_spans=10, max_bytes=10**6, remember_ns=50), keeper)
    for number in range(1, 3001):
        held.settle(told(number, {1, 2}, 1, keeper), 0)
    assert 0 < len(held._settled) < 1000
    held.settle(told(4000, {1}, 1, keeper), 100)
    assert [4000] == list(held._settled)
