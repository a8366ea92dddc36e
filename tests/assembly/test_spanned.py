"""The calls that left spans: several spans of one call, several calls of one span, and what is no call."""

from __future__ import annotations

import json

import pytest

from spanwise.model.raw import RawSpan, Scope
from spanwise.model.trace import SpanError
from tests.making import agent, chat, run_of, span, span_id, told, tool

PYDANTIC_AI = Scope("pydantic-ai", "2.66.0", {})


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
    for key, said in (("lmnr.span.type", "TOOL"), ("langwatch.span.type", "tool"), ("agentops.span.kind", "tool")):
        silent = span(2, parent=1, name="search", attributes={key: said})
        assert ["unknown"] == [call.status for call in run_of(agent(1), silent).tool_calls]
    for key in ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.tool.status", "mcp.method.name"):
        assert ["ok"] == statuses(google, **{key: "tools/call"})


def test_a_span_of_a_tool_that_does_not_exist() -> None:
    """A failed span that says no more than that there is no such tool stands for a call that did not run."""

    def status(message: str, **more: object) -> str:
        found = tool(2, parent=1, name="search", failed=True, **more)
        found.status_message = message
        return run_of(agent(1), found).tool_calls[0].status

    assert "not_run" == status("Tool search not found. Please select a tool that is available.")
    assert ["error"] * 3 == [
        status("Tool x not found."), status("no network"), status("Tool search not found.", result="partly")
    ]  # fmt: skip


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


@pytest.mark.parametrize(
    ("ends", "broken", "expected"),
    [
        ((20, 20), None, [("mcp__kit__search", {"q": 1}, "r", "ok"), ("mcp__kit__search", {"q": 2}, "r", "ok")]),
        ((20, 9), 5, [("mcp__kit__search", {"q": 1}, "r", "error"), ("mcp__kit__search", {"q": 2}, "r", "ok")]),
    ],
)
def test_mcp_beside_the_call(ends: tuple[int, int], broken: int | None, expected: list[object]) -> None:
    """A server's span that stands beside the agent's is the same call; whose failure it tells only one may be."""

    def served(number: int, name: str, end: int) -> RawSpan:
        attributes = {"mcp.method.name": "tools/call", "gen_ai.tool.name": name}
        return span(number, parent=1, end=end, attributes=attributes, status=2 if number == broken else 0)

    run = run_of(
        agent(1, end=40),
        *(
            tool(number, parent=1, end=end, name="mcp__kit__search", call_id=f"c{at}", arguments={"q": at}, result="r")
            for at, (number, end) in enumerate(zip((2, 3), ends, strict=True), 1)
        ),
        served(5, "search", 12),
        served(30, "search", 33),
    )
    assert [*expected, ("search", None, None, "ok")] == told(run)


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
        return [agent(1), tool(2, parent=1, end=60), *wrappers, tool(50, parent=2 + depth)]

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


def test_a_tool_that_does_not_exist_fails_with_and_without_its_status() -> None:
    """Whoever marks the failure, the span's status or its dialect, what the framework says of the name decides."""
    named: dict[str, object] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
    marked = named | {"gen_ai.tool.status": "error", "gen_ai.tool.call.result": "Tool 'find' not found in registry"}
    run = run_of(agent(1), span(2, parent=1, attributes=marked), span(20, parent=1, attributes=marked, status=2))
    assert [("not_run", None)] * 2 == [(call.status, call.error) for call in run.tool_calls]


def test_the_name_of_an_exception_tells_that_there_is_no_such_tool() -> None:
    """An exception may say so by its name alone; any other one is the tool's."""

    def status(raised: str) -> str:
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "error.type": raised}
        return run_of(agent(1), span(2, parent=1, attributes=attributes, status=2)).tool_calls[0].status

    assert ["not_run"] * 3 == list(map(status, ("AI_NoSuchToolError", "ToolNotFoundException", "UnknownToolError")))
    assert ["error"] * 2 == list(map(status, ("ToolException", "FileNotFoundError")))


def test_the_description_tells_that_there_is_no_such_tool() -> None:
    """ADK, without content, says so where the tool's description would stand."""
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "error.type": "ValueError"}

    def status(description: str) -> str:
        attributes = {**named, "gen_ai.tool.description": description}
        scope = Scope("gcp.vertex.agent", "2", {})
        return run_of(agent(1), span(2, parent=1, attributes=attributes, status=2, scope=scope)).tool_calls[0].status

    assert ["not_run", "error"] == list(map(status, ("Tool not found", "Finds a tool.")))


def test_both_halves_of_a_call_of_no_tool() -> None:
    """An inner span that says that there is no such tool tells it of the call."""
    said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "error.type": "ToolNotFound"}
    run = run_of(agent(1), tool(2, parent=1, name="find", result=None), span(3, parent=2, attributes=said, status=2))
    assert [("find", "not_run", None)] == [(call.name, call.status, call.error) for call in run.tool_calls]


def test_what_a_failed_call_was_left_around_is_no_part_of_it() -> None:
    """A failed span that stayed the current one has later calls below it, which began when it was over."""
    run = run_of(
        agent(1),
        tool(2, parent=1, arguments="a", failed=True, start=10, end=20),
        tool(3, parent=2, arguments="b", result=1, start=30, end=40),
        tool(4, parent=3, name="other", arguments="c", result=2, start=50, end=60),
    )
    assert [("search", "a", None, "error"), ("search", "b", 1, "ok"), ("other", "c", 2, "ok")] == told(run)
    elsewhere = tool(3, parent=2, result=1, start=30, end=40)
    elsewhere.scope = Scope("server", "1", {})
    run = run_of(agent(1), tool(2, parent=1, arguments="a", start=10, end=20), elsewhere)
    assert [("search", "a", 1, "ok")] == told(run)  # by another clock
