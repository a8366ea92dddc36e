"""`spanwise serve` as a process: real exporters in, scores out, the same ones as from a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path

import pytest

from tests.servers import wait_for
from tests.service.encoding import recorded_request
from tests.service.serving import Service, values_of
from tests.service.traffic import expected, interleaved, plan, post, spans_request

QUICK = ("--grace-s", "0.2")
APP = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
kind, endpoint = sys.argv[1:]
if kind == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    exporter = OTLPSpanExporter(endpoint=f"http://{endpoint}", insecure=True)
else:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    exporter = OTLPSpanExporter(endpoint=f"http://{endpoint}/v1/traces")
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(exporter))
tracer = provider.get_tracer("app")
agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": kind}
tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gen_ai.tool.call.arguments": "{}"}
with tracer.start_as_current_span("invoke_agent", attributes=agent) as root:
    for _ in range(4):
        with tracer.start_as_current_span("execute_tool find", attributes=tool):
            pass
provider.shutdown()
print(f"{root.get_span_context().trace_id:032x}")
"""

BUSY = """
import time
from pathlib import Path
from spanwise.model.score import Score

class Busy:
    def __call__(self, run, /):
        Path("begun").touch()
        until = time.monotonic() + 3
        while time.monotonic() < until:
            sum(range(1000))
        Path("over").touch()
        return Score(name="busy", value=1.0)
"""


@pytest.fixture(autouse=True)
def _needs(require: Callable[[str], str]) -> None:
    """The packages of the service."""
    require("grpc")
    require("uvicorn")


@pytest.mark.parametrize("kind", ["grpc", "http"])
def test_an_app_with_the_real_exporter(tmp_path: Path, kind: str) -> None:
    """Spans of an app with OpenTelemetry's own exporter are scored, in the sink and in the metrics."""
    assert import_module(f"opentelemetry.exporter.otlp.proto.{kind}")
    with Service(tmp_path, *QUICK) as service:
        endpoint = service.grpc if kind == "grpc" else service.http
        command = [sys.executable, "-c", APP, kind, endpoint]
        trace_id = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
        assert wait_for(lambda: trace_id in service.scores()), service.log()
        assert 0.25 == service.scores()[trace_id]["redundancy"]
        assert wait_for(lambda: service.metrics()["spanwise_serve_done_total"] == 1)
        metrics = service.metrics()
        assert 5 == metrics["spanwise_serve_accepted_total"]
        assert 1 == metrics[f'spanwise_runs_total{{agent="{kind}"}}']
        assert 0 == service.end()


@pytest.mark.parametrize("name", ["pydantic-ai__logfire.json", "langgraph__openinference.json"])
def test_the_same_scores_as_from_a_file(tmp_path: Path, recordings: Path, name: str) -> None:
    """A recording has the scores through the service that `spanwise score` gives it."""
    request = recorded_request(name)
    command = [sys.executable, "-m", "spanwise", "score", str(recordings / name), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    wanted = {(run["trace_id"], run["run_id"]): values_of(run["scores"]) for run in lines}
    with Service(tmp_path / "service", *QUICK, "--idle-s", "1") as service:
        assert 200 == post(f"http://{service.http}", "traces", request)
        assert wait_for(lambda: len(service.runs()) >= len(wanted)), service.log()
    found = {(run["trace_id"], run["run_id"]): values_of(run["scores"]) for run in service.runs()}
    assert wanted == found


def test_many_traces_at_once(tmp_path: Path) -> None:
    """Interleaved traces, spans and log events, are each scored once, as they would be from a file."""
    traces = plan(100)
    wanted = expected(traces)
    with Service(tmp_path / "service", *QUICK) as service:
        for kind, body in interleaved(traces):
            assert 200 == post(f"http://{service.http}", kind, body)
        assert wait_for(lambda: len(service.scores()) == 100), service.log()
        time.sleep(0.5)
        assert [1] * 100 == [run["revision"] for run in service.runs()]
        assert wanted == service.scores()


def test_two_services_in_one_trace(tmp_path: Path) -> None:
    """A trace of two services is one run, finished when the topmost root ended, not when a remote child did."""
    trace = plan(1)[0]
    near, far = trace.spans[-1:], trace.spans[:-1]
    for span in far:
        span.flags = 0x301  # its parent is in another process
    with Service(tmp_path, "--grace-s", "0.5") as service:
        assert 200 == post(f"http://{service.http}", "traces", spans_request(far, service="far"))
        time.sleep(1.5)
        assert [] == service.runs()
        assert 200 == post(f"http://{service.http}", "traces", spans_request(near, service="near"))
        assert wait_for(lambda: len(service.runs()) > 0), service.log()
        time.sleep(0.5)
        run = service.runs()
        assert [(trace.hex_id, 1)] == [(one["trace_id"], one["revision"]) for one in run]
        assert 18 == len(run[0]["tool_calls"])


def resident_mb(pid: int) -> float:
    """How much memory a process has."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


def test_overload_is_refused_and_bounded(tmp_path: Path) -> None:
    """Ten times of what there is room for: refusals say when to come again, memory is bounded, the counters add up."""
    flags = ("--max-spans", "2000", "--max-traces", "200", "--queue", "1000", "--wal-max-mb", "64", "--idle-s", "600")
    with Service(tmp_path, *QUICK, *flags) as service:
        before = resident_mb(service.pid)
        connection = HTTPConnection(service.http, timeout=20)
        statuses: dict[int, int] = {}
        for trace in plan(1000):
            body = spans_request(trace.spans[:-1])  # it never ends
            connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
            answer = connection.getresponse()
            answer.read()
            statuses[answer.status] = statuses.get(answer.status, 0) + 1
            if answer.status == 429:
                assert int(answer.headers["Retry-After"]) >= 1
        connection.close()
        assert {200, 429} == set(statuses)
        assert wait_for(lambda: service.metrics()["spanwise_serve_queue_records"] == 0)
        metrics = service.metrics()
        refused = sum(value for name, value in metrics.items() if name.startswith("spanwise_serve_refused_total"))
        assert 19_000 == metrics["spanwise_serve_accepted_total"] + refused
        assert metrics["spanwise_serve_accepted_total"] == metrics["spanwise_serve_held_records"] <= 2000
        assert resident_mb(service.pid) - before < 60


def test_health_and_readiness(tmp_path: Path) -> None:
    """The pages say how the service is, and metrics are text that Prometheus reads."""
    with Service(tmp_path) as service:
        assert (200, "alive") == (service.page("/healthz")[0], json.loads(service.page("/healthz")[1])["status"])
        assert {"status": "ready", "reasons": []} == json.loads(service.page("/readyz")[1])
        assert "# TYPE spanwise_serve_accepted_total counter" in service.page("/metrics")[1]


def test_an_evaluator_that_computes_long_holds_nobody_up(tmp_path: Path) -> None:
    """While an evaluator takes three seconds of a core, health is told, and requests are taken, again and again."""
    (tmp_path / "busy.py").write_text(BUSY, encoding="utf-8")
    with Service(tmp_path, *QUICK, settings='[evaluators.busy]\nuse = "busy:Busy"') as service:
        first, *others = plan(40)
        assert 200 == post(f"http://{service.http}", "traces", spans_request(first.spans))
        assert wait_for((tmp_path / "begun").exists)
        answered = 0
        while not (tmp_path / "over").exists() and answered < len(others):
            assert 200 == service.page("/healthz")[0]
            assert 200 == post(f"http://{service.http}", "traces", spans_request(others[answered].spans[:-1]))
            answered += not (tmp_path / "over").exists()
        assert answered >= 5


def run_serve(folder: Path, *flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A start that fails."""
    command = [sys.executable, "-m", "spanwise", "serve", *flags]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder), **variables}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder, env=environment, check=False)


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    """Mistakes in the file, the environment and the flags stop the start with one line each, and exit 2."""
    (tmp_path / "spanwise.toml").write_text('[serve]\ngrace = 3\nwal = { size = 1 }\nidle_s = "long"\n')
    done = run_serve(tmp_path, SPANWISE_SERVE_QUEUE="many", SPANWISE_SERVE_PROT="1")
    assert 2 == done.returncode
    said = done.stderr
    for part in ("serve.grace: unknown key", "serve.wal.size", "serve.idle_s", "SPANWISE_SERVE_QUEUE", "SERVE_PROT"):
        assert part in said
    assert "Traceback" not in said


def test_other_machines_need_a_token(tmp_path: Path) -> None:
    """An address that others can reach is refused without a token, with what to set."""
    done = run_serve(tmp_path, "--grpc", "0.0.0.0:0")
    assert 2 == done.returncode
    assert "can be reached from other machines: set token_file" in done.stderr


def test_a_log_in_use_stops_the_start(tmp_path: Path) -> None:
    """A second process on the same write-ahead log says so, and what to do."""
    with Service(tmp_path) as service:
        done = run_serve(tmp_path, "--grpc", "127.0.0.1:0", "--http", "off", XDG_STATE_HOME=str(tmp_path / "state"))
        assert 2 == done.returncode
        assert f"is in use by process {service.pid}" in done.stderr


@pytest.mark.parametrize("taken", ["http", "grpc"])
def test_a_taken_port_is_told(tmp_path: Path, taken: str) -> None:
    """A port that another process listens on is one sentence at the end and exit 2, whatever listens already."""
    free = {"http": "127.0.0.1:0", "grpc": "127.0.0.1:0"}
    with Service(tmp_path / "one") as service:
        ports = free | {taken: getattr(service, taken)}
        done = run_serve(tmp_path, "--http", ports["http"], "--grpc", ports["grpc"], "--no-wal")
        assert 2 == done.returncode
        assert done.stderr.splitlines()[-1].startswith(f"error: nothing can listen on '{ports[taken]}'"), done.stderr
        assert "Exception" not in done.stderr


def test_log_lines_are_json(tmp_path: Path) -> None:
    """With --log-format json each line on standard error is one object."""
    with Service(tmp_path, "--log-format", "json") as service:
        assert 0 == service.end()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert "SIGTERM: no more spans are taken" in [line["message"] for line in lines]
    assert {"time", "level", "message", "pid"} <= set(lines[0])
