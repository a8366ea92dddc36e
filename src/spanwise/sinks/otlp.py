"""Scores to any OTLP server, as the log events that `otel_events` makes, and none of them lost on the way."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spanwise.errors import SinkError
from spanwise.model.ports import Content
from spanwise.model.raw import Attributes, Key, Scope, SpanRecord
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks._answer import Answer
from spanwise.sinks._courier import Courier, default_path, owner_of, shed_by_name
from spanwise.sinks._delivery import Pace, Words
from spanwise.sinks._otel import subject_of
from spanwise.sinks._otlp_http import (
    Line,
    Server,
    Signal,
    checked_headers,
    endpoint_of,
    headers_of,
    logs_of,
    packed_log,
    post,
    url_of,
)
from spanwise.sinks._otlp_spans import Forwarding, SpanCounts
from spanwise.sinks._otlp_wire import log_record, resource_of, span_requests
from spanwise.sinks._outbox import Parcel
from spanwise.sinks._score_events import Id, events_of

__all__ = ["Answer", "OtlpSink", "OtlpStats", "Pace", "SpanStats", "encode_spans", "post"]

_RANKS = ("spans", "status", "ok", "warn", "alert")
_LABELS = {"warn": 3, "alert": 4}
_RESOURCES = 256
_WAIT_S = 2.0
_sinks: weakref.WeakSet[OtlpSink] = weakref.WeakSet()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanStats:
    """What became of forwarded spans: counted as spans, and as the parcels of up to 256 KB that they travel in."""

    counts: SpanCounts
    waiting: int
    """Parcels in the outbox."""
    delivered: int
    """Parcels."""
    rejected: int
    """Spans that the server took and threw away."""
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    """Parcels, by reason."""
    requests: int = 0
    last_failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtlpStats:
    """What became of the scores that this process took, and how many wait.

    taken = replaced + delivered + the sum of dropped + those that wait, if no other process uses the outbox.
    """

    taken: int
    replaced: int
    """Scores that were given again, at the same revision, before they were sent."""
    delivered: int
    waiting: int
    """In the outbox, those of earlier processes with them."""
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    """By reason: the server's own, `shed_ok` and its like where the outbox was full, `outbox` where it could not be
    written and the reserve in memory was full too."""
    retries: int = 0
    requests: int = 0
    last_failure: str = ""
    spans: SpanStats | None = None
    """None where no spans are forwarded."""


class OtlpSink:
    """Sends each score as a `gen_ai.evaluation.result` log event to an OTLP server, over HTTP, until it has arrived.

    `emit` returns when the outbox, a file, has the scores; a thread of its own delivers them. So nothing waits for the
    network, and nothing is lost while the server is away, or when this process is killed. What was sent twice has the
    same `spanwise.score.id` and revision. Every revision of a run is sent.

    Args:
        endpoint: The server, such as http://127.0.0.1:4318, or the address for logs itself; the one of
            OTEL_EXPORTER_OTLP_LOGS_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT where not given.
        spans_to: A server that gets the spans of scored traces, too, with the scores on the runs' root spans.
        headers: Sent with every request, before those of OTEL_EXPORTER_OTLP_HEADERS.
        token: A bearer token.
        ca_file: The certificates that vouch for an https server; the system's where not given.
        ids: Which of the ids of the request that a run served stand on the events, too.
        outbox: A file that several processes may share; `default` for one among the user's own state, None for none:
            what waits is then lost with the process.
        max_rows: How many scores and parcels of spans may wait. Over it spans go first, then the least important
            scores, and are counted.
        max_bytes: How many bytes of them may wait.
        close_s: How long `close` may take to deliver the rest.
        pace: Pauses and timeouts.

    Raises:
        SinkError: An argument cannot be used.
    """

    emits: Content = "none"
    joins = 200

    def __init__(
        self,
        endpoint: str = "",
        *,
        spans_to: str | None = None,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
        ca_file: str | None = None,
        ids: Sequence[Id] = (),
        outbox: str | Path | None = "default",
        max_rows: int = 1_000_000,
        max_bytes: int = 256 * 1024 * 1024,
        close_s: float = 3.0,
        pace: Pace | None = None,
    ) -> None:
        address = endpoint or endpoint_of(os.environ)
        if not address:
            raise SinkError("scores by OTLP need an endpoint, such as http://127.0.0.1:4318")
        self.pace = pace or Pace()
        self._ids = tuple(ids)
        self._close_s = close_s
        self._resources: dict[int, tuple[Scope, bytes]] = {}
        url = url_of(address, "logs")
        path = Path(outbox).absolute() if outbox and outbox != "default" else None
        if outbox == "default":
            path = default_path("otlp", owner_of(url), "scores for OTLP")

        def line(where: str, signal: Signal) -> Line:
            sent = checked_headers({**headers_of(os.environ, signal), **_lower(headers)}, token)
            return Line(where, sent, timeout_s=self.pace.timeout_s, ca_file=ca_file)

        def courier(where: str, server: Server, items: str) -> Courier:
            owner = owner_of(where)
            words = _words(items, where)
            return Courier(
                server,
                words,
                path=path,
                owner=owner,
                pace=self.pace,
                max_rows=max_rows,
                max_bytes=max_bytes,
                wait_s=_WAIT_S,
            )

        self._forwarding = Forwarding()
        self._span_server: Server | None = None
        self._span_courier: Courier | None = None
        traces = url_of(spans_to, "traces") if spans_to else None
        self._courier = courier(url, Server(line(url, "logs"), logs_of, counts_parcels=True), "scores")
        if traces is not None:
            self._span_server = Server(line(traces, "traces"), b"".join, counts_parcels=False)
            self._span_courier = courier(traces, self._span_server, "spans")
        _sinks.add(self)

    @property
    def forwards(self) -> bool:
        """Spans are sent on, too, best as the records that they came as."""
        return self._span_courier is not None

    @property
    def outbox(self) -> Path | None:
        """The file that scores wait in."""
        return self._courier.outbox.path

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Put the scores into the outbox; the network is not touched.

        Where the outbox cannot be written just now, they wait in memory, as `held` tells.
        """
        failure: Exception | None = None
        parcels: list[Parcel] = []
        for result in results:
            try:
                parcels += self._parcels_of(result)
            except Exception as error:  # noqa: BLE001  (one result must not cost the others; told once they are kept)
                failure = error
        if parcels:
            self._courier.add(parcels)
        spans = self._forwarding.parcels_of(results) if self._span_courier is not None else []
        if spans and self._span_courier is not None:
            self._span_courier.add(spans)
        if failure is not None:
            raise failure

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Deliver what waits now; True when nothing waits any more.

        False comes when the time is over, or at once where the next try is later than that.
        """
        until = time.monotonic() + timeout_s
        done = True
        for one in self._couriers():
            done = one.flush(max(until - time.monotonic(), 0.0)) and done
        return done

    def close(self) -> None:
        """Deliver what is possible in `close_s` seconds. The rest stays in the outbox for the next process."""
        until = time.monotonic() + self._close_s
        for one in self._couriers():
            one.close(max(until - time.monotonic(), 0.0))
        _sinks.discard(self)

    def stats(self) -> OtlpStats:
        """What became of scores, and of spans where they are forwarded, up to now."""
        found = self._courier.stats()
        shed = dict(found.shed)
        spans = None
        if self._span_courier is not None and self._span_server is not None:
            told = self._span_courier.stats()
            for rank, count in told.shed.items():  # they share the file: either may have made room
                shed[rank] = shed.get(rank, 0) + count
            spans = SpanStats(
                counts=self._forwarding.counts,
                waiting=told.waiting,
                delivered=told.delivered,
                rejected=self._span_server.rejected,
                dropped={**told.dropped, **shed_by_name({0: shed.get(0, 0)}, _RANKS)},
                requests=told.requests,
                last_failure=told.last_failure,
            )
        return OtlpStats(
            taken=found.taken,
            replaced=found.replaced,
            delivered=found.delivered,
            waiting=found.waiting,
            dropped={**found.dropped, **shed_by_name({**shed, 0: 0}, _RANKS)},
            retries=found.retries,
            requests=found.requests,
            last_failure=found.last_failure,
            spans=spans,
        )

    @property
    def drops(self) -> dict[str, int]:
        """What did not arrive and never will, by reason: scores, and parcels of spans."""
        found, shed = self._courier.dropped()
        if self._span_courier is not None:
            dropped, more = self._span_courier.dropped()
            found |= {f"spans: {reason}": count for reason, count in dropped.items()}
            shed = {rank: shed.get(rank, 0) + more.get(rank, 0) for rank in {*shed, *more}}
        return {**found, **shed_by_name(shed, _RANKS)}

    @property
    def held(self) -> int:
        """How many scores and parcels of spans are in memory only, since no outbox has them."""
        return sum(one.held() for one in self._couriers())

    def after_fork(self) -> None:
        """Start anew in a child process: its own connections, its own threads when there is something to send."""
        for one in self._couriers():
            one.after_fork()

    def _couriers(self) -> list[Courier]:
        return [self._courier, *([self._span_courier] if self._span_courier is not None else [])]

    def _parcels_of(self, result: RunResult) -> list[Parcel]:
        resource = self._resource_of(result)
        now_ns = time.time_ns()
        return [
            Parcel(
                f"{event.attributes['spanwise.score.id']}/{result.revision}",
                packed_log(resource, log_record(event, now_ns)),
                _rank(event.score),
            )
            for event in events_of(result, self._ids)
        ]

    def _resource_of(self, result: RunResult) -> bytes:
        """The resource of the span that the scores are about: who was evaluated, not who evaluates."""
        subject = subject_of(result.run)
        if subject is None:
            return resource_of({})
        scope = subject.raw.scope
        known = self._resources.get(id(scope))
        if known is None:
            if len(self._resources) >= _RESOURCES:
                self._resources.clear()
            known = self._resources[id(scope)] = (scope, resource_of(scope.resource))
        return known[1]


def encode_spans(records: Iterable[SpanRecord], extra: Mapping[Key, Attributes] | None = None) -> bytes:
    """Spans as an ExportTraceServiceRequest in protobuf, with all that a record holds, grouped by resource and scope.

    A record that kept the bytes it came in is written as those bytes. Events with a body were log records and are left
    to the signal that they came by.

    Args:
        records: The spans, with ids of any type.
        extra: Attributes to add, by the span's id as it stands in the record.

    Raises:
        SinkError: A span has an id that OTLP cannot have.
    """
    try:
        return b"".join(body for body, _ in span_requests(records, extra or {}))
    except ValueError as error:
        raise SinkError(f"a span cannot be written as OTLP: {error}") from error


def _rank(score: Score) -> int:
    """How much a score would be missed."""
    return 1 if score.status in ("not_applicable", "not_measurable") else _LABELS.get(score.label, 2)


def _lower(headers: Mapping[str, str] | None) -> dict[str, str]:
    return {name.lower(): value for name, value in (headers or {}).items()}


def _words(items: str, url: str) -> Words:
    url = url.replace("{", "{{").replace("}", "}}")
    return Words(
        there="OTLP",
        items=items,
        denied=f"{url} refused the credentials ({{}}); {items} are kept and tried again now and then:"
        " check the token or headers of the sink `otlp`, or OTEL_EXPORTER_OTLP_HEADERS",
        lost=f"{url} takes no OTLP in protobuf ({{}}); {items} are kept and tried again now and then:"
        " check the endpoint of the sink `otlp`",
    )


def _after_fork() -> None:
    for sink in list(_sinks):
        sink.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
