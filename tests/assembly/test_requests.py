"""Logical tool calls: requests in messages laid against the spans of tools, and results given back to the model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spanwise.model.raw import RawSpan, Scope
from tests.making import agent, asks, chat, returns, run_of, says, span, told, tool, user
from tests.recordings_io import remade

# Requests laid against spans


NAMES = ("search", "ping", "twice", "renamed")


def test_joined_by_id() -> None:
    """A span without content gets arguments and result from the messages that name its id."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "search", {"q": "a"}), ("c2", "search", {"q": "b"}))]),
        tool(3, parent=1, call_id="c2"),
        tool(4, parent=1, call_id="c1", failed=True),
        chat(50, parent=1, sent=[user("?"), returns(("c1", "no"), ("c2", "two"))], got=[says("done")]),
    )
    assert [("search", {"q": "b"}, "two", "ok"), ("search", {"q": "a"}, "no", "error")] == told(run)


def test_joined_by_name_and_order() -> None:
    """Spans without ids get theirs, and what else they lack, from the requests of their name in order."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "search", {"q": "a"}), ("c2", "search", {"q": "b"}))]),
        tool(3, parent=1),
        tool(4, parent=1),
        chat(50, parent=1, sent=[returns(("c1", "one"), ("c2", "two"))], got=[says("done")]),
    )
    assert [("search", {"q": "a"}, "one", "ok"), ("search", {"q": "b"}, "two", "ok")] == told(run)
    assert ["c1", "c2"] == [call.call_id for call in run.tool_calls]


def test_arguments_decide_between_calls_of_one_name() -> None:
    """Parallel calls that ran in another order than requested are told apart by their arguments."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "search", {"q": "a"}), ("c2", "search", {"q": "b"}))]),
        tool(3, parent=1, arguments={"q": "b"}, result="two"),
        tool(4, parent=1, arguments={"q": "a"}, result="one"),
    )
    assert [("c2", "two"), ("c1", "one")] == [(call.call_id, call.result) for call in run.tool_calls]


def test_ids_that_count_anew_in_every_step() -> None:
    """A call that is made again under the id of the first, after its result was told, is another call, in its place."""
    one, two = ("search_0", "search", {"q": "a"}), ("ping_1", "ping", {})
    sent: list[dict[str, object]] = [user("?")]
    spans = [agent(1)]
    for number, asked in enumerate(((one, two), (("other_0", "other", {}), two), (one,))):
        spans.append(chat(2 + 10 * number, parent=1, sent=[*sent], got=[asks(*asked)]))
        spans.append(chat(7 + 10 * number, parent=1, sent=[*sent], got=[asks(*asked)]))  # recorded twice
        sent += [asks(*asked), returns(*((str(call[0]), f"{call[1]} {number}") for call in asked))]
    run = run_of(*spans, chat(50, parent=1, sent=sent, got=[says("done")]))
    expected = [("search", 0), ("ping", 0), ("other", 1), ("ping", 1), ("search", 2)]
    assert [f"{name} {number}" for name, number in expected] == [call.result for call in run.tool_calls]
    assert [name for name, _ in expected] == [call.name for call in run.tool_calls]


def test_requests_without_ids() -> None:
    """Requests that bear no id meet the spans of their name, also such as have an id."""
    for call_id in (None, "framework-1"):
        run = run_of(
            agent(1),
            chat(2, parent=1, got=[asks((None, "search", {"q": "a"}))]),
            tool(3, parent=1, result="one", call_id=call_id),
        )
        assert [("search", {"q": "a"}, "one", "ok")] == told(run)


@pytest.mark.parametrize("call_id", [None, "c1"])
@pytest.mark.parametrize(("bare", "asked"), [("Paris", "Paris"), (2024, "2024"), ([1], [1])])
def test_a_bare_argument_gets_its_name_back(call_id: str | None, bare: object, asked: object) -> None:
    """Where a span records the only argument's value alone, the request says which argument it was."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "weather", {"city": asked}))]),
        tool(3, parent=1, name="weather", arguments=bare, result="sun", call_id=call_id),
    )
    assert [("weather", {"city": asked}, "sun", "ok")] == told(run)


def test_a_bare_argument_that_was_not_requested_stays() -> None:
    """A bare value that is not the requested one is what the tool was called with."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "weather", {"city": "Rome"}))]),
        tool(3, parent=1, name="weather", arguments="Paris", result="sun", call_id="c1"),
    )
    assert [("weather", "Paris", "sun", "ok")] == told(run)


def test_recorded_arguments_stay() -> None:
    """Arguments that a span records as an object are the call's, however the request wrote them."""
    spaced = tool(3, parent=1, call_id="c1")
    spaced.attributes = {**spaced.attributes, "gen_ai.tool.call.arguments": ' {"q": 1}'}
    run = run_of(agent(1), chat(2, parent=1, got=[asks(("c1", "search", {"q": "1"}))]), spaced)
    assert [{"q": 1}] == [call.arguments for call in run.tool_calls]


def test_the_first_piece_of_a_streamed_request() -> None:
    """A request of which only the beginning is recorded, which is empty, is the call that follows it."""
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": ""}]}
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asked]),
        tool(3, parent=1, name="weather", arguments={"city": "Paris"}, result="sun"),
    )
    assert [("c1", {"city": "Paris"}, "sun")] == [(one.call_id, one.arguments, one.result) for one in run.tool_calls]


def test_a_request_without_arguments_takes_nothing_away() -> None:
    """A request that records no arguments leaves the span's alone."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "weather", None))]),
        tool(3, parent=1, name="weather", arguments="Paris", call_id="c1"),
    )
    assert ["Paris"] == [call.arguments for call in run.tool_calls]


@pytest.mark.parametrize(
    ("recorded", "state"), [("__REDACTED__", "redacted"), ('{"q": "half of', "truncated"), (None, "absent")]
)
def test_content_that_is_not_whole(recorded: str | None, state: str) -> None:
    """Arguments that are redacted, cut or absent say so, and are taken from the request where there is one."""
    for call_id in (None, "c1"):
        broken = tool(3, parent=1, result="one", call_id=call_id)
        if recorded is not None:
            broken.attributes = {**broken.attributes, "gen_ai.tool.call.arguments": recorded}
        (alone,) = run_of(agent(1), broken).tool_calls
        assert (state, "present") == (alone.arguments_state, alone.result_state)
        run = run_of(agent(1), chat(2, parent=1, got=[asks(("c1", "search", {"q": "all of it"}))]), broken)
        assert [({"q": "all of it"}, "present")] == [(c.arguments, c.arguments_state) for c in run.tool_calls]


def test_tools_named_for_their_function() -> None:
    """A span that bears the decorated function's name is the call that was asked for, if its arguments say so."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "search", {"q": "a"}), ("c2", "search", {"q": "b"}))]),
        tool(20, parent=1, name="search_tool", arguments={"q": "b"}, result="two"),
        tool(40, parent=1, name="lookup", arguments={"q": "a"}, result="one"),
    )
    assert [
        ("search", {"q": "a"}, None, "not_run"),
        ("search", {"q": "b"}, "two", "ok"),
        ("lookup", {"q": "a"}, "one", "ok"),
    ] == told(run)


# Results


def test_arguments_that_the_conversation_repeats() -> None:
    """A request recorded as if it asked for nothing has the arguments that later inputs repeat it with."""
    asked = asks(
        ("c1", "search", {"q": "a"}), ("c2", "ping", {}), ("c3", "twice", {"q": "b"}), ("c4", "other", {"q": "c"})
    )
    again = asks(("c3", "twice", {"q": "d"}))
    answers = returns(*((f"c{at}", "r") for at in range(1, 5)))
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(*((f"c{at}", name, {}) for at, name in enumerate(NAMES, 1)))]),
        chat(50, parent=1, sent=[user("?"), asked, again, answers], got=[says("done")]),
    )
    assert [{"q": "a"}, {}, {}, {}] == [call.arguments for call in run.tool_calls]


def test_same_ids_in_two_agents() -> None:
    """Ids that two agents both use are kept apart by the agent, also where the calls ran in another order."""

    def side(root: int, at: int, ran: int, word: str) -> list[RawSpan]:
        return [
            agent(root, parent=1, name=word),
            chat(at, parent=root, got=[asks(("call_1", "search", {"q": word}))]),
            tool(ran, parent=root, call_id="call_1"),
            chat(100 + at, parent=root, sent=[returns(("call_1", word.upper()))], got=[says("done")]),
        ]

    one, other = side(2, 10, 31, "left"), side(3, 11, 30, "right")
    run = run_of(agent(1), *one, *other)
    assert [({"q": "right"}, "RIGHT"), ({"q": "left"}, "LEFT")] == [(c.arguments, c.result) for c in run.tool_calls]
    bare = run_of(agent(1), *(s for s in (*one, *other) if not s.name.startswith("execute_tool")))
    assert [({"q": "left"}, "LEFT"), ({"q": "right"}, "RIGHT")] == [(c.arguments, c.result) for c in bare.tool_calls]


def test_same_ids_in_every_step() -> None:
    """Ids that begin anew in every step go to the calls in order."""
    spoken: list[dict[str, object]] = [user("?")]
    spans = [agent(1)]
    for step, word in enumerate(["a", "b", "c"]):
        at = 10 + 20 * step
        spans.append(chat(at, parent=1, sent=list(spoken), got=[asks(("call_0", "search", {"q": word}))]))
        spans.append(tool(at + 15, parent=1, call_id="call_0", start=at + 15, end=at + 16))
        spoken += [asks(("call_0", "search", {"q": word})), returns(("call_0", word.upper()))]
    run = run_of(*spans, chat(100, parent=1, sent=spoken, got=[says("done")]))
    assert [("search", {"q": w}, w.upper(), "ok") for w in "abc"] == told(run)


def test_results_without_ids() -> None:
    """Results that bear no id answer the calls made just before the model call that was given them, in order."""
    first = [returns((None, "one"), (None, "two"))]
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks((None, "a", {}), (None, "b", {}))]),
        tool(3, parent=1, name="a"),
        tool(4, parent=1, name="b"),
        chat(20, parent=1, sent=[user("?"), *first], got=[asks((None, "a", {}))]),
        tool(40, parent=1, name="a"),
        chat(60, parent=1, sent=[user("?"), *first, asks((None, "a", {})), returns((None, "three"))], got=[says("ok")]),
    )
    assert ["one", "two", "three"] == [call.result for call in run.tool_calls]


def test_results_without_ids_that_cannot_be_assigned() -> None:
    """Where there are not as many results as calls, or names disagree, nothing is guessed."""
    named = {"role": "tool", "parts": [{"type": "tool_call_response", "name": "other", "response": "one"}]}
    for heard in ([returns((None, "one"))], [named, named]):
        run = run_of(
            agent(1),
            tool(3, parent=1, name="a"),
            tool(4, parent=1, name="a"),
            chat(20, parent=1, sent=[user("?"), *heard], got=[says("done")]),
        )
        assert [None, None] == [call.result for call in run.tool_calls]


def test_a_result_settles_the_status() -> None:
    """A span that does not know how its call went learns it from the result that the model was given."""
    for value, status in (("fine", "ok"), ({"isError": True}, "error")):
        run = run_of(
            agent(1),
            tool(3, parent=1, call_id="c1", end=0),
            chat(20, parent=1, sent=[returns(("c1", value))], got=[says("done")]),
        )
        assert [(value, status)] == [(call.result, call.status) for call in run.tool_calls]


def test_a_run_that_goes_on_with_an_earlier_one() -> None:
    """What was asked for before the run began has its argument's name in what the model is told afterwards."""
    asked = asks(("c1", "send_mail", {"to": "ann"}))
    later = chat(20, parent=1, sent=[user("?"), asked, returns(("c1", "sent"))], got=[says("done")])
    bare = tool(2, parent=1, name="send_mail", arguments="ann", result="sent", call_id="c1")
    assert [("send_mail", {"to": "ann"}, "sent", "ok")] == told(run_of(agent(1), bare, later))
    other = chat(20, parent=1, sent=[user("?")], got=[says("done")])
    for run in (run_of(agent(1), bare, other), run_of(agent(1), bare)):
        assert [("send_mail", "ann", "sent", "ok")] == told(run)


def test_a_call_that_langchain_refused() -> None:
    """A call whose arguments are no JSON, and of which the model was told so, did not run."""
    refused = "Tool call search with id c1 could not be executed - arguments were malformed or truncated."
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "search", '{"q": '), ("c2", "search", {"q": "b"}))]),
        tool(20, parent=1, call_id="c2", arguments={"q": "b"}, result="two"),
        chat(50, parent=1, sent=[user("?"), returns(("c1", refused), ("c2", "two"))], got=[says("done")]),
    )
    assert [("search", '{"q": ', refused, "not_run"), ("search", {"q": "b"}, "two", "ok")] == told(run)


def test_some_models_whose_requests_are_not_recorded() -> None:
    """What a model asked for beside an answer that is not recorded stands in front of the next call."""
    asked = [user("?"), asks(("c1", "search", {"q": "a"})), returns(("c1", "one"))]
    run = run_of(agent(1), chat(2, parent=1, sent=[user("?")]), chat(50, parent=1, sent=asked, got=[says("done")]))
    assert [("search", {"q": "a"}, "one", "ok")] == told(run)


def test_requests_that_agents_alone_record() -> None:
    """What no model's span tells is read from the record of the agent: its last turn, and whose call is whose."""
    refused = "Error: gone is not a valid tool, try one of [search]."
    turn = [asks(("c1", "gone", {}), ("c2", "search", {"q": "a"})), returns(("c1", refused), ("c2", "one"))]
    record = [user("?"), says("before"), user("?"), *turn, says("done")]
    held: dict[str, Any] = {"gen_ai.output.messages": json.dumps(record)}
    run = run_of(
        agent(1, **held),
        chat(2, parent=1),
        tool(20, parent=1, arguments={"q": "a"}, result="one"),
        chat(50, parent=1),
    )
    assert [("gone", {}, refused, "not_run"), ("search", {"q": "a"}, "one", "ok")] == told(run)
    assert ["c1", "c2"] == [call.call_id for call in run.tool_calls]


@pytest.mark.parametrize(
    "scope", ["opentelemetry.instrumentation.langchain", "opentelemetry.instrumentation.genai.langchain"]
)
def test_a_refused_call_that_the_answer_leaves_out(scope: str) -> None:
    """What the model was told of a call with broken arguments names it; what it knew before its first call is old."""
    told_of = "Tool call {} with id {} could not be executed - arguments were malformed or truncated."
    before = returns(("c0", told_of.format("search", "c0")))
    refused = returns(("c1", told_of.format("search", "c1")))
    spans = [
        agent(1),
        chat(2, parent=1, sent=[before, user("?")], got=[asks(("c2", "search", {"q": "b"}))]),
        tool(20, parent=1, call_id="c2", arguments={"q": "b"}, result="two"),
        chat(50, parent=1, sent=[before, user("?"), refused, returns(("c2", "two"))], got=[says("done")]),
    ]
    other = run_of(*(remade(span) for span in spans))
    assert ["c2"] == [call.call_id for call in other.tool_calls]
    run = run_of(*(remade(span, scope=Scope(scope, "", {})) for span in spans))
    broken, whole = run.tool_calls
    assert ("search", "not_run", "c1", None) == (broken.name, broken.status, broken.call_id, broken.arguments)
    assert ("ok", "c2") == (whole.status, whole.call_id)
    (found,) = (one for one in run.missing if one.field == "arguments")
    assert ("Arguments are not recorded for 1 tool call (search).", "") == (found.why, found.switch)
    spans[1] = chat(
        2, parent=1, sent=[before, user("?")], got=[asks(("c1", "search", None), ("c2", "search", {"q": "b"}))]
    )
    once = run_of(*(remade(span, scope=Scope(scope, "", {})) for span in spans))
    assert ["c1", "c2"] == [call.call_id for call in once.tool_calls]


def test_a_tool_offered_under_a_name_that_models_may_say() -> None:
    """A span that bears the tool's title is the call that the model asked for by the name made of it."""
    asked = asks(("c1", "search_the_web", {"q": "a"}), ("c2", "search_the_web", {"q": "b"}), ("c3", "ask", {}))
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asked]),
        tool(20, parent=1, name="Search the web", arguments={"q": "a", "n": 5}, result="one"),
        tool(21, parent=1, name="Search the web", arguments={"q": "b"}, result="two"),
        tool(22, parent=1, name="Ask a human", arguments={"q": "?"}, result="three"),
    )
    assert [("c1", "search_the_web", "one"), ("c2", "search_the_web", "two"), (None, "Ask a human", "three")] == [
        (call.call_id, call.name, call.result) for call in run.tool_calls if call.origin == "span"
    ]
    assert ["c3"] == [call.call_id for call in run.tool_calls if call.origin == "message"]


def langchain_tool(number: int, given: str) -> RawSpan:
    """A span of OpenInference's for a LangChain tool, whose lone argument is written bare."""
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "query", "input.value": given}
    message = {"type": "tool", "data": {"content": "done", "tool_call_id": "c1", "name": "query"}}
    attributes["output.value"] = json.dumps(message)
    return span(number, parent=1, attributes=attributes, scope=Scope("openinference.instrumentation.langchain", "", {}))


@pytest.mark.parametrize("text", ['{"a": [1, 2]}', '["a", 2]', '{"a": [1, 2], "b": "x"}'])
def test_an_argument_that_is_json_text(text: str) -> None:
    """JSON text that is a tool's only argument is not taken for the arguments."""
    call = "llm.output_messages.0.message.tool_calls.0.tool_call."
    asked = {
        "openinference.span.kind": "LLM",
        "llm.output_messages.0.message.role": "assistant",
        f"{call}id": "c1",
        f"{call}function.name": "query",
        f"{call}function.arguments": json.dumps({"payload": text}),
    }
    model = span(2, parent=1, attributes=asked, scope=Scope("openinference.instrumentation.langchain", "", {}))
    (found,) = run_of(agent(1), model, langchain_tool(20, text)).tool_calls
    assert ("c1", {"payload": text}, "ok") == (found.call_id, found.arguments, found.status)
    nameless = remade(model, attributes={key: value for key, value in asked.items() if not key.endswith(".id")})
    (found,) = run_of(agent(1), nameless, langchain_tool(20, text)).tool_calls
    assert {"payload": text} == found.arguments


def test_arguments_that_a_framework_changed() -> None:
    """A call without an id for which nobody asked is that of the request which names the same arguments."""
    asked = asks(("c1", "search", {"kind": "none"}), ("c2", "search", {"kind": "true"}), ("c3", "search", {"q": 1}))
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asked]),
        tool(20, parent=1, arguments={"kind": None}, result="one"),
        tool(21, parent=1, arguments={"kind": True}, result="two"),
    )
    assert [("c1", {"kind": None}), ("c2", {"kind": True}), ("c3", {"q": 1})] == sorted(
        (call.call_id or "", call.arguments) for call in run.tool_calls
    )


def test_answers_written_over_one_another() -> None:
    """A call that an agent's own answer repeats with another one's arguments was asked for once."""
    held: dict[str, Any] = {
        "gen_ai.input.messages": json.dumps([user("?"), asks(("c1", "ping", {})), returns(("c1", "pong"))]),
        "gen_ai.output.messages": json.dumps([asks(("c1", "ping", {"q": "another's"})), says("done")]),
    }
    run = run_of(agent(1, **held), tool(20, parent=1, name="ping", call_id="c1", result="pong"))
    assert ["ping"] == [call.name for call in run.tool_calls]


def test_a_tool_that_bears_the_name_of_its_class() -> None:
    """A call of LlamaIndex's of which the class alone is known is the one that was asked for with its arguments."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "ask_expert", {"q": "a"}))]),
        tool(20, parent=1, name="FunctionTool.task", arguments={"q": "a"}),
    )
    assert [("c1", "ask_expert")] == [(call.call_id, call.name) for call in run.tool_calls]
