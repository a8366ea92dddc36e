"""OTLP/gRPC: real exporters are served, and each thing that can be wrong has its status."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status as RpcStatus
from opentelemetry import context as contexts
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from spanwise.errors import SpecError
from spanwise.service.access import Access, Tls
from spanwise.service.grpc_receiver import GrpcReceiver
from spanwise.service.receiving import Limits
from spanwise.service.refusal import Refusal
from tests.service.certificates import certificate
from tests.service.receivers import Collector, logs_request, running, traces_request

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def _refused(call: Any) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value


def _retry_s(error: Any) -> float | None:
    details = dict(error.trailing_metadata()).get("grpc-status-details-bin")
    if details is None:
        return None
    status, info = RpcStatus.FromString(details), RetryInfo()
    assert status.code == error.code().value[0]
    assert status.details[0].Unpack(info)
    return info.retry_delay.seconds + info.retry_delay.nanos / 1e9


@pytest.mark.parametrize("compression", list(grpc.Compression))
def test_the_sdks_exporter_is_served(compression: grpc.Compression) -> None:
    """Spans that the SDK's own exporter sends arrive whole, however they are compressed."""
    with running() as receivers:
        exporter = OTLPSpanExporter(receivers.grpc, insecure=True, compression=compression)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        with provider.get_tracer("agent").start_as_current_span("outer", context=contexts.Context()) as span:
            span.set_attribute("text", "x" * 2000)
        provider.shutdown()
        (record,) = receivers.collector.records
    assert ("outer", "agent", "x" * 2000) == (record.name, record.scope.name, record.attributes["text"])


@pytest.mark.parametrize("compression", list(grpc.Compression))
def test_both_services(compression: grpc.Compression) -> None:
    """Both services take requests, also ones that are larger than gRPC's own limit of 4 MB."""
    large = traces_request(10, text="some text " * 60_000)
    with running() as receivers, grpc.insecure_channel(receivers.grpc, compression=compression) as channel:
        answer = TraceServiceStub(channel).Export(large, timeout=20)
        LogsServiceStub(channel).Export(logs_request(linked=2), timeout=20)
        traces, logs = receivers.collector.batches
    assert not answer.HasField("partial_success")
    assert ("traces", 10, large.SerializeToString()) == (traces.signal, len(traces.records), traces.payload)
    assert ("logs", 2) == (logs.signal, len(logs.records))


def test_rejected_spans_are_told_as_a_partial_success() -> None:
    """Spans that can never be accepted are told in the answer."""
    request = traces_request(3)
    request.resource_spans[0].scope_spans[0].spans[1].span_id = b""
    with running() as receivers, grpc.insecure_channel(receivers.grpc) as channel:
        told = TraceServiceStub(channel).Export(request, timeout=10).partial_success
    assert (1, "the id is missing") == (told.rejected_spans, told.error_message[-17:])


@pytest.mark.parametrize(
    ("overload", "code"), [(True, grpc.StatusCode.RESOURCE_EXHAUSTED), (False, grpc.StatusCode.UNAVAILABLE)]
)
def test_a_refusal_says_when_to_come_again(overload: bool, code: grpc.StatusCode) -> None:
    """A batch that is refused for now carries a RetryInfo, without which the Collector would drop it for good."""
    with running() as receivers, grpc.insecure_channel(receivers.grpc) as channel:
        receivers.collector.refusal = Refusal("queue", 2.5, overload)
        error = _refused(lambda: TraceServiceStub(channel).Export(traces_request(), timeout=10))
    assert (code, 2.5) == (error.code(), _retry_s(error))
    assert "queue" in error.details()


def test_the_sdks_exporter_comes_again() -> None:
    """The SDK's exporter understands a refusal: it waits as long as it is told, and its spans arrive."""
    with running() as receivers:
        receivers.collector.refusal = Refusal("queue", 0.3, False)
        receivers.loop.call_soon_threadsafe(
            receivers.loop.call_later, 0.5, setattr, receivers.collector, "refusal", None
        )
        exporter = OTLPSpanExporter(receivers.grpc, insecure=True)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        provider.get_tracer("agent").start_span("outer", context=contexts.Context()).end()
        provider.shutdown()
        assert 1 == len(receivers.collector.records)


def test_a_failure_behind_the_receiver_is_a_refusal() -> None:
    """Where the engine itself fails, the sender keeps its spans and comes again."""
    with running() as receivers, grpc.insecure_channel(receivers.grpc) as channel:
        receivers.collector.failure = OSError("disk full")
        error = _refused(lambda: TraceServiceStub(channel).Export(traces_request(), timeout=10))
    assert (grpc.StatusCode.UNAVAILABLE, 1.0) == (error.code(), _retry_s(error))


def test_the_token() -> None:
    """With a token nothing is taken without it."""
    with running(access=Access(token=b"secret")) as receivers, grpc.insecure_channel(receivers.grpc) as channel:
        export = TraceServiceStub(channel).Export
        for given in ((), (("authorization", "secret"),), (("authorization", "Bearer wrong"),)):
            error = _refused(lambda g=given: export(traces_request(), timeout=10, metadata=g))
            assert grpc.StatusCode.UNAUTHENTICATED == error.code()
        export(traces_request(), timeout=10, metadata=(("authorization", "Bearer secret"),))
        assert 1 == len(receivers.collector.batches)
        assert {"token": 3} == receivers.grpc_receiver.counts


def test_a_place_is_refused_when_all_are_taken() -> None:
    """More requests at once than the limit are refused with a RetryInfo."""
    with running(limits=Limits(requests=2)) as receivers:
        receivers.collector.hold_s = 0.3
        channels = [
            grpc.insecure_channel(receivers.grpc, options=[("grpc.use_local_subchannel_pool", 1)]) for _ in range(6)
        ]
        calls = [TraceServiceStub(one).Export.future(traces_request(), timeout=10) for one in channels]
        errors = [one.exception() for one in calls]
        for channel in channels:
            channel.close()
    refused = [error for error in errors if error is not None]
    assert 2 <= errors.count(None) < 6
    assert {grpc.StatusCode.RESOURCE_EXHAUSTED} == {error.code() for error in refused}
    assert {1.0} == {_retry_s(error) for error in refused}


def test_an_unknown_method_is_unimplemented() -> None:
    """What is no service of ours is told so."""
    with running() as receivers, grpc.insecure_channel(receivers.grpc) as channel:
        error = _refused(
            lambda: channel.unary_unary("/opentelemetry.proto.collector.metrics.v1.MetricsService/Export")(b"")
        )
    assert grpc.StatusCode.UNIMPLEMENTED == error.code()


def test_tls(tmp_path: Path) -> None:
    """With a certificate the receiver speaks TLS, and the SDK's exporter trusts it."""
    cert, key = certificate(tmp_path)
    with running(access=Access(token=b"secret", tls=Tls(cert=cert, key=key))) as receivers:
        exporter = OTLPSpanExporter(
            f"https://localhost:{receivers.grpc.rpartition(':')[2]}",
            credentials=grpc.ssl_channel_credentials(cert.read_bytes()),
            headers=(("authorization", "Bearer secret"),),
        )
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        provider.get_tracer("agent").start_span("outer", context=contexts.Context()).end()
        provider.shutdown()
        assert 1 == len(receivers.collector.records)


def test_where_it_may_listen() -> None:
    """Beyond the loopback interface a token is needed; a port that is taken is told in one sentence."""
    with pytest.raises(SpecError, match="set token_file"):
        GrpcReceiver("0.0.0.0:0", Collector().offer)
    with running() as receivers, pytest.raises(SpecError, match="nothing can listen"):
        asyncio.run(_started(receivers.grpc))


async def _started(address: str) -> None:
    receiver = GrpcReceiver(address, Collector().offer)
    try:
        await receiver.start()
    finally:
        await receiver.stop(0)
