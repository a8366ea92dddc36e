"""OTLP/HTTP: real exporters are served, and each thing that can be wrong has its status."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from google.rpc.status_pb2 import Status as RpcStatus
from opentelemetry import context as contexts
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from spanwise.errors import SpecError
from spanwise.service.access import Access, Tls
from spanwise.service.http_receiver import HttpReceiver
from spanwise.service.receiving import Limits
from spanwise.service.refusal import Refusal
from tests.service.certificates import certificate
from tests.service.encoding import otlp_json
from tests.service.receivers import PROTOBUF, Collector, Shown, logs_request, running, traces_request

JSON = "application/json"


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_the_sdks_exporter_is_served(compression: Compression) -> None:
    """Spans that the SDK's own exporter sends arrive whole, compressed or not."""
    with running() as receivers:
        exporter = OTLPSpanExporter(f"http://{receivers.http}/v1/traces", compression=compression)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracer = provider.get_tracer("agent", "1")
        with tracer.start_as_current_span("outer", context=contexts.Context()) as span:
            span.set_attribute("text", "x" * 2000)
        provider.shutdown()
        (record,) = receivers.collector.records
    assert ("outer", "agent", "x" * 2000) == (record.name, record.scope.name, record.attributes["text"])
    assert span.get_span_context().trace_id.to_bytes(16, "big") == record.trace_id


@pytest.mark.parametrize("is_gzip", [False, True])
@pytest.mark.parametrize("media", [PROTOBUF, JSON, "application/json; charset=utf-8"])
@pytest.mark.parametrize("signal", ["traces", "logs"])
def test_both_signals_in_both_encodings(signal: str, media: str, is_gzip: bool) -> None:
    """A request is taken in either encoding, compressed or not, and answered in its own encoding."""
    request = traces_request(4) if signal == "traces" else logs_request(linked=4)
    body = request.SerializeToString() if media == PROTOBUF else otlp_json(request)
    headers = {"Content-Type": media, **({"Content-Encoding": "gzip"} if is_gzip else {})}
    with running() as receivers:
        answer = receivers.post(f"/v1/{signal}", gzip.compress(body) if is_gzip else body, headers)
        (batch,) = receivers.collector.batches
    assert (200, media.partition(";")[0]) == (answer[0], answer[1]["content-type"])
    assert (b"" if media == PROTOBUF else b"{}") == answer[2]
    assert (4, body) == (len(batch.records), batch.payload)


def test_rejected_spans_are_told_as_a_partial_success() -> None:
    """Spans that can never be accepted are told in the answer, in both encodings."""
    request = traces_request(3)
    request.resource_spans[0].scope_spans[0].spans[1].trace_id = b""
    with running() as receivers:
        _, _, binary = receivers.post("/v1/traces", request.SerializeToString())
        _, _, text = receivers.post("/v1/traces", otlp_json(request), {"Content-Type": JSON})
    told = ExportTraceServiceResponse.FromString(binary).partial_success
    assert (1, "the id is missing") == (told.rejected_spans, told.error_message[-17:])
    assert "1" == json.loads(text)["partialSuccess"]["rejectedSpans"]
    assert not ExportLogsServiceResponse.FromString(b"").HasField("partial_success")


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/v1/metrics", {"Content-Type": PROTOBUF}, 404),
        ("GET", "/v1/traces", {}, 405),
        ("PUT", "/v1/traces", {"Content-Type": PROTOBUF}, 405),
        ("POST", "/healthz", {}, 405),
        ("POST", "/v1/traces", {"Content-Type": "text/plain"}, 415),
        ("POST", "/v1/traces", {}, 415),
        ("POST", "/v1/traces", {"Content-Type": PROTOBUF, "Content-Encoding": "br"}, 415),
        ("POST", "/v1/traces", {"Content-Type": JSON}, 400),
        ("POST", "/v1/traces", {"Content-Type": PROTOBUF, "Content-Encoding": "gzip"}, 400),
    ],
)
def test_statuses(method: str, path: str, headers: dict[str, str], status: int) -> None:
    """What is not right is told by its status and a sentence, in the request's encoding."""
    with running(routes={"/healthz": lambda: Shown(200, "text/plain", b"ok")}) as receivers:
        answer = receivers.ask(method, path, b"body" if method != "GET" else None, headers)
    assert status == answer[0], answer
    if headers.get("Content-Type") == JSON:
        assert json.loads(answer[2])["message"]
    else:
        assert RpcStatus.FromString(answer[2]).message


@pytest.mark.parametrize(("overload", "status"), [(True, 429), (False, 503)])
def test_a_refusal_says_when_to_come_again(overload: bool, status: int) -> None:
    """A batch that is refused for now is answered with Retry-After, in whole seconds and never too early."""
    with running() as receivers:
        receivers.collector.refusal = Refusal("queue", 2.3, overload)
        answer = receivers.post("/v1/traces", traces_request().SerializeToString())
    assert (status, "3") == (answer[0], answer[1]["retry-after"])
    assert "queue" in RpcStatus.FromString(answer[2]).message


def test_a_failure_behind_the_receiver_is_a_refusal(caplog: pytest.LogCaptureFixture) -> None:
    """Where the engine itself fails, the sender keeps its spans and comes again; the log has it once."""
    with running() as receivers:
        receivers.collector.failure = OSError("disk full")
        statuses = [receivers.post("/v1/traces", traces_request().SerializeToString())[0] for _ in range(3)]
        assert {"failed": 3} == receivers.http_receiver.counts
    assert [503] * 3 == statuses
    assert 1 == len([record for record in caplog.records if "could not be taken" in record.message])


def test_the_token() -> None:
    """With a token nothing is taken or shown without it, but for the two pages that probes read."""
    routes = {path: lambda: Shown(200, "text/plain", b"ok") for path in ("/healthz", "/readyz", "/metrics")}
    body = traces_request().SerializeToString()
    with running(access=Access(token=b"secret"), routes=routes) as receivers:
        for given in (None, "secret", "Bearer", "Bearer wrong", "Bearer secret2", "Basic secret", "Bearer s\u00e9cret"):
            headers = {} if given is None else {"Authorization": given}
            assert 401 == receivers.post("/v1/traces", body, headers)[0], given
            assert 401 == receivers.ask("GET", "/metrics", headers=headers)[0], given
        assert 200 == receivers.post("/v1/traces", body, {"Authorization": "Bearer secret"})[0]
        assert 200 == receivers.ask("GET", "/metrics", headers={"Authorization": "bearer secret"})[0]
        assert [200, 200] == [receivers.ask("GET", path)[0] for path in ("/healthz", "/readyz")]
        assert 1 == len(receivers.collector.batches)
        assert {"token": 14} == receivers.http_receiver.counts


def test_pages_are_shown() -> None:
    """A route's page is shown as it is, with its status."""
    with running(routes={"/readyz": lambda: Shown(503, "text/plain", b"starting")}) as receivers:
        status, headers, body = receivers.ask("GET", "/readyz")
        head = receivers.ask("HEAD", "/readyz")
    assert (503, "text/plain", b"starting") == (status, headers["content-type"], body)
    assert (503, b"") == (head[0], head[2])


def test_a_place_is_refused_when_all_are_taken() -> None:
    """More requests at once than the limit are refused with Retry-After, and taken when there is room again."""
    body = traces_request().SerializeToString()
    with running(limits=Limits(requests=2)) as receivers, ThreadPoolExecutor(8) as pool:
        receivers.collector.hold_s = 0.3
        answers = list(pool.map(lambda _: receivers.post("/v1/traces", body), range(8)))
        statuses = [status for status, _, _ in answers]
        assert {200, 429} == set(statuses)
        assert all("retry-after" in headers for status, headers, _ in answers if status == 429)
        receivers.collector.hold_s = 0.0
        assert 200 == receivers.post("/v1/traces", body)[0]
        assert statuses.count(429) == receivers.http_receiver.counts["requests"]


def test_bytes_in_flight_are_bounded() -> None:
    """A body for which there is no room now is refused with Retry-After, whether its size is told or not."""
    body = traces_request(20, text="x" * 1000).SerializeToString()
    with running(limits=Limits(bytes_in_flight=10_000)) as receivers:
        assert 429 == receivers.post("/v1/traces", body)[0]
        assert 429 == receivers.post("/v1/traces", iter([body[:9000], body[9000:]]))[0]
        assert 429 == receivers.post("/v1/traces", gzip.compress(body), {"Content-Encoding": "gzip"})[0]
        assert 200 == receivers.post("/v1/traces", traces_request().SerializeToString())[0]


def test_tls(tmp_path: Path) -> None:
    """With a certificate the receiver speaks TLS, and the SDK's exporter trusts it."""
    cert, key = certificate(tmp_path)
    with running(access=Access(token=b"secret", tls=Tls(cert=cert, key=key))) as receivers:
        url = f"https://localhost:{receivers.http_port}/v1/traces"
        headers = {"authorization": "Bearer secret", "Content-Type": PROTOBUF}
        request = urllib.request.Request(url, traces_request().SerializeToString(), headers, method="POST")
        trust = ssl.create_default_context(cafile=str(cert))
        with urllib.request.urlopen(request, timeout=10, context=trust) as answer:
            assert 200 == answer.status
        assert 3 == len(receivers.collector.records)


def test_where_it_may_listen() -> None:
    """Beyond the loopback interface a token is needed; a port that is taken is told in one sentence."""
    with pytest.raises(SpecError, match="set token_file"):
        HttpReceiver("0.0.0.0:0", Collector().offer)
    with running() as receivers, pytest.raises(SpecError, match="nothing can listen"):
        asyncio.run(HttpReceiver(receivers.http, Collector().offer).start())
