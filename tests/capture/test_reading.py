"""What is taken out of a span is the same by both doors, whatever the span is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from types import MappingProxyType, SimpleNamespace

import pytest
from opentelemetry import baggage, trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from spanwise.capture import _sdk_private
from spanwise.capture._mark import ENTERED
from spanwise.capture.context import context
from spanwise.capture.intake import Intake
from spanwise.capture.processor import SpanCapture
from spanwise.capture.reading import SpanParts, getter, read
from tests.capture.app import App, app, make

__all__ = ["app", "make"]

ERROR = Status(StatusCode.ERROR, "why")
HERE, ABOVE = SpanContext(7, 8, is_remote=False), SpanContext(7, 9, is_remote=True)


class Kept(SpanProcessor):
    """Keeps the spans that end."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


class Renamed(ReadableSpan):
    """A span of somebody's, which says something else of itself."""

    @property
    def name(self) -> str:
        return "renamed"


class Other(SpanContext):
    """A context of somebody's."""

    @property
    def span_id(self) -> int:
        return 99


def plain(span: ReadableSpan) -> SpanParts:
    """The parts, asked for one by one."""
    return (
        span.context,
        span.parent,
        span.name,
        span.start_time,
        span.end_time,
        span.status,
        dict(span.attributes or {}),
        tuple(span.events),
        span.kind,
        span.instrumentation_scope,
        span.resource,
    )


def recorded() -> list[ReadableSpan]:
    """Spans as the SDK makes them."""
    kept = Kept()
    provider = TracerProvider(shutdown_on_exit=False, resource=Resource({"service.name": "app"}))
    provider.add_span_processor(kept)
    tracer = provider.get_tracer("app", "1.2")
    remote = trace.set_span_in_context(NonRecordingSpan(SpanContext(5, 6, is_remote=True, trace_flags=TraceFlags(1))))
    with tracer.start_as_current_span("root", context=remote, kind=SpanKind.SERVER):
        with tracer.start_as_current_span("child", attributes={"a": "b", "n": [1, 2]}, links=[Link(HERE)]) as span:
            span.add_event("one", {"k": "v"})
            span.add_event("two")
            span.set_status(StatusCode.OK)
        with pytest.raises(ValueError, match="x"), tracer.start_as_current_span("failing"):
            raise ValueError("x")
    return kept.spans


MADE = [
    ReadableSpan("bare", HERE),
    ReadableSpan("plain mappings", HERE, ABOVE, attributes={"a": 1}, events=[Event("e", {"k": 2})], status=ERROR),
    ReadableSpan("a view", HERE, attributes=MappingProxyType({"a": 1}), start_time=1, end_time=2, kind=SpanKind.CLIENT),
    ReadableSpan("somebody's context", Other(1, 2, is_remote=False), attributes={"a": 1}),
    Renamed("a class of somebody's", HERE, attributes={"a": 1}),
    Renamed("without attributes", HERE),
]


@pytest.fixture(params=["public", "private"])
def door(request: pytest.FixtureRequest) -> Callable[[ReadableSpan], SpanParts | None]:
    """Either way to take the parts out of a span."""
    if request.param == "public":
        return read
    private = _sdk_private.reading()
    assert private is not None
    return private


@pytest.mark.parametrize("span", [*recorded(), *MADE], ids=lambda span: span.name)
def test_the_parts_of_a_span(door: Callable[[ReadableSpan], SpanParts | None], span: ReadableSpan) -> None:
    """They are what the span says of itself; the attributes are a dict of their own."""
    found = door(span)
    assert found is not None
    assert plain(span) == (*found[:7], tuple(found[7]), *found[8:])
    assert type(found[6]) is dict
    assert found[6] is not span.attributes


def test_a_live_span(door: Callable[[ReadableSpan], SpanParts | None]) -> None:
    """What is set on a span after it was read does not change what was read."""
    span = TracerProvider(shutdown_on_exit=False).get_tracer("app").start_span("open", attributes={"a": 1})
    assert isinstance(span, Span)
    found = door(span)
    span.set_attribute("b", 2)
    assert found is not None
    assert (None, {"a": 1}) == (found[4], found[6])


@pytest.mark.parametrize("kind", [ReadableSpan, Renamed])
def test_a_span_of_nothing(door: Callable[[ReadableSpan], SpanParts | None], kind: type[ReadableSpan]) -> None:
    """A span without a context has no parts, and does not come into the queue."""
    span = kind("nowhere")
    assert door(span) is None
    intake = Intake(10)
    capture = SpanCapture(
        intake,
        stamp=lambda span, context: None,
        notify=lambda: None,
        flush=lambda timeout_s: True,
        close=lambda: None,
        read=door,
    )
    capture.on_end(span)
    intake.mark = 0
    capture.on_end(span)
    assert (0, 0, 0) == (len(intake.items), intake.lost, intake.failures)


def test_what_is_no_property() -> None:
    """Where a property has become something else, the attribute is asked for."""
    assert 3 == getter(SimpleNamespace, "name")(SimpleNamespace(name=3))


def scores(made: App) -> list[object]:
    """What a run of an app is scored, but for how long it took."""
    with made.agent(), made.tool("search"), made.tool("search"):
        pass
    (result,) = made.flushed()
    return [(one.name, one.value, one.label, one.reason) for one in result.scores if "latency" not in one.name]


def test_scores_by_both_doors(make: Callable[..., App], caplog: pytest.LogCaptureFixture) -> None:
    """They do not depend on how spans are read; nothing is logged."""
    with caplog.at_level(logging.WARNING, "spanwise"):
        assert scores(make()) == scores(make(sdk_internals=True))
    assert not caplog.records


@pytest.mark.parametrize(
    ("where", "other"),
    [("_NAMES", {"_gone"}), ("BoundedList", lambda: None), ("BoundedAttributes", lambda *args: {"key": "value"})],
)
def test_an_sdk_of_another_make(
    make: Callable[..., App],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    where: str,
    other: object,
) -> None:
    """What is not where it is looked for is read by what is public, which is logged once."""
    if where == "BoundedList":
        monkeypatch.setattr(_sdk_private, "_listed", list)
    else:
        monkeypatch.setattr(_sdk_private, where, other)
    assert _sdk_private.reading() is None
    with caplog.at_level(logging.WARNING, "spanwise"):
        assert scores(make(sdk_internals=True))
    assert ["spanwise: sdk_internals=True: this SDK keeps its spans in another way; its public interface is used"] == [
        one.getMessage() for one in caplog.records
    ]


@pytest.fixture
def unentered(monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """An app in a process in which no context was ever entered."""
    monkeypatch.setattr(ENTERED, "ever", False)
    made = App()
    yield made
    made.handle.uninstrument()


def test_the_first_context(unentered: App) -> None:
    """What begins in it bears it, though spans had begun before it was ever entered."""
    with unentered.agent():
        with unentered.tool("search"):
            pass
        with context(session_id="s"), unentered.tool("search"):
            pass
    with context(user_id="u"), unentered.agent():
        pass
    first, second = unentered.flushed()
    assert [None, None, "s"] == [one.attributes.get("spanwise.session_id") for one in first.run.trace.spans]
    assert "u" == second.run.who.user_id


def test_who_called_from_elsewhere(unentered: App) -> None:
    """What came along with a remote parent is written though no context was ever entered here."""
    remote = trace.set_span_in_context(NonRecordingSpan(SpanContext(5, 6, is_remote=True, trace_flags=TraceFlags(1))))
    carried: Context = baggage.set_baggage("spanwise.session_id", "s", remote)
    fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    with unentered.tracer.start_as_current_span("invoke_agent helper", context=carried, attributes=fields):
        pass
    (result,) = unentered.flushed()
    assert "s" == result.run.who.session_id


def test_the_queue_of_a_capture_that_was_ended(app: App) -> None:
    """What ends afterwards is neither taken nor counted; what waited is scored; a forked child takes nothing either."""
    with app.agent():
        pass
    app.handle.uninstrument()
    with app.agent():
        pass
    intake = app.handle._worker.intake
    assert (1, 1, 0) == (len(app.flushed()), app.handle.stats().captured, intake.lost)
    intake.reset()
    app.provider._active_span_processor.on_end(ReadableSpan("late", HERE))
    assert (0, -1, 0) == (len(intake.items), intake.mark, intake.lost)
