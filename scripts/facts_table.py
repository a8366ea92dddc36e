"""What cog writes into docs/conventions.md: every recording against every fact, as the tests read them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cog

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from spanwise.conventions import CONVENTIONS
from tests.corpus.facts import NAMES, expected, observed, runs_of, same

_FACTS = (
    "query", "answer", "agents", "tools", "arguments", "results", "statuses", "documents", "llm_calls",
    "tokens", "cost_usd", "handoffs", "tool_definitions", "session_id",
)  # fmt: skip
_NOTHING: tuple[object, ...] = (None, [], {})


def index() -> None:
    """Write a line for each dialect, linked to its page."""
    cog.outl("")
    for convention in CONVENTIONS:
        cog.outl(f"1. [{convention.title}](conventions/{convention.name}.md)")
    cog.outl("")


def table() -> None:
    """Write a row for each recording: what was read right, what is not in its spans, what is wrong."""
    cog.outl("\n| recording | " + " | ".join(fact.replace("_", " ") for fact in _FACTS) + " |")
    cog.outl("|---" * (len(_FACTS) + 1) + "|")
    read = absent = wrong = 0
    for name in NAMES:
        want = [_facts(run) for run in expected(name, logs=True)]
        got = [_facts(observed(run)) for run in runs_of(name, logs=True)]
        cells: list[str] = []
        for fact in _FACTS:
            one, other = [run[fact] for run in got], [run[fact] for run in want]
            if not same(one, other):
                wrong += 1
                cells.append("**wrong**")
            elif all(_empty(value) for value in other):
                absent += 1
                cells.append("\N{EN DASH}")
            else:
                read += 1
                cells.append(_shown(fact, other))
        cog.outl(f"| {name} | " + " | ".join(cells) + " |")
    cog.outl(f"\n{read} facts read right, {absent} not in the spans, {wrong} wrong.")


def _facts(run: Mapping[str, Any]) -> dict[str, object]:
    calls = [call for call in run["tool_calls"] if not call["control"]]
    return {
        **run,
        "tools": [call["name"] for call in calls],
        "arguments": [call["arguments"] for call in calls],
        "results": [call["result"] for call in calls],
        "statuses": [call["status"] for call in calls],
        "documents": [item["documents"] for item in run["retrievals"]],
    }


def _empty(value: object) -> bool:
    return value in _NOTHING or (isinstance(value, list) and all(item is None or item == "unknown" for item in value))


def _shown(fact: str, values: list[Any]) -> str:
    if fact in {"tools", "arguments", "results", "statuses", "documents", "handoffs"}:
        return str(sum(len([item for item in value if item not in (None, "unknown")]) for value in values))
    if fact in {"agents", "llm_calls"}:
        return ", ".join(str(len(value) if isinstance(value, list) else value) for value in values)
    return "\N{CHECK MARK}"
