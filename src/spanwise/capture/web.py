"""ASGI and WSGI apps: every agent run of a request bears the request's id, its session and its user.

No span is made for a request: runs are the agents' own. Neither requests nor responses are touched, and exceptions pass
through. The context lasts until a streamed response, or a websocket, has ended.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from contextvars import Context, copy_context
from typing import Protocol, TypeAlias, cast

from spanwise.capture.context import Scope, context
from spanwise.capture.replaced import Replaced, Switch
from spanwise.errors import SpecError

Request: TypeAlias = MutableMapping[str, object]
"""An ASGI scope, or a WSGI environment."""
Identify: TypeAlias = Callable[[Request], Mapping[str, object]]
"""What is known of a request: any of `request_id`, `session_id`, `user_id`, `tags`, `metadata`."""
Asgi: TypeAlias = Callable[[Request, object, object], Awaitable[None]]
Wsgi: TypeAlias = Callable[[Request, object], Iterable[bytes]]

HEADERS: Mapping[str, str] = {"request_id": "X-Request-ID", "session_id": "X-Session-ID", "user_id": "X-User-ID"}
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_log = logging.getLogger("spanwise")


class _Starlette(Protocol):
    """The part of a Starlette or FastAPI app that is used here."""

    user_middleware: list[object]
    middleware_stack: Asgi | None

    def add_middleware(self, middleware_class: object, **options: object) -> None: ...


class _Identity:
    """Enters what is known of a request; what fails is said once and leaves the request without."""

    __slots__ = ("_headers", "_identify", "_propagate", "_told")

    def __init__(self, headers: Identify, identify: Identify | None, *, propagate: bool) -> None:
        self._headers = headers
        self._identify = identify
        self._propagate = propagate
        self._told = False

    def enter(self, request: Request) -> Scope | None:
        """The entered context of a request; None where nothing is known of it."""
        try:
            told = self._headers(request)
            if self._identify is not None:
                told = {**told, **self._identify(request)}
            known = {name: value for name, value in told.items() if value}
            if not known:
                return None
            return context(**known, propagate=self._propagate).__enter__()  # pyright: ignore[reportArgumentType]  # it takes anything
        except Exception:  # noqa: BLE001  (the app's own function; the request goes on)
            if not self._told:
                self._told = True
                _log.warning("requests could not be identified; further failures are not logged", exc_info=True)
            return None


class _AsgiContext:
    """An ASGI app inside the context of each of its requests."""

    def __init__(self, app: Asgi, *, identity: _Identity, switch: Switch) -> None:
        self.app = app
        self._identity = identity
        self._switch = switch

    async def __call__(self, scope: Request, receive: object, send: object) -> None:
        asked = self._switch.on and scope.get("type") in {"http", "websocket"}
        entered = self._identity.enter(scope) if asked else None
        if entered is None:
            await self.app(scope, receive, send)
            return
        try:
            await self.app(scope, receive, send)
        finally:
            entered.__exit__(None, None, None)


class _WsgiContext:
    """A WSGI app inside the context of each of its requests.

    The app and its response run in a copy of the server's context variables, so that they keep theirs between two
    pieces of a streamed response, and a worker thread does not carry them into its next request.
    """

    def __init__(self, app: Wsgi, *, identity: _Identity, switch: Switch) -> None:
        self.app = app
        self._identity = identity
        self._switch = switch

    def __call__(self, environ: Request, start_response: object) -> Iterable[bytes]:
        if not self._switch.on:
            return self.app(environ, start_response)
        inside = copy_context()
        if inside.run(self._identity.enter, environ) is None:
            return self.app(environ, start_response)
        response = inside.run(self.app, environ, start_response)
        wrapper = environ.get("wsgi.file_wrapper")
        if isinstance(response, list | tuple) or (isinstance(wrapper, type) and isinstance(response, wrapper)):
            return response
        return _Pieces(response, inside)


class _Pieces:
    """A streamed response, each piece of which is made inside the request's context."""

    def __init__(self, response: Iterable[bytes], inside: Context) -> None:
        self._response = response
        self._inside = inside
        self._pieces: Iterator[bytes] | None = None

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._pieces is None:
            self._pieces = self._inside.run(iter, self._response)
        return self._inside.run(next, self._pieces)

    def close(self) -> None:
        """Close the response, as the server asks for."""
        close: Callable[[], object] | None = getattr(self._response, "close", None)
        if close is not None:
            self._inside.run(close)


def is_app(target: object) -> bool:
    """The target is an ASGI or WSGI app: of a web framework, or a callable with the parameters of one."""
    return _is_starlette(target) or _attribute(target) is not None or _kind(target) is not None


def check(*, headers: Mapping[str, str] | None = None, identify: Identify | None = None) -> None:
    """Requests can be identified by what was given.

    Raises:
        SpecError: They cannot.
    """
    for field, name in (headers or {}).items():
        if field not in HEADERS:
            raise SpecError(f"headers: read {field!r}, expected {', '.join(HEADERS)}; for more there is `identify`")
        if not (isinstance(cast("object", name), str) and _HEADER.fullmatch(name)):
            raise SpecError(f"headers: {field}: read {name!r}, expected the name of a header")
    if identify is not None and not callable(cast("object", identify)):
        raise SpecError(f"identify: read {identify!r}, expected a function of a request")
    if any(map(inspect.iscoroutinefunction, (identify, inspect.getattr_static(type(identify), "__call__", None)))):
        raise SpecError(f"identify: read {identify!r}, an async function, expected a plain one")


def wrap(
    app: object,
    *,
    headers: Mapping[str, str] | None = None,
    identify: Identify | None = None,
    propagate: bool = False,
) -> Replaced[object]:
    """An app whose requests open `spanwise.context`: the same object where it can be changed in place.

    Starlette, FastAPI, Flask and Quart apps are changed in place; of any other callable, a wrapper is given.

    Args:
        app: The ASGI or WSGI app.
        headers: Which header says what; `HEADERS` where neither this nor `identify` is given. Anybody can send them:
            where that matters, use `identify`.
        identify: Gives what is known of a request, from the ASGI scope or the WSGI environment. What it names counts,
            were it nothing; headers, if they are given too, say the rest.
        propagate: Send the ids along, as baggage, to whomever the app calls.

    Raises:
        TypeError: It is no app.
        SpecError: Requests cannot be identified so.
    """
    check(headers=headers, identify=identify)
    if headers is None:
        headers = {} if identify else HEADERS
    switch = Switch()
    if _is_starlette(app):
        return _in_starlette(app, _Identity(_asgi_headers(headers), identify, propagate=propagate), switch)
    attribute = _attribute(app)
    kind = "asgi" if attribute == "asgi_app" else "wsgi" if attribute else _kind(app)
    if kind is None:
        raise TypeError(f"{app!r} is no ASGI or WSGI app.")
    inner: object = getattr(app, attribute) if attribute else app
    outer: object
    if kind == "asgi":
        identity = _Identity(_asgi_headers(headers), identify, propagate=propagate)
        outer = _AsgiContext(cast("Asgi", inner), identity=identity, switch=switch)
    else:
        identity = _Identity(_wsgi_headers(headers), identify, propagate=propagate)
        outer = _WsgiContext(cast("Wsgi", inner), identity=identity, switch=switch)
    did = f"{type(app).__name__}: requests carry their ids"
    if attribute is None:
        return Replaced(target=outer, did=did, undo=switch.off)
    setattr(app, attribute, outer)

    def undo() -> None:
        switch.off()
        if getattr(app, attribute) is outer:
            setattr(app, attribute, inner)

    return Replaced(target=app, did=did, undo=undo)


def _in_starlette(app: object, identity: _Identity, switch: Switch) -> Replaced[object]:
    starlette = cast("_Starlette", app)
    added: list[object] = []
    if starlette.middleware_stack is None:
        starlette.add_middleware(_AsgiContext, identity=identity, switch=switch)
        added.append(starlette.user_middleware[0])
    else:  # an app that has started takes no more middleware
        starlette.middleware_stack = _AsgiContext(starlette.middleware_stack, identity=identity, switch=switch)

    def undo() -> None:
        switch.off()
        starlette.user_middleware[:] = [one for one in starlette.user_middleware if one not in added]

    return Replaced(target=app, did=f"{type(app).__name__}: requests carry their ids", undo=undo)


def _asgi_headers(headers: Mapping[str, str]) -> Identify:
    wanted = {field: name.lower().encode("latin-1") for field, name in headers.items()}

    def identify(scope: Request) -> Mapping[str, object]:
        sent = dict(cast("Iterable[tuple[bytes, bytes]]", scope.get("headers", ())))
        return {field: sent[name].decode("latin-1").strip() for field, name in wanted.items() if name in sent}

    return identify


def _wsgi_headers(headers: Mapping[str, str]) -> Identify:
    wanted = {field: f"HTTP_{name.upper().replace('-', '_')}" for field, name in headers.items()}

    def identify(environ: Request) -> Mapping[str, object]:
        return {field: str(environ.get(name, "")).strip() for field, name in wanted.items()}

    return identify


def _is_starlette(target: object) -> bool:
    return all(hasattr(target, name) for name in ("add_middleware", "user_middleware", "middleware_stack"))


def _attribute(target: object) -> str | None:
    """Where Flask and Quart keep the app that a wrapper goes around."""
    if isinstance(target, type):
        return None
    return next((name for name in ("asgi_app", "wsgi_app") if callable(getattr(target, name, None))), None)


def _kind(target: object) -> str | None:
    """What a callable's parameters are called; there is nothing else to tell an app from a function by."""
    if not callable(target) or isinstance(target, type):
        return None
    try:
        names = [name.strip("_") for name in inspect.signature(target).parameters]
    except (TypeError, ValueError):
        return None
    if names == ["scope", "receive", "send"]:
        return "asgi"
    return "wsgi" if len(names) == 2 and names[1] == "start_response" else None
