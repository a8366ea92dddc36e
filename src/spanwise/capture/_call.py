"""One call of a function, as a span: begun, filled and ended so that nothing of it reaches the app."""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, copy_context
from typing import cast

from opentelemetry import context as otel
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import INVALID_SPAN, Span, StatusCode, set_span_in_context

SCOPE = "spanwise.capture"
LIMIT = 65_536
"""Characters of a question or an answer."""
MARK = "…[truncated]"
ABANDONED = "spanwise.abandoned"
"""True on the span of a stream that its consumer left before its end."""
_log = logging.getLogger("spanwise")


class Caller:
    """A function and where the spans of its calls go."""

    __slots__ = ("_attributes", "_content", "_function", "_name", "_told", "_tracer")

    def __init__(self, provider: TracerProvider, function: Callable[..., object], name: str) -> None:
        self._tracer = provider.get_tracer(SCOPE)
        self._function = function
        self._name = f"invoke_agent {name}"
        self._attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        off = os.environ.get("SPANWISE_RECORD_CONTENT", "true").strip().lower() in {"0", "false", "no", "off"}
        self._content = not off
        self._told = False

    def begin(self, args: tuple[object, ...], kwargs: dict[str, object]) -> Call:
        """The span of a call, with its question."""
        try:
            span = self._tracer.start_span(self._name, attributes=self._attributes)
        except Exception:  # noqa: BLE001  (any processor of the app's may raise here)
            self.tell()
            return self.silent()
        call = Call(span, self, content=self._content and span.is_recording())
        call.question(lambda: _question(self._function, args, kwargs))
        return call

    def silent(self) -> Call:
        """A call that is not recorded."""
        return Call(INVALID_SPAN, self, content=False)

    def tell(self) -> None:
        """Recording failed, which is no concern of the app's; said once."""
        if not self._told:
            self._told = True
            _log.warning("a call of %s was not recorded whole; not said again", self._name, exc_info=True)


class Call:
    """One call that is under way."""

    __slots__ = ("_caller", "_content", "_last", "_pieces", "_room", "_span")

    def __init__(self, span: Span, caller: Caller, *, content: bool) -> None:
        self._span = span
        self._caller = caller
        self._content = content
        self._pieces: list[str] = []
        self._room = LIMIT + 1
        self._last: object = None

    def context(self) -> otel.Context:
        """The current OpenTelemetry context, with the span as the current one."""
        recorded = self._span.get_span_context().is_valid
        return set_span_in_context(self._span) if recorded else otel.get_current()

    def inside(self) -> Context:
        """A copy of the context variables, in which the span is the current one."""
        inside = copy_context()
        inside.run(otel.attach, self.context())
        return inside

    def question(self, make: Callable[[], object]) -> None:
        """What was asked."""
        if self._content:
            self._write("gen_ai.input.messages", "user", make)

    def item(self, value: object) -> None:
        """The function streamed something."""
        if not self._content:
            return
        self._last = value
        if isinstance(value, str) and self._room > 0:
            self._pieces.append(value[: self._room])
            self._room -= len(value)

    def done(self, value: object) -> None:
        """The function returned."""
        self._answer(value, "stop")
        self._end()

    def left(self) -> None:
        """The consumer of the stream wants no more."""
        try:
            self._span.set_attributes({ABANDONED: True})
        except Exception:  # noqa: BLE001  (the app's own span type)
            self._caller.tell()
        self._answer(None, None)
        self._end()

    def failed(self, error: BaseException) -> None:
        """The function raised, or was cancelled."""
        self._answer(None, None)
        try:
            kind = type(error)
            named = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
            self._span.set_attribute("error.type", named)
            if self._content:
                self._span.record_exception(error)
            self._span.set_status(StatusCode.ERROR, _status(error) if self._content else None)
        except Exception:  # noqa: BLE001  (the error may be anybody's)
            self._caller.tell()
        self._end()

    def _answer(self, value: object, reason: str | None) -> None:
        if not self._content:
            return
        found = "".join(self._pieces) if self._pieces else self._last if value is None else value
        if found is not None:
            self._write("gen_ai.output.messages", "assistant", lambda: found, reason)

    def _write(self, name: str, role: str, make: Callable[[], object], reason: str | None = None) -> None:
        try:
            message: dict[str, object] = {"role": role, "parts": [{"type": "text", "content": _text(make())}]}
            if reason is not None:
                message["finish_reason"] = reason
            self._span.set_attribute(name, json.dumps([message], ensure_ascii=False))
        except Exception:  # noqa: BLE001  (values of the app's are encoded here)
            self._caller.tell()

    def _end(self) -> None:
        try:
            self._span.end()
        except Exception:  # noqa: BLE001  (any processor of the app's may raise here)
            self._caller.tell()


def _question(function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """The first text among the arguments; all of them, by name, where there is none."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, str):
            return value
    try:
        named = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        named = {"args": args, **kwargs}
    return {name: value for name, value in named.items() if name not in {"self", "cls"}}


def _status(error: BaseException) -> str:
    return _cut(f"{type(error).__name__}: {error}")


def _text(value: object) -> str:
    """Text as it is, anything else as JSON; no more than the limit of either."""
    if isinstance(value, str):
        return _cut(value)
    pieces: list[str] = []
    room = LIMIT
    for piece in json.JSONEncoder(ensure_ascii=False, default=_plain).iterencode(value):
        pieces.append(piece)
        room -= len(piece)
        if room < 0:
            break
    return _cut("".join(pieces))


def _cut(text: str) -> str:
    kept = text if len(text) <= LIMIT else text[:LIMIT] + MARK
    return kept if kept.isascii() else kept.encode("utf-8", "replace").decode()


def _plain(value: object) -> object:
    """Something that JSON does not know: its fields, its items, or what it says of itself."""
    dump: object = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes | bytearray | memoryview):
        return list(cast("Sequence[object]", value))
    return str(cast("object", value))
