"""A run is the same run in the helper process: every recording gets the same scores there."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.attributes import BoundedAttributes

from spanwise.capture._frames import LENGTH, Job, Reply, Sent, encode, job_of, run_of
from spanwise.catalog import default_evaluators
from spanwise.errors import ModelError
from spanwise.model.raw import RawEvent, RawLink, RawSpan, Scope
from spanwise.model.score import Evidence, Score
from spanwise.model.trace import Run
from spanwise.offline.reading import Reading
from spanwise.run import evaluate
from tests.making import SCOPE
from tests.making import run_of as only_run_of

RECORDINGS = sorted(
    path
    for path in (Path(__file__).parents[1] / "recordings").glob("*.json")
    if not path.name.endswith((".facts.json", ".logs.json"))
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def travelled(run: Run) -> Run:
    """The run as it arrives in another process."""
    frame = encode(job_of(run, ["any"], 1))
    (length,) = LENGTH.unpack_from(frame)
    assert length == len(frame) - LENGTH.size
    return run_of(msgspec.msgpack.decode(frame[LENGTH.size :], type=Job))


def carried(attributes: Mapping[Any, Any]) -> Mapping[str, object]:
    """What arrives of the attributes of a span."""
    raw = RawSpan(1, 2, None, "one", 1, 2, 0, "", attributes, (), SCOPE)
    return travelled(only_run_of(raw)).trace.spans[0].attributes


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_gets_the_same_scores(path: Path) -> None:
    """All built-in evaluators say the same about the run that travelled, down to evidence and reasons."""
    evaluators = default_evaluators()
    results = list(Reading(paths=[str(path)]).results(evaluators))
    assert results
    for result in results:
        again = travelled(result.run)
        assert evaluate(result.run, evaluators).scores == evaluate(again, evaluators).scores
        for told in ("run_id", "query", "answer", "who", "models", "tokens", "missing", "completeness", "duration_ms"):
            assert getattr(result.run, told) == getattr(again, told)
        assert (result.run.trace.trace_id, result.run.trace.source) == (again.trace.trace_id, again.trace.source)


@given(st.dictionaries(st.text(), PLAIN, max_size=4))
def test_plain_attributes_arrive_as_they_are(attributes: dict[str, object]) -> None:
    """Text, numbers, bytes, lists and mappings arrive unchanged; a number beyond 64 bits as text."""
    assert small(attributes) == carried(attributes)


def small(value: object) -> object:
    """A value with its huge numbers as text."""
    if isinstance(value, dict):
        return {key: small(one) for key, one in value.items()}
    if isinstance(value, list):
        return [small(one) for one in value]
    huge = isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64
    return str(value) if huge else value


def test_every_kind_of_mapping_arrives() -> None:
    """The SDK's own mappings, views of them, and tuples arrive as plain values."""
    bounded = BoundedAttributes(10, {"a": ("x", "y"), "n": 1})
    assert {"a": ["x", "y"], "n": 1} == carried(bounded)
    assert {"a": ["x", "y"], "n": 1} == carried(MappingProxyType(bounded))
    assert {"deep": {"m": {"k": [1]}}} == carried({"deep": MappingProxyType({"m": {"k": (1,)}})})


def test_what_cannot_travel_arrives_as_text() -> None:
    """Objects, broken text, huge numbers and endless nesting never raise, and the rest of the span arrives."""
    endless: dict[str, object] = {"name": "kept"}
    endless["self"] = endless
    found = carried(
        {"object": Path("x"), "broken": "a\ud800b", "huge": 2**200, "endless": endless, "fine": 1, 7: "number"}
    )
    assert ("x", "a?b", str(2**200), 1, "number") == (
        found["object"],
        found["broken"],
        found["huge"],
        found["fine"],
        found["7"],
    )
    assert isinstance(found["endless"], dict)
    assert "kept" == found["endless"]["name"]


@pytest.mark.parametrize(
    ("trace", "one", "two"), [(5, 6, 7), (b"\x05" * 16, b"\x06" * 8, b"\x07" * 8), ("5" * 32, "6" * 16, "7" * 16)]
)
def test_ids_of_every_door_arrive_as_hex(trace: Any, one: Any, two: Any) -> None:
    """Numbers, bytes and text keep who is whose parent, and name the same spans."""
    scope = Scope("s", "1", {"service.name": "x"})
    raws = [
        RawSpan(trace, one, None, "root", 1, 9, 0, "", {"gen_ai.operation.name": "invoke_agent"}, (), scope),
        RawSpan(
            trace,
            two,
            one,
            "tool",
            2,
            3,
            2,
            "broke",
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"},
            (RawEvent("exception", 3, {"exception.type": "E"}, {"b": 1}),),
            Scope("other", "2", {}),
            (RawLink(trace, one, {"l": 1}),),
            3,
            False,
            2,
        ),
    ]
    run = only_run_of(*raws)
    again = travelled(run)
    assert (run.trace.trace_id, run.run_id) == (again.trace.trace_id, again.run_id)
    assert [s.span_id for s in run.spans] == [s.span_id for s in again.spans]
    assert [call.span_id for call in run.work] == [call.span_id for call in again.work]
    here, there = run.trace.spans[1].raw, again.trace.spans[1].raw
    for name in (
        "name",
        "start_ns",
        "end_ns",
        "status_code",
        "status_message",
        "events",
        "scope",
        "span_kind",
        "dropped",
    ):
        assert getattr(here, name) == getattr(there, name)
    assert (again.trace.trace_id, there.parent_id, {"l": 1}) == (
        there.links[0].trace_id,
        there.links[0].span_id,
        there.links[0].attributes,
    )


def test_a_run_without_a_root_stays_whole() -> None:
    """A trace that is one run without a span of its own arrives as that."""
    raw = RawSpan(1, 2, None, "step", 1, 2, 0, "", {"gen_ai.operation.name": "chat"}, (), SCOPE)
    run = only_run_of(raw)
    assert (-1, -1, "") == (run.root, travelled(run).root, travelled(run).run_id)


def test_scores_come_back_as_they_were() -> None:
    """A score with all its fields is the same behind the wire, and one that contradicts itself is refused."""
    score = Score(
        name="n",
        value=3.0,
        unit="ms",
        label="warn",
        reason="r",
        evidence=(Evidence(span_id="1", quote="q"),),
        issues=("i",),
        recommendations=("x",),
        evaluator="e",
        version="2",
        config_hash="h",
        revision=4,
    )
    frame = encode(Reply("scores", "n", [score]))[LENGTH.size :]
    assert [score] == msgspec.msgpack.decode(frame, type=Reply).scores
    wrong = msgspec.msgpack.encode({"kind": "scores", "scores": [{"name": "n", "value": 7.0}]})
    with pytest.raises(ModelError):
        msgspec.msgpack.decode(wrong, type=Reply)


def test_parameters_must_be_plain() -> None:
    """What is no plain value travels as text, and never stops the message."""
    frame = encode(Sent("n", path="a:B", parameters={"x": {1, 2}, "y": object}))[LENGTH.size :]
    found = msgspec.msgpack.decode(frame, type=Sent)
    assert ([1, 2], "<class 'object'>") == (found.parameters["x"], found.parameters["y"])
