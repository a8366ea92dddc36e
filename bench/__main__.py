"""`python -m bench`: every measurement, one table; exit 1 only when two paths that must agree do not.

A timing that misses its target is told as FAIL and exits 0, for machines are shared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from bench import (
    imports,
    instructions,
    m1_live,
    m3_wakeups,
    m4_build,
    m4_shapes,
    m5_tools,
    m6_offline,
    m8_grounding,
    m9_held,
    m10_overload,
    m_outbox,
    m_store,
    memory,
    service,
)
from bench.timing import Figure, NotIdenticalError, Plan, say

PARTS: dict[str, Callable[[Plan], None]] = {
    "live": m1_live.measure,
    "wakeups": m3_wakeups.measure,
    "held": m9_held.measure,
    "overload": m10_overload.measure,
    "build": m4_build.measure,
    "shapes": m4_shapes.measure,
    "tools": m5_tools.measure,
    "offline": m6_offline.measure,
    "store": m_store.measure,
    "service": service.measure,
    "outbox": m_outbox.measure,
    "grounding": m8_grounding.measure,
    "imports": imports.measure,
    "memory": memory.measure,
}


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these: {', '.join(PARTS)}")
    parser.add_argument("--full", action="store_true", help="three times the rounds, and the count of instructions")
    parser.add_argument(
        "--instructions", action="store_true", help="count instructions with valgrind, and nothing else"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file, too")
    chosen = parser.parse_args(argv)
    unknown = set(chosen.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part is called {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    return chosen


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and tell by the exit code whether all paths agreed."""
    chosen = _arguments(argv)
    plan = Plan(full=chosen.full)
    begun = time.perf_counter()
    code = 0
    try:
        if not chosen.instructions:
            for name in chosen.parts or PARTS:
                PARTS[name](plan)
        if chosen.instructions or chosen.full:
            instructions.measure(plan)
    except NotIdenticalError as difference:
        say(f"results differ, so no time means anything: {difference}")
        code = 1
    _print(plan.figures)
    print(f"\n{_machine()}; {time.perf_counter() - begun:.0f} s")
    if chosen.json is not None:
        figures = [asdict(figure) | {"verdict": figure.verdict} for figure in plan.figures]
        document = {"machine": _machine(), "figures": figures}
        chosen.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return code


def _print(figures: Sequence[Figure]) -> None:
    width = max((len(figure.name) for figure in figures), default=0)
    for figure in figures:
        print(figure.row(width))


def _machine() -> str:
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}, load {load}"


if __name__ == "__main__":
    sys.exit(main())
