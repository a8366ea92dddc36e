"""Scores on root spans as real exporters send them: OTLP over HTTP and gRPC, Langfuse's and Logfire's."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter

from spanwise.capture.handle import Handle
from spanwise.capture.instrument import instrument
from spanwise.capture.scored_exporter import ScoredExporter, SpanScores
from spanwise.model.result import RunResult
from tests.capture.exporting import WAIT_S, Seen
from tests.sinks.otlp_server import OtlpGrpcServer, OtlpServer, Received

import_module("opentelemetry.exporter.otlp.proto.http")

SCRIPT = """
import sys
import logfire
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from spanwise.capture.instrument import instrument
from spanwise.capture.scored_exporter import ScoredExporter, SpanScores

exporter = ScoredExporter(OTLPSpanExporter(endpoint=sys.argv[1] + "/v1/traces"))
logfire.configure(
    send_to_logfire=False,
    console=False,
    metrics=False,
    inspect_arguments=False,
    additional_span_processors=[BatchSpanProcessor(exporter)],
)
agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
scores = SpanScores(lambda timeout_s: handle.flush(timeout_s))
handle = instrument(sinks={"scores": scores}, on_first="silent")
with logfire.span("GET /chat"):
    with logfire.span("invoke_agent helper", **agent):
        for _ in range(2):
            with logfire.span("execute_tool s", **tool):
                pass
"""


def run(provider: TracerProvider, processor: SpanProcessor) -> RunResult:
    """A run in an app with this processor, all of it flushed; its result."""
    provider.add_span_processor(processor)
    results: list[RunResult] = []
    handles: list[Handle] = []

    def score(timeout_s: float) -> bool:
        return handles[0].flush(timeout_s)

    scores = SpanScores(score)
    handle = instrument(provider, sinks={"seen": Seen(results), "scores": scores}, on_first="silent")
    handles.append(handle)
    tracer = provider.get_tracer("app")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    with tracer.start_as_current_span("GET /chat"), tracer.start_as_current_span("run", attributes=agent):
        for _ in range(2):
            with tracer.start_as_current_span("call", attributes=tool):
                pass
    assert handle.flush(WAIT_S)
    provider.shutdown()
    handle.uninstrument()
    (result,) = results
    return result


def check(received: Received, result: RunResult, *, spans: int) -> None:
    """The run's root arrived with the scores, and every span once."""
    assert spans == len({one.span_id for one in received.spans}) == len(received.spans)
    (root,) = [one for one in received.spans if one.span_id == result.run.run_id]
    told = root.attributes
    for score in result.scores:
        name = f"spanwise.score.{score.name}"
        assert (score.value, score.label or None, result.id_of(score)) == (
            told.get(name), told.get(f"{name}.label"), told[f"{name}.id"]
        )  # fmt: skip


@pytest.mark.parametrize("processor", [SimpleSpanProcessor, BatchSpanProcessor])
def test_otlp_over_http(processor: type[SimpleSpanProcessor]) -> None:
    """The scores arrive in OTLP over HTTP."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    with OtlpServer() as server:
        inner = OTLPSpanExporter(endpoint=f"{server.url}/v1/traces")
        result = run(TracerProvider(shutdown_on_exit=False), processor(ScoredExporter(inner)))
        check(server.received, result, spans=4)
        (top,) = [one for one in server.received.spans if one.proto.name == "GET /chat"]
        assert result.scores[0].name == top.attributes["trace.evaluations.0.evaluation.name"]


@pytest.mark.parametrize("processor", [SimpleSpanProcessor, BatchSpanProcessor])
def test_otlp_over_grpc(processor: type[SimpleSpanProcessor]) -> None:
    """The scores arrive in OTLP over gRPC."""
    import_module("grpc")
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    with OtlpGrpcServer() as server:
        inner = OTLPSpanExporter(endpoint=server.url, insecure=True)
        result = run(TracerProvider(shutdown_on_exit=False), processor(ScoredExporter(inner)))
        check(server.received, result, spans=4)


def test_langfuse() -> None:
    """Behind Langfuse's own processor the scores arrive, though its filter leaves out the request's span."""
    processors = import_module("langfuse._client.span_processor")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    with OtlpServer() as server:
        inner: SpanExporter = OTLPSpanExporter(
            endpoint=f"{server.url}/api/public/otel/v1/traces",
            headers={"Authorization": "Basic " + base64.b64encode(b"pk:sk").decode()},
        )
        processor = processors.LangfuseSpanProcessor(
            public_key="pk", secret_key="sk", base_url=server.url, span_exporter=ScoredExporter(inner)
        )
        result = run(TracerProvider(shutdown_on_exit=False), processor)
        check(server.received, result, spans=3)
        assert {"Basic cGs6c2s="} == {headers["authorization"] for _, headers, _ in server.received.requests}


def test_logfire(root: Path) -> None:
    """Under Logfire, in a process that ends without a flush, the scores arrive."""
    import_module("logfire")
    with OtlpServer() as server:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, server.url],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            cwd=root,
            env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"},
        )
        assert (0, "") == (done.returncode, done.stderr)
        spans = server.received.spans
    assert ["GET /chat", "execute_tool s", "execute_tool s", "invoke_agent helper"] == sorted(
        one.proto.name for one in spans
    )
    (told,) = [one.attributes for one in spans if one.proto.name == "invoke_agent helper"]
    assert "spanwise.score.overall.id" in told
    assert 1 == told["spanwise.score.revision"]
