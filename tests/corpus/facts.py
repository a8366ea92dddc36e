"""The facts that Spanwise reads out of a recording, in the form in which they were written down beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from spanwise.model.calls import ToolCall
from spanwise.model.trace import Run
from spanwise.offline.reading import Reading

RECORDINGS = Path(__file__).parent.parent / "recordings"
NAMES = sorted(path.name.removesuffix(".facts.json") for path in RECORDINGS.glob("*.facts.json"))
_CALL_KEYS = ("name", "arguments", "result", "status", "control", "origin", "call_id")


def written(name: str) -> dict[str, object]:
    """The facts file of a recording."""
    return json.loads((RECORDINGS / f"{name}.facts.json").read_text())


def expected(name: str, *, logs: bool) -> list[Mapping[str, object]]:
    """The facts of each run; without its log events a recording may tell less."""
    facts = written(name)
    runs = cast("list[Mapping[str, object]]", facts["runs"])
    if logs or "without_logs" not in facts:
        return runs
    override = cast("Mapping[str, object]", facts["without_logs"])
    return [{**runs[0], **{key: value for key, value in override.items() if key != "not_in_spans"}}, *runs[1:]]


def has_logs(name: str) -> bool:
    """Whether log events were recorded beside the spans."""
    return (RECORDINGS / f"{name}.logs.json").exists()


def runs_of(name: str, *, logs: bool) -> list[Run]:
    """The runs of a recording, by start, read as a user's file is."""
    paths = [str(RECORDINGS / f"{name}.json")]
    if logs and has_logs(name):
        paths.append(str(RECORDINGS / f"{name}.logs.json"))
    runs = [run for trace in Reading(paths=paths).traces_of() for run in trace.runs]
    return sorted(runs, key=lambda run: run.start_ns)


def observed(run: Run) -> dict[str, object]:
    """What Spanwise says of a run, in the form of the facts files."""
    tokens = run.tokens
    return {
        "root": (run.root_span or run.trace.spans[run.trace.roots[0]]).name,
        "query": run.query,
        "answer": run.answer,
        "agents": [agent.name for agent in run.agents],
        "tool_calls": [_call(call) for call in run.tool_calls],
        "llm_calls": len(run.llm_calls) or None,
        "models": list(run.models),
        "tokens": None
        if tokens is None
        else {
            "input": tokens.input,
            "output": tokens.output,
            "cache_read": tokens.cache_read,
            "cache_write": tokens.cache_write,
            "reasoning": tokens.reasoning,
        },
        "cost_usd": None if run.cost_estimated else run.cost_usd,
        "retrievals": [
            {
                "query": item.query,
                "documents": item.documents and [{"id": d.id, "score": d.score} for d in item.documents],
            }
            for item in run.retrievals
        ],
        "handoffs": [{"from": item.source, "to": item.target} for item in run.handoffs],
        "tool_definitions": None if run.tool_definitions is None else [tool.name for tool in run.tool_definitions],
        "session_id": run.who.session_id,
        "user_id": run.who.user_id,
    }


def _call(call: ToolCall) -> dict[str, object]:
    return {key: getattr(call, key) for key in _CALL_KEYS}


def same(one: object, other: object) -> bool:
    """Equal up to what the facts' README leaves open: space around text, and how a number is written."""
    if isinstance(one, str) and isinstance(other, str):
        return one.strip() == other.strip()
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) < 1e-9
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return one == other


def differences(got: Mapping[str, object], want: Mapping[str, object]) -> Iterator[str]:
    """One line per field that differs; tool calls are compared field by field."""
    for key, value in want.items():
        if key == "tool_calls":
            calls, known = cast("list[dict[str, object]]", got[key]), cast("list[dict[str, object]]", value)
            if [call["name"] for call in calls] != [call["name"] for call in known]:
                yield f"tool_calls: {[call['name'] for call in calls]} != {[call['name'] for call in known]}"
                continue
            for at, (call, fact) in enumerate(zip(calls, known, strict=True)):
                for field in _CALL_KEYS:
                    if not same(call[field], fact[field]):
                        yield f"tool_calls[{at}].{field}: {call[field]!r} != {fact[field]!r}"
        elif not same(got[key], value):
            yield f"{key}: {got[key]!r} != {value!r}"
