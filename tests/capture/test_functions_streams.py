"""Functions that stream: a run until the stream ends or is left, in a context of its own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Generator

import pytest
from opentelemetry import trace

from spanwise.capture.functions import decorate
from tests.capture.recorded import Recorded, content


@pytest.fixture
def recorded() -> Recorded:
    """Somewhere for spans to go."""
    return Recorded()


def pieces(question: str) -> Generator[str, object, str]:
    """Streams a question back; says what was sent to it."""
    got = yield question
    yield f" {got}"
    return "end"


def test_a_generator_streams_its_answer(recorded: Recorded) -> None:
    """The text that was streamed is the answer; sending, throwing and the return value work as before."""
    stream = decorate(pieces, recorded.provider).target("why")
    assert inspect.isgenerator(stream)
    assert "why" == next(stream)
    assert " me" == stream.send("me")
    assert () == recorded.spans
    with pytest.raises(StopIteration) as end:
        next(stream)
    assert "end" == end.value.value
    assert "why me" == content(recorded.only(), "output")


def test_a_generator_sees_what_is_thrown(recorded: Recorded) -> None:
    """An exception thrown into the stream reaches the function, which may go on."""

    def ask(question: str) -> Generator[str, None, None]:
        try:
            yield "a"
        except KeyError:
            yield "b"

    stream = decorate(ask, recorded.provider).target("why")
    assert ["a", "b"] == [next(stream), stream.throw(KeyError("k"))]
    assert [] == list(stream)
    assert "ab" == content(recorded.only(), "output")


@pytest.mark.parametrize("how", ["close", "forget", "break"])
def test_an_abandoned_stream_ends_its_span(recorded: Recorded, how: str) -> None:
    """A stream that is left early ends its span with the text so far, and runs the function's cleanup."""
    cleaned: list[bool] = []

    def ask(question: str) -> Generator[str, None, None]:
        try:
            yield "one"
            yield "two"
        finally:
            cleaned.append(True)

    stream = decorate(ask, recorded.provider).target("why")
    for _ in stream:
        break
    if how == "close":
        stream.close()
    del stream
    span = recorded.only()
    assert ([True], "one") == (cleaned, content(span, "output"))
    assert (True, "UNSET") == ((span.attributes or {})["spanwise.abandoned"], span.status.status_code.name)


def test_spans_across_items_stay_current_for_the_stream_only(recorded: Recorded) -> None:
    """A span that a generator keeps open between items is the parent of what it opens next, and not its consumer's."""
    tracer = recorded.provider.get_tracer("app")

    def ask(question: str) -> Generator[str, None, None]:
        with tracer.start_as_current_span("model"):
            yield "a"
            with tracer.start_as_current_span("tool"):
                yield "b"

    for _ in decorate(ask, recorded.provider).target("why"):
        assert not trace.get_current_span().get_span_context().is_valid
        with tracer.start_as_current_span("consumer"):
            pass
    by_name = {span.name: span for span in recorded.spans}
    assert by_name["model"].context.span_id == by_name["tool"].parent.span_id
    assert by_name["invoke_agent ask"].context.span_id == by_name["model"].parent.span_id
    assert by_name["consumer"].parent is None


def test_async_generators_stream_in_their_callers_task(recorded: Recorded) -> None:
    """An async generator awaits in the task of its consumer, with its own spans current, and its answer is whole."""
    tracer = recorded.provider.get_tracer("app")
    tasks: set[object] = set()

    async def ask(question: str) -> AsyncGenerator[str, None]:
        with tracer.start_as_current_span("model"):
            for piece in ("a", "b"):
                async with asyncio.timeout(5):
                    await asyncio.sleep(0.001)
                    tasks.add(asyncio.current_task())
                with tracer.start_as_current_span("tool"):
                    await asyncio.sleep(0)
                yield piece

    asked = decorate(ask, recorded.provider).target
    assert inspect.isasyncgenfunction(asked)

    async def consume() -> tuple[str, object]:
        said = ""
        async for piece in asked("why"):
            assert not trace.get_current_span().get_span_context().is_valid
            said += piece
        return said, asyncio.current_task()

    async def main() -> list[tuple[str, object]]:
        return await asyncio.gather(*(consume() for _ in range(5)))

    results = asyncio.run(main())
    assert ["ab"] * 5 == [said for said, _ in results]
    assert {task for _, task in results} == tasks
    models = {span.context.span_id: span for span in recorded.spans if span.name == "model"}
    tools = [span for span in recorded.spans if span.name == "tool"]
    runs = [span for span in recorded.spans if span.name == "invoke_agent ask"]
    assert (5, 10, 5) == (len(models), len(tools), len(runs))
    assert all(tool.parent.span_id in models for tool in tools)
    assert ["ab"] * 5 == [content(span, "output") for span in runs]


@pytest.mark.parametrize("how", ["aclose", "forget"])
def test_an_abandoned_async_stream_ends_its_span(recorded: Recorded, how: str) -> None:
    """An async stream that is left early runs its cleanup and ends its span, closed or forgotten."""
    cleaned: list[bool] = []

    async def ask(question: str) -> AsyncGenerator[str, None]:
        try:
            yield "one"
            yield "two"
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    async def main() -> None:
        stream = decorate(ask, recorded.provider).target("why")
        async for _ in stream:
            break
        if how == "aclose":
            await stream.aclose()
        del stream
        await asyncio.sleep(0.01)

    asyncio.run(main())
    span = recorded.only()
    assert ([True], "one", True) == (cleaned, content(span, "output"), (span.attributes or {})["spanwise.abandoned"])


def test_async_streams_are_sent_to_and_thrown_at(recorded: Recorded) -> None:
    """What is sent to an async stream arrives; what is thrown is the function's to handle, and an error else."""

    async def ask(question: str) -> AsyncGenerator[str, str]:
        got = yield "a"
        try:
            yield got
        except KeyError:
            yield "c"
        raise ValueError("done")

    async def main() -> list[str]:
        stream = decorate(ask, recorded.provider).target("why")
        said = [await anext(stream), await stream.asend("b"), await stream.athrow(KeyError("k"))]
        with pytest.raises(ValueError, match="done"):
            await anext(stream)
        return said

    assert ["a", "b", "c"] == asyncio.run(main())
    span = recorded.only()
    assert ("ValueError", "abc") == ((span.attributes or {})["error.type"], content(span, "output"))


def test_streams_of_objects_answer_with_the_last(recorded: Recorded) -> None:
    """Where no text is streamed, the last item is the answer."""

    def ask(question: str) -> Generator[dict[str, int], None, None]:
        yield {"n": 1}
        yield {"n": 2}

    list(decorate(ask, recorded.provider).target("why"))
    assert '{"n": 2}' == content(recorded.only(), "output")
