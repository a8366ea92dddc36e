"""Watching functions of every kind without changing what they do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import contextmanager

import pytest

from spanwise.record.wrapping import Watch, wrap


class Log(Watch):
    """Writes down what happens, and whether the function's own code is running."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.inside = 0

    @contextmanager
    def _scope(self) -> Iterator[None]:
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1

    def scope(self):
        return self._scope()

    def item(self, value: object) -> None:
        self.told.append(value)

    def done(self, value: object) -> None:
        self.told.append(("done", value))

    def failed(self, error: BaseException) -> None:
        self.told.append(("failed", type(error)))

    def abandoned(self) -> None:
        self.told.append("abandoned")


LOG = Log()


@pytest.fixture
def log() -> Log:
    """What happens in this test."""
    LOG.told.clear()
    assert 0 == LOG.inside
    return LOG


def watched(function: Callable[..., object]):
    """The function, told of in the log."""
    return wrap(function, lambda args, kwargs: LOG)


@watched
def echo() -> Generator[object, object, object]:
    """Give back what is sent."""
    got: object = None
    while got != "stop":
        assert 1 == LOG.inside
        try:
            got = yield got
        except KeyError:
            got = "caught"
    return "end"


@watched
async def aecho() -> AsyncGenerator[object, object]:
    """Give back what is sent."""
    got: object = None
    while got != "stop":
        assert 1 == LOG.inside
        try:
            got = yield got
        except KeyError:
            got = "caught"


def test_a_generator_is_driven_as_before(log: Log) -> None:
    """What is sent and thrown into a generator reaches it, inside its scope; its value comes back."""
    stream = echo()
    assert [None, 1, "caught"] == [next(stream), stream.send(1), stream.throw(KeyError())]
    assert 0 == log.inside
    with pytest.raises(StopIteration) as end:
        stream.send("stop")
    assert "end" == end.value.value
    assert [None, 1, "caught", ("done", "end")] == log.told


def test_an_async_generator_is_driven_as_before(log: Log) -> None:
    """The same holds for an async generator."""

    async def main() -> None:
        stream = aecho()
        assert None is await anext(stream)
        assert 1 == await stream.asend(1)
        assert "caught" == await stream.athrow(KeyError())
        with pytest.raises(StopAsyncIteration):
            await stream.asend("stop")

    asyncio.run(main())
    assert [None, 1, "caught", ("done", None)] == log.told


def test_what_a_generator_raises_comes_out(log: Log) -> None:
    """An exception that a generator does not catch reaches who threw it; closing is told apart."""
    stream = echo()
    next(stream)
    with pytest.raises(OSError, match="x"):
        stream.throw(OSError("x"))
    other = echo()
    next(other)
    other.close()
    assert [None, ("failed", OSError), None, "abandoned"] == log.told


def test_what_an_async_generator_raises_comes_out(log: Log) -> None:
    """The same holds for an async generator, cancelled or closed."""

    @watched
    async def waits() -> AsyncGenerator[int, None]:
        yield 1
        await asyncio.sleep(30)

    async def main() -> None:
        stream = aecho()
        await anext(stream)
        await stream.aclose()
        async with asyncio.timeout(0.01):
            async for _ in waits():
                pass

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert [None, "abandoned", 1, ("failed", asyncio.CancelledError)] == log.told
    assert 0 == log.inside


def test_functions(log: Log) -> None:
    """Plain and async functions are run inside the scope, and told of when they return or raise."""

    @watched
    def plain(value: int) -> int:
        assert 1 == LOG.inside
        return 1 // value

    @watched
    async def waiting(*, fails: bool = False) -> int:
        await asyncio.sleep(0)
        if fails:
            raise LookupError
        return LOG.inside

    assert 1 == plain(1)
    with pytest.raises(ZeroDivisionError):
        plain(0)
    assert [("done", 1), ("failed", ZeroDivisionError)] == log.told
    log.told.clear()
    assert 1 == asyncio.run(waiting())
    with pytest.raises(LookupError):
        asyncio.run(waiting(fails=True))
    assert [("done", 1), ("failed", LookupError)] == log.told


def test_a_watch_that_does_nothing() -> None:
    """The watch itself changes nothing."""
    still = Watch()
    assert [1] == list(wrap(lambda: iter([1]), lambda args, kwargs: still)())
    assert "ab" == "".join(wrap(_letters, lambda args, kwargs: still)())
    with pytest.raises(ZeroDivisionError):
        wrap(lambda: 1 // 0, lambda args, kwargs: still)()
    stream = wrap(_letters, lambda args, kwargs: still)()
    next(stream)
    stream.close()


def _letters() -> Iterator[str]:
    yield "a"
    yield "b"
