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

TELLING: dict[str, object] = {"gen_ai.operation.name": "chat"}
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


def test_a_call_without_a_span_among_others() -> None:
    """Tools that run while the answer is still told: what the model invented stands where it was asked for."""
    asked = asks(("c1", "invented", {}), ("c2", "search", {"q": "a"}), ("c3", "unknown", {}))
    run = run_of(
        agent(1),
        span(20, parent=1, attributes=TELLING | {"gen_ai.output.messages": json.dumps([asked])}, end=90),
        tool(40, parent=20, arguments={"q": "a"}, result="A", call_id="c2"),
    )
    assert ["c1", "c2", "c3"] == [call.call_id for call in run.tool_calls]


def test_calls_that_start_together() -> None:
    """A clock of whole milliseconds tells no order of parallel calls: theirs is that in which they were asked for."""
    asked = asks(("c1", "search", {"q": "a"}), ("c2", "search", {"q": "b"}))
    run = run_of(
        agent(1),
        chat(20, parent=1, sent=[user("?")], got=[asked]),
        tool(40, parent=1, start=40, end=50, arguments={"q": "a"}, result="A", call_id="c1"),
        tool(41, parent=1, start=40, end=60, arguments={"q": "b"}, result="B", call_id="c2"),
    )
    assert ["c1", "c2"] == [call.call_id for call in run.tool_calls]
    run = run_of(
        agent(1),
        tool(40, parent=1, start=40, end=50, name="a"),
        tool(41, parent=1, start=40, end=60, name="b"),
        tool(42, parent=41, start=40, end=45, name="c"),
    )
    assert ["a", "b", "c"] == [call.name for call in run.tool_calls]  # else they end in order, and hold what is in them


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


@pytest.mark.parametrize(
    "mask", ["__REDACTED__", "<REDACTED>", "[REDACTED]", "****", "[Scrubbed due to 'auth']", " *** "]
)
@pytest.mark.parametrize("scheme", ["gen_ai", "openinference"])
def test_a_masked_result_tells_no_success(mask: str, scheme: str) -> None:
    """A failure that a tool returned would stand in its result: where that is masked, nobody knows."""
    attributes: dict[str, object] = {
        "gen_ai": {"gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c", "gen_ai.tool.call.result": mask},
        "openinference": {"openinference.span.kind": "TOOL", "tool.name": "search", "output.value": mask},
    }[scheme]
    given = "gen_ai.tool.call.arguments" if scheme == "gen_ai" else "input.value"
    done = span(2, parent=1, attributes=attributes | {given: '{"q": "a"}'})
    failed = span(20, parent=1, attributes=attributes | {given: '{"q": "b"}'}, status=2)
    assert ["unknown", "error"] == [call.status for call in run_of(agent(1), done, failed).tool_calls]


def test_a_masked_result_in_messages() -> None:
    """Nor does what a model was told of a call without a span, if that is masked."""
    asked = asks(("c1", "search", {"q": "a"}))
    run = run_of(
        agent(1),
        chat(2, parent=1, sent=[user("?")], got=[asked]),
        chat(20, parent=1, sent=[user("?"), asked, returns(("c1", "__REDACTED__"))], got=[says("A")]),
    )
    assert [("search", {"q": "a"}, "__REDACTED__", "unknown")] == told(run)


@pytest.mark.parametrize("asked", ["__REDACTED__", '{"q": "a b c'])
def test_requests_that_are_masked_or_cut(asked: str) -> None:
    """A request without its arguments is the call of that name all the same, and takes none away."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks((None, "search", asked))]),
        tool(3, parent=1, arguments={"q": "a b c"}, result="one"),
    )
    assert [("search", {"q": "a b c"}, "one", "ok")] == told(run)


def test_a_tool_named_by_its_span_only() -> None:
    """Where no attribute has the tool's name, the span's own has it behind the operation."""
    found = span(2, parent=1, name="execute_tool search", attributes={"gen_ai.operation.name": "execute_tool"})
    assert ["search"] == [call.name for call in run_of(agent(1), found).tool_calls]
