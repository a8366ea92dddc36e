"""What cog writes into docs/pydantic-evals.md: every recording against every evaluator, before and after."""

from __future__ import annotations

import sys
from pathlib import Path

import cog

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.evals.conformance import EVALUATORS, table

_MARKS = {"right": "\N{CHECK MARK}", "wrong": "\N{MULTIPLICATION SIGN}", "untold": "\N{EN DASH}"}


def write() -> None:
    """Write a row for each recording: the verdict on its raw spans, and on the normalised tree where it differs."""
    found = table()
    cog.outl("\n| recording | " + " | ".join(EVALUATORS) + " |")
    cog.outl("|---" * (len(EVALUATORS) + 1) + "|")
    for name, row in found.items():
        cells = [
            _MARKS[after] if before == after else f"{_MARKS[before]} \N{RIGHTWARDS ARROW} {_MARKS[after]}"
            for before, after in row.values()
        ]
        cog.outl(f"| {name} | " + " | ".join(cells) + " |")
    totals: list[str] = []
    for one in EVALUATORS:
        verdicts = [row[one] for row in found.values() if row[one][0] != "untold"]
        before, after = (sum(pair[at] == "right" for pair in verdicts) for at in (0, 1))
        totals.append(f"{before} \N{RIGHTWARDS ARROW} {after} of {len(verdicts)}")
    cog.outl("| **right** | " + " | ".join(totals) + " |\n")
