"""Logical tool calls that left no span: known from messages, or from a hand-off."""

from __future__ import annotations

import json

from spanwise.model.trace import SpanError
from tests.making import agent, asks, chat, returns, run_of, says, span, told, tool, user


def offers(*names: str) -> dict[str, object]:
    """The attribute that says which tools a model was offered."""
    return {"gen_ai.tool.definitions": json.dumps([{"type": "function", "name": name} for name in names])}


# Requests that meet no span


def test_recovered_from_messages() -> None:
    """Calls that left no span are known from the messages: what was asked, what came back, whether it failed."""
    failed = {"type": "tool_call_response", "id": "c2", "response": "boom", "is_error": True}
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "search", {"q": "a"}), ("c2", "search", {"q": "b"}))]),
        chat(50, parent=1, sent=[returns(("c1", "one")), {"role": "tool", "parts": [failed]}], got=[says("done")]),
    )
    assert [("search", {"q": "a"}, "one", "ok"), ("search", {"q": "b"}, "boom", "error")] == told(run)
    assert [("message", -1, "", 12, 0)] * 2 == [
        (c.origin, c.span, c.span_id, c.start_ns, c.duration_ns) for c in run.tool_calls
    ]
    assert SpanError(message="boom") == run.tool_calls[1].error


def test_recovered_stand_where_they_were_asked_for() -> None:
    """A call known from messages stands between the spans' calls by the time at which it was asked for."""
    run = run_of(
        agent(1),
        tool(2, parent=1, name="before"),
        chat(30, parent=1, got=[asks(("c1", "asked", {}))]),
        tool(40, parent=1, name="with"),
        tool(60, parent=1, name="after"),
    )
    assert ["before", "with", "asked", "after"] == [call.name for call in run.tool_calls]


def test_invented_names_did_not_run() -> None:
    """A request for a tool that was not offered did not run; a control tool needs no offer."""
    run = run_of(
        agent(1, **offers("search")),
        chat(2, parent=1, got=[asks(("c1", "serch", {}), ("c2", "final_answer", {"answer": "x"}))]),
        chat(50, parent=1, sent=[returns(("c1", "Unknown tool name"))], got=[says("done")]),
    )
    assert [("serch", {}, "Unknown tool name", "not_run"), ("final_answer", {"answer": "x"}, None, "not_run")] == told(
        run
    )


def test_requested_and_never_run() -> None:
    """A request that no result followed did not run if the model was then told of requests; else it is not known."""
    first, second = asks(("c1", "search", {})), asks(("c2", "search", {}))
    for sent, status in (([first, user("go on")], "not_run"), ([user("go on")], "unknown")):
        run = run_of(agent(1), chat(2, parent=1, got=[first]), chat(50, parent=1, sent=sent, got=[second]))
        assert [status, "unknown"] == [call.status for call in run.tool_calls]


def test_inputs_that_are_not_recorded() -> None:
    """Where no later input is recorded, a request without a result may have run."""
    run = run_of(agent(1), chat(2, parent=1, got=[asks(("c1", "search", {}))]), chat(50, parent=1, got=[says("done")]))
    assert ["unknown"] == [call.status for call in run.tool_calls]


def test_a_request_recorded_twice_is_one_call() -> None:
    """Two spans that record the same request, neither inside the other, make one call."""
    asked = [asks(("c1", "search", {"q": "a"}))]
    assert 1 == len(run_of(agent(1), chat(2, parent=1, got=asked), chat(20, parent=1, got=asked)).tool_calls)
    with_span = run_of(
        agent(1), chat(2, parent=1, got=asked), chat(20, parent=1, got=asked), tool(40, parent=1, call_id="c1")
    )
    assert [("search", {"q": "a"}, None, "unknown")] == told(with_span)


def test_wrapped_model_calls_ask_once() -> None:
    """A model span around another one is one call, and asks once, for what the innermost of them says."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "search", {"q": "a"}))]),
        chat(3, parent=2, got=[asks(("c1", "search", {"q": "a"}))]),
        chat(20, parent=1, got=[asks((None, "search", {"q": "b"}))]),
        chat(21, parent=20),
    )
    assert [("search", {"q": "a"}, None, "unknown"), ("search", {"q": "b"}, None, "unknown")] == told(run)


def test_provider_side_tools() -> None:
    """A tool that the provider ran itself is known from the answer that asked for it and holds its result."""
    text = {"type": "text", "content": "Here it is."}
    for called, result in (
        (
            {"type": "server_tool_call", "id": "s1", "name": "web_search", "server_tool_call": {"query": "x"}},
            {"type": "server_tool_call_response", "id": "s1", "server_tool_call_response": {"hits": 1}},
        ),
        (
            {"type": "tool_call", "id": "s1", "name": "web_search", "arguments": {"query": "x"}, "builtin": True},
            {"type": "tool_call_response", "id": "s1", "result": {"hits": 1}, "builtin": True},
        ),
    ):
        run = run_of(agent(1), chat(2, parent=1, got=[{"role": "assistant", "parts": [called, result, text]}]))
        assert [("web_search", {"query": "x"}, {"hits": 1}, "ok")] == told(run)


def test_agents_that_record_the_conversation() -> None:
    """Without model spans the agents' own messages tell the calls, each once however many agents record it."""
    talk = [user("?"), asks(("c1", "search", {"q": "a"})), returns(("c1", "one")), says("done")]
    history = {"gen_ai.output.messages": json.dumps(talk)}
    run = run_of(agent(1, **history), agent(2, parent=1, **history))
    assert [("search", {"q": "a"}, "one", "ok")] == told(run)
    spanned = run_of(agent(1, **history), agent(2, parent=1, **history), tool(3, parent=2, call_id="c1"))
    assert [("search", {"q": "a"}, "one", "ok")] == told(spanned)
    assert ["span"] == [call.origin for call in spanned.tool_calls]


# Hand-offs


def test_handoff_spans_answer_requests_to_pass_control() -> None:
    """A request to pass control that has no tool span took place as the hand-off span behind it."""
    over = span(20, parent=1, attributes={"gen_ai.operation.name": "handoff"})
    lost = span(40, parent=1, attributes={"gen_ai.operation.name": "handoff"}, status=2)
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("h1", "transfer_to_billing", {}), ("c1", "search", {}))]),
        over,
        chat(31, parent=1, got=[asks(("h2", "transfer_to_sales", {}), ("h3", "transfer_to_none", {}))]),
        lost,
    )
    assert [
        ("search", "unknown", "message", False),
        ("transfer_to_billing", "ok", "span", True),
        ("transfer_to_sales", "error", "span", True),
        ("transfer_to_none", "unknown", "message", True),
    ] == [(c.name, c.status, c.origin, c.control) for c in run.tool_calls]
