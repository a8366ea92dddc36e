"""Whose request it is: `with spanwise.context(session_id=..., user_id=...)`, for every run that begins inside.

The values are held in a context variable, so threads and tasks do not see each other's, and in OpenTelemetry baggage,
which propagators send along to other processes. They are written on the spans that begin a stretch of work inside the
context, not on every span: what is below those finds them there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, cast
from urllib.parse import quote_plus

import msgspec
from opentelemetry import baggage, trace
from opentelemetry import context as otel

from spanwise.capture._mark import ENTERED
from spanwise.record.encoding import clean, mapping_text, said
from spanwise.record.wrapping import Watch, wrap

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import Span
    from opentelemetry.util.types import AttributeValue

F = TypeVar("F", bound=Callable[..., object])

_SESSION = "spanwise.session_id"
_USER = "spanwise.user_id"
_REQUEST = "spanwise.request_id"
_TAGS = "spanwise.tags"
_METADATA = "spanwise.metadata"
_ALSO: Mapping[str, str] = {_SESSION: "session.id", _USER: "user.id"}
"""The conventions' names, by which other backends find a session and a user."""

_ID_LENGTH = 256
_TAGS_LENGTH = 4_096
_MAX_TAGS = 64
_METADATA_LENGTH = 16_384
_BAGGAGE_LENGTH = 1_024
"""Of one entry, as it is sent: headers hold 8192 bytes in all, and other entries need room too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What is known of a request; the empty text where something is not."""

    session_id: str = ""
    user_id: str = ""
    request_id: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] | None = None

    def within(self, outer: _Request) -> _Request:
        """Both together: what the inner one says counts, tags are united, metadata merged."""
        return _Request(
            session_id=self.session_id or outer.session_id,
            user_id=self.user_id or outer.user_id,
            request_id=self.request_id or outer.request_id,
            tags=tuple(dict.fromkeys((*outer.tags, *self.tags)))[:_MAX_TAGS],
            metadata={**(outer.metadata or {}), **(self.metadata or {})} or None,
        )

    def attributes(self) -> dict[str, AttributeValue]:
        """As attributes of a span."""
        out: dict[str, AttributeValue] = {}
        for name, value in ((_SESSION, self.session_id), (_USER, self.user_id), (_REQUEST, self.request_id)):
            if value:
                out[name] = value
                if name in _ALSO:
                    out[_ALSO[name]] = value
        if self.tags:
            out[_TAGS] = self.tags
        if self.metadata:
            out[_METADATA] = mapping_text(self.metadata, limit=_METADATA_LENGTH)
        return out

    def entries(self) -> dict[str, str]:
        """As entries of baggage; empty what is not known or too long to be sent."""
        texts = {
            _SESSION: self.session_id,
            _USER: self.user_id,
            _REQUEST: self.request_id,
            _TAGS: msgspec.json.encode(self.tags).decode() if self.tags else "",
            _METADATA: mapping_text(self.metadata, limit=_METADATA_LENGTH) if self.metadata else "",
        }
        return {name: text if len(quote_plus(text)) <= _BAGGAGE_LENGTH else "" for name, text in texts.items()}


class _Held:
    """A context that was entered: what counts inside, and how it is left."""

    __slots__ = ("attributes", "below", "outer", "request", "scope", "token")

    def __init__(self, scope: Scope, request: _Request, outer: _Held | None) -> None:
        self.scope = scope
        self.request = request
        self.outer = outer
        self.attributes = request.attributes()
        self.below = trace.get_current_span().get_span_context().span_id
        self.token: Token[otel.Context] | None = None


_HELD: ContextVar[_Held | None] = ContextVar("spanwise.context", default=None)
_current = _HELD.get
_KEY = otel.create_key("spanwise.context")


def context(
    *,
    request_id: object = None,
    session_id: object = None,
    user_id: object = None,
    tags: Iterable[str] = (),
    metadata: Mapping[str, object] | None = None,
    propagate: bool = True,
) -> Scope:
    """Every run that begins inside bears these, as `run.who`, in this process and in those that it calls.

    For `with` and `async with`, and as a decorator of functions of any kind. In nested contexts the inner one counts;
    tags are united and metadata merged.

    Args:
        request_id: The request, as the app names it.
        session_id: The session or conversation.
        user_id: The user.
        tags: Words to find the run by.
        metadata: More about the request; written as JSON.
        propagate: Send them along to other processes, as OpenTelemetry baggage: instrumented HTTP clients send it to
            whomever they call. An entry longer than 1024 bytes is not sent.
    """
    request = _Request(
        session_id=_id(session_id),
        user_id=_id(user_id),
        request_id=_id(request_id),
        tags=_tags((tags,) if isinstance(tags, str) else tags),
        metadata={said(key): value for key, value in metadata.items()} if metadata else None,
    )
    return Scope(request, propagate=propagate)


class Scope:
    """A context to be entered, as often as wanted, also by several threads and tasks at once."""

    __slots__ = ("_propagate", "_request")

    def __init__(self, request: _Request, *, propagate: bool) -> None:
        self._request = request
        self._propagate = propagate

    def __enter__(self) -> Self:
        ENTERED.ever = True
        outer = _HELD.get()
        around = outer.request if outer is not None else _received(None)
        held = _Held(self, self._request.within(around), outer)
        attached = otel.set_value(_KEY, held)
        if self._propagate:
            for name, text in held.request.entries().items():
                if text:
                    attached = baggage.set_baggage(name, text, attached)
                elif name in baggage.get_all(attached):
                    attached = baggage.remove_baggage(name, attached)
        held.token = otel.attach(attached)
        _HELD.set(held)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        held = _HELD.get()
        if held is None or held.scope is not self:  # left in another task than it was entered in
            return
        _HELD.set(held.outer)
        if held.token is not None:
            otel.detach(held.token)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def __call__(self, function: F, /) -> F:
        """The function, each call of which runs inside."""
        return wrap(function, lambda args, kwargs: _Inside(self))


class _Inside(Watch):
    """A call that runs inside a context."""

    __slots__ = ("_scope",)

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def scope(self) -> Scope:
        return self._scope


class ContextStamp:
    """Writes the context on spans as they begin: called by the processor, which guards the call."""

    __slots__ = ()

    def stamp(self, span: Span, parent_context: otel.Context | None = None) -> None:
        """Write on a span what `spanwise.context` holds, unless a span above it bears that already.

        Where a remote parent began the work, what came along in baggage is written too. What the app has set on the
        span stays.
        """
        held = _current()
        if parent_context is not None:
            held = cast("_Held | None", parent_context.get(_KEY)) or held
        parent = span.parent
        remote = parent is not None and parent.is_remote
        if held is None:
            if remote:
                _write(span, _received(parent_context).attributes())
        elif remote:
            _write(span, held.request.within(_received(parent_context)).attributes())
        elif parent is None or parent.span_id == held.below:
            _write(span, held.attributes)


def _write(span: Span, attributes: Mapping[str, AttributeValue]) -> None:
    if not attributes:
        return
    present = span.attributes
    if present:
        attributes = {name: value for name, value in attributes.items() if name not in present}
    span.set_attributes(attributes)


def _received(parent_context: otel.Context | None) -> _Request:
    """What another process sent along; bounded, since anybody may have sent it."""
    entries = baggage.get_all(parent_context)
    if not entries:
        return _Request()
    tags = _decoded(entries.get(_TAGS))
    metadata = _decoded(entries.get(_METADATA))
    return _Request(
        session_id=_id(entries.get(_SESSION)),
        user_id=_id(entries.get(_USER)),
        request_id=_id(entries.get(_REQUEST)),
        tags=_tags(cast("list[object]", tags)) if isinstance(tags, list) else (),
        metadata=cast("dict[str, object]", metadata) if isinstance(metadata, dict) else None,
    )


def _decoded(text: object) -> object:
    if not isinstance(text, str) or len(text) > _METADATA_LENGTH:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _id(value: object) -> str:
    return "" if value is None else said(value)[:_ID_LENGTH]


def _tags(given: Iterable[object]) -> tuple[str, ...]:
    room = _TAGS_LENGTH
    out: list[str] = []
    for tag in given:
        text = clean(tag) if isinstance(tag, str) else said(tag)
        room -= len(text)
        if room < 0 or len(out) == _MAX_TAGS:
            break
        out.append(text)
    return tuple(dict.fromkeys(out))
