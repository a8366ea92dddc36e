"""What is added to an app's spans holds nothing that people, models and tools wrote, unless that is asked for.

The spans themselves hold what the app's instrumentation recorded. So each is compared with what the same app exports
without Spanwise: what is more is ours.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Literal

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.trace import Span, StatusCode, set_span_in_context

import spanwise
from spanwise.capture.scored_exporter import ScoredExporter
from spanwise.model.ports import Content
from tests.capture.exporting import Kept
from tests.sinks.test_privacy import CONTENT, SECRETS, evaluators, spans, told_in

Told = Mapping[str, Mapping[str, object]]
BEGUN = 1_794_982_380_000_000_000


def work(provider: TracerProvider, extra: str) -> None:
    """The run, by the app's own tracer."""
    tracer = provider.get_tracer("app")
    made: dict[object, Span] = {}
    recorded = spans(extra)
    for raw in recorded:
        parent = made.get(raw.parent_id)
        context = Context() if parent is None else set_span_in_context(parent, Context())
        at = BEGUN + raw.start_ns * 1_000_000
        made[raw.span_id] = tracer.start_span(raw.name, context, attributes=dict(raw.attributes), start_time=at)
        if raw.status_code == 2:
            made[raw.span_id].set_status(StatusCode.ERROR, raw.status_message)
    for raw in reversed(recorded):
        made[raw.span_id].end(BEGUN + raw.end_ns * 1_000_000)


def exported(kept: Kept) -> Mapping[tuple[str, int | None], ReadableSpan]:
    """What left, by name and start."""
    return {(span.name, span.start_time): span for span in kept.spans}


def plain(extra: str) -> Mapping[tuple[str, int | None], ReadableSpan]:
    """What leaves without Spanwise."""
    kept, provider = Kept(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    work(provider, extra)
    return exported(kept)


def added(mode: str, level: Content | None, extra: str = "") -> Told:
    """The attributes that are more than the app's, by the span's name; all else of each span is the same."""
    kept, provider = Kept(), TracerProvider(shutdown_on_exit=False)
    exporter = ScoredExporter(kept) if mode == "hold" else kept
    provider.add_span_processor(BatchSpanProcessor(exporter) if mode == "hold" else SimpleSpanProcessor(exporter))
    sync: Literal["sync"] | None = "sync" if mode == "sync" else None
    with spanwise.instrument(
        provider,
        evaluators=evaluators(),
        sinks=[lambda _: None],
        emit_content=level,
        on_first="silent",
        span_attributes=sync,
    ) as handle:
        until = time.monotonic() + 60
        while not any("spanwise.run.id" in (span.attributes or {}) for span in kept.spans):
            assert time.monotonic() < until
            kept.spans.clear()  # what takes too long by what the machine does just now is left out
            work(provider, extra)
            assert handle.flush(20)
            provider.force_flush()
    provider.shutdown()
    before, after = plain(extra), exported(kept)
    assert set(before) == set(after)
    told: dict[str, dict[str, object]] = {}
    for key, span in after.items():
        own, held = before[key].attributes or {}, span.attributes or {}
        assert dict(own) == {name: held[name] for name in own}
        assert len(before[key].events) == len(span.events)
        assert before[key].status.description == span.status.description
        more = {name: value for name, value in held.items() if name not in own}
        if more:
            told[span.name] = more
    return told


def spelt(told: Told) -> str:
    """All of it as text."""
    return json.dumps(told, ensure_ascii=False, default=str)


@pytest.mark.parametrize("level", [None, "none"])
def test_hold_adds_no_content(level: Content | None) -> None:
    """At none, which is the default, the root gets names, values, labels, statuses and ids, whatever was quoted."""
    told = added("hold", level)
    assert ["invoke_agent helper"] == list(told)
    held = told["invoke_agent helper"]
    assert {"scored", "not_applicable", "not_measurable", "error"} == {
        str(held.get(f"spanwise.score.chatty_{one}.status", "scored"))
        for one in ("scored", "not_applicable", "not_measurable", "error")
    }
    assert {} == told_in(spelt(told))
    assert "ValueError" == held["spanwise.score.loud.reason"]


@pytest.mark.parametrize("level", ["none", "evidence", "all"])
def test_sync_adds_no_content(level: Content, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written at a root's end, however long it takes, holds no reason at any level."""
    monkeypatch.setattr("spanwise.capture.sync.BUDGET_NS", 10**10)
    told = added("sync", level, " ".join(SECRETS))
    assert ["invoke_agent helper"] == list(told)
    assert 5 < len([key for key in told["invoke_agent helper"] if key.endswith(".id")])
    assert {} == told_in(spelt(told))
    assert [] == [secret for secret in SECRETS if secret in spelt(told)]


@pytest.mark.parametrize("level", ["none", "evidence", "all"])
def test_hold_adds_no_secret(level: Content) -> None:
    """Reasons stand on the root from level evidence on, and no secret does at any level."""
    gone = spelt(added("hold", level, " ".join(SECRETS)))
    assert [] == [secret for secret in SECRETS if secret in gone]
    assert (level != "none") == (CONTENT["prompt"] in gone) == ("[masked: api key]" in gone)


def test_the_level_of_spans_alone() -> None:
    """The level can be given for what stands on spans, by the name of that sink."""
    kept, provider = Kept(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(ScoredExporter(kept)))
    seen: list[str] = []
    with spanwise.instrument(
        provider,
        evaluators=evaluators(),
        sinks=[lambda result: seen.append(result.scores[0].reason)],
        emit_content={"scored_exporters": "evidence"},
        on_first="silent",
    ) as handle:
        work(provider, "")
        assert handle.flush(20)
        provider.force_flush()
    provider.shutdown()
    (root,) = [span for span in kept.spans if span.name == "invoke_agent helper"]
    held = dict(root.attributes or {})
    assert CONTENT["prompt"] in str(held["spanwise.score.chatty_scored.reason"])
    assert CONTENT["prompt"] in str([value for key, value in held.items() if key.endswith("evaluation.explanation")])
    assert 1 == len(seen)
