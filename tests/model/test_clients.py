"""Model calls that a client records by itself beside an instrumentation."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model import clients
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.span import SPANS, Span
from tests.making import agent, chat, run_of, span, span_id

SDK = "com.anthropic.sdk.python"
compiled = pytest.mark.skipif(SPANS is None, reason="the compiled part was not built here")


def call(number: int, *, scope: str, end: int, parent: int = 1, **more: object) -> RawSpan:
    """A model span of some scope."""
    made = chat(number, parent=parent, **more)
    made.scope, made.end_ns = Scope(scope, "1", {}), end
    return made


def test_a_stream_that_is_left_before_it_begins() -> None:
    """LlamaIndex's span of a stream is over at once: the client's next span below the same one is its call."""
    llama, client = "openinference.instrumentation.llama_index", "openinference.instrumentation.openai"
    streams = [call(number, scope=llama, end=number + 1) for number in (2, 20)]
    for one in streams:
        one.name = "OpenAILike.astream_chat"
    run = run_of(agent(1), *streams, call(5, scope=client, end=12, tokens=(3, 1)), call(25, scope=client, end=32))
    assert [[2, 5], [20, 25]] == [[one.start_ns for one in group] for group in run.llm_groups]
    plain = call(2, scope=llama, end=3)
    assert 2 == len(run_of(agent(1), plain, call(5, scope=client, end=12)).llm_groups)


def test_a_client_that_records_its_requests() -> None:
    """Its record of a streamed call lies beside that of the instrumentation: it is the same call."""
    run = run_of(
        agent(1),
        call(2, scope="oi", end=30),
        call(3, scope="oi", end=30),
        call(4, scope=SDK, end=20),
        call(5, scope=SDK, end=20),
        call(6, scope=SDK, end=20),
        call(40, scope=SDK, end=50),
    )
    groups = [[span_id(2), span_id(5)], [span_id(3), span_id(4), span_id(6)], [span_id(40)]]
    assert groups == [[s.span_id for s in group] for group in run.llm_groups]


def test_a_client_on_its_own() -> None:
    """Where nothing else records the calls, the client's spans are calls."""
    run = run_of(agent(1), call(2, scope=SDK, end=30), call(40, scope=SDK, end=50))
    assert 2 == len(run.llm_groups)


def test_a_client_below_a_request_that_is_no_call() -> None:
    """Logfire records a stream as a request, which is no call, and as a log behind it, which is the call."""
    request = span(2, parent=1, end=30, attributes={"gen_ai.request.model": "claude"})
    plain = span(2, parent=1, end=30)
    log = call(40, scope="oi", end=41)
    run = run_of(agent(1), request, call(3, parent=2, scope=SDK, end=20), log)
    assert [[span_id(40)]] == [[s.span_id for s in group] for group in run.llm_groups]
    run = run_of(agent(1), plain, call(3, parent=2, scope=SDK, end=20), log)
    assert 2 == len(run.llm_groups)
    run = run_of(call(3, parent=9, scope=SDK, end=20), log)
    assert 2 == len(run.llm_groups)


def test_a_client_that_names_the_response() -> None:
    """Its span of the same response is part of the call, and counts its tokens best."""
    outer = call(2, scope="oi", end=30, **{"gen_ai.response.id": "r1", "gen_ai.usage.output_tokens": 22})
    inner = call(3, scope=SDK, end=20, **{"gen_ai.response.id": "r1", "gen_ai.usage.output_tokens": 21})
    assert [21] == [one.tokens.output for one in run_of(agent(1), outer, inner).llm_calls]


def grouped(*spans: RawSpan) -> list[list[str]]:
    """The ids of the spans of each call."""
    return [[s.span_id for s in group] for group in run_of(agent(1), *spans).llm_groups]


def test_a_client_within_the_time_of_the_framework() -> None:
    """Two instrumentations of which one does not make its span the current one: spans side by side are one call."""
    outer = call(2, scope="framework", end=30, tokens=(5, 2))
    assert [[span_id(2), span_id(3)]] == grouped(outer, call(3, scope="client", end=20, tokens=(5, 2)))
    assert [[span_id(2), span_id(3)]] == grouped(outer, call(3, scope="client", end=20))


def test_a_client_below_what_stands_around_the_framework() -> None:
    """Where no span of the framework is ever current, the client's stands below the app's: the tokens tell the call."""
    steps = [span(10 + at, parent=9 + at, start=1, end=90) for at in range(20)]
    inner = call(30, scope="framework", parent=12, end=50, tokens=(5, 2))
    client = call(31, scope="client", parent=10, end=45, tokens=(5, 2))
    assert [[span_id(30), span_id(31)]] == grouped(*steps, inner, client)
    assert 2 == len(grouped(*steps, inner, call(31, scope="client", parent=10, end=45, tokens=(5, 3))))
    assert 2 == len(grouped(*steps, inner, call(31, scope="client", parent=10, end=45)))
    assert 2 == len(grouped(*steps, inner, call(31, scope="client", parent=14, end=45, tokens=(5, 2))))
    deep = call(30, scope="framework", parent=29, end=50, tokens=(5, 2))
    assert 2 == len(grouped(*steps, deep, client))


def test_calls_at_the_same_time() -> None:
    """Of calls that run side by side each has the client's span with its tokens, and no second one of a scope."""
    calls = [call(2, scope="framework", end=30, tokens=(5, 2)), call(3, scope="framework", end=30, tokens=(6, 2))]
    clients = [call(4, scope="client", end=20, tokens=(6, 2)), call(5, scope="client", end=20, tokens=(5, 2))]
    assert [[span_id(2), span_id(5)], [span_id(3), span_id(4)]] == grouped(*calls, *clients)
    silent = [call(4, scope="client", end=20), call(5, scope="client", end=20), call(6, scope="client", end=20)]
    assert [[span_id(2), span_id(4)], [span_id(3), span_id(5)], [span_id(6)]] == grouped(*calls, *silent)


def test_spans_side_by_side_that_are_two_calls() -> None:
    """Other tokens, another parent, a longer or a later time, or the same scope: a call of its own."""
    outer = call(2, scope="framework", end=30, tokens=(5, 2))
    step = span(9, parent=1, start=3, end=40)
    for other in (
        call(3, scope="client", end=20, tokens=(5, 3)),
        call(3, scope="client", end=31, tokens=(5, 2)),
        call(40, scope="client", end=50, tokens=(5, 2)),
        call(10, scope="client", parent=9, end=20, tokens=(5, 2)),
        call(3, scope="framework", end=20, tokens=(5, 2)),
    ):
        assert 2 == len(grouped(outer, step, other))
    assert 2 == len(run_of(call(2, scope="framework", end=30), call(3, scope="client", parent=9, end=20)).llm_groups)


def test_clocks_of_milliseconds() -> None:
    """Spans that begin at whole milliseconds may end one off; of two that begin at once the longer one holds."""
    ms = 1_000_000
    outer = call(2 * ms, scope="framework", end=9 * ms, tokens=(5, 2))
    for start, end in ((3 * ms, 9 * ms + 80_000), (2 * ms, 8 * ms)):
        inner = call(7, scope="client", end=end, tokens=(5, 2))
        inner.start_ns = start
        assert [[outer.span_id, span_id(7)]] == grouped(inner, outer)
    late = call(7, scope="client", end=10 * ms + 1, tokens=(5, 2))
    late.start_ns = 3 * ms
    assert 2 == len(grouped(outer, late))
    late.start_ns, late.end_ns = 3 * ms + 5, 9 * ms + 1  # a finer clock
    assert 2 == len(grouped(outer, late))


@compiled
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("ab"), st.booleans()), max_size=6))
def test_calls_of_their_own(drawn: list[tuple[int, str, bool]]) -> None:
    """Where no span of a model lies in another, and all are of one scope, each is a call: by either way."""
    made = [
        call(number, scope=scope, end=100, parent=parent) if is_model else span(number, parent=parent, end=100)
        for number, (parent, scope, is_model) in enumerate(drawn, start=1)
    ]
    run = run_of(agent(0), *made)
    members = [one for one in run.trace.spans if one.kind == "llm"]
    assert SPANS is not None
    found = SPANS.calls(members, run.trace.spans)
    slow = clients._calls_of(members, run.trace.spans)
    plain = all(one.holder < 0 for one in members) and len({one.raw.scope.name for one in members}) < 2
    assert slow == found if plain else found in (None, slow)


@compiled
def test_what_is_no_span_of_a_model() -> None:
    """Anything else takes the slower way."""
    run = run_of(agent(0), call(1, scope="a", end=9, parent=0))
    assert SPANS is not None
    members, spans = list(run.by_kind["llm"]), list(run.trace.spans)
    assert [members] == SPANS.calls(members, spans)
    for odd in ([7], (members[0],), [Span(cast("RawSpan", 7), "llm", 0, 1, 0)]):
        assert SPANS.calls(cast("list[Span]", odd), spans) is None
    held = Span(members[0].raw, "llm", 0, 1, 0, holder=5)
    assert SPANS.calls([held], spans) is None
    assert SPANS.calls([held], cast("list[Span]", [*spans, 1, 2, 3, 4])) is None
    with pytest.raises(TypeError, match="calls takes 2 arguments"):
        SPANS.calls(members)  # type: ignore[call-arg]  # what the checker forbids


def test_a_call_below_one_that_was_over() -> None:
    """A model call that failed may stay the current span: what began when it was over is the next call."""
    failed, again = call(2, scope="oi", end=20), call(30, scope="oi", end=40, parent=2)
    failed.status_code = 2
    assert [2, 1] == [
        len(run_of(agent(1), failed, one).llm_groups) for one in (again, call(3, scope="oi", end=9, parent=2))
    ]
