"""Sends requests to FastAPI, Starlette and Flask apps in the environment that holds them, and prints what was seen."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from flask import Flask, request, stream_with_context
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from spanwise.capture.context import ContextStamp
from spanwise.capture.frameworks import framework_of
from spanwise.capture.web import is_app, wrap


class Stamping(SpanProcessor):
    """What the capture does when a span begins."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        ContextStamp().stamp(span, parent_context)


exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(Stamping())
provider.add_span_processor(SimpleSpanProcessor(exporter))
tracer = provider.get_tracer("app")


def seen() -> list[list[str]]:
    """Request and session of each run since the last look, in order of their names."""
    runs = sorted((span.name, *_ids(span.attributes or {})) for span in exporter.get_finished_spans())
    exporter.clear()
    return [list(run) for run in runs]


def _ids(attributes: Any) -> tuple[str, str]:
    return str(attributes.get("spanwise.request_id", "")), str(attributes.get("spanwise.session_id", ""))


def headers(number: int) -> dict[str, str]:
    """The ids of a request."""
    return {"X-Request-ID": f"r{number}", "X-Session-ID": f"s{number}"}


def fastapi_app() -> FastAPI:
    """An app with a plain, a threaded and a streaming answer."""
    app = FastAPI()

    @app.get("/ask/{number}")
    async def ask(number: int) -> str:
        await asyncio.sleep(0.005)
        with tracer.start_as_current_span(f"ask {number}"):
            await asyncio.sleep(0.005)
        return "asked"

    @app.get("/thread/{number}")
    def thread(number: int) -> str:
        with tracer.start_as_current_span(f"thread {number}"):
            return "threaded"

    @app.get("/stream/{number}")
    async def stream(number: int) -> StreamingResponse:
        async def pieces() -> AsyncIterator[str]:
            for piece in "ab":
                await asyncio.sleep(0.005)
                with tracer.start_as_current_span(f"stream {number}"):
                    yield piece

        return StreamingResponse(pieces())

    return app


def asgi(app: Any, *paths: str) -> list[str]:
    """The answers to as many requests at once."""

    async def main() -> list[str]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            answers = await asyncio.gather(
                *(client.get(path, headers=headers(number)) for number, path in enumerate(paths))
            )
        return [answer.text for answer in answers]

    return asyncio.run(main())


def flask_app() -> Flask:
    """An app that answers at once, and one piece after the other."""
    app = Flask("app")

    @app.get("/ask/<number>")
    def ask(number: str) -> str:
        with tracer.start_as_current_span(f"ask {number}"):
            return "asked"

    @app.get("/stream/<number>")
    def stream(number: str) -> Any:
        def pieces() -> Iterator[str]:
            with tracer.start_as_current_span(f"stream {number}"):
                yield request.path
                yield "b"

        return app.response_class(stream_with_context(pieces()))

    return app


def drive_fastapi() -> dict[str, Any]:
    """A FastAPI app: concurrent requests, and again after the undo."""
    app = fastapi_app()
    replaced = wrap(app)
    paths = [f"/{kind}/{number}" for number, kind in enumerate(("ask", "thread", "stream") * 5)]
    out = {"same": replaced.target is app, "answers": asgi(app, *paths), "seen": seen()}
    replaced.undo()
    asgi(app, *paths)
    out["after"] = sorted({tuple(run[1:]) for run in seen()})
    late = wrap(app)
    asgi(app, *paths[:3])
    out["started"] = seen()
    late.undo()
    return out


def drive_starlette() -> dict[str, Any]:
    """A Starlette app that was undone before it started, and one with `identify`."""

    def route(request: Any) -> PlainTextResponse:
        with tracer.start_as_current_span("route"):
            return PlainTextResponse("routed")

    first, second = (Starlette(routes=[Route("/", route)]) for _ in range(2))
    wrap(first).undo()
    wrap(second, identify=lambda scope: {"session_id": scope["path"]})
    asgi(first, "/")
    asgi(second, "/")
    return {"apps": [is_app(first), framework_of(first) is None], "seen": seen(), "left": len(first.user_middleware)}


def drive_flask() -> dict[str, Any]:
    """A Flask app: requests in threads, streams among them, and again after the undo."""
    app = flask_app()
    bare = app.wsgi_app
    replaced = wrap(app)
    paths = [f"/{kind}/{number}" for number, kind in enumerate(("ask", "stream") * 5)]

    def get(number: int) -> str:
        return app.test_client().get(paths[number], headers=headers(number)).get_data(as_text=True)

    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(get, range(len(paths))))
    out = {"same": replaced.target is app, "answers": answers, "seen": seen()}
    replaced.undo()
    get(0)
    return out | {"after": seen(), "restored": app.wsgi_app == bare}


if __name__ == "__main__":
    told = {"fastapi": drive_fastapi(), "starlette": drive_starlette(), "flask": drive_flask()}
    sys.stdout.write(json.dumps(told) + "\n")
