"""Traces of a real shape, interleaved, sent as an app's SDK would; and what is right of the scores that come of them.

Each trace is one run of an agent: a root, one model call whose messages are in a log event only, and tool calls that
partly repeat an earlier one. A run that lacks a span, or is torn into two, has other scores than the whole one.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

import spanwise

BEGUN = 1_800_000_000_000_000_000
SCOPE = "tests.traffic"
_STEP = 1_000_000
_DETAILS = "gen_ai.client.inference.operation.details"


@dataclass(frozen=True)
class Planned:
    """A trace to send: its spans in the order of their ends, and the log event of its model call."""

    trace_id: bytes
    spans: Sequence[Span]
    event: LogRecord

    @property
    def hex_id(self) -> str:
        """Its id as text."""
        return self.trace_id.hex()


def plan(traces: int, *, spans: int = 20, seed: int = 1) -> list[Planned]:
    """So many traces of so many spans each."""
    choice = random.Random(seed)
    return [_planned(number, spans, choice) for number in range(traces)]


def _planned(number: int, spans: int, choice: random.Random) -> Planned:
    trace_id = choice.randbytes(16)
    ids = [choice.randbytes(8) for _ in range(spans)]
    calls = spans - 2
    repeats = 1 + number % min(12, calls - 1)
    made = []
    for at in range(calls):
        city = f"city-{at - repeats if at >= calls - repeats else at}"
        made.append(_tool(trace_id, ids[2 + at], ids[0], at, city))
    question, answer = f"What is the weather in {number} cities?", f"It is {number % 30} degrees."
    llm = _span(trace_id, ids[1], ids[0], "chat small", 0, _llm())
    root = _span(trace_id, ids[0], b"", "invoke_agent forecaster", 0, {**_agent(), "weather.question": question})
    root.end_time_unix_nano = BEGUN + (spans + 2) * _STEP
    messages = {
        "gen_ai.input.messages": _message("user", question),
        "gen_ai.output.messages": _message("assistant", answer),
    }
    event = LogRecord(trace_id=trace_id, span_id=ids[1], time_unix_nano=BEGUN + _STEP, attributes=_pairs(messages))
    if "event_name" in event.DESCRIPTOR.fields_by_name:
        event.event_name = _DETAILS
    else:  # protocols before 1.5 put it into an attribute
        event.attributes.extend(_pairs({"event.name": _DETAILS}))
    return Planned(trace_id, [llm, *made, root], event)


def _agent() -> dict[str, str | int]:
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "forecaster"}


def _llm() -> dict[str, str | int]:
    tokens: dict[str, str | int] = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.provider.name": "openai",
        **tokens,
    }


def _tool(trace_id: bytes, span_id: bytes, parent: bytes, at: int, city: str) -> Span:
    attributes: dict[str, str | int] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.id": f"call-{at}",
        "gen_ai.tool.call.arguments": json.dumps({"city": city}),
        "gen_ai.tool.call.result": json.dumps({"city": city, "degrees": 18}),
    }
    return _span(trace_id, span_id, parent, "execute_tool weather", at + 1, attributes)


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def _span(trace_id: bytes, span_id: bytes, parent: bytes, name: str, at: int, attributes: dict[str, str | int]) -> Span:
    start = BEGUN + at * _STEP
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=parent,
        name=name,
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=start,
        end_time_unix_nano=start + _STEP,
        attributes=_pairs(attributes),
    )


def _pairs(attributes: dict[str, Any]) -> list[KeyValue]:
    return [
        KeyValue(key=key, value=AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=value))
        for key, value in attributes.items()
    ]


def spans_request(spans: Sequence[Span], *, service: str = "tests") -> bytes:
    """Spans as an export request."""
    request = ExportTraceServiceRequest()
    part = request.resource_spans.add()
    part.resource.attributes.extend(_pairs({"service.name": service}))
    scoped = part.scope_spans.add()
    scoped.scope.name = SCOPE
    scoped.spans.extend(spans)
    return request.SerializeToString()


def logs_request(records: Sequence[LogRecord], *, scope: str = SCOPE) -> bytes:
    """Log records as an export request."""
    request = ExportLogsServiceRequest()
    part = request.resource_logs.add()
    part.resource.attributes.extend(_pairs({"service.name": "tests"}))
    scoped = part.scope_logs.add()
    scoped.scope.name = scope
    scoped.log_records.extend(records)
    return request.SerializeToString()


def interleaved(traces: Sequence[Planned], *, block: int = 50, per_request: int = 100) -> Iterator[tuple[str, bytes]]:
    """Requests of all traces, `block` of which are under way at once: a span of each, then the next of each."""
    for begin in range(0, len(traces), block):
        under_way = traces[begin : begin + block]
        yield "logs", logs_request([one.event for one in under_way])
        rounds = max(len(one.spans) for one in under_way)
        spans = [one.spans[at] for at in range(rounds) for one in under_way if at < len(one.spans)]
        for at in range(0, len(spans), per_request):
            yield "traces", spans_request(spans[at : at + per_request])


@dataclass
class App:
    """Sends requests one after the other, and each again until it is taken, as an SDK does."""

    url: str
    refused: int = 0
    sent: int = 0
    error: str = ""
    _thread: threading.Thread | None = field(default=None, repr=False)

    def send(self, kind: str, body: bytes, *, within_s: float = 60.0) -> None:
        """Send a request, and again while it is refused."""
        deadline = time.monotonic() + within_s
        while True:
            status = post(self.url, kind, body)
            if status == 200:
                self.sent += 1
                return
            self.refused += 1
            if status not in (0, 429, 502, 503, 504) or time.monotonic() > deadline:
                raise AssertionError(f"{self.url} answered {status} to {kind}")
            time.sleep(0.1)

    def begin(self, requests: Sequence[tuple[str, bytes]], *, over_s: float) -> None:
        """Send requests from another thread, evenly over so many seconds."""

        def run() -> None:
            started = time.monotonic()
            try:
                for at, (kind, body) in enumerate(requests):
                    time.sleep(max(0.0, started + over_s * at / len(requests) - time.monotonic()))
                    self.send(kind, body)
            except AssertionError as error:
                self.error = str(error)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Wait until all is sent."""
        assert self._thread is not None
        self._thread.join(180)
        assert not self._thread.is_alive(), "the app did not get rid of its requests"
        assert not self.error, self.error


def post(url: str, kind: str, body: bytes) -> int:
    """The status of an export request over HTTP; 0 where nobody answers."""
    host = url.removeprefix("http://")
    connection = HTTPConnection(host, timeout=20)
    try:
        connection.request("POST", f"/v1/{kind}", body, {"Content-Type": "application/x-protobuf"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, HTTPException):
        return 0
    finally:
        connection.close()


def expected(traces: Sequence[Planned]) -> dict[str, Mapping[str, float | None]]:
    """The scores that planned traces have when they are read from a file, by trace and name."""
    values = _values(len(traces), len(traces[0].spans))
    return {one.hex_id: scores for one, scores in zip(traces, values, strict=True)}


@cache
def _values(traces: int, spans: int) -> list[Mapping[str, float | None]]:
    """By number: ids aside, plans of one size are alike."""
    planned = plan(traces, spans=spans)
    with TemporaryDirectory() as folder:
        whole, events = Path(folder, "whole.binpb"), Path(folder, "whole.logs.binpb")
        whole.write_bytes(spans_request([span for one in planned for span in one.spans]))
        events.write_bytes(logs_request([one.event for one in planned]))
        results = spanwise.score([whole, events])
    found = {str(one.run.trace.trace_id): {score.name: score.value for score in one.scores} for one in results}
    assert len(results) == traces == len(found), f"{len(results)} runs of {traces} traces"
    return [found[one.hex_id] for one in planned]
