"""What became of traces whose scores were missing or old: a table for people, one object per trace for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spanwise.report.terminal import print_table, rows, say, shown

SCHEMA = "spanwise.reconcile/1"
SHOWN = 20
Reason: TypeAlias = Literal["unscored", "lacking", "outdated", "late_spans"]
State: TypeAlias = Literal["scored", "to_score", "refused", "no_content"]
REASONS: Mapping[Reason, str] = {
    "unscored": "never scored",
    "lacking": "without the scores of an evaluator",
    "outdated": "scored by an evaluator of another version or with other parameters",
    "late_spans": "scored before all of their spans were there",
}
STATES: Mapping[State, str] = {
    "scored": "scored",
    "to_score": "to be scored",
    "refused": "not taken by the store",
    "no_content": "cannot be scored again: the store keeps them without content",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A trace that needs scores: why, and what became of it."""

    trace_id: str
    reason: Reason
    why: str
    state: State
    runs: tuple[str, ...] = ()
    revision: int = 1
    source: str = ""


@dataclass(slots=True, kw_only=True)
class Tally:
    """How many traces were looked at, and what was found, by reason and by what became of them."""

    looked_at: int = 0
    counts: Counter[tuple[Reason, State]] = field(default_factory=Counter[tuple[Reason, State]])
    runs: int = 0
    more: bool = False
    """More traces need scores than were asked for."""
    _first: list[Found] = field(default_factory=list[Found])

    def add(self, found: Found) -> None:
        """Count one."""
        self.counts[found.reason, found.state] += 1
        self.runs += len(found.runs)
        if len(self._first) < SHOWN:
            self._first.append(found)

    def of(self, state: State) -> int:
        """How many traces are in that state."""
        return sum(count for (_, one), count in self.counts.items() if one == state)

    def show(self, to: Console) -> None:
        """Print the first traces, and the counts."""
        if self._first:
            print_table(to, _table(self._first))
        left = sum(self.counts.values()) - len(self._first)
        if left:
            say(to, (f"and {left:,} more; --format json lists them all", "dim"))
        told = [("looked at", _traces(self.looked_at), "")]
        for state, text in STATES.items():
            told += [(state.replace("_", " "), f"{_traces(self.of(state))} {text}", "bold")] if self.of(state) else []
            for reason, meaning in REASONS.items():
                count = self.counts[reason, state]
                told += [("", f"{count:,} {meaning}", "dim")] if count else []
        if not self.counts:
            why = "every run has its scores" if self.looked_at else "there was no trace to look at"
            told.append(("to do", f"nothing: {why}", ""))
        if self.more:
            told.append(("left", "more traces than --limit allows; the next run goes on with them", "yellow"))
        rows(to, told)


def to_found(found: Found) -> dict[str, object]:
    """A trace as an object."""
    return {
        "schema": SCHEMA,
        "trace_id": found.trace_id,
        "runs": list(found.runs),
        "reason": found.reason,
        "why": found.why,
        "state": found.state,
        "revision": found.revision,
        "source": found.source,
    }


def _table(listed: list[Found]) -> Table:
    table = Table(box=box.ROUNDED, border_style="dim", header_style="dim")
    table.add_column("trace", no_wrap=True)
    table.add_column("runs", justify="right", no_wrap=True)
    table.add_column("why", overflow="fold", ratio=1)
    table.add_column("revision", justify="right", no_wrap=True)
    for one in listed:
        cells = (one.trace_id, f"{len(one.runs):,}", one.why, str(one.revision))
        table.add_row(*(Text(shown(cell, limit=200)) for cell in cells))
    return table


def _traces(count: int) -> str:
    return f"{count:,} trace{'' if count == 1 else 's'}"
