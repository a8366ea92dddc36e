"""The end of the service, asked for or not: nothing that was accepted is lost."""

from __future__ import annotations

import signal
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers import wait_for
from tests.service.certificates import certificate
from tests.service.serving import Service
from tests.service.traffic import expected, logs_request, plan, post, spans_request
from tests.sinks.otlp_server import OtlpServer

QUICK = ("--grace-s", "0.2")


@pytest.fixture(autouse=True)
def _needs(require: Callable[[str], str]) -> None:
    """The packages of the service."""
    require("grpc")
    require("uvicorn")


def test_unfinished_traces_are_handed_off(tmp_path: Path) -> None:
    """At SIGTERM open traces arrive whole at the hand-off receiver, log events too, and are not taken again."""
    traces = plan(20)
    with OtlpServer() as other:
        service = Service(tmp_path, *QUICK, "--handoff-to", other.url)
        with service:
            for trace in traces:
                assert 200 == post(f"http://{service.http}", "traces", spans_request(trace.spans[:10]))
            assert 200 == post(f"http://{service.http}", "logs", logs_request([one.event for one in traces]))
            assert 0 == service.end()
            assert {(one.hex_id, span.span_id.hex()) for one in traces for span in one.spans[:10]} == {
                (got.trace_id, got.span_id) for got in other.received.spans
            }
            assert {one.hex_id for one in traces} == {got.trace_id for got in other.received.logs}
            told = other.received.logs[0].proto
            mine = next(one.event for one in traces if one.trace_id == told.trace_id)
            assert mine.event_name == told.event_name
            assert sorted(map(str, mine.attributes)) == sorted(map(str, told.attributes))
            service.start()
            assert 0 == service.metrics()["spanwise_serve_held_traces"]
            assert "handed off 20 traces, 0 left" in service.log()


def test_they_are_handed_to_a_service_that_wants_a_token(tmp_path: Path) -> None:
    """Another `spanwise serve` with a token takes unfinished traces from one that shows it, and scores them."""
    token = tmp_path / "token"
    token.write_text("a-long-secret\n")
    traces = plan(5)
    with (
        Service(tmp_path / "to", *QUICK, "--token-file", str(token), "--idle-s", "1") as other,
        Service(
            tmp_path / "of", *QUICK, "--handoff-to", f"http://{other.http}", "--handoff-token-file", str(token)
        ) as service,
    ):
        for trace in traces:
            assert 200 == post(f"http://{service.http}", "traces", spans_request(trace.spans[:10]))
        assert 0 == service.end()
        assert "handed off 5 traces, 0 left" in service.log()
        assert wait_for(lambda: len(other.runs()) == 5), other.log()
        assert "a-long-secret" not in service.log() + other.log()


def test_a_wrong_token_is_told_and_not_shown(tmp_path: Path) -> None:
    """Where the token is refused, traces stay in the log, which says what to check and shows no secret."""
    token = tmp_path / "token"
    token.write_text("a-long-secret\n")
    settings = '[serve]\nhandoff_token = "not-this-secret"\nhandoff_headers = { x-tenant = "nor-this-secret" }\n'
    with (
        Service(tmp_path / "to", "--token-file", str(token)) as other,
        Service(tmp_path / "of", *QUICK, "--handoff-to", f"http://{other.http}", settings=settings) as service,
    ):
        assert 200 == post(f"http://{service.http}", "traces", spans_request(plan(1)[0].spans[:10]))
        assert 0 == service.end()
        assert "1 left in the write-ahead log" in service.log()
        assert "check handoff_token and handoff_headers" in service.log()
        assert "secret" not in service.log() + other.log()


def test_they_are_handed_off_by_tls(tmp_path: Path) -> None:
    """With certificates that vouch for it, a receiver by TLS gets traces with the headers that were set."""
    cert, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    settings = f'[serve]\nhandoff_ca_file = "{cert}"\nhandoff_headers = {{ X-Tenant = "one" }}\nhandoff_token = "t-1"\n'
    with OtlpServer(tls=context) as other:
        with Service(tmp_path / "of", *QUICK, "--handoff-to", other.url, settings=settings) as service:
            assert 200 == post(f"http://{service.http}", "traces", spans_request(plan(1)[0].spans[:10]))
            assert 0 == service.end()
            assert "handed off 1 traces, 0 left" in service.log()
        ((_, headers, _),) = other.received.requests
        assert ("one", "Bearer t-1") == (headers["x-tenant"], headers["authorization"])


def test_without_a_taker_they_stay_in_the_log(tmp_path: Path) -> None:
    """Where nobody takes them, open traces are in the log, and are scored by the next process with what comes then."""
    traces = plan(10)
    wanted = expected(traces)
    with OtlpServer() as other:
        dead = other.url
    with Service(tmp_path / "service", *QUICK, "--handoff-to", dead, "--drain-s", "3") as service:
        assert 200 == post(f"http://{service.http}", "logs", logs_request([one.event for one in traces]))
        for trace in traces:
            assert 200 == post(f"http://{service.http}", "traces", spans_request(trace.spans[:10]))
        begun = time.monotonic()
        assert 0 == service.end()
        assert time.monotonic() - begun < 8
        assert "10 left in the write-ahead log" in service.log()
        service.start()
        for trace in traces:
            assert 200 == post(f"http://{service.http}", "traces", spans_request(trace.spans[10:]))
        assert wait_for(lambda: len(service.scores()) == 10), service.log()
        assert wanted == service.scores()


def test_finished_traces_are_scored_at_the_end(tmp_path: Path) -> None:
    """A trace whose root ended is scored at SIGTERM without waiting for its grace."""
    trace = plan(1)[0]
    with Service(tmp_path, "--grace-s", "60") as service:
        assert 200 == post(f"http://{service.http}", "traces", spans_request(trace.spans))
        assert 0 == service.end()
    assert [trace.hex_id] == list(service.scores())


def test_nothing_is_lost_when_it_is_killed(tmp_path: Path) -> None:
    """Killed in the middle of 100 traces, restarted: every trace is scored, whole, as from a file."""
    traces = plan(100)
    wanted = expected(traces)
    with Service(tmp_path / "service", *QUICK) as service:
        assert 200 == post(f"http://{service.http}", "logs", logs_request([one.event for one in traces]))
        for number, trace in enumerate(traces):
            end = None if number % 2 else 10
            assert 200 == post(f"http://{service.http}", "traces", spans_request(trace.spans[:end]))
        service.kill()
        service.start()
        for trace in traces[::2]:
            assert 200 == post(f"http://{service.http}", "traces", spans_request(trace.spans[10:]))
        assert wait_for(lambda: len(service.scores()) == 100), service.log()
        assert wanted == service.scores()
        assert {1} == {run["revision"] for run in service.runs()}
        assert wait_for(lambda: service.metrics()["spanwise_serve_unsettled"] == 0)


def test_senders_are_told_while_it_ends(tmp_path: Path) -> None:
    """While it drains, spans are refused with 503, and it says that it is not ready."""
    with OtlpServer() as other:
        dead = other.url
    with Service(tmp_path, *QUICK, "--handoff-to", dead, "--drain-s", "5") as service:
        trace = plan(1)[0]
        assert 200 == post(f"http://{service.http}", "traces", spans_request(trace.spans[:5]))
        service.send(signal.SIGTERM)
        assert wait_for(lambda: service.page("/readyz")[0] == 503, timeout_s=3)
        assert 503 == post(f"http://{service.http}", "traces", spans_request(trace.spans[5:]))
        assert 128 + signal.SIGINT == service.end(signal.SIGINT, timeout_s=2)
