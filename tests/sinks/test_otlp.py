"""Our own OTLP delivery sends what the SDK would send, until it has arrived."""

from __future__ import annotations

import sqlite3
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource

from spanwise.capture.settings import sinks_of
from spanwise.errors import SinkError
from spanwise.model.raw import Scope
from spanwise.model.result import RunResult
from spanwise.model.score import not_applicable
from spanwise.sinks._otel import EVENT
from spanwise.sinks.otel_events import OtelEventsSink
from spanwise.sinks.otlp import Answer, OtlpSink, post
from tests.making import agent, run_of
from tests.sinks.langfuse_making import NAMES, a_result, a_score, five, until
from tests.sinks.otlp_making import FAST, scores_at, sink_to, values_at
from tests.sinks.otlp_server import Fault, OtlpServer, partial
from tests.sinks.results import GIVEN

import_module("opentelemetry.exporter.otlp.proto.http")
_NAMED = "event_name" in LogRecord.DESCRIPTOR.fields_by_name
RESOURCE = {"service.name": "shop", "replica": 3, "zones": ["a", "b"], "share": 0.5, "canary": True}


@pytest.fixture
def server() -> Iterator[OtlpServer]:
    """A strict server."""
    with OtlpServer() as running:
        yield running


@pytest.fixture
def outbox(tmp_path: Path) -> Path:
    """Where a sink's outbox can be."""
    return tmp_path / "out.db"


def from_app(result: RunResult) -> RunResult:
    """The result as of an app with a resource."""
    root = agent(1, **{"session.id": "s-1", "user.id": "ann"})
    root.scope = Scope("app", "1", RESOURCE)
    root.start_ns, root.end_ns = 1_794_982_380_100_000_000, 1_794_982_380_200_000_000
    return RunResult(run=run_of(root), scores=result.scores, revision=result.revision)


def test_the_records_are_those_of_the_sdk(server: OtlpServer, outbox: Path) -> None:
    """Attributes, body, severity, time, context, scope and resource are as the app's own exporter sends them."""
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

    given = from_app(GIVEN)
    provider = LoggerProvider(Resource(RESOURCE), shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(endpoint=f"{server.url}/v1/logs")))
    OtelEventsSink(provider, ids=["session", "user"]).emit([given])
    theirs = server.received.logs
    server.received.requests.clear()
    sink = sink_to(server, outbox, ids=["session", "user"])
    sink.emit([given])
    assert sink.flush(10)
    sink.close()
    ours = server.received.logs
    assert not _NAMED or {EVENT} == {one.proto.event_name for one in ours}
    for one in (*theirs, *ours):
        assert one.proto.observed_time_unix_nano
        one.proto.observed_time_unix_nano = 0
        for at, pair in reversed(list(enumerate(one.proto.attributes))):
            if pair.key == "event.name":  # where SDKs before 1.36 have the name
                del one.proto.attributes[at]
        if _NAMED:
            one.proto.event_name = ""
        one.proto.DiscardUnknownFields()
    told = [[(one.scope, one.resource, one.proto) for one in found] for found in (theirs, ours)]
    assert 6 == len(ours)
    assert told[0] == told[1]
    assert {"gzip"} == {headers["content-encoding"] for _, headers, _ in server.received.requests}


def test_settings(server: OtlpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project's settings name the server, the headers and the outbox; the environment adds its headers."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=a%20b, x-both=env ,broken")
    config = tmp_path / "pyproject.toml"
    config.write_text(
        f'[tool.spanwise.sinks]\notlp = {{ endpoint = "{server.url}/", token = "t-1", outbox = "{tmp_path}/o.db",'
        ' headers = { X-Both = "own" } }\n',
        encoding="utf-8",
    )
    to = sinks_of(None, config=config)
    sink = to.sinks["otlp"]
    assert isinstance(sink, OtlpSink)
    assert tmp_path / "o.db" == sink.outbox
    sink.emit([a_result()])
    assert sink.flush(10)
    sink.close()
    (sent,) = [headers for _, headers, _ in server.received.requests]
    expected = {"x-tenant": "a b", "x-both": "own", "authorization": "Bearer t-1", "content-encoding": "gzip"}
    assert expected == {name: sent.get(name) for name in expected}


def test_the_environment_names_the_server(
    server: OtlpServer, outbox: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without an endpoint, OpenTelemetry's variables say where; by default the outbox is among the user's state."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"{server.url}/base")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    sink = OtlpSink(pace=FAST)
    sink.emit([a_result()])
    assert sink.flush(10)
    sink.close()
    assert 1 == len(server.received.logs)
    assert sink.outbox is not None
    assert (tmp_path / "spanwise", 0o600) == (sink.outbox.parent, sink.outbox.stat().st_mode & 0o777)


@pytest.mark.parametrize(
    "options",
    [
        {"endpoint": ""},
        {"endpoint": "localhost:4318"},
        {"endpoint": "http://h:70000"},
        {"endpoint": "http://me:secret@h"},
        {"endpoint": "http://h/?a=b"},
        {"endpoint": "http://h", "spans_to": "grpc://h"},
        {"endpoint": "http://h", "token": "a\nb"},
        {"endpoint": "http://h", "headers": {"a b": "c"}},
    ],
)
def test_what_cannot_be_used(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses and headers that cannot be used are refused at once, without telling the token."""
    for name in ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SinkError) as failure:
        OtlpSink(**options, outbox=None)
    assert "a\nb" not in str(failure.value)


def test_revisions(server: OtlpServer, outbox: Path) -> None:
    """Each revision is sent, with the same ids; one that is given again before it was sent is sent once."""
    server.hold_s = 0.2
    sink = sink_to(server, outbox)
    for revision, value in ((1, 0.5), (2, 0.6), (2, 0.7)):
        sink.emit([a_result(1, [a_score(value=value)], revision=revision)])
    assert sink.flush(10)
    sink.close()
    (first, second) = scores_at(server)
    assert (first[0], 1, 2) == (second[0], first[1], second[1])
    assert 0.7 == values_at(server)["overall"]
    stats = sink.stats()
    assert (3, 3) == (stats.taken, stats.delivered + stats.replaced)


def test_a_partial_success(server: OtlpServer, outbox: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What the server took and threw away is counted with its reason, and not sent again."""
    server.fail = lambda kind, request: Fault(200, body=partial(kind, 2, "too old"))
    sink = sink_to(server, outbox)
    sink.emit([a_result(1, five())])
    assert sink.flush(10)
    sink.close()
    stats = sink.stats()
    assert (5, 3, 0, {"partial success: too old": 2}) == (stats.taken, stats.delivered, stats.waiting, stats.dropped)
    assert sink.drops == stats.dropped
    assert 1 == len(server.asked)
    assert "OTLP refused 2 scores, which are dropped and counted: partial success: too old" in caplog.text


def _names_in(request: Any) -> list[str]:
    return [
        pair.value.string_value
        for part in request.resource_logs
        for scope in part.scope_logs
        for record in scope.log_records
        for pair in record.attributes
        if pair.key == "gen_ai.evaluation.name"
    ]


@pytest.mark.parametrize(("status", "named"), [(400, "HTTP 400: bad one"), (413, "HTTP 413: bad one")])
def test_one_that_is_refused(server: OtlpServer, outbox: Path, status: int, named: str) -> None:
    """A batch that is refused, or too large, is halved until the culprit stands alone: it is dropped and counted."""
    server.fail = lambda kind, request: Fault(status, body=b"bad one") if "latency" in _names_in(request) else None
    sink = sink_to(server, outbox)
    sink.emit([a_result(number, five() if number == 7 else [a_score()]) for number in range(1, 20)])
    assert sink.flush(10)
    sink.close()
    stats = sink.stats()
    assert (23, 22, {named: 1}) == (stats.taken, stats.delivered, stats.dropped)
    assert {name for name in NAMES if name != "latency"} == set(values_at(server))
    assert 22 == len(scores_at(server)) == len(server.received.logs)
    assert len(server.asked) < 15


def test_a_server_that_asks_for_time(server: OtlpServer, outbox: Path, caplog: pytest.LogCaptureFixture) -> None:
    """After 429 with Retry-After the server is left alone for so long; a flush that cannot wait so long says so."""
    faults = [Fault(429, {"Retry-After": "1"}), Fault(503, {"Retry-After": "1"})]
    server.fail = lambda kind, request: faults.pop(0) if faults else None
    sink = sink_to(server, outbox)
    begun = time.monotonic()
    sink.emit([a_result(1, five())])
    assert until(lambda: bool(server.asked))
    time.sleep(0.05)
    assert not sink.flush(0.3)
    assert time.monotonic() - begun < 0.9
    assert until(lambda: sink.stats().waiting == 0)
    assert time.monotonic() - begun > 1.9
    assert [429, 503, 200] == [status for _, status in server.asked]
    sink.close()
    assert {1} == set(scores_at(server).values())


@pytest.mark.parametrize("status", [401, 403, 404, 405, 415, 301])
def test_what_an_operator_can_mend(
    server: OtlpServer, outbox: Path, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Refused credentials and wrong addresses cost nothing: scores are kept, and tried again, with one warning."""
    server.status = status
    sink = sink_to(server, outbox)
    sink.emit([a_result(1, five())])
    assert until(lambda: len(server.asked) > 2)
    assert (0, 5, {}) == (sink.stats().delivered, sink.stats().waiting, sink.stats().dropped)
    server.status = 200
    assert until(lambda: sink.stats().waiting == 0)
    sink.close()
    assert 5 == len(server.received.logs)
    told = [record.message for record in caplog.records if "kept and tried again" in record.message]
    assert 1 == len(told)
    assert f"HTTP {status}" in told[0]


def test_a_full_outbox(server: OtlpServer, outbox: Path) -> None:
    """Past the bound spans go first, then scores without a value, then those that are well; alerts stay."""
    server.down()
    sink = sink_to(server, outbox, spans_to=server.url, max_rows=6)
    scores = [
        not_applicable("none", "no call"),
        *five(),
        a_score("worst", 0.1, label="alert"),
        a_score("w", label="warn"),
    ]
    sink.emit([a_result(1, scores)])
    assert {"shed_spans": 1, "shed_status": 1, "shed_ok": 1} == sink.drops
    server.up()
    assert sink.flush(20)
    sink.close()
    assert {"worst", "w"} <= set(values_at(server))
    assert "none" not in values_at(server)
    assert 8 == len(server.received.logs) + sum(sink.stats().dropped.values())
    assert [] == server.received.spans


def test_a_locked_outbox(server: OtlpServer, outbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the outbox cannot be written, scores wait in memory, which is told, and are delivered."""
    monkeypatch.setattr("spanwise.sinks.otlp._WAIT_S", 0.1)
    sink = sink_to(server, outbox)
    sink.emit([a_result(1)])
    assert sink.flush(10)
    server.down()
    other = sqlite3.connect(outbox, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    sink.emit([a_result(2)])
    assert 1 == sink.held
    server.up()
    assert until(lambda: sink.held == 0)
    other.close()
    sink.emit([a_result(3)])
    assert sink.flush(10)
    sink.close()
    assert (3, {1}) == (len(scores_at(server)), set(scores_at(server).values()))
    assert (3, 3, {}) == (sink.stats().taken, sink.stats().delivered, sink.stats().dropped)


def test_an_idle_connection(server: OtlpServer, outbox: Path) -> None:
    """One connection serves many requests, and one that the server closed is opened again without a failure."""
    sink = sink_to(server, outbox)
    for number in (1, 2):
        sink.emit([a_result(number)])
        assert sink.flush(10)
    server.down()
    server.up()
    sink.emit([a_result(3)])
    assert sink.flush(10)
    sink.close()
    assert (3, 0) == (len(server.received.logs), sink.stats().retries)


def test_https(tmp_path: Path, outbox: Path, require: Callable[[str], str]) -> None:
    """Over https the server's certificate is checked, against the file that was given."""
    require("openssl")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1".split(),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with OtlpServer(tls=context) as server:
        refused = post(f"{server.url}/v1/logs", b"", timeout_s=5)
        assert ("later", True) == (refused.verdict, "CERTIFICATE_VERIFY_FAILED" in refused.reason)
        sink = sink_to(server, outbox, ca_file=str(cert))
        sink.emit([a_result()])
        assert sink.flush(10)
        sink.close()
        assert 1 == len(server.received.logs)


def test_one_request_by_itself(server: OtlpServer) -> None:
    """`post` sends one request and says what became of it, also where nobody answers."""
    assert Answer("taken", status=200) == post(f"{server.url}/v1/traces", b"")
    assert "refused" == post(f"{server.url}/v1/traces", b"\xff").verdict
    assert "lost" == post(f"{server.url}/else", b"").verdict
    server.fail = lambda kind, request: Fault("hang")
    begun = time.monotonic()
    assert "later" == post(f"{server.url}/v1/traces", b"", timeout_s=0.2).verdict
    assert time.monotonic() - begun < 2
    server.down()
    assert "later" == post(f"{server.url}/v1/traces", b"", timeout_s=0.2).verdict
