"""Files that no source reads, told by their first bytes: what they are, and the way to something that is read."""

from __future__ import annotations

import re

from spanwise.sources._outline import ITEM, below, outline

_UTF_8 = "save it as UTF-8"
_UNPACKED = "unpack it first"
_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"\xff\xfe\0\0", "UTF-32 text", _UTF_8),
    (b"\xff\xfe", "UTF-16 text", _UTF_8),
    (b"\xfe\xff", "UTF-16 text", _UTF_8),
    (b"{\0", "UTF-16 text", _UTF_8),
    (b"[\0", "UTF-16 text", _UTF_8),
    (b"\0{", "UTF-16 text", _UTF_8),
    (b"\0[", "UTF-16 text", _UTF_8),
    (b"PAR1", "a Parquet table", "save it as JSON, with one record for each span"),
    (b"PK\x03\x04", "a zip archive", _UNPACKED),
    (b"BZh", "compressed with bzip2", _UNPACKED),
    (b"\xfd7zXZ\0", "compressed with xz", _UNPACKED),
)
_OTLP = "which is not read; have it send OTLP to a Collector that writes a file"
_OWN: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"run_type", "dotted_order"}), "LangSmith's JSON of runs"),
    (frozenset({"run_type", "inputs"}), "LangSmith's JSON of runs"),
    (frozenset({"op_name", "started_at"}), "Weave's JSON of calls"),
    (frozenset({"span_data", "started_at"}), "what the OpenAI Agents SDK exports itself"),
    (frozenset({"object", "workflow_name", "group_id"}), "what the OpenAI Agents SDK exports itself"),
    (frozenset({"span_name", "start_timestamp"}), "a list of Logfire's rows"),
    (frozenset({"info", "request_metadata"}), "MLflow's own JSON"),
    (frozenset({"info", "trace_location"}), "MLflow's own JSON"),
)
"""Keys that tell the own formats of platforms which OpenTelemetry's spans can be had of instead."""
_HEADINGS = re.compile(rb'(?:\xef\xbb\xbf)?(?=[^\r\n]*id)[\w." -]+(?:[,;\t][\w." -]*){2,}\r?\n', re.IGNORECASE)


def foreign(head: bytes) -> str:
    """What a file is whose format no source knows, and what to do; nothing if that is not known either."""
    for magic, what, way_out in _MAGIC:
        if head.startswith(magic):
            return f"the file is {what}; {way_out}"
    if _HEADINGS.match(head):
        return "the file is a table in CSV, which is not read; export it as JSON"
    paths = outline(head)
    if any(path[-1] == "operationName" for path in paths):
        return "the file is Jaeger's own JSON, which is not read; save what /api/v3/traces/{id} gives, which is OTLP"
    keys = below(paths, ITEM)
    if {"traceId", "id"} <= keys and keys & {"localEndpoint", "remoteEndpoint", "duration", "annotations"}:
        return "the file is Zipkin's JSON, which is not read; have a Collector receive it and write OTLP to a file"
    names = {name for path in paths for name in path}
    return next((f"the file is {what}, {_OTLP}" for marks, what in _OWN if marks <= names), "")
