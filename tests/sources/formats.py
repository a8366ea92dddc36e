"""One document in each layout of every format: for telling them apart."""

from __future__ import annotations

import json
from typing import Any

from tests.sources.exports import (
    PHOENIX,
    TRACE,
    anthropic,
    blob_row,
    lines,
    observation_v2,
    observations,
    openai,
    responses,
    trace,
    trace_row,
    trail,
)
from tests.sources.otlp import dump, json_document, made


def console() -> dict[str, Any]:
    """A span as the SDK's console exporter prints it."""
    return {
        "name": "chat",
        "context": {"trace_id": f"0x{TRACE}", "span_id": "0x00000000000000a1", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": None,
        "start_time": "2026-11-18T06:13:00.100000Z",
        "end_time": "2026-11-18T06:13:01.600000Z",
        "status": {"status_code": "UNSET"},
        "attributes": {"gen_ai.operation.name": "chat"},
        "events": [],
        "links": [],
        "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""},
    }


def protobuf() -> bytes:
    """A request with one span in OTLP's protobuf."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(
        trace_id=bytes.fromhex(TRACE),
        span_id=bytes(7) + b"\x01",
        name="chat",
        start_time_unix_nano=1,
        end_time_unix_nano=2,
    )
    return request.SerializeToString()


def sorted_keys(document: object) -> bytes:
    """The document with its keys in alphabetical order, as some tools save it."""
    return json.dumps(document, sort_keys=True, indent=1).encode()


def written() -> dict[str, dict[str, bytes]]:
    """For each format of the table the layouts in which it is met."""
    span = made()
    page = {"data": observations(), "meta": {"page": 1, "limit": 50, "totalItems": 3, "totalPages": 1}}
    turns = openai()["messages"]
    return {
        "otlp_json": {
            "document": dump(json_document([span])),
            "lines": dump(json_document([span]), json_document([span])),
            "list": dump([json_document([span])]),
        },
        "otlp_proto": {"request": protobuf()},
        "sdk_console": {"object": json.dumps(console(), indent=4).encode(), "lines": lines(console(), console())},
        "trail": {
            "document": json.dumps(trail(), indent=4).encode(),
            "lines": lines(trail(), trail()),
            "sorted": sorted_keys(trail()),
        },
        "phoenix_export": {path.name: path.read_bytes() for path in sorted(PHOENIX.glob("*.json*"))}
        | {"sorted": sorted_keys(json.loads((PHOENIX / "rest.json").read_bytes()))},
        "langfuse_export": {
            "trace": json.dumps(trace()).encode(),
            "sorted trace": sorted_keys(trace()),
            "list of traces": json.dumps({"data": [trace_row()], "meta": {"page": 1}}).encode(),
            "list of observations": json.dumps(page).encode(),
            "v2": json.dumps({"data": [observation_v2()], "meta": {"cursor": "x"}}).encode(),
            "rows": json.dumps(observations()).encode(),
            "lines": lines(*observations()),
            "lines of traces": lines(trace_row(), trace_row()),
            "blob storage": lines(blob_row(), blob_row()),
            "session": json.dumps({"id": "s", "createdAt": "2026-11-18T06:13:00Z", "traces": [trace_row()]}).encode(),
            "download": json.dumps({"trace": trace_row(), "observations": observations()}, indent=2).encode(),
        },
        "chat": {
            "openai": json.dumps(openai(id="conv-1", session_id="s", user_id="u", metadata={"k": 1})).encode(),
            "messages": json.dumps(turns).encode(),
            "lines": lines(openai(), anthropic()),
            "lines of messages": lines(*turns),
            "list": json.dumps([openai(), anthropic()]).encode(),
            "list of lists": json.dumps([turns, turns]).encode(),
            "anthropic": json.dumps(anthropic()).encode(),
            "responses": json.dumps(responses(id="resp_1", object="response")).encode(),
            "items": json.dumps([*responses()["input"], *responses()["output"]]).encode(),
            "sorted": sorted_keys(anthropic()),
        },
    }
