"""The path of spans that determined a run's end, and the gaps in which nothing ran."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model import critical_path as critical_path_module
from spanwise.model.critical_path import Gap, Spent, critical_path, idle_gaps, spent_of
from spanwise.model.raw import RawSpan
from spanwise.model.span import SPANS
from spanwise.model.trace import Run
from spanwise.native import core
from tests.making import agent, asks, chat, returns, run_of, says, span, tool, trace_of


def root(end: int = 100, *, start: int = 0, parent: int | None = None) -> RawSpan:
    """The agent's span around a run."""
    made = agent(1, parent=parent)
    made.start_ns, made.end_ns = start, end
    return made


def work(number: int, start: int, end: int, *, parent: int | None = 1) -> RawSpan:
    """The span of a tool's call."""
    return tool(number, parent=parent, name=f"t{number}", start=start, end=end)


def model(number: int, start: int, end: int, *, parent: int | None = 1) -> RawSpan:
    """The span of a model's call."""
    made = chat(number, parent=parent, got=[says("x")])
    made.start_ns, made.end_ns = start, end
    return made


def sub(number: int, start: int, end: int, *, parent: int = 1) -> RawSpan:
    """The span of an agent within the run."""
    made = agent(number, parent=parent, name=f"sub{number}")
    made.start_ns, made.end_ns = start, end
    return made


def path_of(*spans: RawSpan) -> list[tuple[str, int, int]]:
    """The critical path from the start, spans by the last digits of their ids, `run` for the run itself."""
    run = run_of(*spans)
    return [
        ("run" if at < 0 else run.trace.spans[at].span_id.lstrip("0"), start, end)
        for at, start, end in reversed(critical_path(run))
    ]


def test_one_after_another() -> None:
    """What no child covers is the parent's own time."""
    assert [("1", 0, 10), ("2", 10, 40), ("1", 40, 50), ("3", 50, 90), ("1", 90, 100)] == path_of(
        root(), work(2, 10, 40), work(3, 50, 90)
    )


def test_a_run_alone() -> None:
    """A run without children is its own path."""
    assert [("1", 0, 100)] == path_of(root())


def test_side_by_side() -> None:
    """Of parallel branches only the one that ended last counts; of those that ended together the earlier."""
    assert [("1", 0, 10), ("3", 10, 90), ("1", 90, 100)] == path_of(root(), work(2, 10, 60), work(3, 10, 90))
    assert [("1", 0, 10), ("2", 10, 100)] == path_of(root(), work(2, 10, 100), work(3, 20, 100))


def test_overlapping() -> None:
    """A child that was open when the next on the path began counts up to there."""
    assert [("2", 0, 30), ("3", 30, 100)] == path_of(root(), work(2, 0, 60), work(3, 30, 100))


def test_deepest_first() -> None:
    """Time within a child belongs to what ran in it, and only the rest to the child."""
    assert [("1", 0, 10), ("2", 10, 20), ("3", 20, 80), ("2", 80, 90), ("1", 90, 100)] == path_of(
        root(), sub(2, 10, 90), work(3, 20, 80, parent=2)
    )


def test_clipped_to_the_parent() -> None:
    """A child that outlives its parent or begins before it counts within it; one beyond it not at all."""
    assert [("2", 0, 40), ("1", 40, 60), ("3", 60, 100)] == path_of(
        root(), work(2, -20, 40), work(3, 60, 150), work(4, 120, 140), work(5, -9, -1)
    )
    assert [("1", 0, 10), ("2", 10, 20), ("3", 20, 50), ("1", 50, 100)] == path_of(
        root(), sub(2, 10, 50), work(3, 20, 80, parent=2)
    )


def test_spans_without_length() -> None:
    """A moment is not on the path, and does not part its parent's time."""
    assert [("1", 0, 100)] == path_of(root(), work(2, 50, 50), span(3, parent=1, start=100, end=100))


def test_spans_that_never_ended() -> None:
    """A span that never ended lasts as long as what is known below it; one with nothing below is a moment."""
    assert [("1", 0, 20), ("2", 20, 30), ("4", 30, 60), ("1", 60, 100)] == path_of(
        root(), sub(2, 20, 0), sub(3, 30, 0, parent=2), work(4, 30, 60, parent=3), work(5, 70, 0)
    )


def test_without_a_root() -> None:
    """A trace without an agent goes from its first start to its last end; between its roots the time is the run's."""
    assert [("1", 5, 20), ("run", 20, 40), ("2", 40, 50)] == path_of(
        work(1, 5, 20, parent=None), work(2, 40, 50, parent=None)
    )


def test_below_other_spans() -> None:
    """The path is that of the run, not of the request around it."""
    assert [("1", 10, 20), ("2", 20, 60), ("1", 60, 90)] == path_of(
        span(9, name="POST /chat", start=0, end=100), root(90, start=10, parent=9), work(2, 20, 60)
    )


def test_lost_parents() -> None:
    """What lost its parent but lies in the run hangs below the run."""
    assert [("1", 0, 20), ("2", 20, 60), ("1", 60, 100)] == path_of(root(), work(2, 20, 60, parent=77))


@pytest.mark.parametrize("depth", [10_000])
def test_a_long_chain(depth: int) -> None:
    """Ten thousand spans in each other are walked without recursion, also when none of them ended."""
    chain = [work(n, n, 30_000 - n, parent=n - 1) for n in range(2, depth)]
    path = critical_path(run_of(root(30_000), *chain))
    assert (2 * (depth - 2) + 1, 30_000) == (len(path), sum(end - start for _, start, end in path))
    open_ = [work(n, n, 0, parent=n - 1) for n in range(2, depth)]
    assert [(0, depth - 1, 30_000)] == critical_path(run_of(root(30_000), *open_))[:1]


TREES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60), st.integers(-5, 60)), max_size=12)


def tree(rows: list[tuple[int, int, int]]) -> list[RawSpan]:
    """A run of spans (parent among those before, start, length; a negative length never ended)."""
    made = [root(50)]
    for at, (above, start, length) in enumerate(rows, start=2):
        made.append(work(at, start, start + length if length >= 0 else 0, parent=above % (at - 1) + 1))
    return made


@given(TREES)
def test_every_instant_once(rows: list[tuple[int, int, int]]) -> None:
    """The path covers the run's time from end to start without overlap, each stretch within its span."""
    run = run_of(*tree(rows))
    path = critical_path(run)
    assert [50, *(start for _, start, _ in path)] == [*(end for _, _, end in path), 0]
    assert all(start < end for _, start, end in path)
    assert all(run.trace.spans[at].start_ns <= start for at, start, _ in path)


@given(TREES, st.randoms(use_true_random=False))
def test_order_of_arrival(rows: list[tuple[int, int, int]], shuffler: random.Random) -> None:
    """The order in which spans arrive changes nothing."""
    spans = tree(rows)
    shuffled = list(spans)
    shuffler.shuffle(shuffled)
    assert path_of(*spans) == path_of(*shuffled)


# Idle gaps


def gaps_of(*spans: RawSpan, longer_than: int = 5) -> list[tuple[int, int]] | None:
    """The gaps of a run."""
    found = idle_gaps(run_of(*spans), longer_than_ns=longer_than)
    return None if found is None else [(gap.start_ns, gap.end_ns) for gap in found]


def test_gaps() -> None:
    """Idle is what is longer than the limit and in which no work was open, at the run's start and end too."""
    assert [(0, 10), (20, 40), (50, 100)] == gaps_of(root(), model(2, 10, 20), work(3, 40, 45), work(4, 45, 50))
    assert [(50, 100)] == gaps_of(root(), model(2, 10, 20), work(3, 40, 45), work(4, 45, 50), longer_than=20)
    assert [] == gaps_of(root(), model(2, 5, 20), work(3, 24, 95))


def test_what_lies_around_a_gap() -> None:
    """A gap names the work that ended last before it and the first that began after it."""
    run = run_of(root(), model(2, 0, 30), work(3, 5, 20), work(4, 60, 90))
    found = idle_gaps(run, longer_than_ns=5)
    assert found is not None
    first, last = found
    assert (Gap(start_ns=30, end_ns=60, before=run.spans[1], after=run.spans[3]), 30) == (first, first.duration_ns)
    assert Gap(start_ns=90, end_ns=100, before=run.spans[3]) == last


def test_agents_that_hold_others() -> None:
    """The time of agents around model calls is not work; an agent of which nothing below is recorded is."""
    assert [(30, 60)] == gaps_of(
        root(), sub(2, 0, 100), model(3, 0, 30, parent=2), model(4, 60, 100, parent=2), longer_than=9
    )
    assert [(0, 10)] == gaps_of(root(), model(2, 10, 30), sub(3, 30, 100), work(4, 40, 50, parent=3))


def test_other_spans_are_work() -> None:
    """While any other span is open the run is not idle, whatever it is."""
    assert [] == gaps_of(root(), model(2, 0, 30), span(3, parent=1, name="SELECT", start=30, end=100))


def test_gaps_that_cannot_be_told() -> None:
    """Where no model call, or not every tool call, left a span, a gap may be theirs."""
    assert gaps_of(root(), work(2, 10, 20)) is None
    talk = [chat(2, parent=1, got=[asks(("c1", "search", {}))]), chat(60, parent=1, sent=[returns(("c1", 1))])]
    assert gaps_of(root(), *talk) is None


def test_work_that_never_ended() -> None:
    """After the start of work that never ended nothing is idle; an agent that never ended is no work."""
    assert [(20, 40)] == gaps_of(root(), model(2, 0, 20), work(3, 40, 0), work(4, 80, 90))
    assert [(20, 100)] == gaps_of(root(), sub(2, 0, 0), model(3, 0, 20, parent=2))


def test_beyond_the_run() -> None:
    """Work that begins after the run's end or ends after it leaves no gap behind the end."""
    assert [(20, 100)] == gaps_of(root(), model(2, -10, 20), work(3, 150, 160))
    assert [(20, 50)] == gaps_of(root(), model(2, 0, 20), work(3, 50, 160))


def test_gaps_without_a_root() -> None:
    """A trace without an agent has gaps between its roots."""
    assert [(10, 90)] == gaps_of(model(2, 0, 10, parent=None), model(3, 90, 100, parent=None))


@given(TREES)
def test_gaps_are_time_of_none(rows: list[tuple[int, int, int]]) -> None:
    """Gaps lie in the run, apart from each other, longer than the limit, and no work is open in them."""
    run: Run = run_of(*tree(rows), model(99, 0, 3))
    found = idle_gaps(run, longer_than_ns=2) or ()
    edges = [edge for gap in found for edge in (gap.start_ns, gap.end_ns)]
    assert edges == sorted(edges)
    assert all(0 <= gap.start_ns and gap.end_ns <= 50 and gap.duration_ns > 2 for gap in found)
    for one in run.spans[1:]:
        if one.duration_ns:
            assert not any(one.start_ns < gap.end_ns and one.end_ns > gap.start_ns for gap in found)


# What the time went by on, by either way

compiled = pytest.mark.skipif(core is None, reason="the compiled part was not built here")
ROWS = st.lists(
    st.tuples(
        st.integers(-1, 9), st.integers(0, 60), st.integers(0, 60), st.sampled_from(["tool", "model", "sub", "other"])
    ),
    max_size=14,
)
MARKED = st.dictionaries(st.integers(0, 16), st.just("search"), max_size=4)
MADE = {"tool": work, "model": model, "sub": sub}


def of_kinds(rows: list[tuple[int, int, int, str]], *, rooted: bool) -> list[RawSpan]:
    """A run of spans of these kinds (parent among all of them or unseen, start, length, kind)."""
    made = [root(50)] if rooted else []
    for at, (above, start, length, kind) in enumerate(rows, start=2):
        parent = None if above < 0 else 77 if above == 9 else above % (len(rows) + 1) + 1
        one = MADE[kind](at, start, start + length) if kind in MADE else span(at, start=start, end=start + length)
        one.parent_id = span(at, parent=parent if rooted or parent != 1 else None).parent_id
        made.append(one)
    return made


def alike(run: Run, failed: dict[int, str], repeated: dict[int, str], *, longer_than: int = 5) -> Spent:
    """What a run's time went by on, checked against what the twin says."""
    found = spent_of(run, failed, repeated, named=3, longer_than_ns=longer_than)
    assert critical_path_module._walked(run, failed, repeated, 3, longer_than) == found
    return found


@compiled
@given(ROWS, MARKED, MARKED, st.booleans(), st.integers(0, 12))
def test_any_run(
    rows: list[tuple[int, int, int, str]],
    failed: dict[int, str],
    repeated: dict[int, str],
    rooted: bool,
    longer_than: int,
) -> None:
    """Runs of any shape, calls that failed and repeats anywhere: the same is held, lost and idle by both."""
    for run in trace_of(*of_kinds(rows, rooted=rooted)).runs:
        if run.end_ns > run.start_ns:
            alike(run, failed, repeated, longer_than=longer_than)


@compiled
@pytest.mark.parametrize("by", [2**62, 2**63, 2**70, -5])
def test_times_of_more_bits(by: int) -> None:
    """Times beyond 62 bits, and those before the epoch, take the twin."""
    spans = [root(100), work(2, 10, 40), model(3, 50, 90)]
    for one in spans:
        one.start_ns, one.end_ns = one.start_ns + by, one.end_ns + by
    assert {1: 30} == alike(run_of(*spans), {1: "search"}, {}).lost


@compiled
@pytest.mark.parametrize(
    ("field", "value"), [("parent", 2.5), ("index", None), ("kind", 7), ("raw", None), ("index", 0), ("parent", 5)]
)
def test_what_is_no_span_of_a_run(field: str, value: object) -> None:
    """Spans that hold something else than a span does, or do not hang together, are declined, and are no crash."""
    assert SPANS is not None
    run = run_of(root(), work(2, 10, 40))
    setattr(run.spans[1], field, value)
    assert SPANS.walk(run.spans, 0, 0, 100, 3, 5, {}, {}, None) is None
    assert SPANS.walk(tuple(run.spans), 0, 0, 100, 3, 5, {}, {}, None) is None


@compiled
def test_what_no_walk_is_made_of() -> None:
    """So are a root that is not there, a time that goes backwards, and calls that are no indices."""
    assert SPANS is not None
    spans = run_of(root(), work(2, 10, 40)).spans
    assert SPANS.walk(spans, 9, 0, 100, 3, 5, {}, {}, None) is None
    assert SPANS.walk(spans, 0, 100, 0, 3, 5, {}, {}, None) is None
    assert SPANS.walk(spans, 0, 0, 100, 99, 5, {}, {}, None) is None
    assert SPANS.walk(spans, 0, 0, 100, 3, 5, {"1": "x"}, {}, None) is None  # type: ignore[dict-item]  # what the checker forbids
    assert ([], {}, None) == SPANS.walk([], -1, 0, 100, 3, 5, {}, {}, None)
    listed = list(spans)
    with pytest.raises(RuntimeError, match="changed while it was read"):
        SPANS.walk(listed, 0, 0, 100, 3, 5, {}, {}, listed.clear)
    with pytest.raises(ZeroDivisionError):
        SPANS.walk(spans, 0, 0, 100, 3, 5, {}, {}, lambda: 1 // 0)  # type: ignore[arg-type, return-value]  # what the checker forbids


@compiled
@pytest.mark.parametrize("depth", [10_000])
def test_a_long_chain_of_calls(depth: int) -> None:
    """Ten thousand calls in each other, and ten thousand beside each other, are told alike by both."""
    chain = [work(n, n, 30_000 - n, parent=n - 1) for n in range(2, depth)]
    run = run_of(root(30_000), *chain)
    assert {2: 29_994} == alike(run, {}, {2: "search", 9: "search"}).lost
    star = [work(n, n % 97, n % 97 + 900) for n in range(2, depth)]
    assert alike(run_of(root(30_000), *star), {5: "search"}, {2: "search"}).most


def test_pauses() -> None:
    """Others get their turn while a long run is walked, by either way."""
    run = run_of(root(30_000), *(work(n, n * 20, n * 20 + 9) for n in range(2, 1200)))
    told: list[int] = []
    run.trace.pause = lambda: told.append(1)
    for way in (spent_of, critical_path_module._walked):
        told.clear()
        way(run, {}, {}, named=3, longer_than_ns=5)
        assert len(told) >= 3
