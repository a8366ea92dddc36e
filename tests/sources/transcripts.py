"""Chat transcripts made by hand, and what is read from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from spanwise.assembly.tree import build_trace
from spanwise.model.raw import RawSpan
from spanwise.model.trace import Run
from tests.sources.otlp import Outcome


def read(document: object) -> Outcome:
    """What a document gives."""
    return Outcome(json.dumps(document).encode())


def spans(outcome: Outcome) -> list[RawSpan]:
    """The spans that were read."""
    return [record for record in outcome.records if isinstance(record, RawSpan)]


def runs_of(outcome: Outcome) -> list[Run]:
    """The runs of what was read, by first appearance of their traces."""
    traces: dict[object, list[RawSpan]] = {}
    for span in spans(outcome):
        traces.setdefault(span.trace_id, []).append(span)
    return [run for key, held in traces.items() for run in build_trace(key, held).runs]


def run_of(document: object) -> Run:
    """The only run of a document."""
    (run,) = runs_of(read(document))
    return run


def calls(run: Run) -> list[tuple[object, ...]]:
    """What was called with what, and what came of it."""
    return [(call.name, call.arguments, call.result, call.call_id) for call in run.tool_calls]


def said(*turns: Mapping[str, Any] | str) -> dict[str, Any]:
    """A transcript of these messages, after a question; text is the user's."""
    messages = [turn if isinstance(turn, dict) else {"role": "user", "content": turn} for turn in turns]
    return {"messages": [{"role": "user", "content": "question"}, *messages]}


def asking(*names: str, **fields: Any) -> dict[str, Any]:
    """A message of the assistant that asks for tools, without ids."""
    return {
        "role": "assistant",
        "tool_calls": [{"type": "function", "function": {"name": name, "arguments": "{}"}} for name in names],
        **fields,
    }
