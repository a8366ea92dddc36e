"""Decorators: each call of a function is a run, a tool call, a model call or a retrieval.

They serve plain and async functions, generators and async generators. What a generator yields is what it gave: texts
are joined, anything else is a list.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from typing import TypeVar, cast, overload

from spanwise.record.encoding import LIMIT, Later
from spanwise.record.handles import LLMCall, Retrieval, Run, Step, ToolCall, here
from spanwise.record.wrapping import Watch, wrap

F = TypeVar("F", bound=Callable[..., object])
_ITEMS = 10_000
_log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a model answered and used, as `LLMCall.end` takes it."""

    output: object = None
    tool_calls: object = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    model: str | None = None
    finish_reason: str | None = None


_OUTCOME = tuple(one.name for one in fields(Outcome))


@overload
def agent(function: F, /) -> F: ...
@overload
def agent(name: str | None = None, /, *, query: str | None = None, tools: object = None) -> Callable[[F], F]: ...
def agent(name: F | str | None = None, /, *, query: str | None = None, tools: object = None) -> F | Callable[[F], F]:
    """Each call of the function is a run of an agent; what it returns is the answer.

    Args:
        name: The agent's name; the function's where not given.
        query: The parameter that holds the query; the first that is given text where not said.
        tools: The definitions of the tools that the agent may call.
    """

    def decorate(function: F) -> F:
        arguments = _Arguments(function)
        called = name if isinstance(name, str) else _name_of(function)

        def begin(args: tuple[object, ...], kwargs: Mapping[str, object]) -> Watch:
            asked = Later(lambda: arguments.text(args, kwargs, query))
            return _RunWatch(here().start_agent(called, query=asked, tools=tools))

        return wrap(function, _guarded(begin))

    return decorate(name) if callable(name) else decorate


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(name: str | None = None, /, *, ignore: Collection[str] = ()) -> Callable[[F], F]: ...
def tool(name: F | str | None = None, /, *, ignore: Collection[str] = ()) -> F | Callable[[F], F]:
    """Each call of the function is a tool call, with the arguments that it was given.

    Args:
        name: The tool's name; the function's where not given.
        ignore: Parameters that are no arguments of the tool: a connection, a context.
    """

    def decorate(function: F) -> F:
        arguments = _Arguments(function, ignore)
        called = name if isinstance(name, str) else _name_of(function)

        def begin(args: tuple[object, ...], kwargs: Mapping[str, object]) -> Watch:
            return _ToolWatch(here().start_tool(called, Later(lambda: arguments.named(args, kwargs))))

        return wrap(function, _guarded(begin))

    return decorate(name) if callable(name) else decorate


@overload
def retrieval(function: F, /) -> F: ...
@overload
def retrieval(source: str | None = None, /, *, query: str | None = None) -> Callable[[F], F]: ...
def retrieval(source: F | str | None = None, /, *, query: str | None = None) -> F | Callable[[F], F]:
    """Each call of the function is a retrieval; what it returns are the documents.

    Args:
        source: What is searched.
        query: The parameter that holds the query; the first that is given text where not said.
    """

    def decorate(function: F) -> F:
        arguments = _Arguments(function)
        searched = source if isinstance(source, str) else None

        def begin(args: tuple[object, ...], kwargs: Mapping[str, object]) -> Watch:
            asked = Later(lambda: arguments.text(args, kwargs, query))
            return _RetrievalWatch(here().start_retrieval(asked, source=searched))

        return wrap(function, _guarded(begin))

    return decorate(source) if callable(source) else decorate


def llm(
    model: str,
    /,
    *,
    provider: str | None = None,
    messages: str | None = None,
    reads: Callable[..., Outcome] | None = None,
) -> Callable[[F], F]:
    """Each call of the function is a call of a model.

    Args:
        model: The model that is asked.
        provider: Who serves it, such as `openai`.
        messages: The parameter that holds the prompt or the messages; the first one where not said.
        reads: Tells from what the function returns what the model answered and used; of a generator, from all that
            it yielded. Where not given, what the function returns is the answer.
    """

    def decorate(function: F) -> F:
        arguments = _Arguments(function)

        def begin(args: tuple[object, ...], kwargs: Mapping[str, object]) -> Watch:
            sent = Later(lambda: arguments.first(args, kwargs, messages))
            return _LLMWatch(here().start_llm(model, sent, provider=provider), reads)

        return wrap(function, _guarded(begin))

    return decorate


def _name_of(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _guarded(begin: Callable[[tuple[object, ...], Mapping[str, object]], Watch]) -> Callable[..., Watch]:
    """`begin`, or a watch that does nothing where it fails: the function is called in any case."""

    @functools.wraps(begin)
    def guarded(args: tuple[object, ...], kwargs: Mapping[str, object]) -> Watch:
        try:
            return begin(args, kwargs)
        except Exception:  # noqa: BLE001  (arguments may be anybody's)
            _log.warning("spanwise.record could not record a call", exc_info=True)
            return Watch()

    return guarded


class _Arguments:
    """What a function was given, by the names of its parameters; defaults that it was not given are left out."""

    def __init__(self, function: Callable[..., object], ignore: Collection[str] = ()) -> None:
        self._ignore = frozenset(ignore)
        try:
            self._signature = inspect.signature(function)
        except (TypeError, ValueError):  # some built-ins have none
            self._signature = None
        names = list(self._signature.parameters) if self._signature else []
        self._owner = names[0] if names and names[0] in {"self", "cls"} else None

    def named(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Arguments by name."""
        if self._signature is None:
            return {**({"args": list(args)} if args else {}), **kwargs}
        try:
            bound = self._signature.bind(*args, **kwargs).arguments
        except TypeError:  # the call itself will say so
            return dict(kwargs)
        out: dict[str, object] = {}
        for name, value in bound.items():
            if name == self._owner or name in self._ignore:
                continue
            if self._signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                out.update(cast("Mapping[str, object]", value))
            else:
                out[name] = value
        return out

    def first(self, args: tuple[object, ...], kwargs: Mapping[str, object], name: str | None) -> object:
        """The argument of that name, else the first one."""
        named = self.named(args, kwargs)
        return named.get(name) if name is not None else next(iter(named.values()), None)

    def text(self, args: tuple[object, ...], kwargs: Mapping[str, object], name: str | None) -> str | None:
        """The argument of that name, else the first that is text."""
        named = self.named(args, kwargs)
        if name is not None:
            value = named.get(name)
            return value if value is None or isinstance(value, str) else str(value)
        return next((value for value in named.values() if isinstance(value, str)), None)


class _StepWatch(Watch):
    """What the function gives, as far as a span holds it."""

    __slots__ = ("_items", "_room", "_step")

    def __init__(self, step: Step) -> None:
        self._step = step
        self._items: list[object] | None = None
        self._room = LIMIT

    def scope(self) -> AbstractContextManager[object]:
        return self._step.as_current()

    def item(self, value: object) -> None:
        if self._items is None:
            self._items = []
        if self._room >= 0 and len(self._items) < _ITEMS:
            self._items.append(value)
            self._room -= len(value) if isinstance(value, str) else 16

    def done(self, value: object) -> None:
        self._end(value if self._items is None or value is not None else self._given())

    def failed(self, error: BaseException) -> None:
        self._step.__exit__(type(error), error, None)

    def abandoned(self) -> None:
        self._step.mark_abandoned()
        self._end(self._given())

    def _given(self) -> object:
        """What was yielded: texts joined, anything else as it came."""
        items = self._items or []
        return "".join(cast("list[str]", items)) if all(isinstance(one, str) for one in items) else items

    def _end(self, value: object) -> None:
        try:
            self.end(value)
        except Exception:  # noqa: BLE001  (what is returned may be anybody's, and so may be what reads it)
            _log.warning("spanwise.record could not record what a function returned", exc_info=True)
            self._step.__exit__(None, None, None)

    def end(self, value: object) -> None:
        """End the step with what the function gave."""
        raise NotImplementedError


class _RunWatch(_StepWatch):
    __slots__ = ("_run",)

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._run = run

    def end(self, value: object) -> None:
        self._run.end(value)


class _ToolWatch(_StepWatch):
    __slots__ = ("_call",)

    def __init__(self, call: ToolCall) -> None:
        super().__init__(call)
        self._call = call

    def end(self, value: object) -> None:
        self._call.end(value)


class _RetrievalWatch(_StepWatch):
    __slots__ = ("_retrieval",)

    def __init__(self, retrieval: Retrieval) -> None:
        super().__init__(retrieval)
        self._retrieval = retrieval

    def end(self, value: object) -> None:
        self._retrieval.end(value)


class _LLMWatch(_StepWatch):
    __slots__ = ("_call", "_reads")

    def __init__(self, call: LLMCall, reads: Callable[..., Outcome] | None) -> None:
        super().__init__(call)
        self._call = call
        self._reads = reads

    def item(self, value: object) -> None:
        self._call.first_token()
        super().item(value)

    def end(self, value: object) -> None:
        outcome = Outcome(output=value) if self._reads is None else self._reads(value)
        self._call.end(**{name: getattr(outcome, name) for name in _OUTCOME})
