"""What people have without us: `json.loads`, and pydantic-evals' SpanTree from what it gives.

pydantic-evals builds a tree from `SpanNode`s; its own way there takes ReadableSpans of a live SDK. For recorded spans
the fastest fair way is to make the nodes directly, as `SpanNode.from_readable_span` does, and to add them to the tree
of their trace in one call (`add_spans` builds the tree again each time). It scores nothing; ours does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic_evals.otel.span_tree import SpanNode, SpanTree

from spanwise.model.raw import RawSpan

_STATUSES = ("unset", "ok", "error")


def _at(ns: int) -> datetime:
    return datetime.fromtimestamp(ns / 1e9, tz=UTC)


def _value(wire: Mapping[str, str | float | Mapping[str, list[Mapping[str, str]]]]) -> object:
    for kind, value in wire.items():
        if kind == "intValue":
            return int(value)
        if isinstance(value, dict):
            return [_value(item) for item in value.get("values", ())]
        return value
    return None


def _otlp_nodes(text: bytes) -> Iterator[SpanNode]:
    for of_resource in json.loads(text)["resourceSpans"]:
        for of_scope in of_resource["scopeSpans"]:
            for span in of_scope["spans"]:
                parent = span.get("parentSpanId")
                yield SpanNode(
                    name=span["name"],
                    trace_id=int(span["traceId"], 16),
                    span_id=int(span["spanId"], 16),
                    parent_span_id=int(parent, 16) if parent else None,
                    start_timestamp=_at(int(span["startTimeUnixNano"])),
                    end_timestamp=_at(int(span["endTimeUnixNano"])),
                    attributes={
                        pair["key"]: value["stringValue"]
                        if "stringValue" in (value := pair["value"])
                        else _value(value)
                        for pair in span["attributes"]
                    },
                    status=_STATUSES[span.get("status", {}).get("code", 0)],
                )


def _trees(nodes: Iterable[SpanNode]) -> dict[int, SpanTree]:
    by_trace: dict[int, list[SpanNode]] = {}
    for node in nodes:
        by_trace.setdefault(node.trace_id, []).append(node)
    trees: dict[int, SpanTree] = {}
    for trace_id, listed in by_trace.items():
        trees[trace_id] = SpanTree()
        trees[trace_id].add_spans(listed)
    return trees


def from_otlp_json(path: Path) -> dict[int, SpanTree]:
    """The trees of an OTLP/JSON file."""
    return _trees(_otlp_nodes(path.read_bytes()))


def from_json_lines(path: Path) -> dict[int, SpanTree]:
    """The trees of a file of OTLP/JSON requests, one per line."""
    with path.open("rb") as lines:
        return _trees(node for line in lines for node in _otlp_nodes(line))


def _iso_duration(text: str) -> timedelta:
    hours, minutes, seconds = 0.0, 0.0, 0.0
    number = ""
    for letter in text[2:]:
        if letter == "H":
            hours, number = float(number), ""
        elif letter == "M":
            minutes, number = float(number), ""
        elif letter == "S":
            seconds, number = float(number), ""
        else:
            number += letter
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def _trail_nodes(text: bytes) -> Iterator[SpanNode]:
    waiting = list(json.loads(text)["spans"])
    while waiting:
        span = waiting.pop()
        waiting.extend(span["child_spans"])
        parent = span["parent_span_id"]
        begun = datetime.fromisoformat(span["timestamp"])
        yield SpanNode(
            name=span["span_name"],
            trace_id=int(span["trace_id"], 16),
            span_id=int(span["span_id"], 16),
            parent_span_id=int(parent, 16) if parent not in {"None", "", None} else None,
            start_timestamp=begun,
            end_timestamp=begun + _iso_duration(span["duration"]),
            attributes=span["span_attributes"],
            status="error" if span["status_code"] == "Error" else "ok" if span["status_code"] == "Ok" else "unset",
        )


def from_trail(paths: Iterable[Path]) -> dict[int, SpanTree]:
    """The trees of TRAIL's files."""
    return _trees(node for path in paths for node in _trail_nodes(path.read_bytes()))


def nodes_of(spans: Sequence[RawSpan]) -> list[SpanNode]:
    """The nodes of spans that are in memory already."""
    return [
        SpanNode(
            name=span.name,
            trace_id=int(str(span.trace_id), 16),
            span_id=int(str(span.span_id), 16),
            parent_span_id=int(str(span.parent_id), 16) if span.parent_id else None,
            start_timestamp=_at(span.start_ns),
            end_timestamp=_at(span.end_ns),
            attributes=dict(span.attributes),
            status=_STATUSES[span.status_code],
        )
        for span in spans
    ]


def from_spans(spans: Sequence[RawSpan]) -> SpanTree:
    """The tree of one trace's spans that are in memory already."""
    tree = SpanTree()
    tree.add_spans(nodes_of(spans))
    return tree
