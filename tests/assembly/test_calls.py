"""Logical tool calls: what spans show, and what the laws of reading them are."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.raw import RawEvent, RawSpan, Scope
from spanwise.model.trace import Run, SpanError
from tests.making import agent, asks, chat, returns, run_of, says, span, span_id, told, tool, user

PYDANTIC_AI = Scope("pydantic-ai", "2.66.0", {})


# Spans alone


def test_calls_of_spans() -> None:
    """Without messages the calls are what the tool spans say, by start, with times, ids and their agent."""
    run = run_of(
        agent(1),
        tool(9, parent=1, name="b", arguments={"x": 1}, result="two", call_id="c2"),
        tool(5, parent=1, name="a", arguments={"x": 1}, result="one", call_id="c1"),
    )
    assert [("a", {"x": 1}, "one", "ok"), ("b", {"x": 1}, "two", "ok")] == told(run)
    first = run.tool_calls[0]
    assert (5, 15, "c1", "span", 0, 1, span_id(5), False) == (
        first.start_ns,
        first.end_ns,
        first.call_id,
        first.origin,
        first.agent,
        first.span,
        first.span_id,
        first.control,
    )


def test_a_span_that_ends_before_it_starts() -> None:
    """A call never takes negative time."""
    (call,) = run_of(agent(1), tool(5, parent=1, start=5, end=3)).tool_calls
    assert (5, 0) == (call.end_ns, call.duration_ns)


def test_a_tool_without_a_name_bears_its_spans_name() -> None:
    """Where no dialect knows the tool's name the span's name stands in."""
    run = run_of(agent(1), span(2, parent=1, name="lookup", attributes={"gen_ai.operation.name": "execute_tool"}))
    assert ["lookup"] == [call.name for call in run.tool_calls]


@pytest.mark.parametrize(
    ("told_back", "control"),
    [
        ("Returning structured response: city='Paris' days=3", True),
        ("Final result processed.", True),
        ('"Final result processed."', True),
        ("Paris", False),
    ],
)
def test_an_output_tool_of_any_name_is_marked(told_back: str, control: bool) -> None:
    """What a framework says when it took the output tells the tool for the output from one that works."""
    asked = asks(("c1", "TripReport", {"city": "Paris", "days": 3}))
    run = run_of(
        agent(1),
        chat(2, parent=1, sent=[user("Plan a trip.")], got=[asked]),
        chat(3, parent=1, sent=[user("Plan a trip."), asked, returns(("c1", told_back))], got=[says("Done.")]),
    )
    assert [("TripReport", control)] == [(call.name, call.control) for call in run.tool_calls]


def test_control_tools_are_marked() -> None:
    """A tool that ends the run or hands it over is marked, not left out."""
    run = run_of(agent(1), tool(2, parent=1, name="final_answer"), tool(3, parent=1, name="search"))
    assert [("final_answer", True), ("search", False)] == [(c.name, c.control) for c in run.tool_calls]


# Statuses


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"isError": True, "content": []}, "error"),
        ({"is_error": True}, "error"),
        ({"status": "error", "message": "no"}, "error"),
        ({"status": "success"}, "ok"),
        ({"isError": False}, "ok"),
        ("The error was mine: no such city", "ok"),
        ('{"error rate": ', "ok"),
        ([{"status": "error"}], "ok"),
    ],
)
def test_status_from_a_result(result: object, status: str) -> None:
    """A result that calls itself a failure is one though the span does not say so; a sentence is only a sentence."""
    assert [status] == [call.status for call in run_of(agent(1), tool(2, parent=1, result=result)).tool_calls]


def test_status_of_the_span() -> None:
    """A failed span is a failed call, with what the span says of its failure."""
    broke = RawEvent("exception", 6, {"exception.type": "KeyError", "exception.message": "x"})
    failed = tool(5, parent=1, failed=True, result="partial")
    failed.events = (broke,)
    (call,) = run_of(agent(1), failed).tool_calls
    assert ("error", SpanError(type="KeyError", message="x"), True) == (call.status, call.error, call.failed)


def test_status_attribute() -> None:
    """An instrumentation's own word for a failure counts though the status is unset."""
    failed = span(5, parent=1, attributes={"gen_ai.tool.name": "search", "gen_ai.tool.status": "error"})
    assert ["error"] == [call.status for call in run_of(agent(1), failed).tool_calls]


def test_unended_span() -> None:
    """Of a call whose span did not end it is not known whether it failed."""
    assert ["unknown"] == [call.status for call in run_of(agent(1), tool(2, parent=1, end=0)).tool_calls]


def test_model_retry() -> None:
    """A tool that asks the model for another try is a retry, not a failure, though its span's status is ERROR."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "book",
        "gen_ai.tool.call.result": "Seat taken, choose another.",
        "pydantic_ai.tool.retry.cause": "model_retry",
        "pydantic_ai.tool.retry.attempt": 1,
    }
    asked = span(2, parent=1, attributes=attributes, status=2, scope=PYDANTIC_AI)
    (call,) = run_of(agent(1), asked).tool_calls
    assert ("retry", True) == (call.status, call.failed)


# One call, several spans


def test_wrapper_and_inner_are_one() -> None:
    """A tool span inside one of the same name is the same call; each says what the other does not."""
    run = run_of(
        agent(1),
        tool(2, parent=1, arguments={"q": 1}),
        tool(3, parent=2, arguments={"raw": 1}, result="r", call_id="c"),
    )
    assert [("search", {"q": 1}, "r", "ok")] == told(run)
    assert ("c", span_id(2)) == (run.tool_calls[0].call_id, run.tool_calls[0].span_id)
    both = run_of(agent(1), tool(2, parent=1, result="whole"), tool(3, parent=2, result="raw"))
    assert ["whole"] == [call.result for call in both.tool_calls]


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_one_failure_makes_the_call_failed(broken: int) -> None:
    """Of a call's spans one that failed makes the call failed, wherever it stands, with that span's words."""
    spans = [tool(n, parent=n - 1, failed=n == broken + 2) for n in (2, 3, 4)]
    (call,) = run_of(agent(1), *spans).tool_calls
    assert ("error", SpanError(message="it broke")) == (call.status, call.error)


def test_the_outer_spans_words_stay() -> None:
    """Where both spans of a call failed, the outer one's words are kept; the inner one's stand in for none."""
    inner = tool(3, parent=2, failed=True)
    inner.status_message = "inner"
    for words, expected in (("outer", "outer"), ("", "inner")):
        outer = tool(2, parent=1, failed=True)
        outer.status_message = words
        assert [SpanError(message=expected)] == [call.error for call in run_of(agent(1), outer, inner).tool_calls]


def test_retry_outweighs_error() -> None:
    """Where one span of a call says retry and another error, the call is a retry."""
    attributes = {
        "gen_ai.tool.name": "search",
        "pydantic_ai.tool.retry.cause": "x",
        "pydantic_ai.tool.retry.attempt": 1,
    }
    again = span(3, parent=2, attributes=attributes, status=2, scope=PYDANTIC_AI)
    assert ["retry"] == [c.status for c in run_of(agent(1), tool(2, parent=1, failed=True), again).tool_calls]
    inner = tool(3, parent=2, failed=True)
    outer = span(2, parent=1, attributes=attributes, status=2, scope=PYDANTIC_AI)
    assert ["retry"] == [c.status for c in run_of(agent(1), outer, inner).tool_calls]


def test_an_inner_span_settles_what_the_outer_leaves_open() -> None:
    """Where the wrapper never ended, its inner span tells how the call went."""
    run = run_of(agent(1), tool(2, parent=1, end=0), tool(3, parent=2, result=1))
    assert ["ok"] == [call.status for call in run.tool_calls]


def test_a_call_of_which_nothing_is_recorded_may_have_returned_an_error() -> None:
    """Without content a status that is not an error says no more than that the tool did not raise."""

    def statuses(scope: str = "", *, code: int = 0, **more: object) -> list[str]:
        found = tool(2, parent=1)
        found.attributes |= more
        found.status_code = code
        found.scope = Scope(scope, "1", {})
        return [call.status for call in run_of(agent(1), found).tool_calls]

    google = "opentelemetry.instrumentation.google_genai"
    assert ["unknown"] == statuses(google) == statuses(google, code=1)
    assert ["error"] == statuses(google, code=2)
    assert ["ok"] == statuses("autogen-core") == statuses("spanwise.record")
    for key in ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.tool.status", "mcp.method.name"):
        assert ["ok"] == statuses(google, **{key: "tools/call"})


def test_mcp_leaves_three_spans() -> None:
    """Client, sender and server span are one call, with the agent's arguments and the server's failure."""

    def mcp(number: int, *, parent: int, name: str, **more: object) -> RawSpan:
        return span(number, parent=parent, name=name, attributes={"mcp.method.name": "tools/call", **more})

    broken = mcp(5, parent=4, name="tools/call search", **{"gen_ai.tool.name": "search"})
    broken.status_code = 2
    run = run_of(
        agent(1),
        tool(2, parent=1, arguments={"q": 1}, call_id="c"),
        mcp(3, parent=2, name="tools/call search", **{"gen_ai.tool.name": "search"}),
        mcp(4, parent=3, name="MCP send tools/call search"),
        broken,
    )
    assert [("search", {"q": 1}, None, "error")] == told(run)


def test_a_tool_that_calls_another_tool() -> None:
    """A tool span inside one of another name is a call of its own."""
    run = run_of(agent(1), tool(2, parent=1, name="outer"), tool(3, parent=2, name="inner"))
    assert ["outer", "inner"] == [call.name for call in run.tool_calls]


def test_a_tool_in_a_model_span() -> None:
    """A tool span below a model's span is a call of its own, whatever the depth."""
    spans = [chat(n, parent=n - 1) for n in range(2, 30)]
    assert ["search"] == [call.name for call in run_of(agent(1), *spans, tool(31, parent=29)).tool_calls]


def test_same_tool_of_a_sub_agent() -> None:
    """A sub-agent's call of the tool that it runs in is another call."""
    run = run_of(agent(1), tool(2, parent=1), agent(3, parent=2, name="inner"), tool(4, parent=3))
    assert [(span_id(2), 0), (span_id(4), 2)] == [(call.span_id, call.agent) for call in run.tool_calls]


def test_tools_deep_inside_models() -> None:
    """A tool below model spans in a tool of its name is the same call, but only as deep as wrappers go."""

    def nest(depth: int) -> list[RawSpan]:
        wrappers = [chat(n, parent=n - 1) for n in range(3, 3 + depth)]
        return [agent(1), tool(2, parent=1), *wrappers, tool(50, parent=2 + depth)]

    assert [1, 2] == [len(run_of(*nest(depth)).tool_calls) for depth in (3, 30)]


def test_a_tool_inside_a_retriever() -> None:
    """A tool that no tool encloses is a call of its own, whatever else does."""
    around = span(2, parent=1, attributes={"gen_ai.operation.name": "retrieval"})
    assert ["search"] == [call.name for call in run_of(agent(1), around, tool(3, parent=2)).tool_calls]


def test_a_call_whose_parent_was_lost() -> None:
    """A tool whose parent is not here belongs to the run in whose time it lies, also where clocks disagree."""
    lost = tool(6, parent=99, end=7)
    for top in (agent(1), agent(10)):
        sub = agent(5, parent=top.start_ns, name="inner")
        run = run_of(top, sub, lost)
        assert (span_id(top.start_ns), [span_id(6)]) == (run.run_id, [call.span_id for call in run.tool_calls])


def test_a_span_that_runs_several_calls() -> None:
    """A span that runs all calls of a message is one call each, and an unknown tool among them did not run."""
    asked = {"role": "assistant", "content": [], "tool_calls": [
        {"id": "c1", "function": {"name": "search", "arguments": "{}"}},
        {"id": "c2", "function": {"name": "serch", "arguments": "{}"}},
    ]}  # fmt: skip
    given = [
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "tool", "tool_call_id": "c2", "content": "Tool serch not found."},
    ]
    attributes = {
        "haystack.component.type": "ToolInvoker",
        "haystack.component.input": json.dumps({"messages": [asked]}),
        "haystack.component.output": json.dumps({"tool_messages": given}),
    }
    invoker = [span(n, parent=n - 1, attributes=attributes, scope=Scope("haystack", "2", {})) for n in (2, 3)]
    run = run_of(agent(1), *invoker)
    assert [("search", {}, "found", "ok"), ("serch", {}, "Tool serch not found.", "not_run")] == told(run)
    assert [span_id(2)] * 2 == [call.span_id for call in run.tool_calls]


# Laws

NAMES = st.sampled_from(["search", "book", "final_answer"])
ARGUMENTS = st.sampled_from([{"q": "a"}, {"q": "b"}, {}, "a", None])
IDS = st.sampled_from([None, "c1", "c2", "c3", "q", "a"])


@st.composite
def runs(draw: st.DrawFn) -> list[RawSpan]:
    """A run of a few steps: some requests, some tool spans that may or may not be theirs, some results."""
    spans = [agent(1)]
    spoken: list[dict[str, object]] = [user("?")]
    at = 2
    for _ in range(draw(st.integers(0, 3))):
        asked = draw(st.lists(st.tuples(IDS, NAMES, ARGUMENTS), max_size=3))
        sent = list(spoken) if draw(st.booleans()) else None
        spans.append(chat(at, parent=1, sent=sent, got=[asks(*asked)] if asked else [says("thus")]))
        at += 20
        for call_id, name, arguments in draw(st.permutations(asked)):
            if draw(st.integers(0, 3)):
                spans.append(
                    tool(
                        at,
                        parent=1,
                        name=name,
                        arguments=arguments if draw(st.booleans()) else draw(ARGUMENTS),
                        result=draw(st.sampled_from([None, "r", {"status": "error"}])),
                        call_id=call_id if draw(st.booleans()) else draw(IDS),
                        failed=draw(st.booleans()),
                    )
                )
                at += 20
        spoken += [asks(*asked), returns(*((call_id, f"of {name}") for call_id, name, _ in asked))]
    return spans


def decoded(spans: Sequence[RawSpan]) -> list[RawSpan]:
    """The same spans, their messages as values and not as text."""
    out: list[RawSpan] = []
    for one in spans:
        attributes = dict(one.attributes)
        for key in ("gen_ai.input.messages", "gen_ai.output.messages"):
            if key in attributes:
                attributes[key] = json.loads(str(attributes[key]))
        copy = span(1, attributes=attributes)
        copy.span_id, copy.parent_id, copy.name = one.span_id, one.parent_id, one.name
        copy.start_ns, copy.end_ns, copy.status_code = one.start_ns, one.end_ns, one.status_code
        copy.status_message = one.status_message
        out.append(copy)
    return out


@given(runs())
def test_the_short_cut_changes_nothing(spans: list[RawSpan]) -> None:
    """Reading no message where every call is plainly there gives what reading all messages gives."""

    def shown(run: Run) -> object:
        return [
            (c.name, c.status, c.span, c.call_id, c.control, c.origin, c.arguments, c.result, c.start_ns, c.error)
            for c in run.tool_calls
        ]

    assert shown(run_of(*decoded(spans))) == shown(run_of(*spans))


@given(runs())
def test_no_span_is_lost_or_counted_twice(spans: list[RawSpan]) -> None:
    """Each tool span is exactly one call, and the calls stand by start."""
    calls = run_of(*spans).tool_calls
    tools = sorted(s.span_id for s in spans if s.name.startswith("execute_tool"))
    assert tools == sorted(call.span_id for call in calls if call.origin == "span")
    assert sorted(call.start_ns for call in calls) == [call.start_ns for call in calls]


def test_stand_ins_of_langchain_are_no_calls() -> None:
    """What LangChain runs for a tool that does not exist, or an answer that it cannot read, is nobody's tool."""
    named = {"requested_tool_name": "serch", "available_tool_names": ["search"]}
    run = run_of(
        agent(1),
        tool(2, parent=1, name="invalid_tool", arguments=named, result="serch is not a valid tool"),
        tool(3, parent=1, name="invalid_tool"),
        tool(4, parent=1, name="_Exception", arguments="x"),
        tool(5, parent=1, name="invalid_tool", arguments={"id": 1}),
    )
    assert [("invalid_tool", {"id": 1})] == [(call.name, call.arguments) for call in run.tool_calls]


def test_a_nameless_span_inside_a_call_is_its_inner_half() -> None:
    """A tool span that does not name its tool is the same call as the tool around it."""
    inner = span(3, parent=2, name="FunctionTool.task", attributes={"gen_ai.operation.name": "execute_tool"}, status=2)
    run = run_of(agent(1), tool(2, parent=1, name="search"), inner)
    assert [("search", "error")] == [(call.name, call.status) for call in run.tool_calls]
