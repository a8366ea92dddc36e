"""The Collector's configurations: a real Collector takes each, and each sends everything where it belongs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import grpc
import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from tests.service.backend import Backend, backend
from tests.service.collector import (
    APPS_GRPC,
    APPS_HTTP,
    EDGE,
    GATEWAY,
    GATEWAY_GRPC,
    HANDOFF,
    ONE_MACHINE,
    PROMETHEUS,
    SCORED,
    SCORERS,
    SCORES,
    TAIL_SAMPLING,
    Collector,
    validated,
)
from tests.service.traffic import Planned, interleaved, logs_request, plan, post, spans_request
from tests.sinks.otlp_server import Got, OtlpGrpcServer

pytestmark = pytest.mark.timeout(900)  # the first test may have to build the Collector


@pytest.fixture
def store() -> Iterator[Backend]:
    """A backend that is up."""
    with backend() as running:
        yield running


@pytest.fixture
def scorers() -> Iterator[list[OtlpGrpcServer]]:
    """Three that stand where scorers would, and keep what they are sent."""
    with ExitStack() as stack:
        yield [stack.enter_context(OtlpGrpcServer()) for _ in SCORERS]


@pytest.fixture
def run(
    otelcol: Path, tmp_path: Path, store: Backend, scorers: list[OtlpGrpcServer]
) -> Iterator[Callable[[Sequence[Path]], Collector]]:
    """Runs a configuration between the backend and the scorers."""
    with ExitStack() as stack:
        ports = {named: int(one.url.rpartition(":")[2]) for named, one in zip(SCORERS, scorers, strict=True)}

        def start(configs: Sequence[Path], name: str = "collector", **environment: str) -> Collector:
            made = Collector(
                otelcol,
                tmp_path / name,
                configs=configs,
                ports=ports,
                environment={"SPANWISE_BACKEND": store.url, **environment},
            )
            return stack.enter_context(made)

        yield start


def send(url: str, traces: Sequence[Planned]) -> None:
    """Send traces, interleaved."""
    for kind, body in interleaved(traces):
        assert 200 == post(url, kind, body)


def over_grpc(port: int, body: bytes) -> None:
    """Send spans over gRPC."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")(body, timeout=10)


def spans_at(scorers: Sequence[OtlpGrpcServer]) -> list[Got]:
    """All spans that any scorer got."""
    return [span for one in scorers for span in one.received.spans]


def logs_at(scorers: Sequence[OtlpGrpcServer]) -> list[Got]:
    """All log records that any scorer got."""
    return [log for one in scorers for log in one.received.logs]


def score(trace: Planned, name: str, value: float, *, revision: int = 1, unit: str = "") -> LogRecord:
    """A score as a scorer sends it."""
    texts = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.target": "forecaster", "spanwise.score.id": name}
    if unit:
        texts["spanwise.score.unit"] = unit
    pairs = [KeyValue(key=key, value=AnyValue(string_value=text)) for key, text in texts.items()]
    pairs.append(KeyValue(key="gen_ai.evaluation.score.value", value=AnyValue(double_value=value)))
    pairs.append(KeyValue(key="spanwise.score.revision", value=AnyValue(int_value=revision)))
    return LogRecord(
        trace_id=trace.trace_id,
        span_id=trace.spans[-1].span_id,
        event_name="gen_ai.evaluation.result",
        attributes=pairs,
    )


def shown(collector: Collector) -> str:
    """What Prometheus would scrape."""
    with urlopen(f"{collector.url(PROMETHEUS)}/metrics", timeout=5) as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize("configs", [ONE_MACHINE, EDGE, GATEWAY, TAIL_SAMPLING], ids=lambda files: files[-1].stem)
def test_each_is_valid(otelcol: Path, configs: Sequence[Path], tmp_path: Path) -> None:
    """The Collector takes each configuration as it stands."""
    assert (0, "") == validated(otelcol, configs, tmp_path)


@pytest.mark.parametrize("config", sorted({*ONE_MACHINE, *EDGE, *GATEWAY, *TAIL_SAMPLING}), ids=lambda path: path.stem)
def test_nothing_listens_beyond_loopback(config: Path) -> None:
    """Every address that a configuration listens on or sends to without being told is of the loopback."""
    hosts = re.findall(r"(?:endpoint|host): (?:\S+:-)?(?:http://)?([^\s:}]+)", config.read_text(encoding="utf-8"))
    assert {"127.0.0.1"} == set(hosts)


def test_raw_to_the_backend_whole_to_one_scorer(
    run: Callable[..., Collector], store: Backend, scorers: list[OtlpGrpcServer]
) -> None:
    """All spans and logs reach the backend; a trace's spans, with its GenAI events, reach one scorer and no other."""
    collector, traces = run(ONE_MACHINE), plan(30)
    send(collector.url(APPS_HTTP), traces[:20])
    for trace in traces[20:]:
        over_grpc(collector.port(APPS_GRPC), spans_request(trace.spans))
    others = [LogRecord(event_name="app.started"), LogRecord(event_name="app.said", trace_id=traces[0].trace_id)]
    assert 200 == post(collector.url(APPS_HTTP), "logs", logs_request([*others, *(one.event for one in traces[20:])]))
    own = logs_request([score(traces[0], "overall", 0.5)], scope="spanwise.evaluation")
    assert 200 == post(collector.url(APPS_HTTP), "logs", own)

    assert store.received.wait(lambda got: (len(got.spans), len(got.logs)) == (600, 33))
    assert not any("spanwise.route" in got.attributes for got in (*store.received.spans, *store.received.logs))
    assert scorers[0].received.wait(lambda _: len(spans_at(scorers)) == 600 and len(logs_at(scorers)) == 30)
    assert {one.event.span_id for one in traces} == {log.proto.span_id for log in logs_at(scorers)}
    held = [{got.trace_id for got in (*one.received.spans, *one.received.logs)} for one in scorers]
    assert 30 == sum(map(len, held)) == len(set().union(*held)), "a trace is at two scorers"
    assert all(held), "a scorer got nothing"


def test_scores_never_reach_a_scorer(
    run: Callable[..., Collector], store: Backend, scorers: list[OtlpGrpcServer]
) -> None:
    """What scorers say goes to the backend and into the histogram, first revisions without a unit only."""
    collector, traces = run(ONE_MACHINE), plan(40)
    for trace in traces:
        told = [score(trace, "overall", 0.45), score(trace, "latency_ms", 900.0, unit="ms")]
        told.append(score(trace, "overall", 0.85, revision=2))
        body = logs_request(told, scope="spanwise.evaluation")
        assert 200 == post(collector.url(SCORES), "logs", body)
    assert store.received.wait(lambda got: len(got.logs) == 120)
    count = re.compile(r'^spanwise_score\w*_count\{[^}]*name="overall"[^}]*\} 40$', re.MULTILINE)
    assert store.received.wait(lambda _: count.search(shown(collector))), shown(collector)
    text = shown(collector)
    assert 'agent="forecaster"' in text
    assert 'job="tests"' in text
    assert "latency_ms" not in text
    assert re.search(r'^spanwise_score\w*_bucket\{[^}]*le="0.4"\} 0$', text, re.MULTILINE), text
    assert re.search(r'^spanwise_score\w*_bucket\{[^}]*le="0.5"\} 40$', text, re.MULTILINE), text
    assert ([], []) == (spans_at(scorers), logs_at(scorers))


def test_handed_back_goes_to_scorers_only(
    run: Callable[..., Collector], store: Backend, scorers: list[OtlpGrpcServer]
) -> None:
    """Unfinished traces that a scorer gives back reach a scorer again, and the backend no second time."""
    collector, traces = run(ONE_MACHINE), plan(10)
    send(collector.url(HANDOFF), traces)
    assert scorers[0].received.wait(lambda _: len(spans_at(scorers)) == 200 and len(logs_at(scorers)) == 10)
    send(collector.url(APPS_HTTP), traces[:1])
    assert store.received.wait(lambda got: len(got.spans) == 20)
    assert {traces[0].hex_id} == {span.trace_id for span in store.received.spans}


def test_two_tiers(run: Callable[..., Collector], store: Backend, scorers: list[OtlpGrpcServer]) -> None:
    """Two gateways behind an edge, each given a part of every trace, send each trace to one scorer."""
    gateways = [run(GATEWAY, f"gateway-{number}") for number in range(2)]
    edges = [
        run(EDGE, f"edge-{at}", SPANWISE_GATEWAY=f"127.0.0.1:{one.port(GATEWAY_GRPC)}")
        for at, one in enumerate(gateways)
    ]
    traces = plan(30)
    for at, (kind, body) in enumerate(interleaved(traces, per_request=30)):
        assert 200 == post(edges[at % 2].url(APPS_HTTP), kind, body)
    assert store.received.wait(lambda got: len(got.spans) == 600, timeout_s=20)
    assert scorers[0].received.wait(lambda _: len(spans_at(scorers)) == 600)
    held = [{span.trace_id for span in one.received.spans} for one in scorers]
    assert 30 == sum(map(len, held)) == len(set().union(*held)), "a trace is at two scorers"


def test_tail_sampling_keeps_the_bad(run: Callable[..., Collector], store: Backend) -> None:
    """Of scored traces the backend gets all with a low overall score and a share of the rest, whole; no raw ones."""
    collector, traces = run(TAIL_SAMPLING), plan(120)
    send(collector.url(APPS_HTTP), traces)
    for at, trace in enumerate(traces):
        overall = AnyValue(double_value=0.3 if at < 20 else 0.9)
        trace.spans[-1].attributes.append(KeyValue(key="spanwise.score.overall", value=overall))
        assert 200 == post(collector.url(SCORED), "traces", spans_request(trace.spans))
    low = {trace.hex_id for trace in traces[:20]}
    assert store.received.wait(lambda got: low <= {span.trace_id for span in got.spans}, timeout_s=30)
    kept = [span.trace_id for span in store.received.spans]
    assert 0 < len(set(kept) - low) < 40
    assert {20} == {kept.count(one) for one in set(kept)}
