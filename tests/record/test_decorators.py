"""Decorated functions: each call is a step, whatever kind of function it is."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
from collections.abc import AsyncIterator, Iterator

import pytest

from spanwise import record
from spanwise.model.calls import Tokens
from spanwise.model.content import Document
from spanwise.record import ABANDONED
from tests.record.reading import Recorded


@record.tool
def add(a: int, b: int = 2, *rest: int, **more: int) -> int:
    """Add."""
    return a + b


@record.tool("slow_add", ignore=("db",))
async def slow(a: int, db: object = None) -> int:
    """Wait, then add."""
    await asyncio.sleep(0)
    return a + 1


@record.retrieval
def search(top: int, question: str) -> list[tuple[str, float]]:
    """Find one text."""
    return [("a text", 0.7)]


@record.llm("gpt-5-mini", provider="openai", reads=lambda r: record.Outcome(output=r["text"], input_tokens=r["n"]))
def ask(prompt: str) -> dict[str, object]:
    """Answer as a client library does."""
    return {"text": f"to {prompt}", "n": 7}


@record.agent("helper")
def helper(question: str) -> str:
    """Do one of each."""
    search(3, question)
    add(1, 5, more=3)
    return str(ask(question)["text"])


def test_plain_functions(recorded: Recorded) -> None:
    """A run, a tool call, a retrieval and a model call are made by calling functions, and nest as the calls do."""
    assert "to why?" == helper("why?")
    read = recorded.run
    assert ("why?", "to why?", ["helper"]) == (read.query, read.answer, [agent.name for agent in read.agents])
    assert [("add", {"a": 1, "b": 5, "more": 3}, 6)] == [(c.name, c.arguments, c.result) for c in read.tool_calls]
    assert [("why?", (Document(None, 0.7, "a text"),))] == [(r.query, r.documents) for r in read.retrievals]
    assert Tokens(input=7) == read.tokens
    assert {-1, 0} == {span.parent for span in read.trace.spans}


def test_the_function_stays_what_it_was() -> None:
    """A decorated function keeps its name, its text and its kind."""
    assert ("add", "Add.") == (add.__name__, add.__doc__)
    assert inspect.iscoroutinefunction(slow)
    assert inspect.isgeneratorfunction(stream)
    assert inspect.isasyncgenfunction(astream)


def test_async_functions(recorded: Recorded) -> None:
    """Calls that wait at the same time keep their arguments, results and parents apart; ignored parameters stay out."""

    @record.agent
    async def boss(tag: int, question: str) -> str:
        return f"{question} {await slow(tag, db=object())}"

    async def main() -> list[str]:
        return await asyncio.gather(*(boss(number, f"q{number}") for number in range(5)))

    assert [f"q{n} {n + 1}" for n in range(5)] == asyncio.run(main())
    names = {span.context.span_id: span for span in recorded.spans}
    calls = [span for span in recorded.spans if span.name == "execute_tool slow_add"]
    assert 5 == len(calls)
    for call in calls:
        number = int(call.attributes["gen_ai.tool.call.result"]) - 1
        assert f'{{"a":{number}}}' == call.attributes["gen_ai.tool.call.arguments"]
        assert f'"q{number}"' in names[call.parent.span_id].attributes["gen_ai.input.messages"]


def test_exceptions(recorded: Recorded) -> None:
    """An exception is recorded on every span that it passes, and reaches the caller as it was raised."""

    @record.tool
    def bad(x: int) -> None:
        raise LookupError("nothing there")

    @record.agent
    async def runner(question: str) -> None:
        bad(1)

    with pytest.raises(LookupError, match="nothing there") as raised:
        asyncio.run(runner("q"))
    assert raised.value.__cause__ is None
    (call,) = recorded.run.tool_calls
    assert ("error", "nothing there") == (call.status, call.error and call.error.message)


@record.agent("talker")
def stream(question: str) -> Iterator[str]:
    """Answer in two pieces."""
    add(1)
    yield "one "
    add(2)
    yield "two"


@record.agent("talker")
async def astream(question: str) -> AsyncIterator[str]:
    """Answer in two pieces."""
    await slow(1)
    yield "one "
    await slow(2)
    yield "two"


def test_generators(recorded: Recorded) -> None:
    """What a generator yields is its answer; what it calls hangs below it; its consumer sees nothing of its span."""
    seen = [record.current().span.get_span_context().is_valid for _ in stream("q")]
    assert [False, False] == seen
    read = recorded.run
    assert ("q", "one two", ["add", "add"]) == (read.query, read.answer, [call.name for call in read.tool_calls])


def test_async_generators(recorded: Recorded) -> None:
    """The same holds for an async generator."""

    async def main() -> list[bool]:
        return [record.current().span.get_span_context().is_valid async for _ in astream("q")]

    assert [False, False] == asyncio.run(main())
    read = recorded.run
    assert ("one two", ["slow_add", "slow_add"]) == (read.answer, [call.name for call in read.tool_calls])


def test_abandoned_generators(recorded: Recorded) -> None:
    """A stream that nobody asks for more ends its span with what it gave, and says that it was left."""
    for _ in stream("q"):
        break
    gc.collect()
    assert ("one ", ["add"]) == (recorded.run.answer, [call.name for call in recorded.run.tool_calls])
    assert recorded.span("invoke_agent talker").attributes[ABANDONED] is True


def test_abandoned_async_generators(recorded: Recorded) -> None:
    """So does an async stream that is closed, and one that is only dropped before the loop ends."""

    async def main() -> None:
        closed = astream("closed")
        await anext(closed)
        await closed.aclose()
        dropped = astream("dropped")
        await anext(dropped)
        del dropped

    asyncio.run(main())
    ends = [span for span in recorded.spans if span.name == "invoke_agent talker"]
    assert [True, True] == [span.attributes[ABANDONED] for span in ends]
    assert ["one ", "one "] == [_answer(span.attributes["gen_ai.output.messages"]) for span in ends]


def _answer(text: object) -> str:
    return str(text).partition('"content":"')[2].partition('"')[0]


def test_a_stream_that_fails(recorded: Recorded) -> None:
    """An exception in the midst of a stream fails its span."""

    @record.tool
    def failing() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(failing())
    (call,) = recorded.run.tool_calls
    assert ("error", "OSError") == (call.status, call.error and call.error.type)


def test_what_streams_give(recorded: Recorded) -> None:
    """Items that are no texts are a list; what a generator returns is its result; a model's first item is timed."""

    @record.tool
    def numbers() -> Iterator[int]:
        yield 1
        yield 2

    @record.tool
    def returning() -> Iterator[int]:
        yield 1
        return "whole"

    @record.llm("m", messages="prompt")
    async def tokens(seed: int, prompt: str) -> AsyncIterator[str]:
        yield "a"
        yield "b"

    async def main() -> None:
        assert ["a", "b"] == [piece async for piece in tokens(1, prompt="p")]

    assert ([1, 2], [1]) == (list(numbers()), list(returning()))
    asyncio.run(main())
    assert ["[1,2]", "whole"] == [s.attributes["gen_ai.tool.call.result"] for s in recorded.spans[:2]]
    chat = recorded.span("chat m").attributes
    assert (
        '[{"role":"assistant","parts":[{"type":"text","content":"ab"}],"finish_reason":"stop"}]'
        == (chat["gen_ai.output.messages"])
    )
    assert '[{"role":"user","parts":[{"type":"text","content":"p"}]}]' == chat["gen_ai.input.messages"]
    assert 0 <= chat["gen_ai.response.time_to_first_chunk"] < 10


def test_long_streams_are_bounded(recorded: Recorded) -> None:
    """Of a long stream no more is kept than an attribute holds; the consumer gets all of it."""

    @record.tool
    def long() -> Iterator[str]:
        for _ in range(1000):
            yield "x" * 1000

    assert 1000 == len(list(long()))
    assert "truncated" == recorded.run.tool_calls[0].result_state


def test_methods_and_odd_calls(recorded: Recorded) -> None:
    """A method's owner is no argument; a wrong call raises as ever; a function without a signature is recorded."""

    class Shop:
        @record.tool
        def price(self, item: str) -> int:
            return 3

        @staticmethod
        @record.tool
        def free() -> int:
            return 0

    assert (3, 0) == (Shop().price("tea"), Shop.free())
    assert 5 == record.tool("longest")(max)(5, 3)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        add()
    assert [
        ("execute_tool price", '{"item":"tea"}'),
        ("execute_tool free", "{}"),
        ("execute_tool longest", '{"args":[5,3]}'),
        ("execute_tool add", "{}"),
    ] == [(span.name, span.attributes["gen_ai.tool.call.arguments"]) for span in recorded.spans]
    assert "TypeError" == recorded.spans[3].attributes["error.type"]


def test_what_reads_an_answer_may_fail(recorded: Recorded, caplog: pytest.LogCaptureFixture) -> None:
    """Where the reading of a result fails, the caller gets the result and the span ends without it."""

    @record.llm("m", reads=lambda answer: record.Outcome(output=answer.missing))
    def ask_it(prompt: str) -> str:
        return "said"

    with caplog.at_level(logging.WARNING, "spanwise"):
        assert "said" == ask_it("p")
    assert "could not record" in caplog.text
    assert "gen_ai.output.messages" not in recorded.span("chat m").attributes


def test_the_query_of_an_agent(recorded: Recorded) -> None:
    """A parameter may be named as the query, as what a retrieval looks for, and as a model's messages."""

    @record.agent(query="task")
    def one(name: str, task: object) -> None: ...

    @record.retrieval("kb", query="text")
    def two(name: str, text: str) -> None: ...

    with record.run("outer"):
        one("x", 42)
        two("x", text="y")
    assert '"42"' in recorded.span("invoke_agent one").attributes["gen_ai.input.messages"]
    found = recorded.span("retrieval kb").attributes
    assert "y" == found["gen_ai.retrieval.query.text"]
    assert "gen_ai.retrieval.documents" not in found
