"""An agent run under a vendor's tracing and ours, whichever came first, in the environment that holds the vendors.

    python tests/frameworks/drive_providers.py VENDOR ORDER

VENDOR is a function below; ORDER is "theirs" or "ours", who comes first. What the vendor exports goes to a server of
this process. Prints one JSON object: what was scored, what the vendor got, and what was logged.
"""

from __future__ import annotations

import gzip
import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwise

WAIT_S = 20.0
Flush = Callable[[], object]
EXPORTED: list[str] = []
"""The names of the spans that the vendor got."""


class Backend(BaseHTTPRequestHandler):
    """Takes OTLP over HTTP, and anything else with a friendly answer."""

    def do_POST(self) -> None:
        """Note the spans."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/traces"):
            plain = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            for resource in ExportTraceServiceRequest.FromString(plain).resource_spans:
                EXPORTED.extend(span.name for scope in resource.scope_spans for span in scope.spans)
        self.answer()

    def do_GET(self) -> None:
        """Nothing is here."""
        self.answer()

    def answer(self) -> None:
        """All is well."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Lines(logging.Handler):
    """Keeps what was logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.lines.append(f"{record.name} {record.levelname}: {record.getMessage()}")


def logfire(url: str) -> Flush:
    """Logfire, its spans kept by a processor of the app's."""
    import logfire

    class Kept(InMemorySpanExporter):
        def shutdown(self) -> None:
            EXPORTED.extend(span.name for span in self.get_finished_spans())
            self.clear()

    exporter = Kept()
    processors = [SimpleSpanProcessor(exporter)]
    logfire.configure(
        send_to_logfire=False, console=False, metrics=False, inspect_arguments=False,
        additional_span_processors=processors,
    )  # fmt: skip
    return lambda: (logfire.force_flush(), exporter.shutdown())


def langfuse(url: str) -> Flush:
    """Langfuse's SDK."""
    from langfuse import Langfuse

    client = Langfuse(public_key="pk-lf-1", secret_key="sk-lf-1", base_url=url)
    return client.flush


def phoenix(url: str) -> Flush:
    """Phoenix's OpenTelemetry set-up."""
    from phoenix.otel import register

    provider = register(endpoint=f"{url}/v1/traces", protocol="http/protobuf", verbose=False)
    return provider.force_flush


def apm(url: str) -> Flush:
    """A provider that somebody else sets, with a processor that exports in batches."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces")))
    trace.set_tracer_provider(provider)
    return provider.force_flush


def run(tracer: trace.Tracer, name: str) -> None:
    """An agent that calls one tool."""
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "login", "gen_ai.tool.call.arguments": "{}"}
    with (
        tracer.start_as_current_span(f"invoke_agent {name}", attributes=agent),
        tracer.start_as_current_span(f"execute_tool {name}", attributes=tool),
    ):
        time.sleep(0.001)


def main(vendor: str, order: str) -> dict[str, object]:
    """What came of it."""
    lines = Lines()
    for name in ("spanwise", "opentelemetry"):
        logging.getLogger(name).addHandler(lines)
        logging.getLogger(name).setLevel(logging.INFO)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    results: list[object] = []
    early = trace.get_tracer("early")
    set_up = globals()[vendor]
    if order == "theirs":
        flush = set_up(url)
        handle = spanwise.instrument(sinks=[results.append])
    else:
        handle = spanwise.instrument(sinks=[results.append])
        between = trace.get_tracer("between")
        run(between, "alone")
        flush = set_up(url)
        run(between, "between")
    run(early, "early")
    run(trace.get_tracer("late"), "late")
    if vendor == "logfire":
        import logfire as theirs

        with theirs.span("theirs"):
            run(theirs.DEFAULT_LOGFIRE_INSTANCE.config.get_tracer_provider().get_tracer("own"), "own")
        flush()
        flush = set_up(url)
        run(early, "again")
    again = spanwise.instrument(sinks=[print])
    assert handle.flush(WAIT_S)
    scored = [(one.run.agents[0].name, [call.name for call in one.run.tool_calls]) for one in results]
    assert [one.run.trace.trace_id for one in again.last(100)] == [one.run.trace.trace_id for one in results]
    flush()
    exported = sorted(EXPORTED)
    stats = handle.stats()
    handle.uninstrument()
    begun = time.monotonic()
    flush()
    run(early, "after")
    flush()
    return {
        "scored": scored,
        "captured": stats.captured,
        "refused": stats.refused,
        "exported": exported,
        "lines": lines.lines,
        "flush_s": time.monotonic() - begun,
        "after": len(EXPORTED) - len(exported),
        "results": len(results),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])) + "\n")
