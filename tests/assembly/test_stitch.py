"""Fragments of one run put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spanwise.assembly.stitch import stitch
from spanwise.assembly.tree import build_trace
from spanwise.model.raw import RawLink, RawSpan
from tests.making import agent, asks, chat, span, span_id, tool, trace_id


def piece(trace: int, *spans: RawSpan) -> tuple[str, list[RawSpan]]:
    """A fragment: some spans under a trace id."""
    for one in spans:
        one.trace_id = trace_id(trace)
    return trace_id(trace), list(spans)


def joined(*pieces: tuple[str, list[RawSpan]]) -> dict[str, list[str]]:
    """The trace ids that are left, each with its spans' ids by start."""
    done = stitch(dict(pieces))
    return {str(key): [s.span_id for s in build_trace(key, spans).spans] for key, spans in done.items()}


def talk(number: int, session: str, *, start: int, end: int) -> RawSpan:
    """A span of a conversation."""
    return span(number, start=start, end=end, attributes={"gen_ai.conversation.id": session})


def test_strangers_stay_apart() -> None:
    """Fragments that prove nothing of each other stay as they are."""
    one, other = piece(1, agent(1)), piece(2, agent(2))
    assert {one[0]: one[1], other[0]: other[1]} == stitch(dict([one, other]))


def test_nothing_to_stitch() -> None:
    """No fragments, and a fragment without spans, are no trouble."""
    assert {} == stitch({})
    assert {trace_id(1): []} == stitch({trace_id(1): []})


def test_joined_by_a_link() -> None:
    """A link to a span of another fragment joins the two; one to nowhere or to oneself joins nothing."""
    one = span(5)
    one.links = (RawLink(trace_id(1), span_id(1)), RawLink(trace_id(9), span_id(1)), RawLink(trace_id(2), span_id(5)))
    assert {trace_id(1): [span_id(1), span_id(5)]} == joined(piece(1, agent(1)), piece(2, one))


def test_joined_by_a_tool_call() -> None:
    """A tool that ran in one fragment on the request of another belongs to it; one nobody asked for does not."""
    asker = chat(2, parent=1, got=[asks(("c1", "search", {}), (None, "search", {}))])
    known = joined(
        piece(1, agent(1), asker),
        piece(2, tool(30, parent=None, call_id="c1")),
        piece(3, tool(40, parent=None, call_id="c2"), tool(41, parent=None)),
    )
    assert {trace_id(1): [span_id(1), span_id(2), span_id(30)], trace_id(3): [span_id(40), span_id(41)]} == known


def test_a_call_within_one_fragment() -> None:
    """A call that was asked for and ran in one fragment ties it to no other."""
    whole = (agent(1), chat(2, parent=1, got=[asks(("c1", "x", {}))]), tool(3, parent=1, call_id="c1"))
    assert [trace_id(1), trace_id(2)] == list(joined(piece(1, *whole), piece(2, agent(50))))


def test_ids_that_begin_anew_prove_nothing() -> None:
    """A call id that two fragments asked for ties neither to the other."""
    left = (agent(1), chat(2, parent=1, got=[asks(("call_1", "x", {}))]))
    right = (agent(51), chat(52, parent=51, got=[asks(("call_1", "x", {}))]), tool(53, parent=51, call_id="call_1"))
    assert [trace_id(1), trace_id(2)] == list(joined(piece(1, *left), piece(2, *right)))


def test_joined_by_a_conversation() -> None:
    """One conversation joins fragments that overlap in time; turns that follow each other stay runs of their own."""
    known = joined(
        piece(1, talk(1, "s", start=1, end=10)),
        piece(2, talk(2, "s", start=5, end=20)),
        piece(3, talk(3, "s", start=20, end=30)),
        piece(4, talk(4, "t", start=1, end=99)),
    )
    assert {
        trace_id(1): [span_id(1), span_id(2)],
        trace_id(3): [span_id(3)],
        trace_id(4): [span_id(4)],
    } == known


def test_a_long_turn_around_short_ones() -> None:
    """A fragment that overlaps an earlier one is joined to it whatever ended in between."""
    known = joined(
        piece(1, talk(1, "s", start=1, end=100)),
        piece(2, talk(2, "s", start=5, end=10)),
        piece(3, talk(3, "s", start=20, end=30)),
    )
    assert [trace_id(1)] == list(known)


def test_chains_of_fragments() -> None:
    """Fragments that are tied one to the next are all one."""
    links = [span(n, start=n) for n in range(1, 6)]
    for n, one in enumerate(links[1:], start=1):
        one.links = (RawLink(trace_id(n), span_id(n)),)
    assert [trace_id(1)] == list(joined(*(piece(n, one) for n, one in enumerate(links, start=1))))


def test_what_the_joined_trace_looks_like() -> None:
    """It bears the id of the fragment that began first, below whose root the others' roots hang; other links stay."""
    late = [span(20), tool(21, parent=20, call_id="c1"), span(22, parent=99)]
    early = [agent(5), chat(6, parent=5, got=[asks(("c1", "x", {}))])]
    done = stitch(dict([piece(2, *late), piece(1, *early)]))
    assert [trace_id(1)] == list(done)
    parents = {s.span_id: s.parent_id for s in done[trace_id(1)]}
    assert {
        span_id(5): None,
        span_id(6): span_id(5),
        span_id(20): span_id(5),
        span_id(21): span_id(20),
        span_id(22): span_id(5),
    } == parents
    assert {trace_id(1)} == {s.trace_id for s in done[trace_id(1)]}


def test_without_a_root() -> None:
    """A first fragment whose spans are each other's parents has its earliest span for a root."""
    rootless = [span(1, parent=2), span(2, parent=1)]
    other = span(30)
    other.links = (RawLink(trace_id(1), span_id(1)),)
    done = stitch(dict([piece(1, *rootless), piece(2, other)]))
    assert [span_id(1)] == [s.parent_id for s in done[trace_id(1)] if s.span_id == span_id(30)]


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 9), st.integers(0, 9), st.integers(1, 6)), max_size=8))
def test_no_span_is_lost(spans: list[tuple[int, int, int, int]]) -> None:
    """Whatever is tied to what, every span is in exactly one trace, and the order of the fragments does not matter."""
    fragments: dict[str, list[RawSpan]] = {}
    for number, (trace, start, length, to) in enumerate(spans, start=1):
        one = talk(number, f"s{number % 2}", start=start, end=start + length)
        one.trace_id = trace_id(trace)
        if to < 6:
            one.links = (RawLink(trace_id(to), span_id(1)),)
        fragments.setdefault(one.trace_id, []).append(one)

    def groups(done: dict[str, list[RawSpan]]) -> list[list[str]]:
        return sorted(sorted(str(s.span_id) for s in found) for found in done.values())

    done = groups(stitch(fragments))
    assert sorted(span_id(n) for n in range(1, len(spans) + 1)) == sorted(one for group in done for one in group)
    assert done == groups(stitch(dict(reversed(fragments.items()))))
