"""ASGI and WSGI apps as targets: each request's runs bear its ids, and requests and responses stay as they are."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from wsgiref.util import FileWrapper, setup_testing_defaults

import pytest
from opentelemetry import baggage
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from spanwise.capture.context import ContextStamp
from spanwise.capture.web import is_app, wrap
from tests.capture.recorded import Recorded

Told = dict[str, str]


class Stamping(SpanProcessor):
    """What the capture does when a span begins."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        ContextStamp().stamp(span, parent_context)


@pytest.fixture
def recorded() -> Recorded:
    """Somewhere for spans to go, which bear the ids of their request."""
    recorded = Recorded()
    recorded.provider.add_span_processor(Stamping())
    return recorded


def ids(span: ReadableSpan) -> Told:
    """The ids that a span bears."""
    prefix = "spanwise."
    return {key[len(prefix) :]: str(value) for key, value in (span.attributes or {}).items() if key.startswith(prefix)}


def asked(number: int) -> Told:
    """The ids of a request."""
    return {"request_id": f"r{number}", "session_id": f"s{number}", "user_id": f"u{number}"}


def scope_of(number: int, kind: str = "http") -> dict[str, Any]:
    """An ASGI scope with its ids in the headers."""
    named = {"x-request-id": f"r{number}", "x-session-id": f"s{number}", "x-user-id": f"u{number}"}
    return {"type": kind, "headers": [(name.encode(), value.encode()) for name, value in named.items()]}


def environ_of(number: int) -> dict[str, Any]:
    """A WSGI environment with its ids in the headers."""
    environ: dict[str, Any] = {}
    setup_testing_defaults(environ)
    return environ | {f"HTTP_X_{kind}_ID": f"{kind[0].lower()}{number}" for kind in ("REQUEST", "SESSION", "USER")}


async def receive() -> dict[str, object]:
    """Nothing more comes."""
    return {"type": "http.disconnect"}


def start_response(status: str, headers: list[tuple[str, str]]) -> None:
    """A server that takes note of nothing."""


def asgi_app(recorded: Recorded) -> Callable[..., Any]:
    """An app whose agent runs while the response is streamed."""
    tracer = recorded.provider.get_tracer("app")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        with tracer.start_as_current_span(f"invoke_agent {scope['type']}"):
            await asyncio.sleep(0.002)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in (b"a", b"b"):
            await asyncio.sleep(0.002)
            with tracer.start_as_current_span("invoke_agent piece"):
                await send({"type": "http.response.body", "body": piece, "more_body": piece == b"a"})

    return app


def call_asgi(app: Any, *scopes: dict[str, Any]) -> list[list[Any]]:
    """What an app sends for some requests at once."""

    async def one(scope: dict[str, Any]) -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await app(scope, receive, send)
        return sent

    async def main() -> list[list[Any]]:
        return await asyncio.gather(*map(one, scopes))

    return asyncio.run(main())


def test_concurrent_asgi_requests_keep_their_ids_apart(recorded: Recorded) -> None:
    """Each of fifty requests at once has its own ids on its runs, and on those of its streamed response."""
    app = asgi_app(recorded)
    wrapped = wrap(app).target
    expected = call_asgi(app, scope_of(0))
    recorded.exporter.clear()
    assert expected * 50 == call_asgi(wrapped, *(scope_of(number) for number in range(50)))
    told = [tuple(sorted(ids(span).items())) for span in recorded.spans]
    assert {tuple(sorted(asked(number).items())): 3 for number in range(50)} == {one: told.count(one) for one in told}


def test_websockets_keep_their_ids_and_lifespans_have_none(recorded: Recorded) -> None:
    """A websocket's runs bear its ids until it ends; what runs at start-up bears none."""
    wrapped = wrap(asgi_app(recorded)).target
    call_asgi(wrapped, scope_of(1, "websocket"))
    assert [asked(1)] * 3 == [ids(span) for span in recorded.spans]
    recorded.exporter.clear()
    call_asgi(wrapped, {"type": "lifespan"})
    assert [{}] * 3 == [ids(span) for span in recorded.spans]


def test_requests_without_ids_have_none(recorded: Recorded) -> None:
    """Where no header says anything, or an empty one does, runs bear nothing."""
    call_asgi(wrap(asgi_app(recorded)).target, {"type": "http", "headers": [(b"x-user-id", b" ")]})
    assert [{}] * 3 == [ids(span) for span in recorded.spans]


def test_headers_can_be_chosen(recorded: Recorded) -> None:
    """Other headers are read where they are given, and no others."""
    wrapped = wrap(asgi_app(recorded), headers={"session_id": "X-Chat"}).target
    call_asgi(wrapped, {"type": "http", "headers": [(b"x-chat", b"c1"), (b"x-user-id", b"u1")]})
    assert {"session_id": "c1"} == ids(recorded.spans[0])


def test_a_callable_can_identify_requests(recorded: Recorded) -> None:
    """A function is given the scope or the environment, and says who it is; tags are welcome."""
    wrapped = wrap(asgi_app(recorded), identify=lambda scope: {"user_id": 7, "tags": [scope["type"]]}).target
    call_asgi(wrapped, scope_of(1))
    assert ("7", ("http",)) == (
        (recorded.spans[0].attributes or {})["spanwise.user_id"],
        (recorded.spans[0].attributes or {})["spanwise.tags"],
    )


def test_a_failing_identify_leaves_requests_alone(recorded: Recorded, caplog: pytest.LogCaptureFixture) -> None:
    """A function that raises, or gives what is no mapping, costs requests their ids only; it is said once."""

    def raising(request: object) -> dict[str, object]:
        raise RuntimeError("who?")

    for identify in (raising, lambda request: cast("dict[str, object]", 3), lambda request: {"colour": "red"}):
        caplog.clear()
        wrapped = wrap(asgi_app(recorded), identify=identify).target
        assert [3, 3] == [len(sent) for sent in call_asgi(wrapped, scope_of(1), scope_of(2))]
        assert 1 == len(caplog.records)
    assert {()} == {tuple(ids(span)) for span in recorded.spans}


def test_asgi_exceptions_pass(recorded: Recorded) -> None:
    """The server gets the app's very exception, and the next request is as any other."""
    failure = LookupError("x")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise failure

    with pytest.raises(LookupError) as caught:
        call_asgi(wrap(app).target, scope_of(1))
    assert caught.value is failure


def test_ids_stay_here_unless_asked(recorded: Recorded) -> None:
    """Ids of users are not sent to whomever the app calls, unless that is asked for."""
    seen: list[dict[str, object]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(dict(baggage.get_all()))

    call_asgi(wrap(app).target, scope_of(1))
    call_asgi(wrap(app, propagate=True).target, scope_of(1))
    assert [0, 3] == [len(one) for one in seen]


def test_undone_asgi_apps_pass_requests_on(recorded: Recorded) -> None:
    """After the undo the wrapper that the server holds does nothing."""
    replaced = wrap(asgi_app(recorded))
    replaced.undo()
    assert 3 == len(call_asgi(replaced.target, scope_of(1))[0])
    assert [{}] * 3 == [ids(span) for span in recorded.spans]


def wsgi_app(recorded: Recorded) -> Callable[..., Iterable[bytes]]:
    """An app that streams, with a span that stays open between the pieces."""
    tracer = recorded.provider.get_tracer("app")

    def app(environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        with tracer.start_as_current_span("invoke_agent helper"):
            for piece in (b"a", b"b"):
                with tracer.start_as_current_span("chat model"):
                    time.sleep(0.001)
                yield piece

    return app


def call_wsgi(app: Any, environ: dict[str, Any]) -> list[bytes]:
    """What a server does with an app."""
    response = app(environ, start_response)
    try:
        return list(response)
    finally:
        if hasattr(response, "close"):
            response.close()


def test_wsgi_requests_keep_their_ids_in_reused_threads(recorded: Recorded) -> None:
    """Requests that threads serve one after the other, streams included, have their own ids, or none, and one tree."""
    wrapped = wrap(wsgi_app(recorded)).target

    def serve(number: int) -> list[bytes]:
        return call_wsgi(wrapped, environ_of(number) if number % 2 else {})

    with ThreadPoolExecutor(4) as pool:
        assert [[b"a", b"b"]] * 60 == list(pool.map(serve, range(60)))
    tops = [span for span in recorded.spans if span.parent is None]
    told = sorted(ids(span).get("request_id", "") for span in tops)
    assert sorted([f"r{number}" for number in range(1, 60, 2)] + [""] * 30) == told
    parents = {span.context.span_id for span in tops}
    assert 120 == sum(span.parent is not None and span.parent.span_id in parents for span in recorded.spans)


def test_interleaved_wsgi_streams_stay_apart(recorded: Recorded) -> None:
    """Two streams that one thread takes turns with keep their own ids and their own open spans."""
    wrapped = cast("Any", wrap(wsgi_app(recorded)).target)
    streams = [iter(wrapped(environ_of(number), start_response)) for number in (1, 2)]
    for _ in range(3):
        for stream in streams:
            next(stream, None)
    by_trace = {span.context.trace_id: ids(span) for span in recorded.spans if span.parent is None}
    assert [asked(1), asked(2)] == sorted(by_trace.values(), key=str)
    chats = [span.context.trace_id for span in recorded.spans if span.name == "chat model"]
    assert sorted([*by_trace, *by_trace]) == sorted(chats)


def test_wsgi_responses_are_handed_on(recorded: Recorded) -> None:
    """A list, or a file that the server sends its own way, is the very object that the app gave."""
    given: list[Any] = [[b"a"], FileWrapper(cast("Any", None))]
    wrapped = cast("Any", wrap(lambda environ, start_response: environ["given"]).target)
    for response in given:
        environ = environ_of(1) | {"wsgi.file_wrapper": FileWrapper, "given": response}
        assert response is wrapped(environ, start_response)


def test_wsgi_streams_are_closed_and_raise(recorded: Recorded) -> None:
    """The server's `close` reaches the app's response, abandoned or not, and exceptions reach the server."""
    closed: list[Told] = []
    tracer = recorded.provider.get_tracer("app")

    class Response:
        def __iter__(self) -> Iterator[bytes]:
            yield b"a"
            raise LookupError("x")

        def close(self) -> None:
            with tracer.start_as_current_span("closing"):
                pass
            closed.append(ids(recorded.spans[-1]))

    response = cast("Any", wrap(lambda environ, start_response: Response()).target)(environ_of(1), start_response)
    pieces = iter(response)
    assert b"a" == next(pieces)
    with pytest.raises(LookupError):
        next(pieces)
    response.close()
    assert [asked(1)] == closed

    def failing(environ: Any, start_response: Any) -> list[bytes]:
        raise LookupError("y")

    with pytest.raises(LookupError, match="y"):
        call_wsgi(wrap(failing).target, environ_of(1))


def test_undone_wsgi_apps_pass_requests_on(recorded: Recorded) -> None:
    """After the undo the wrapper that the server holds does nothing."""
    replaced = wrap(wsgi_app(recorded))
    replaced.undo()
    assert [b"a", b"b"] == call_wsgi(replaced.target, environ_of(1))
    assert [{}] * 3 == [ids(span) for span in recorded.spans]


def test_apps_are_told_from_functions() -> None:
    """An app is known by its parameters, as a function or an object; other functions of as many are none."""

    class Django:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...

    def wsgi(env: Any, start_response: Any) -> list[bytes]:
        return []

    def ask(question: str, user: str, session: str) -> str:
        return question

    apps: list[object] = [Django(), wsgi, wrap(wsgi).target, wrap(Django()).target]
    others: list[object] = [Django, ask, lambda question, user: question, print, 3, "app", None]
    assert [True] * 4 == [is_app(one) for one in apps]
    assert [False] * 7 == [is_app(one) for one in others]
    with pytest.raises(TypeError, match="is no ASGI or WSGI app"):
        wrap(ask)
