"""What GenAI's conventions let be any value reads the same as JSON text and as lists and mappings.

The SDK takes such values from 1.45 on, and has tuples where lists were given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from spanwise.assembly.tree import build_trace
from spanwise.model.raw import RawEvent, RawSpan
from tests.corpus.facts import NAMES, differences, expected, has_logs, observed
from tests.recordings_io import remade, spans, with_logs

ANY = frozenset(
    {
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.retrieval.documents",
        "gen_ai.system_instructions",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.tool.definitions",
        # What frameworks record of their own in the same way.
        "all_messages_events",
        "final_result",
        "model_request_parameters",
        "pydantic_ai.all_messages",
        "spring.ai.model.request.tool.names",
        "spring.ai.tool.call.arguments",
        "spring.ai.tool.call.result",
        "spring.ai.tool.definition.schema",
        "tool_arguments",
        "tool_response",
    }
)


@pytest.mark.parametrize("name", [name for name in NAMES if any(ANY & span.attributes.keys() for span in spans(name))])
def test_facts_of_structured_values(name: str) -> None:
    """A recording whose values are no JSON text tells what it told as text."""
    raws = [_structured(span) for span in (with_logs(name) if has_logs(name) else spans(name))]
    traces = [build_trace(key, [raw for raw in raws if raw.trace_id == key]) for key in {raw.trace_id for raw in raws}]
    runs = sorted((run for trace in traces for run in trace.runs), key=lambda run: run.start_ns)
    want = expected(name, logs=True)
    assert [list(differences(observed(g), w)) for g, w in zip(runs, want, strict=True)] == [[] for _ in want]


def _structured(span: RawSpan) -> RawSpan:
    events = tuple(RawEvent(e.name, e.time_ns, _values(e.attributes), e.body) for e in span.events)
    return remade(span, attributes=_values(span.attributes), events=events)


def _values(attributes: Mapping[str, object]) -> dict[str, object]:
    return {key: _value(text) if key in ANY else text for key, text in attributes.items()}


def _value(text: object) -> object:
    if not isinstance(text, str) or text[:1] not in {"{", "["}:
        return text
    try:
        return _frozen(json.loads(text))
    except json.JSONDecodeError:
        return text


def _frozen(value: object) -> object:
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return {key: _frozen(held) for key, held in value.items()} if isinstance(value, dict) else value
