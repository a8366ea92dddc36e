"""The canonical trace, and the runs in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from spanwise.model import trace as trace_module
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.span import SPANS, TIMES
from spanwise.model.trace import Run
from tests.making import TRACE, agent, chat, run_of, span, span_id, tool, trace_of


def test_a_run_within_a_trace() -> None:
    """A run has its root's id and times and only its own spans; kinds are looked up among these."""
    trace = trace_of(span(1, end=9000), agent(2, parent=1), tool(3, parent=2), agent(5000, parent=1))
    one, other = trace.runs
    assert ((span_id(2), 2, 1002, 0.001), [span_id(2), span_id(3)]) == (
        (one.run_id, one.start_ns, one.end_ns, one.duration_ms),
        [s.span_id for s in one.spans],
    )
    assert (["agent", "tool"], ["agent"]) == (list(one.by_kind), list(other.by_kind))
    assert one.root_span is trace.spans[1]


def test_spans_by_kind() -> None:
    """Kinds come in the order of their first spans, by either way; what is no span's kind takes the slower one."""
    run = run_of(agent(1), *(tool(n, parent=1) for n in range(2, 600)), span(600, parent=1), chat(601, parent=1))
    assert ["agent", "tool", "other", "llm"] == list(run.by_kind)
    assert trace_module._by_kind(run.spans) == run.by_kind
    if SPANS is not None:
        told: list[int] = []
        assert run.by_kind == SPANS.kinds(run.spans, lambda: told.append(1))
        assert 2 == len(told)
        assert SPANS.kinds([*run.spans, 7], None) is None
        listed = list(run.spans)
        with pytest.raises(RuntimeError, match="changed while it was read"):
            SPANS.kinds(listed, listed.clear)


def test_a_trace_as_one_run() -> None:
    """Without a root span the run lasts from the first start to the last end."""
    run = run_of(chat(5, parent=None), chat(2, parent=None), tool(3, parent=None, end=90))
    assert ("", None, 2, 90, 3) == (run.run_id, run.root_span, run.start_ns, run.end_ns, len(run.spans))


@pytest.mark.parametrize(
    ("ends", "took"),
    [((0, 20), None), ((2, 20), None), ((5, 20), None), ((2005, 20), 0.002), ((None, 6), None), ((None, 20), 0.000014)],
    ids=["unended", "ended before", "at once", "ended", "at once without a root", "ended without a root"],
)
def test_how_long_a_run_took(ends: tuple[int | None, int], took: float | None) -> None:
    """Where no end behind the start is recorded, how long it took is not known: it is not 0."""
    root, end = agent(5), ends[0]
    root.end_ns = end or 0
    called = tool(6, parent=None if end is None else 5, end=ends[1])
    (run,) = trace_of(called).runs if end is None else trace_of(root, called).runs
    assert (took, end is None) == (run.duration_ms, run.root < 0)


def test_a_run_that_is_its_trace() -> None:
    """Where one run is the whole trace, its spans are the trace's own list."""
    trace = trace_of(agent(1), tool(2, parent=1))
    (run,) = trace.runs
    assert trace.spans is run.spans
    assert trace.completeness is run.completeness


def test_a_stray_root_is_not_the_runs() -> None:
    """A root beside the run's does not belong to the run."""
    (run,) = trace_of(agent(1), span(5000)).runs
    assert [span_id(1)] == [s.span_id for s in run.spans]


def test_transcripts_have_no_times() -> None:
    """A run made from something without times says so."""
    assert [True, False] == [run_of(agent(1)).timed, run_of(agent(1, **{TIMES: "none"})).timed]


class CountedFacts:
    """Facts that count how often each is read."""

    def __init__(self) -> None:
        self.read: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Callable[[Run], str]:
        def fact(run: Run) -> str:
            self.read[name] += 1
            return name

        return fact


def test_facts_are_read_once() -> None:
    """What a run tells is read from its trace's facts when it is first asked for, and kept."""
    run = run_of(agent(1))
    run.trace.facts = facts = CountedFacts()
    names = [
        "query", "answer", "agents", "tool_calls", "llm_calls", "retrievals", "given", "handoffs", "tool_definitions",
        "tokens", "models", "who", "missing", "said", "content_switch",
    ]  # fmt: skip
    assert {} == facts.read
    assert [names, names] == [[getattr(run, name) for name in names] for _ in range(2)]
    assert dict.fromkeys(names, 1) == facts.read


def test_what_others_read_is_read_once() -> None:
    """What a function reads out of a run is read when it is first asked for, and kept for that run alone."""
    read: list[Run] = []

    def count(run: Run) -> int:
        """The spans of a run."""
        read.append(run)
        return len(run.spans)

    one, other = run_of(agent(1)), run_of(agent(1), tool(2, parent=1))
    assert [(1, 2), (1, 2)] == [(one.once(count), other.once(count)) for _ in range(2)]
    assert [one, other] == read


def test_links_up_and_down() -> None:
    """Children are listed by start, ancestors nearest first."""
    trace = trace_of(agent(1), tool(3, parent=1), chat(2, parent=1), span(4, parent=3))
    assert [[1, 2], [], [3], []] == trace.children()
    assert [2, 0] == [one.index for one in trace.ancestors(3)]


def test_cost_of_a_run() -> None:
    """A run costs what its calls cost, or what is known is not the whole."""
    paid = [chat(n, parent=1, **{"operation.cost": 0.25}) for n in (2, 20)]
    assert (0.5, False) == ((run := run_of(agent(1), *paid)).cost_usd, run.cost_estimated)
    assert [None, None] == [run_of(agent(1), *more).cost_usd for more in ((), (*paid, chat(40, parent=1)))]


def test_kinds_of_model_spans() -> None:
    """Model spans of either kind are calls, by start."""
    trace = trace_of(agent(1), chat(2, parent=1), chat(3, parent=1), chat(4, parent=1))
    trace.spans[1].kind = trace.spans[3].kind = "generation"
    (run,) = trace.runs
    assert [[span_id(2)], [span_id(3)], [span_id(4)]] == [[s.span_id for s in group] for group in run.llm_groups]


def test_groups_of_model_spans() -> None:
    """A model span around one other is one call with it; around several it is none."""
    run = run_of(
        agent(1), chat(2, parent=1), chat(3, parent=2), chat(10, parent=1), chat(11, parent=10), chat(12, parent=10)
    )
    assert [[span_id(2), span_id(3)], [span_id(11)], [span_id(12)]] == [
        [s.span_id for s in group] for group in run.llm_groups
    ]


def test_groups_of_model_spans_that_take_the_same_time() -> None:
    """A model span around another is the outer one, whichever of them stands first for its id."""
    outer, between, inner = chat(9, parent=1), chat(8, parent=9), chat(7, parent=8)
    for one in (between, inner):
        one.start_ns, one.end_ns = outer.start_ns, outer.end_ns
    run = run_of(agent(1), outer, between, inner, chat(20, parent=1))
    assert [[span_id(9), span_id(8), span_id(7)], [span_id(20)]] == [
        [s.span_id for s in group] for group in run.llm_groups
    ]


def test_ids_of_any_door() -> None:
    """A trace's id is hex text whichever form its spans carry."""
    assert [TRACE, "0" * 31 + "1"] == [trace_of(span(1)).trace_id, trace_of(span(1, trace="0" * 31 + "1")).trace_id]


def other_scope(number: int, *, response: object, name: str) -> RawSpan:
    """A model span of some instrumentation, with the id of the response that it saw."""
    made = chat(number, parent=1, **{"gen_ai.response.id": response})
    made.scope = Scope(name, "1", {})
    return made


def test_two_instrumentations_of_one_response() -> None:
    """Model spans of two instrumentations that name one response are one call, wherever they stand."""
    run = run_of(
        agent(1),
        other_scope(2, response="r1", name="framework"),
        other_scope(3, response="r1", name="client"),
        other_scope(4, response="r2", name="client"),
        other_scope(5, response=None, name="client"),
        other_scope(6, response=None, name="framework"),
    )
    assert [[span_id(2), span_id(3)], [span_id(4)], [span_id(5)], [span_id(6)]] == [
        [s.span_id for s in group] for group in run.llm_groups
    ]


def test_one_instrumentation_and_one_response_id() -> None:
    """Spans of one instrumentation are calls of their own though their response ids are equal."""
    run = run_of(
        agent(1),
        other_scope(2, response="r1", name="client"),
        other_scope(3, response="r1", name="client"),
        other_scope(4, response="r9", name="framework"),
    )
    assert 3 == len(run.llm_groups)


def test_items_are_the_same_with_and_without_pauses() -> None:
    """With a pause it is called before every sixteenth item; without one nothing is."""
    trace = trace_of(agent(1))
    assert list(range(40)) == list(trace.paced(range(40)))
    pauses: list[None] = []
    trace.pause = lambda: pauses.append(None)
    assert (list(range(40)), 3) == (list(trace.paced(range(40))), len(pauses))
