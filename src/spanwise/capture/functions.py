"""A plain function as a target: each call is one run, with its question and its answer.

A streamed answer is a run until its generator ends, or is left early. Each step of a generator runs in the run's own
copy of the context variables: spans that it opens between two items stay current for it, and never for its consumer.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextvars import Context
from typing import TypeVar, cast

from opentelemetry import context as otel
from opentelemetry.sdk.trace import TracerProvider

from spanwise.capture._call import Call, Caller
from spanwise.capture.replaced import Replaced, Switch

R = TypeVar("R")
Begin = Callable[[tuple[object, ...], dict[str, object]], Call]


def decorate(
    function: Callable[..., R], provider: TracerProvider, *, name: str | None = None
) -> Replaced[Callable[..., R]]:
    """The function, each call of which is one run: plain, async, a generator or an async generator.

    The question is the first text among the arguments, else all of them as JSON; the answer is what is returned, or
    the text that was streamed. `SPANWISE_RECORD_CONTENT=false` leaves both out.

    Args:
        function: What is called.
        provider: Where the spans go.
        name: The agent's name; the function's where not given.
    """
    called = name or str(getattr(function, "__name__", type(function).__name__))
    caller = Caller(provider, function, called)
    switch = Switch()

    def begin(args: tuple[object, ...], kwargs: dict[str, object]) -> Call:
        return caller.begin(args, kwargs) if switch.on else caller.silent()

    # What an object does when it is called is for its class to say.
    kind = function if inspect.isroutine(function) else inspect.getattr_static(type(function), "__call__", function)
    wrapper: Callable[..., object]
    if inspect.isasyncgenfunction(kind):
        wrapper = _async_stream(cast("Callable[..., AsyncGenerator[object, object]]", function), begin)
    elif inspect.isgeneratorfunction(kind):
        wrapper = _stream(cast("Callable[..., Generator[object, object, object]]", function), begin)
    elif inspect.iscoroutinefunction(kind) or inspect.iscoroutinefunction(function):
        wrapper = _coroutine(cast("Callable[..., Awaitable[object]]", function), begin)
    else:
        wrapper = _plain(function, begin)
    functools.update_wrapper(wrapper, function)
    target = cast("Callable[..., R]", wrapper)
    return Replaced(target=target, did=f"{called}: each call is one run", undo=switch.off)


def _plain(function: Callable[..., object], begin: Begin) -> Callable[..., object]:
    def wrapper(*args: object, **kwargs: object) -> object:
        call = begin(args, kwargs)
        token = otel.attach(call.context())
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            call.failed(error)
            raise
        finally:
            otel.detach(token)
        call.done(result)
        return result

    return wrapper


def _coroutine(function: Callable[..., Awaitable[object]], begin: Begin) -> Callable[..., object]:
    async def wrapper(*args: object, **kwargs: object) -> object:
        call = begin(args, kwargs)
        token = otel.attach(call.context())
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            call.failed(error)
            raise
        finally:
            otel.detach(token)
        call.done(result)
        return result

    return wrapper


def _stream(
    function: Callable[..., Generator[object, object, object]], begin: Begin
) -> Callable[..., Generator[object, object, object]]:
    def wrapper(*args: object, **kwargs: object) -> Generator[object, object, object]:
        call = begin(args, kwargs)
        try:
            result = yield from _steps(call, function(*args, **kwargs))
        except GeneratorExit:
            call.left()
            raise
        except BaseException as error:
            call.failed(error)
            raise
        call.done(result)
        return result

    return wrapper


def _steps(call: Call, stream: Generator[object, object, object]) -> Generator[object, object, object]:
    inside = call.inside()
    step: Callable[[], object] = functools.partial(next, stream)
    while True:
        try:
            item = inside.run(step)
        except StopIteration as end:
            return cast("object", end.value)
        call.item(item)
        try:
            step = functools.partial(stream.send, (yield item))
        except GeneratorExit:
            inside.run(stream.close)
            raise
        except BaseException as thrown:  # noqa: BLE001  (the function itself is to see it)
            step = functools.partial(stream.throw, thrown)


def _async_stream(
    function: Callable[..., AsyncGenerator[object, object]], begin: Begin
) -> Callable[..., AsyncGenerator[object, object]]:
    async def wrapper(*args: object, **kwargs: object) -> AsyncGenerator[object, object]:
        call = begin(args, kwargs)
        try:
            stream = function(*args, **kwargs)
            inside = call.inside()
            step: Awaitable[object] = stream.__anext__()
            while True:
                try:
                    item = await _within(inside, step)
                except StopAsyncIteration:
                    break
                call.item(item)
                try:
                    step = stream.asend((yield item))
                except GeneratorExit:
                    await _within(inside, stream.aclose())
                    raise
                except BaseException as thrown:  # noqa: BLE001  (the function itself is to see it)
                    step = stream.athrow(thrown)
        except GeneratorExit:
            call.left()
            raise
        except BaseException as error:
            call.failed(error)
            raise
        call.done(None)

    return wrapper


@types.coroutine
def _within(inside: Context, awaitable: Awaitable[object]) -> Generator[object, object, object]:
    """Await in the same task, but with other context variables."""
    steps = cast("Generator[object, object, object]", awaitable.__await__())
    step: Callable[[], object] = functools.partial(steps.send, None)
    while True:
        try:
            waited = inside.run(step)
        except StopIteration as end:
            return cast("object", end.value)
        try:
            step = functools.partial(steps.send, (yield waited))
        except BaseException as thrown:  # noqa: BLE001  (what is awaited is to see it)
            step = functools.partial(steps.throw, thrown)
