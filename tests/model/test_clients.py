"""Model calls that a client records by itself beside an instrumentation."""

from __future__ import annotations

from spanwise.model.raw import RawSpan, Scope
from tests.making import agent, chat, run_of, span, span_id

SDK = "com.anthropic.sdk.python"


def call(number: int, *, scope: str, end: int, parent: int = 1, **more: object) -> RawSpan:
    """A model span of some scope."""
    made = chat(number, parent=parent, **more)
    made.scope, made.end_ns = Scope(scope, "1", {}), end
    return made


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
