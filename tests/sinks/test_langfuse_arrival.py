"""Scores find their traces in Langfuse when the spans came over the wire, just as when the app itself scored them.

One app sends its spans as OTLP in protobuf to where a Collector would stand, and is scored in its own process as well.
What the Collector's file exporter makes of these requests is scored by the command line. Both ways write to a strict
stand-in of Langfuse, and nothing may differ. What Langfuse calls the traces and observations is taken from the bytes
that were sent: the ids of the spans, in lower-case hex.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import StatusCode, Tracer

import spanwise
from tests.cli.command import Done
from tests.cli.command import spanwise as command
from tests.sinks.langfuse_making import sink_to
from tests.sinks.langfuse_server import PUBLIC, SECRET, LangfuseServer, serving

SAID = "the marmalade outlived eleven umbrellas"
AGENT = {"gen_ai.operation.name": "invoke_agent", "session.id": "s-1"}


@dataclass(frozen=True)
class Sent:
    """What an app sent to a Collector, and the scores that its own process wrote to Langfuse."""

    requests: Sequence[Any]
    scores: Mapping[str, Mapping[str, Any]]

    @property
    def ids(self) -> set[tuple[str, str]]:
        """The traces and observations that Langfuse makes of the spans."""
        return {
            (span.trace_id.hex(), span.span_id.hex())
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }


def tool(tracer: Tracer, name: str, arguments: str, *, fails: bool = False) -> None:
    """One call of a tool."""
    held = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.arguments": arguments}
    with tracer.start_as_current_span(f"execute_tool {name}", attributes=held) as span:
        if fails:
            span.set_status(StatusCode.ERROR, SAID)
        else:
            span.set_attribute("gen_ai.tool.call.result", SAID)


def work(tracer: Tracer) -> None:
    """A run that repeats itself, two runs under one request, and one whose tool fails."""
    with tracer.start_as_current_span("invoke_agent helper", attributes={**AGENT, "gen_ai.agent.name": "helper"}):
        for _ in range(2):
            tool(tracer, "look", '{"a": 1}')
    with tracer.start_as_current_span("GET /ask"):
        for name in ("first", "second"):
            held = {**AGENT, "gen_ai.agent.name": name}
            with tracer.start_as_current_span(f"invoke_agent {name}", attributes=held):
                tool(tracer, "look", f'{{"of": "{name}"}}')
    with tracer.start_as_current_span("invoke_agent weak", attributes={**AGENT, "gen_ai.agent.name": "weak"}):
        tool(tracer, "look", "{}", fails=True)


@pytest.fixture(scope="module")
def sent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sent:
    """The app, with a capture of its own and an exporter to a Collector."""
    require: Callable[[str], str] = request.getfixturevalue("require")
    for package in ("langfuse", "httpx"):
        require(package)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    from tests.sinks.otlp_server import OtlpServer

    with OtlpServer() as collector, serving() as server:
        resource = Resource({"service.name": "app", "deployment.environment.name": "staging"})
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=f"{collector.url}/v1/traces")
        provider.add_span_processor(BatchSpanProcessor(exporter, max_export_batch_size=3))
        sink = sink_to(server, tmp_path_factory.mktemp("app") / "outbox.db")
        with spanwise.instrument(provider, sinks=[sink], on_first="silent") as handle:
            work(provider.get_tracer("app"))
            assert handle.flush(20)
        assert sink.flush(20)
        provider.shutdown()
        return Sent([one for kind, _, one in collector.received.requests if kind == "traces"], server.scores)


def framed(messages: Sequence[bytes]) -> bytes:
    """As the Collector's file exporter writes protobuf: each request behind its length in four bytes."""
    return b"".join(len(one).to_bytes(4, "big") + one for one in messages)


def as_proto(sent: Sent) -> bytes:
    """The requests as they came."""
    return framed([one.SerializeToString() for one in sent.requests])


def as_zstd(sent: Sent) -> bytes:
    """With the file exporter's compression: each request by itself."""
    import zstandard

    return framed([zstandard.compress(one.SerializeToString()) for one in sent.requests])


def as_json(sent: Sent) -> bytes:
    """As the file exporter writes JSON: a request on each line, ids in hex."""
    from google.protobuf.json_format import MessageToDict

    out = io.BytesIO()
    for request in sent.requests:
        told = MessageToDict(request)
        for resource in told["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    for key in ("traceId", "spanId", "parentSpanId"):
                        if key in span:
                            span[key] = _hex(span[key])
        out.write(json.dumps(told).encode() + b"\n")
    return out.getvalue()


def _hex(base64: str) -> str:
    from base64 import b64decode

    return b64decode(base64).hex()


def as_shuffled(sent: Sent) -> bytes:
    """One span in each request, in any order, one of them twice: what retries and several Collectors make of it."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    out: list[bytes] = []
    for request in sent.requests:
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    one = ExportTraceServiceRequest()
                    held = one.resource_spans.add(resource=resource.resource)
                    held.scope_spans.add(scope=scope.scope, spans=[span])
                    out.append(one.SerializeToString())
    random.Random(7).shuffle(out)
    return framed([*out, out[0]])


@pytest.fixture
def server(sent: Sent) -> Iterator[LangfuseServer]:
    """Another project, to which the command line writes."""
    del sent
    with serving() as running:
        yield running


def write_back(server: LangfuseServer, folder: Path, name: str) -> Done:
    """Score a file of the folder and write the scores to the project."""
    variables = {
        "LANGFUSE_PUBLIC_KEY": PUBLIC,
        "LANGFUSE_SECRET_KEY": SECRET,
        "LANGFUSE_BASE_URL": server.host,
        "XDG_STATE_HOME": str(folder),
    }
    return command("score", name, "--write-back", cwd=folder, **variables)


@pytest.mark.parametrize("written", [as_proto, as_zstd, as_json, as_shuffled])
def test_the_same_scores_as_in_process(
    written: Callable[[Sent], bytes], sent: Sent, server: LangfuseServer, tmp_path: Path
) -> None:
    """Ids, targets, values, types, times, environment and metadata are those that the app's own process writes."""
    (tmp_path / "spans.bin").write_bytes(written(sent))
    done = write_back(server, tmp_path, "spans.bin")
    assert 0 == done.code, done.err
    assert set(sent.scores) == set(server.scores)
    assert sent.scores == server.scores


def test_scores_land_on_what_langfuse_has(sent: Sent, server: LangfuseServer, tmp_path: Path) -> None:
    """Each score is on a trace, and where it names an observation on that, which Langfuse makes of the spans sent."""
    (tmp_path / "spans.bin").write_bytes(as_proto(sent))
    assert 0 == write_back(server, tmp_path, "spans.bin").code
    rows = list(server.scores.values())
    traces = {trace_id for trace_id, _ in sent.ids}
    assert (3, traces) == (len(traces), {row["traceId"] for row in rows})
    placed = {(row["traceId"], row["observationId"]) for row in rows if "observationId" in row}
    assert placed <= sent.ids
    assert {"staging"} == {row["environment"] for row in rows}
    assert [] == [row for row in rows if "comment" in row or SAID in json.dumps(row)]


def test_runs_and_findings_have_their_own_observation(sent: Sent) -> None:
    """The scores of two runs in one trace are on these runs' spans, a finding on the span that shows it."""
    rows = list(sent.scores.values())
    by_trace: dict[str, set[str]] = {}
    for row in rows:
        by_trace.setdefault(row["traceId"], set()).add(row["metadata"]["spanwise.run.id"])
    (shared,) = [runs for runs in by_trace.values() if len(runs) == 2]
    assert shared <= {row.get("observationId") for row in rows if row["metadata"]["spanwise.run.id"] in shared}
    (finding,) = [row for row in rows if row["name"] == "redundancy" and row["metadata"]["label"] == "alert"]
    assert (0.5, True) == (finding["value"], (finding["traceId"], finding["observationId"]) in sent.ids)
    assert [finding["observationId"]] == finding["metadata"]["spans"]


def test_both_ways_at_once(sent: Sent, server: LangfuseServer, tmp_path: Path) -> None:
    """Where the same spans are scored more than once, every score is there once."""
    (tmp_path / "a.bin").write_bytes(as_proto(sent))
    (tmp_path / "b.bin").write_bytes(as_shuffled(sent))
    for name in ("a.bin", "b.bin"):
        assert 0 == write_back(server, tmp_path, name).code
    assert sent.scores == server.scores
