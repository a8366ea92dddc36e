"""Results that answer calls by their place, where the ids do not tell; and calls of earlier turns, which are none."""

from __future__ import annotations

import json

from spanwise.model.raw import RawSpan, Scope
from spanwise.model.trace import Run
from tests.making import agent, asks, chat, returns, run_of, says, span, told, tool, user

STEP = [asks(("fc_1", "search", {"q": "a"}), ("fc_2", "add", {"n": 1}))]
ANSWERS = returns(("call_1", "found"), ("call_2", "null"))


def ids(run: Run) -> list[str | None]:
    """The ids of the calls."""
    return [call.call_id for call in run.tool_calls]


def test_ids_that_differ() -> None:
    """Calls recorded under the ids of a response's items are answered by the results that follow, under their ids."""
    echo = [user("go"), *STEP, ANSWERS]
    run = run_of(span(1, end=99), chat(2, parent=1, got=STEP), chat(40, parent=1, sent=echo, got=[says("done")]))
    assert [("search", {"q": "a"}, "found", "ok"), ("add", {"n": 1}, None, "ok")] == told(run)
    assert ["call_1", "call_2"] == ids(run)
    assert ["present", "present"] == [call.result_state for call in run.tool_calls]


def test_a_conversation_that_the_provider_keeps() -> None:
    """An input of nothing but results answers the calls asked just before."""
    run = run_of(span(1, end=99), chat(2, parent=1, got=STEP), chat(40, parent=1, sent=[ANSWERS], got=[says("done")]))
    assert ["found", None] == [call.result for call in run.tool_calls]


def test_calls_without_ids() -> None:
    """Google's client asks without ids: the results tell them."""
    asked = [asks((None, "search", {"q": "a"}), (None, "add", {"n": 1}))]
    run = run_of(span(1, end=99), chat(2, parent=1, got=asked), chat(40, parent=1, sent=[ANSWERS], got=[says("done")]))
    assert [("search", "ok"), ("add", "ok")] == [(call.name, call.status) for call in run.tool_calls]
    assert ["call_1", "call_2"] == ids(run)


def test_a_clock_of_whole_milliseconds() -> None:
    """In JavaScript a model call may seem to start before the one ended whose calls it was told the results of."""
    first, second = ([asks((None, name, {}))] for name in ("search", "add"))
    answers = [user("go"), *first, returns(("", "found")), *second, returns(("", "2"))]
    calls = [
        chat(2, parent=1, got=first),
        chat(1_000_000, parent=1, sent=answers[:3], got=second),
        chat(2_000_000, parent=1, sent=answers, got=[says("done")]),
    ]
    for call, end_ns in zip(calls, (1_400_000, 2_600_000, 3_000_000), strict=True):
        call.end_ns = end_ns
    assert [("search", {}, "found", "ok"), ("add", {}, 2, "ok")] == told(run_of(span(1, end=9_000_000), *calls))


def test_results_without_ids_of_which_some_stand_on_spans() -> None:
    """Where the step's other calls tell their results themselves, the one that does not has the one at its place."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks((None, "a", {}), (None, "b", {}))]),
        tool(3, parent=1, name="a", result="one"),
        tool(4, parent=1, name="b"),
        chat(20, parent=1, sent=[user("?"), returns((None, "one"), (None, "Error: no"))], got=[says("done")]),
    )
    assert [("one", "ok"), ("Error: no", "error")] == [(call.result, call.status) for call in run.tool_calls]


def test_results_in_another_order_than_spans() -> None:
    """Spans of parallel calls that start alike stand in any order: what no other call tells is the silent one's."""
    for first, result in (("two", "Error: no"), ("three", "two")):
        run = run_of(
            agent(1),
            chat(2, parent=1, got=[asks((None, "a", {}), (None, "b", {}), (None, "a", {}))]),
            tool(3, parent=1, name="b"),
            tool(4, parent=1, name="a", result=first),
            tool(5, parent=1, name="a", result="one"),
            chat(
                20,
                parent=1,
                sent=[user("?"), returns((None, "two"), (None, "Error: no"), (None, "one"))],
                got=[says("A")],
            ),
        )
        assert [result, first, "one"] == [call.result for call in run.tool_calls]


def test_results_that_do_not_fit() -> None:
    """Another number of results, a result of a known call, or another tool's name answers nothing."""
    one = returns(("call_1", "found"))
    known = returns(("fc_1", "found"), ("call_2", "1"))
    named = {"role": "tool", "name": "other", "tool_call_id": "call_1", "content": "found"}
    asked = [asks(("fc_1", "search", {"q": "a"}))]
    for got, sent in ((STEP, one), (STEP, known), (asked, named)):
        run = run_of(span(1, end=99), chat(2, parent=1, got=got), chat(40, parent=1, sent=[sent], got=[says("done")]))
        assert "not_run" == run.tool_calls[-1].status
        assert run.tool_calls[-1].result is None


def test_a_last_request_is_not_answered() -> None:
    """Nothing is told after the last model call, and nothing to a run that has none."""
    run = run_of(span(1, end=99), chat(2, parent=1, sent=[user("go")], got=STEP))
    assert ["unknown", "unknown"] == [call.status for call in run.tool_calls]
    run = run_of(record(1, sent=[user("go"), asks(("fc_1", "search", {}))], got=[says("done")]))
    assert ["unknown"] == [call.status.replace("not_run", "unknown") for call in run.tool_calls]


def test_beside_tools_that_left_spans() -> None:
    """A result may be that of a call known from its span: it answers no other."""
    run = run_of(
        agent(1),
        tool(2, parent=1, name="other", result=1),
        chat(20, parent=1, got=[asks(("h", "search", {}))]),
        chat(40, parent=1, sent=[returns(("x", 1))], got=[says("no")]),
    )
    assert "not_run" == run.tool_calls[-1].status


def record(number: int, *, sent: object, got: object) -> RawSpan:
    """An agent's own span that records what it was sent and answered."""
    messages = {"gen_ai.input.messages": json.dumps(sent), "gen_ai.output.messages": json.dumps(got)}
    return agent(number, **messages)


def test_an_agents_record_of_earlier_turns() -> None:
    """Where only the agent records its conversation, what was called before the last question is of earlier turns."""
    before = [user("first"), asks(("c1", "search", {})), returns(("c1", "old")), says("one")]
    now = [user("second"), asks(("c2", "search", {})), returns(("c2", "new"))]
    run = run_of(record(1, sent=[*before, *now], got=[says("two")]))
    assert [("search", {}, "new", "ok")] == told(run)


def test_calls_of_an_agents_record_keep_their_place() -> None:
    """A call without a span stands behind the one that was asked for before it."""
    asked = [asks(("c1", "search", {})), asks(("c2", "serch", {})), asks(("c3", "add", {}))]
    run = run_of(
        record(1, sent=[user("go")], got=[*asked, says("done")]),
        tool(5, parent=1, name="search", call_id="c1", arguments={}, result=1),
        tool(50, parent=1, name="add", call_id="c3", arguments={}, result=2),
    )
    assert ["search", "serch", "add"] == [call.name for call in run.tool_calls]


def test_calls_that_google_made_by_itself() -> None:
    """A model span of Google's client with its tools inside counts the tokens of its last call only: none are told."""
    spans = [
        span(1, end=200),
        chat(2, parent=1, got=[says("done")], tokens=(5, 6), model="gemini"),
        tool(3, parent=2, result=1),
    ]
    run = run_of(*spans)
    assert run.tokens is not None
    assert 5 == run.tokens.input
    spans[1].scope = Scope("opentelemetry.instrumentation.google_genai", "1", {})
    run = run_of(*spans)
    assert run.tokens is None
    assert ("gemini",) == run.models
    assert run_of(*spans[:2]).tokens is not None
