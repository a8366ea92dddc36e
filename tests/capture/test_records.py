"""What was captured becomes records, in Python and compiled alike."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode

from spanwise.capture import records
from spanwise.capture.intake import Captured
from spanwise.capture.records import OWN_SCOPES, recorder
from spanwise.model.raw import LogEvent, RawEvent, RawSpan, Scope
from spanwise.native import core


class Other(SpanContext):
    """A context of somebody's, which has its ids elsewhere."""

    @property
    def span_id(self) -> int:
        return 99


HERE = SpanContext(1, 2, is_remote=False)
RESOURCE = Resource({"service.name": "app"})
SCOPES = [None, *(InstrumentationScope(name, "1") for name in ("app", "other", *OWN_SCOPES, f"{OWN_SCOPES[0]}.more"))]
PARENTS = [None, SpanContext(1, 5, is_remote=False), SpanContext(1, 6, is_remote=True), Other(1, 7, is_remote=True)]
STATUSES = [
    Status(),
    Status(StatusCode.OK),
    Status(StatusCode.ERROR),
    Status(StatusCode.ERROR, "why"),
]


@st.composite
def captured(draw: st.DrawFn) -> Captured:
    """A span as a hook takes it, or a log event."""
    scope, resource = draw(st.sampled_from(SCOPES)), draw(st.sampled_from([RESOURCE, None]))
    if draw(st.integers(0, 5)) == 0:
        return (1, 2, "event", 3, {"a": 1}, "body", scope, resource)
    return (
        draw(st.sampled_from([SpanContext, Other]))(1, draw(st.integers(0, 1 << 63)), is_remote=False),
        draw(st.sampled_from(PARENTS)),
        draw(st.text()),
        draw(st.none() | st.integers(0, 9)),
        draw(st.none() | st.integers(0, 9)),
        draw(st.sampled_from(STATUSES)),
        {"key": draw(st.text())},
        draw(st.sampled_from([(), [], (Event("e", {"a": "b"}, 4),), [Event("e", None, 4)]])),
        draw(st.sampled_from(list(SpanKind))),
        scope,
        RESOURCE,
    )


def in_python(monkeypatch: pytest.MonkeyPatch) -> records.Record:
    """What makes records without the compiled part."""
    monkeypatch.setattr(records, "core", None)
    return recorder()


def test_a_span(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that was captured of a span is in its record, in the protocol's numbers."""
    parts = (
        HERE,
        PARENTS[2],
        "n",
        3,
        None,
        STATUSES[3],
        {"a": 1},
        (Event("e", {}, 4),),
        SpanKind.CLIENT,
        SCOPES[1],
        RESOURCE,
    )
    scope = Scope("app", "1", dict(RESOURCE.attributes))
    expected = RawSpan(1, 2, 6, "n", 3, 0, 2, "why", {"a": 1}, (RawEvent("e", 4, {}),), scope, (), 3, True)
    assert expected == recorder()(parts) == in_python(monkeypatch)(parts)


def test_a_log_event() -> None:
    """A log event becomes one; what Spanwise itself emitted becomes nothing."""
    assert LogEvent(1, 2, RawEvent("e", 3, {}, "body"), Scope("", "", {})) == recorder()(
        (1, 2, "e", 3, {}, "body", None, None)
    )
    assert recorder()((1, 2, "e", 3, {}, "body", SCOPES[3], None)) is None


def test_scopes_are_made_once() -> None:
    """Records of one scope and resource share what was made of them, also when others come between."""
    record_of = recorder()
    parts = [(HERE, None, "n", 3, 4, STATUSES[0], {}, (), SpanKind.INTERNAL, scope, RESOURCE) for scope in SCOPES[1:3]]
    first, other, again = (record_of(parts[at]) for at in (0, 1, 0))
    assert isinstance(first, RawSpan)
    assert isinstance(again, RawSpan)
    assert first.scope is again.scope
    assert first.scope != getattr(other, "scope", None)


def test_very_many_scopes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more scopes are remembered than there is room for."""
    monkeypatch.setattr(records, "_MOST_SCOPES", 2)
    record_of = recorder()
    for number in range(5):
        parts = (1, 2, "e", 3, {}, None, InstrumentationScope(f"s{number}"), None)
        assert f"s{number}" == record_of(parts).scope.name


@given(st.lists(captured(), max_size=6))
def test_the_compiled_part_makes_the_same(items: list[Captured]) -> None:
    """Whatever was captured, in whatever order, its records are the same with the compiled part."""
    compiled = recorder()
    with pytest.MonkeyPatch.context() as patch:
        twin = in_python(patch)
    assert [twin(one) for one in items] == [compiled(one) for one in items]


@pytest.mark.parametrize(
    "odd",
    [
        {0: SimpleNamespace(trace_id=1)},
        {0: "no context"},
        {1: SimpleNamespace(span_id=1)},
        {1: "no context"},
        {5: SimpleNamespace()},
        {5: SimpleNamespace(status_code=StatusCode.OK)},
        {8: "no kind"},
        {8: SimpleNamespace(value="text")},
    ],
)
def test_somebodys_parts(odd: dict[int, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no span's part is an error that comes out, compiled or not."""
    parts = [HERE, None, "n", 3, 4, STATUSES[0], {}, (), SpanKind.INTERNAL, SCOPES[1], RESOURCE]
    for at, value in odd.items():
        parts[at] = value
    for record_of in (recorder(), in_python(monkeypatch)):
        with pytest.raises((AttributeError, TypeError)):
            record_of(tuple(parts))


@pytest.mark.skipif(core is None, reason="the compiled part was not built here")
def test_what_the_compiled_part_is_given() -> None:
    """It takes what was captured, and nothing else."""
    assert core is not None
    made = core.Recorder(RawSpan, lambda parts: parts, lambda scope, resource: 1 / 0, (1, 2, 3), None)
    assert made("anything") == "anything"
    with pytest.raises(ZeroDivisionError):
        made((HERE, None, "n", 3, 4, STATUSES[0], {}, (), SpanKind.INTERNAL, None, None))
    with pytest.raises(TypeError, match="takes what was captured"):
        made()
    with pytest.raises(TypeError, match="a class of tuples"):
        core.Recorder(RawSpan, None, None, (1, 2, 3), int)
