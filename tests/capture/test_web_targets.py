"""Web apps given to `instrument`: whose a request is, by headers or a function, stands on the runs it caused."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from socketserver import ThreadingMixIn
from typing import Any, cast
from urllib.request import Request, urlopen
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from opentelemetry.sdk.trace import TracerProvider

import spanwise
from spanwise import record
from spanwise.capture.handle import Handle
from spanwise.errors import SpecError
from spanwise.model.result import RunResult
from tests.capture.app import WAIT_S

Instrument = Callable[..., tuple[Any, Handle]]


@pytest.fixture
def results() -> list[RunResult]:
    """What was scored."""
    return []


@pytest.fixture
def instrumented(results: list[RunResult]) -> Iterator[Instrument]:
    """Instruments an app; undone at the end."""
    handles: list[Handle] = []

    def one(app: object, **options: Any) -> tuple[Any, Handle]:
        handles.append(spanwise.instrument(app, evaluators=["redundancy"], sinks=[results.append], **options))
        return handles[-1].target, handles[-1]

    yield one
    for handle in handles:
        handle.uninstrument()


async def asgi_app(scope: Any, receive: Any, send: Any) -> None:
    """An app with two agent runs in each request, one before and one while it answers."""
    for number, message in enumerate(("http.response.start", "http.response.body")):
        with record.run("helper", query=f"{scope['path']} {number}"):
            await asyncio.sleep(0.001)
            await send({"type": message})


def wsgi_app(environ: Any, start_response: Any) -> Iterable[bytes]:
    """An app whose agent runs while the response is streamed."""
    start_response("200 OK", [])
    with record.run("helper", query=environ["PATH_INFO"]) as run:
        yield b"a"
        run.answer("ab")
        yield b"b"


def scope_of(path: str, **headers: str) -> dict[str, Any]:
    """The ASGI scope of a request."""
    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "path": path, "headers": sent}


def call_asgi(app: Any, *scopes: dict[str, Any]) -> None:
    """Some requests at once."""

    async def nothing(_: object = None) -> dict[str, object]:
        return {}

    async def main() -> None:
        await asyncio.gather(*(app(scope, nothing, nothing) for scope in scopes))

    asyncio.run(main())


def by_query(results: list[RunResult]) -> dict[str, tuple[str | None, str | None, str | None]]:
    """Request, session and user of each run."""
    who = {str(result.run.query): result.run.who for result in results}
    return {query: (one.request_id, one.session_id, one.user_id) for query, one in sorted(who.items())}


def test_the_usual_headers_are_read(instrumented: Instrument, results: list[RunResult]) -> None:
    """Without a word about it, both runs of a request bear the ids of the usual headers."""
    app, handle = instrumented(asgi_app)
    call_asgi(app, scope_of("/a", x_request_id="r1", x_session_id="s1", x_user_id="u1"), scope_of("/b"))
    assert handle.flush(WAIT_S)
    found = by_query(results)
    assert [("r1", "s1", "u1")] * 2 == [found["/a 0"], found["/a 1"]]
    assert [(None, None, None)] * 2 == [found["/b 0"], found["/b 1"]]


def test_headers_can_be_named(instrumented: Instrument, results: list[RunResult]) -> None:
    """Thirty requests at once, two runs each, have the ids of the headers that were named, and of no others."""
    app, handle = instrumented(asgi_app, headers={"request_id": "X-Correlation", "session_id": "X-Correlation"})
    call_asgi(app, *(scope_of(f"/{one}", x_correlation=f"c{one}", x_user_id="u") for one in range(30)))
    assert handle.flush(WAIT_S)
    expected = {f"/{one} {part}": (f"c{one}", f"c{one}", None) for one in range(30) for part in range(2)}
    assert expected == by_query(results)


def test_a_function_counts_before_headers(instrumented: Instrument, results: list[RunResult]) -> None:
    """What the function names counts, were it nothing, so that nobody can forge it; headers say the rest."""
    users = {"/a": "ann", "/b": None}
    app, handle = instrumented(
        asgi_app,
        headers={"request_id": "X-Request-ID", "user_id": "X-User-ID"},
        identify=lambda scope: {"user_id": users[str(scope["path"])], "tags": ["beta"], "metadata": {"plan": "pro"}},
    )
    call_asgi(app, *(scope_of(path, x_request_id=f"r{path}", x_user_id="forged") for path in users))
    assert handle.flush(WAIT_S)
    found = by_query(results)
    assert [("r/a", None, "ann"), ("r/b", None, None)] == [found["/a 0"], found["/b 1"]]
    assert {(("beta",), "pro")} == {(one.run.who.tags, str(one.run.who.metadata["plan"])) for one in results}


def test_a_function_alone_reads_no_header(instrumented: Instrument, results: list[RunResult]) -> None:
    """Where only a function was given, headers that anybody can send say nothing."""
    app, handle = instrumented(asgi_app, identify=lambda scope: {"session_id": scope["path"]})
    call_asgi(app, scope_of("/a", x_request_id="forged", x_user_id="forged"))
    assert handle.flush(WAIT_S)
    assert {(None, "/a", None)} == set(by_query(results).values())


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is the base class's)
        """Nothing is printed."""


@pytest.fixture
def serve() -> Iterator[Callable[[Any], str]]:
    """Serves a WSGI app with a thread per request, and gives its address."""
    running: list[tuple[_Server, threading.Thread]] = []

    def start(app: Any) -> str:
        server = make_server("127.0.0.1", 0, app, server_class=_Server, handler_class=_Quiet)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join(WAIT_S)
        server.server_close()


def test_a_served_wsgi_app(instrumented: Instrument, serve: Callable[[Any], str], results: list[RunResult]) -> None:
    """Requests of eight clients at once, served by threads, have their own ids; after the undo they have none."""
    app, handle = instrumented(
        wsgi_app,
        headers={"request_id": "X-Request-ID"},
        identify=lambda environ: {"user_id": str(environ["PATH_INFO"]).strip("/")},
    )
    url = serve(app)

    def get(number: int) -> bytes:
        with urlopen(Request(f"{url}/u{number}", headers={"X-Request-ID": f"r{number}"}), timeout=WAIT_S) as answer:
            return cast("bytes", answer.read())

    with ThreadPoolExecutor(8) as pool:
        assert [b"ab"] * 40 == list(pool.map(get, range(40)))
    assert handle.flush(WAIT_S)
    assert {f"/u{one}": (f"r{one}", None, f"u{one}") for one in range(40)} == by_query(results)
    handle.uninstrument()
    results.clear()
    with spanwise.instrument(sinks=[results.append]) as again:
        assert b"ab" == get(7)
        assert again.flush(WAIT_S)
    assert {"/u7": (None, None, None)} == by_query(results)


async def identify_later(request: object) -> dict[str, object]:
    """A function that nobody awaits."""
    return {}


@pytest.mark.parametrize(
    ("target", "options", "said"),
    [
        (
            None,
            {"headers": {"user_id": "X-User"}},
            "headers: read None as what to instrument, expected an ASGI or WSGI",
        ),
        (len, {"identify": dict}, "identify: read <built-in function len> as what to instrument, expected an ASGI"),
        (TracerProvider(), {"headers": {}, "identify": dict}, "headers and identify: read <.*> as what to instrument"),
        (asgi_app, {"headers": {"tags": "X-Tags"}}, "headers: read 'tags', expected request_id, session_id, user_id; "),
        (
            asgi_app,
            {"headers": {"user_id": "X User"}},
            "headers: user_id: read 'X User', expected the name of a header",
        ),
        (asgi_app, {"headers": {"user_id": 3}}, "headers: user_id: read 3, expected the name of"),
        (wsgi_app, {"identify": "user"}, "identify: read 'user', expected a function of a request"),
        (wsgi_app, {"identify": identify_later}, "identify: read <function identify_later.*>, an async function, exp"),
        (3, {}, "instrument: read 3, expected nothing, a tracer provider"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_attached(
    target: object, options: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The error names what was read and what was expected, and leaves no instrumentation behind."""
    with pytest.raises(SpecError, match=said):
        spanwise.instrument(target, sinks=[print], **options)
    provider = target if isinstance(target, TracerProvider) else None
    with caplog.at_level(logging.INFO, "spanwise"), spanwise.instrument(provider):
        pass
    assert not any("already attached" in line.getMessage() for line in caplog.records)
