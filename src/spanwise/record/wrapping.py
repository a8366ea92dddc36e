"""Doing something around a function, whatever it is: plain, async, a generator or an async generator.

A generator runs in the context of whoever asks for its next item. So what is set for it (the current span, the user)
is set for each step anew and taken away after it, and never seen by the one who asks.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])


class Watch:
    """What happens around one call of a function; this one does nothing."""

    __slots__ = ()

    def scope(self) -> AbstractContextManager[object]:
        """Entered while the function's own code runs."""
        return nullcontext()

    def item(self, value: object) -> None:
        """The function yielded something."""

    def done(self, value: object) -> None:
        """The function returned."""

    def failed(self, error: BaseException) -> None:
        """The function raised."""

    def abandoned(self) -> None:
        """Nobody asks for further items."""


Begin = Callable[[tuple[object, ...], Mapping[str, object]], Watch]


def wrap(function: F, begin: Begin) -> F:
    """The function, watched: `begin` is given the arguments of each call."""
    if inspect.isasyncgenfunction(function):
        made = _async_generator(function, begin)
    elif inspect.iscoroutinefunction(function):
        made = _coroutine(function, begin)
    elif inspect.isgeneratorfunction(function):
        made = _generator(function, begin)
    else:
        made = _plain(function, begin)
    return cast("F", functools.wraps(function)(made))


def _plain(function: Callable[..., object], begin: Begin) -> Callable[..., object]:
    def call(*args: object, **kwargs: object) -> object:
        watch = begin(args, kwargs)
        try:
            with watch.scope():
                result = function(*args, **kwargs)
        except BaseException as error:
            watch.failed(error)
            raise
        watch.done(result)
        return result

    return call


def _coroutine(function: Callable[..., Awaitable[object]], begin: Begin) -> Callable[..., object]:
    async def call(*args: object, **kwargs: object) -> object:
        watch = begin(args, kwargs)
        try:
            with watch.scope():
                result = await function(*args, **kwargs)
        except BaseException as error:
            watch.failed(error)
            raise
        watch.done(result)
        return result

    return call


def _generator(
    function: Callable[..., Generator[object, object, object]], begin: Begin
) -> Callable[..., Generator[object, object, object]]:
    def call(*args: object, **kwargs: object) -> Generator[object, object, object]:
        watch = begin(args, kwargs)
        try:
            with watch.scope():
                stream = function(*args, **kwargs)
            result = yield from _paced(stream, watch)
        except GeneratorExit:
            watch.abandoned()
            raise
        except BaseException as error:
            watch.failed(error)
            raise
        watch.done(result)
        return result

    return call


def _paced(stream: Generator[object, object, object], watch: Watch) -> Generator[object, object, object]:
    step: Callable[[], object] = functools.partial(next, stream)
    while True:
        with watch.scope():
            try:
                value = step()
            except StopIteration as end:
                return cast("object", end.value)
        watch.item(value)
        try:
            step = functools.partial(stream.send, (yield value))
        except GeneratorExit:
            with watch.scope():
                stream.close()
            raise
        except BaseException as thrown:  # noqa: BLE001  (the function itself is to see it)
            step = functools.partial(stream.throw, thrown)


def _async_generator(
    function: Callable[..., AsyncGenerator[object, object]], begin: Begin
) -> Callable[..., AsyncGenerator[object, object]]:
    async def call(*args: object, **kwargs: object) -> AsyncGenerator[object, object]:
        watch = begin(args, kwargs)
        thrown: BaseException | None = None
        try:
            with watch.scope():
                stream = function(*args, **kwargs)
            step: Callable[[], Awaitable[object]] = stream.__anext__
            while True:
                with watch.scope():
                    try:
                        value = await step()
                    except StopAsyncIteration:
                        break
                watch.item(value)
                thrown = None
                try:
                    step = functools.partial(stream.asend, (yield value))
                except GeneratorExit:
                    with watch.scope():
                        await stream.aclose()
                    raise
                except BaseException as error:  # noqa: BLE001  (the function itself is to see it)
                    thrown = error
                    step = functools.partial(stream.athrow, thrown)
        except GeneratorExit:
            watch.abandoned()
            raise
        except BaseException as error:
            if error is thrown and _is_cancellation(error):
                watch.abandoned()
            else:
                watch.failed(error)
            raise
        finally:
            thrown = None  # it holds this frame
        watch.done(None)

    return call


def _is_cancellation(error: BaseException) -> bool:
    """The loop ends while a stream that nobody asks for more is being closed: this is thrown into it instead."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)
