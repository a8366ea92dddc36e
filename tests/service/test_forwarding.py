"""Spans go on from the service as they came, each once, with the scores on the runs' roots."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.servers import wait_for
from tests.service.encoding import otlp_json
from tests.service.engines import batch_of, started
from tests.service.serving import Service
from tests.service.traffic import BEGUN, Planned, plan, post, spans_request
from tests.sinks.otlp_server import OtlpServer

QUICK = ("--grace-s", "0.2")
OURS = "spanwise."
TRACE = bytes(range(1, 17))


@pytest.fixture(autouse=True)
def _needs(require: Callable[[str], str]) -> None:
    """The packages of the service."""
    require("grpc")
    require("uvicorn")


@pytest.fixture
def backend() -> Iterator[OtlpServer]:
    """A strict server for scores and spans."""
    with OtlpServer() as running:
        yield running


def service_to(folder: Path, backend: OtlpServer, *flags: str) -> Service:
    """A service that forwards there."""
    return Service(folder, *QUICK, "--scores-to", backend.url, "--spans-to", backend.url, *flags)


def text(name: str, value: str) -> KeyValue:
    """An attribute."""
    return KeyValue(key=name, value=AnyValue(string_value=value))


def everything() -> ExportTraceServiceRequest:
    """One trace in two scopes of two resources, with a value in every field that OTLP has for spans."""
    request = ExportTraceServiceRequest()
    for number, service in enumerate(("front", "back")):
        part = request.resource_spans.add(schema_url=f"https://schemas/{service}")
        part.resource.attributes.append(text("service.name", service))
        part.resource.dropped_attributes_count = 3 + number
        scoped = part.scope_spans.add(schema_url="https://schemas/scope")
        scoped.scope.name, scoped.scope.version = f"lib-{service}", "1.2"
        scoped.scope.attributes.append(text("scope.kind", service))
        scoped.scope.dropped_attributes_count = 5
        scoped.spans.append(_root() if number == 0 else _tool())
    return request


def _root() -> Span:
    nested = KeyValueList(values=[text("k", "v"), KeyValue(key="none", value=AnyValue())])
    values = {
        "a.bool": AnyValue(bool_value=True),
        "a.double": AnyValue(double_value=0.5),
        "a.bytes": AnyValue(bytes_value=b"\0\1"),
        "a.list": AnyValue(array_value=ArrayValue(values=[AnyValue(int_value=-1), AnyValue(int_value=2)])),
        "a.table": AnyValue(kvlist_value=nested),
    }
    span = Span(
        trace_id=TRACE,
        span_id=b"root-span"[:8],
        trace_state="vendor=1,other=2",
        flags=0x101,
        name="invoke_agent full",
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=BEGUN,
        end_time_unix_nano=BEGUN + 1_000_000,
        attributes=[text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.name", "full")],
        dropped_attributes_count=7,
        dropped_events_count=2,
        dropped_links_count=1,
        status=Status(code=Status.STATUS_CODE_ERROR, message="it broke"),
    )
    span.attributes.extend(KeyValue(key=name, value=value) for name, value in values.items())
    event = span.events.add(name="noted", time_unix_nano=BEGUN + 5, dropped_attributes_count=4)
    event.attributes.append(text("why", "because"))
    link = span.links.add(trace_id=b"t" * 16, span_id=b"s" * 8, trace_state="a=b", flags=0x301)
    link.dropped_attributes_count = 6
    link.attributes.append(text("of", "old"))
    return span


def _tool() -> Span:
    span = Span(
        trace_id=TRACE,
        span_id=b"tool-span"[:8],
        parent_span_id=b"root-span"[:8],
        flags=0x300,
        name="execute_tool find",
        start_time_unix_nano=BEGUN + 10,
        end_time_unix_nano=BEGUN + 900,
        trace_state="x=y",
    )
    span.attributes.extend([text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", "find")])
    return span


def parts_of(*requests: ExportTraceServiceRequest) -> list[str]:
    """Each span with all that it stands in, but for scores that were added to it."""
    found: list[str] = []
    for request in requests:
        for part in request.resource_spans:
            for scoped in part.scope_spans:
                for span in scoped.spans:
                    one, its = Span(), [pair for pair in span.attributes if not pair.key.startswith(OURS)]
                    one.CopyFrom(span)
                    del one.attributes[:]
                    one.attributes.extend(its)
                    around = (part.resource, part.schema_url, scoped.scope, scoped.schema_url)
                    found.append("\n".join(map(str, (*around, one))))
    return sorted(found)


def spans_at(backend: OtlpServer) -> list[ExportTraceServiceRequest]:
    """The requests with spans that arrived."""
    return [request for kind, _, request in list(backend.received.requests) if kind == "traces"]


def ids_at(backend: OtlpServer) -> list[str]:
    """The ids of the spans that arrived, with those that arrived twice."""
    return sorted(one.span_id for one in backend.received.spans)


def ids_of(trace: Planned) -> list[str]:
    """The ids of a trace's spans."""
    return sorted(span.span_id.hex() for span in trace.spans)


def revisions_at(backend: OtlpServer, trace: Planned) -> set[object]:
    """The revisions of the scores of a trace that arrived."""
    ours = [one for one in backend.received.logs if one.trace_id == trace.hex_id]
    return {one.attributes["spanwise.score.revision"] for one in ours}


def post_json(service: Service, body: bytes) -> int:
    """Send a request in JSON."""
    connection = HTTPConnection(service.http, timeout=10)
    try:
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/json"})
        return connection.getresponse().status
    finally:
        connection.close()


def test_spans_go_on_as_they_came(tmp_path: Path, backend: OtlpServer) -> None:
    """What came in protobuf arrives with every field as it was, but for the scores that are added to the root."""
    sent = everything()
    with service_to(tmp_path, backend) as service:
        assert 200 == post(f"http://{service.http}", "traces", sent.SerializeToString())
        assert backend.received.wait(lambda got: len(got.spans) == 2), service.log()
    assert parts_of(sent) == parts_of(*spans_at(backend))
    by_id = {one.span_id: one.attributes for one in backend.received.spans}
    added = {name for name in by_id[b"root-spa".hex()] if name.startswith(OURS)}
    assert {"spanwise.run.id", "spanwise.score.revision", "spanwise.score.overall"} <= added | {
        name.removesuffix(".status") for name in added
    }
    assert not [name for name in by_id[b"tool-spa".hex()] if name.startswith(OURS)]


def test_scores_take_the_place_of_those_that_were_there(tmp_path: Path, backend: OtlpServer) -> None:
    """A root that has scores of an earlier scorer keeps none of those that it is given anew, and all else."""
    sent = everything()
    root = sent.resource_spans[0].scope_spans[0].spans[0]
    root.attributes.insert(1, KeyValue(key="spanwise.score.revision", value=AnyValue(int_value=99)))
    root.attributes.append(text("spanwise.run.id", "old"))
    with service_to(tmp_path, backend) as service:
        assert 200 == post(f"http://{service.http}", "traces", sent.SerializeToString())
        assert backend.received.wait(lambda got: len(got.spans) == 2), service.log()
    assert parts_of(sent) == parts_of(*spans_at(backend))
    (found,) = [one for one in backend.received.spans if one.proto.name == root.name]
    names = [pair.key for pair in found.proto.attributes]
    assert len(set(names)) == len(names)
    assert (1, b"root-spa".hex()) == tuple(
        found.attributes[name] for name in ("spanwise.score.revision", "spanwise.run.id")
    )


def test_what_came_as_json_keeps_what_is_read_of_it(tmp_path: Path, backend: OtlpServer) -> None:
    """JSON is encoded anew: what scoring does not read (trace state, scopes' attributes, schemas) stays behind."""
    sent = everything()
    with service_to(tmp_path, backend) as service:
        assert 200 == post_json(service, otlp_json(sent))
        assert backend.received.wait(lambda got: len(got.spans) == 2), service.log()
    for part in sent.resource_spans:
        part.ClearField("schema_url")
        part.resource.ClearField("dropped_attributes_count")
        for scoped in part.scope_spans:
            scoped.ClearField("schema_url")
            scoped.scope.ClearField("attributes")
            scoped.scope.ClearField("dropped_attributes_count")
            for span in scoped.spans:
                _less(span)
    assert parts_of(sent) == parts_of(*spans_at(backend))


def _less(span: Span) -> None:
    """Take out what is not kept of a span in JSON."""
    span.ClearField("trace_state")
    span.flags &= 0x300 if span.flags & 0x200 else 0
    span.dropped_attributes_count += span.dropped_events_count
    span.ClearField("dropped_events_count")
    span.ClearField("dropped_links_count")
    for event in span.events:
        event.ClearField("dropped_attributes_count")
    for link in span.links:
        link.ClearField("trace_state")
        link.ClearField("flags")
        link.ClearField("dropped_attributes_count")


def test_a_span_that_had_to_be_mended_goes_on_mended(tmp_path: Path, backend: OtlpServer) -> None:
    """A status that does not exist is not sent on; the trace's other spans go on as they came."""
    sent = everything()
    tool = sent.resource_spans[1].scope_spans[0].spans[0]
    tool.status.code = 9  # type: ignore[assignment]  # what nobody may send
    with service_to(tmp_path, backend) as service:
        assert 200 == post(f"http://{service.http}", "traces", sent.SerializeToString())
        assert backend.received.wait(lambda got: len(got.spans) == 2), service.log()
    root, found = (next(one.proto for one in backend.received.spans if one.proto.name.startswith(name)) for name in
                   ("invoke", "execute"))  # fmt: skip
    assert ("vendor=1,other=2", "", 0) == (root.trace_state, found.trace_state, found.status.code)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_late_spans_after_a_restart(tmp_path: Path, backend: OtlpServer, number: signal.Signals) -> None:
    """Spans that come for a trace that the process before forwarded go on, and nothing of it a second time."""
    trace, other = plan(2)
    with service_to(tmp_path, backend) as service:
        assert 200 == post(f"http://{service.http}", "traces", spans_request(trace.spans[3:]))
        assert backend.received.wait(lambda got: len(got.spans) == len(trace.spans) - 3), service.log()
        assert wait_for(lambda: service.metrics()["spanwise_serve_done_total"] == 1 and not service.undelivered())
        service.end(number)
        service.start()
        assert 200 == post(f"http://{service.http}", "traces", spans_request(trace.spans[1:3]))
        assert 200 == post(f"http://{service.http}", "traces", spans_request(other.spans))
        arrived = sorted([*ids_of(trace), *ids_of(other)])
        arrived.remove(trace.spans[0].span_id.hex())
        assert backend.received.wait(lambda _: ids_at(backend) == arrived), service.log()
        assert wait_for(lambda: service.metrics()["spanwise_serve_done_total"] == 2 and not service.undelivered())
        service.end(number)
        service.start()
        assert 200 == post(f"http://{service.http}", "traces", spans_request(trace.spans[:1]))
        assert backend.received.wait(lambda _: trace.spans[0].span_id.hex() in ids_at(backend)), service.log()
        assert backend.received.wait(lambda _: revisions_at(backend, trace) == {1, 2, 3}), service.log()
    assert sorted([*ids_of(trace), *ids_of(other)]) == ids_at(backend)


def test_late_spans_that_a_killed_process_took(tmp_path: Path) -> None:
    """Of a trace that was handed out, the next process knows which spans the first one took too late to hand out."""
    trace = plan(1)[0]
    life = started(tmp_path)
    assert life.offer(batch_of(trace, 4)) is None
    life.wait(lambda: life.engine.ledger.counts.done == 1)
    life.engine._guarded = lambda _: None
    assert life.offer(batch_of(trace, 0, 4)) is None
    life.killed()
    again = started(tmp_path)
    again.wait(lambda: again.sink.results)
    (result,) = again.sink.results
    assert (2, 20) == (result.revision, len(result.run.trace.spans))
    assert {span.span_id for span in trace.spans[:4]} == result.run.trace.late
    assert again.engine.drain(10.0)
