"""Requests in OTLP/JSON, and the recordings as requests in protobuf."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"
_IDS = ("traceId", "spanId", "parentSpanId")


def otlp_json(request: Message) -> bytes:
    """A request as OTLP/JSON has it: ids in hex, where protobuf's own JSON has base64, and enums as numbers."""
    return json.dumps(_with_ids(MessageToDict(request, use_integers_for_enums=True), to_hex=True)).encode()


def _with_ids(value: Any, *, to_hex: bool) -> Any:
    if isinstance(value, list):
        return [_with_ids(one, to_hex=to_hex) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _id(one, to_hex=to_hex) if key in _IDS and isinstance(one, str) else _with_ids(one, to_hex=to_hex)
        for key, one in value.items()
    }


def _id(text: str, *, to_hex: bool) -> str:
    return base64.b64decode(text).hex() if to_hex else base64.b64encode(bytes.fromhex(text)).decode()


def recorded_names() -> list[str]:
    """The recordings that hold spans."""
    names = (path.name for path in sorted(RECORDINGS.glob("*.json")))
    return [name for name in names if name.count(".") == 1]


def recorded_request(name: str) -> bytes:
    """A recording as one request in protobuf."""
    body = json.loads((RECORDINGS / name).read_text(encoding="utf-8"))
    return ParseDict(_with_ids(body, to_hex=False), ExportTraceServiceRequest()).SerializeToString()
