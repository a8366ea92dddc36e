"""Recordings in which a value is of another type than its instrumentation writes are read as far as they go."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.assembly.tree import build_trace
from spanwise.catalog import default_evaluators
from spanwise.model.raw import RawSpan, Scope
from spanwise.run import evaluate
from tests.corpus.facts import NAMES, observed
from tests.recordings_io import remade, spans

EVALUATORS = default_evaluators()
ODD: tuple[object, ...] = ([], {}, ["a"], {"a": 1}, [[]], None, True, 0, -1, 1.5, float("nan"), b"x", "", "x", "[1]")
NESTED = '[{"role": [], "type": {}, "name": [], "id": {}, "content": [[]], "parts": [1], "tool_calls": {"a": []}}]'


@cache
def keys(name: str) -> tuple[str, ...]:
    """The names of all attributes of a recording's spans and of their resources."""
    found = {key for span in spans(name) for key in (*span.attributes, *span.scope.resource)}
    return tuple(sorted(found))


def put(held: Mapping[str, object], key: str, value: object) -> Mapping[str, object]:
    """The attributes with another value under a key, if it is there."""
    return {**held, key: value} if key in held else held


def with_value(span: RawSpan, key: str, value: object) -> RawSpan:
    """The span with another value under a key, be it its own or its resource's."""
    scope = Scope(span.scope.name, span.scope.version, put(span.scope.resource, key, value))
    return remade(span, attributes=put(span.attributes, key, value), scope=scope)


def read_all(name: str, key: str, value: object) -> None:
    """Read and score a recording in which each value under a key is this one."""
    traces: dict[object, list[RawSpan]] = {}
    for span in spans(name):
        traces.setdefault(span.trace_id, []).append(with_value(span, key, value))
    for trace_id, held in traces.items():
        for run in build_trace(str(trace_id), held).runs:
            assert observed(run).keys()
            assert [item.field for item in run.missing] == list({item.field: item for item in run.missing})
            result = evaluate(run, EVALUATORS)
            assert [] == [score.reason for score in result.scores if score.status == "error"]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("openai-agents__otel-genai", "telemetry.sdk.language"),
        ("spring-ai__micrometer", "spring.ai.kind"),
    ],
)
@pytest.mark.parametrize("value", [[], {}, ["a"]], ids=str)
def test_lists_where_a_name_is_looked_up(name: str, key: str, value: object) -> None:
    """A list or an object in the place of a name that is looked up in a table is no name that it holds."""
    read_all(name, key, value)


@given(
    name=st.sampled_from(NAMES), at=st.integers(0, 10_000), value=st.sampled_from([*ODD, NESTED]) | st.text(max_size=9)
)
def test_values_of_any_type_raise_nothing(name: str, at: int, value: object) -> None:
    """Whatever stands under any attribute of any recording, facts, gaps and scores are told."""
    known = keys(name)
    read_all(name, known[at % len(known)], value)
