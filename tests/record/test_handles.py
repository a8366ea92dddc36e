"""Handles: what an uninstrumented agent records is what Spanwise reads."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.trace import SpanKind

from spanwise import record
from spanwise.model.calls import Completeness, Tokens
from spanwise.model.content import Document
from tests.record.reading import Recorded, traces_of

QUERY = "How many people live in Paris?"


def test_a_whole_run(recorded: Recorded) -> None:
    """Query, answer, agent, plan, tools in order, tokens and documents of a run are read as they were recorded."""
    tools = [{"type": "function", "function": {"name": "population", "parameters": {"type": "object"}}}]
    with record.run("guide", query=QUERY, provider="openai", conversation_id="c1", tools=tools) as run:
        run.plan("look it up")
        llm = run.start_llm("gpt-5-mini", [{"role": "user", "content": QUERY}], provider="openai")
        llm.first_token()
        asked = [{"id": "call_1", "name": "population", "arguments": {"city": "Paris"}}]
        llm.end(tool_calls=asked, input_tokens=90, output_tokens=12, cache_read_tokens=40, reasoning_tokens=4)
        call = run.start_tool("population", {"city": "Paris"}, call_id="call_1")
        call.end({"people": 2_100_000})
        found = run.start_retrieval("Paris", source="atlas")
        found.end([{"id": "d1", "score": 0.9, "content": "Paris has"}, {"id": "d2", "score": 0.4}])
        run.respond("About 2.1 million.")
    read = recorded.run
    assert (QUERY, "About 2.1 million.") == (read.query, read.answer)
    assert ["guide"] == [agent.name for agent in read.agents]
    assert Completeness() == read.completeness
    assert [("population", {"city": "Paris"}, {"people": 2_100_000}, "ok", "call_1", "span")] == [
        (one.name, one.arguments, one.result, one.status, one.call_id, one.origin) for one in read.tool_calls
    ]
    (model,) = read.llm_calls
    assert ("gpt-5-mini", "openai") == (model.model, model.provider)
    assert Tokens(input=90, output=12, cache_read=40, reasoning=4) == read.tokens
    assert (model.usage.ttft_ms or -1) >= 0
    (searched,) = read.retrievals
    assert ("Paris", (Document("d1", 0.9, "Paris has"), Document("d2", 0.4))) == (searched.query, searched.documents)
    assert ["population"] == [tool.name for tool in read.tool_definitions or ()]
    assert {"agent": 1, "planning": 1, "llm": 1, "tool": 1, "retrieval": 1, "other": 1} == {
        kind: len(spans) for kind, spans in read.by_kind.items()
    }
    assert "c1" == read.who.session_id


def test_the_spans_are_those_of_the_conventions(recorded: Recorded) -> None:
    """Names, kinds and scope are what the conventions ask for, and every span hangs below the run."""
    run = record.run("guide")
    run.start_tool("search").end()
    run.start_llm("gpt-5-mini").end("hi")
    run.start_retrieval("q", source="kb").end([])
    run.start_plan().end("think")
    run.end("done")
    root = recorded.span("invoke_agent guide")
    assert {
        "invoke_agent guide": SpanKind.INTERNAL,
        "execute_tool search": SpanKind.INTERNAL,
        "chat gpt-5-mini": SpanKind.CLIENT,
        "retrieval kb": SpanKind.CLIENT,
        "plan": SpanKind.INTERNAL,
    } == {span.name: span.kind for span in recorded.spans}
    assert {None, root.context.span_id} == {span.parent and span.parent.span_id for span in recorded.spans}
    assert {"spanwise.record"} == {span.instrumentation_scope.name for span in recorded.spans}


def test_results_that_are_no_objects(recorded: Recorded) -> None:
    """A result that is None is recorded; one that was never given is not; text is text."""
    with record.run("a") as run:
        run.start_tool("nothing").end(None)
        run.start_tool("silent").end()
        run.start_tool("text").end("sunny")
    calls = recorded.run.tool_calls
    assert [("present", None), ("absent", None), ("present", "sunny")] == [(c.result_state, c.result) for c in calls]


def test_errors_are_recorded_and_passed_on(recorded: Recorded) -> None:
    """An exception in a block fails its span and those around it, with type and message, and reaches the caller."""

    def failing() -> None:
        with record.run("a", query="q") as run, run.start_tool("t", {"x": 1}):
            raise ValueError("no such city")

    with pytest.raises(ValueError, match="no such city"):
        failing()
    (call,) = recorded.run.tool_calls
    assert ("error", "ValueError", "no such city") == (call.status, call.error and call.error.type, call.error.message)
    assert "error" == recorded.trace.facts.status(recorded.trace.spans[0])


def test_errors_that_are_told(recorded: Recorded) -> None:
    """A call may be ended by an exception that was caught, or by words; a timeout is a timeout."""
    with record.run("a") as run:
        run.start_tool("caught").end(error=KeyError("k"))
        run.start_tool("said").end(error="the server said 503")
        run.start_tool("slow").end(error=TimeoutError("after 5 s"))
        run.start_llm("m").end(error=ConnectionError("refused"))
        run.start_retrieval("q").end(error="index is gone")
    read = recorded.run
    assert [("error", "KeyError"), ("error", "_OTHER"), ("error", "TimeoutError")] == [
        (call.status, call.error and call.error.type) for call in read.tool_calls
    ]
    slow = read.trace.spans[read.tool_calls[2].span]
    assert "timeout" == read.trace.facts.status(slow)
    assert "the server said 503" == (read.tool_calls[1].error and read.tool_calls[1].error.message)
    assert [True] == [call.failed for call in read.llm_calls]
    assert [True] == [one.failed for one in read.retrievals]


async def _cancelled() -> None:
    async with record.run("a") as run, run.start_tool("slow"):
        await asyncio.sleep(30)


def test_timeouts_and_cancellation(recorded: Recorded) -> None:
    """A task that is cancelled by a timeout says so on its spans."""

    async def main() -> None:
        with record.run("outer"):
            await asyncio.wait_for(_cancelled(), 0.01)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert {
        "execute_tool slow": "asyncio.exceptions.CancelledError",
        "invoke_agent a": "asyncio.exceptions.CancelledError",
        "invoke_agent outer": "TimeoutError",
    } == {span.name: span.attributes["error.type"] for span in recorded.spans}


def test_ending_twice_is_harmless(recorded: Recorded) -> None:
    """The first end counts; later ones, also those of the block, change nothing."""
    with record.run("a") as run:
        with run.start_tool("t") as call:
            call.end(1)
            call.end(error="late")
        call.end(2)
        run.end("first")
        run.end("second")
        run.answer("third")
    assert [("ok", 1)] == [(call.status, call.result) for call in recorded.run.tool_calls]
    assert "first" == recorded.run.answer
    assert 2 == len(recorded.spans)


def test_what_is_never_ended_ends_with_its_run(recorded: Recorded) -> None:
    """Open calls end with the run, however deep, and are neither successes nor failures."""
    run = record.run("a")
    outer = run.start_tool("outer")
    outer.start_agent("sub").start_tool("inner")
    run.start_tool("done").end("ok")
    run.end("answer")
    outer.end("too late")
    assert {"outer": "unknown", "inner": "unknown", "done": "ok"} == {
        call.name: call.status for call in recorded.run.tool_calls
    }
    assert Completeness() == recorded.run.completeness
    order = [span.name for span in recorded.spans]
    assert ["execute_tool done", "execute_tool inner", "invoke_agent sub", "execute_tool outer"] == order[:4]


def test_a_block_outlives_its_run(recorded: Recorded) -> None:
    """What was entered is ended by its own block, though the run ended before."""
    run = record.run("a")
    with run.start_tool("background") as call:
        run.end("answered")
        assert call.span.is_recording()
        call.end("done")
    late = run.start_tool("later")
    late.end("x")
    assert [("background", "done"), ("later", "x")] == [(c.name, c.result) for c in recorded.run.tool_calls]


def test_blocks_are_current_and_handles_are_not(recorded: Recorded) -> None:
    """Spans of other libraries hang below a block; a handle leaves the current span alone."""
    tracer = recorded.provider.get_tracer("library")
    with record.run("a") as run:
        call = run.start_tool("handle")
        with tracer.start_as_current_span("beside"):
            pass
        with call.as_current():
            tracer.start_span("inside").end()
        call.end()
        with run.start_tool("block"):
            tracer.start_span("below").end()
    assert not trace.get_current_span().get_span_context().is_valid

    def parent(name: str) -> str:
        found = recorded.span(name).parent
        return next(one.name for one in recorded.spans if found and one.context.span_id == found.span_id)

    assert ["invoke_agent a", "execute_tool handle", "execute_tool block"] == [
        parent(name) for name in ("beside", "inside", "below")
    ]


def test_a_run_below_a_request(recorded: Recorded) -> None:
    """Runs hang below the current span, and two of them below one request are two runs."""
    with recorded.provider.get_tracer("http").start_as_current_span("POST /chat"):
        record.run("one", query="1").end("a")
        with record.run("two", query="2") as run:
            run.answer("b")
    assert [("1", "a"), ("2", "b")] == [(run.query, run.answer) for run in recorded.trace.runs]


def test_handles_work_across_threads(recorded: Recorded) -> None:
    """Calls begun and ended in other threads belong to the run."""
    run = record.run("a")
    enders: list[threading.Thread] = []

    def work(number: int) -> None:
        call = run.start_tool("t", {"n": number})
        enders.append(threading.Thread(target=call.end, args=(number,)))
        enders[-1].start()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(50)))
    for thread in enders:
        thread.join(5)
    run.end()
    assert {n: n for n in range(50)} == {call.arguments["n"]: call.result for call in recorded.run.tool_calls}


def test_handles_work_across_tasks(recorded: Recorded) -> None:
    """Sub-agents that run at the same time keep their calls apart."""

    async def sub(run: record.Run, name: str) -> str:
        async with run.start_agent(name, query=f"ask {name}") as agent:
            async with agent.start_tool("look", {"who": name}) as call:
                await asyncio.sleep(0.001)
                assert record.current() is call
                assert record.current_run() is agent
                call.end(name.upper())
            agent.answer(name)
        return name

    async def main() -> None:
        async with record.run("boss", query="both") as run:
            run.answer(" and ".join(await asyncio.gather(sub(run, "ann"), sub(run, "bob"))))

    asyncio.run(main())
    read = recorded.run
    assert ("both", "ann and bob") == (read.query, read.answer)
    assert ["boss", "ann", "bob"] == [agent.name for agent in read.agents]
    spans = read.trace.spans
    assert [("ANN", "invoke_agent ann"), ("BOB", "invoke_agent bob")] == [
        (call.result, spans[call.agent].name) for call in read.tool_calls
    ]


def test_two_runs_interleaved(recorded: Recorded) -> None:
    """Runs that begin and end in each other's midst are traces of their own."""
    first, second = record.run("a", query="1"), record.run("b", query="2")
    one, two = first.start_tool("x"), second.start_tool("y")
    first.end("A")
    two.end()
    one.end()
    second.end("B")
    runs = [run for trace_ in traces_of(recorded.spans) for run in trace_.runs]
    read = sorted((run.query, run.answer, [call.name for call in run.tool_calls]) for run in runs)
    assert [("1", "A", ["x"]), ("2", "B", ["y"])] == read


def test_the_current_step(recorded: Recorded) -> None:
    """Where nothing was entered, `current` begins things below the current span, and answers go nowhere."""
    record.current_run().answer("nobody hears")
    with recorded.provider.get_tracer("x").start_as_current_span("job"):
        record.current().start_tool("t").end(1)
    job = recorded.span("job")
    found = recorded.span("execute_tool t").parent
    assert job.context.span_id == (found.span_id if found else None)
    assert 2 == len(recorded.spans)
    with record.run("a") as run:
        assert record.current() is run
        assert record.current_run() is run
        assert run.parent is not None


def test_the_context_of_a_handle(recorded: Recorded) -> None:
    """Spans begun by other means take their place from a handle's context."""
    run = record.run("a")
    recorded.provider.get_tracer("x").start_span("inner", context=run.context).end()
    run.span.set_attribute("mine", 1)
    run.end()
    assert recorded.span("inner").parent.span_id == recorded.span("invoke_agent a").context.span_id
    assert 1 == recorded.span("invoke_agent a").attributes["mine"]


def test_messages_of_a_model(recorded: Recorded) -> None:
    """A model's answer may be text or messages, with requests for tools as OpenAI gives them."""
    openai = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}}
    with record.run("a") as run:
        run.start_llm("m", "a prompt").end("text", tool_calls=[openai], finish_reason="tool_calls", model="m-2")
        run.start_llm("m", "p").end([{"role": "assistant", "content": "told"}], tool_calls=[openai])
        run.start_llm("m", "p", tools=[{"name": "t"}], operation="text_completion").end({"content": "one"})
        run.start_llm("m").end(cost_usd=0.5, cache_write_tokens=1)
    asked = {"type": "tool_call", "id": "c1", "name": "t", "arguments": {"a": 1}}
    said = [json.loads(s.attributes["gen_ai.output.messages"]) for s in recorded.spans[:3]]
    assert [
        [{"role": "assistant", "parts": [_text("text"), asked], "finish_reason": "tool_calls"}],
        [{"role": "assistant", "parts": [_text("told")]}, {"role": "assistant", "parts": [asked]}],
        [{"role": "assistant", "parts": [_text("one")]}],
    ] == said
    read = recorded.run
    assert ["m-2", "m", "m", "m"] == [call.model for call in read.llm_calls]
    assert 0.5 == read.llm_calls[3].cost_usd
    assert "a prompt" == read.query
    call = read.tool_calls[0]
    assert ("t", {"a": 1}, "message") == (call.name, call.arguments, call.origin)


def _text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def test_without_content(recorded: Recorded) -> None:
    """Without content only names, ids, times, tokens, scores and kinds of errors are on the spans."""
    secret = "the secret"
    record.configure(content=False)
    with pytest.raises(ValueError, match=secret):  # noqa: PT012, SIM117  (the run is what raises)
        with record.run("a", query=secret, tools=[secret]) as run:
            run.plan(secret)
            run.start_llm("m", secret, tools=[secret]).end(secret, input_tokens=3, output_tokens=4)
            run.start_tool("t", {"x": secret}, call_id="1").end(secret)
            run.start_tool("u").end(error=secret)
            run.start_retrieval(secret).end([{"id": "d", "score": 0.5, "content": secret}, (secret, 0.2)])
            run.respond(secret)
            raise ValueError(secret)
    assert secret not in "".join(span.to_json() for span in recorded.spans)
    read = recorded.run
    assert (Tokens(input=3, output=4), None, None) == (read.tokens, read.query, read.answer)
    assert [("t", "ok"), ("u", "error")] == [(call.name, call.status) for call in read.tool_calls]
    assert (Document("d", 0.5), Document(None, 0.2)) == read.retrievals[0].documents


def test_large_values_are_cut(recorded: Recorded) -> None:
    """What is too long is cut, and read as truncated."""
    with record.run("a", query="q" * 100_000) as run:
        run.start_tool("t", {"x": "y" * 100_000}).end("z" * 100_000)
        run.start_tool("u").end([{"n": number} for number in range(100_000)])
        run.start_tool("v").end({"fits": "w" * 1000})
    calls = recorded.run.tool_calls
    assert [("truncated", "truncated"), ("absent", "truncated"), ("absent", "present")] == [
        (call.arguments_state, call.result_state) for call in calls
    ]
    assert all(len(str(v)) < 66_000 for span in recorded.spans for v in span.attributes.values())
    assert (recorded.run.query or "").startswith("qqqq")


def test_a_handle_in_another_context(recorded: Recorded) -> None:
    """A handle keeps its place where the context is empty, as in a new thread."""
    run = record.run("a")
    token = otel.attach(otel.Context())
    with run.start_tool("t") as call:
        assert record.current() is call
    otel.detach(token)
    run.end()
    assert ["t"] == [call.name for call in recorded.run.tool_calls]
