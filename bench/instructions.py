"""Instructions per span, counted by valgrind: the same on a busy machine as on an idle one.

    python -m bench.instructions [--record]

A program is run once doing little of a kind of work and once doing more; the difference is the work alone, without
the interpreter's start, imports and warming up. Counted are

- what an app's thread does for a span: making it with a processor that does nothing, and with the hooks of live
  capture. The hooks' share is the difference; the ratio of both is told beside its target;
- the tree, the facts and the structural scores of a run of 100 spans.

The counts are compared with those in instructions.json. They depend on how Python was built and on the versions of what
does the work, so they are kept under the name of these; where there are none to compare with, this is said and
nothing is held. Exit code 1 when a count is more than 2 % above the kept one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from bench import counted
from bench.timing import Figure, Plan, say

KEPT = Path(__file__).with_name("instructions.json")
TOLERANCE = 0.02
_TARGET = 1.03
_COUNTED = re.compile(r"Collected\s*:\s*(\d+)")
_VERSIONS = ("opentelemetry-sdk", "msgspec")


def counts_of() -> dict[str, float]:
    """Instructions per span of each kind of work."""
    kinds = ("scores", "scored", "capturing", "no-op", "capture")
    for kind in ("scores", "capture"):  # compiles what they all import, which valgrind would take minutes for
        subprocess.run([sys.executable, "-m", "bench.counted", kind], env=_environment(), check=True)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 2)) as pool:
        totals = dict(zip(kinds, pool.map(_total, kinds), strict=True))
    spans = counted.TRACES * counted.TRACE_SPANS
    noop, capture = ((totals[name] - totals["capturing"]) / spans for name in ("no-op", "capture"))
    scores = (totals["scores"] - totals["scored"]) / (counted.RUNS * counted.RUN_SPANS)
    return {"no-op": noop, "capture": capture - noop, "scores": scores}


def compared(counts: dict[str, float], kept: dict[str, float] | None) -> list[Figure]:
    """Each count, and its change against the kept one where there is one."""
    ratio = 1 + counts["capture"] / counts["no-op"]
    figures = [
        Figure(area="instr", name="app's thread, capture / no-op", value=ratio, unit="x", op="<=", target=_TARGET)
    ]
    for name, count in counts.items():
        figures.append(Figure(area="instr", name=f"{name}: instructions per span", value=count, unit=""))
        before = None if kept is None else kept.get(name)
        if before and name != "no-op":
            # What capture adds is held as a part of what a span costs: by itself it moves with where the code lies.
            base = kept.get("no-op", 0.0) if kept is not None and name == "capture" else 0.0
            change = ((base + count) / (base + before) - 1) * 100
            figures.append(
                Figure(
                    area="instr",
                    name=f"{name}: change against the kept count",
                    value=change,
                    unit="%",
                    op="<=",
                    target=TOLERANCE * 100,
                    note=f"{before:.0f} kept",
                )
            )
    return figures


def build() -> str:
    """What the counts depend on, in a name."""
    how = "\n".join(str(sysconfig.get_config_var(name)) for name in ("CONFIG_ARGS", "CFLAGS", "OPT"))
    made = hashlib.sha256(f"{how}\n{platform.libc_ver()}".encode()).hexdigest()[:8]
    python = f"{platform.python_implementation()} {platform.python_version()} {sys.platform} {platform.machine()}"
    versions = ", ".join(f"{name} {version(name)}" for name in _VERSIONS)
    return f"{python}, {platform.python_compiler()}, build {made}, {versions}"


def measure(plan: Plan, *, record: bool = False) -> bool:
    """Count and compare, or keep the counts; whether nothing grew beyond what is tolerated."""
    if shutil.which("valgrind") is None:
        say("instructions are not counted and nothing is held: valgrind is not installed")
        return True
    say("instructions: valgrind counts")
    kept: dict[str, dict[str, float]] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    name, counts = build(), counts_of()
    if record:
        kept[name] = {what: round(count, 1) for what, count in counts.items()}
        KEPT.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        say(f"instructions: kept for {name}")
    elif name not in kept:
        say(f"instructions: NOTHING IS HELD, for no counts are kept for {name}; `make instructions ARGS=--record`")
    figures = compared(counts, kept.get(name))
    plan.figures += figures
    return all(figure.met is not False for figure in figures if figure.unit == "%")


def _environment() -> dict[str, str]:
    """The environment of a program that imports what this one does, and may write what it compiles."""
    paths = os.pathsep.join(path for path in sys.path if path)
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | {
        "PYTHONPATH": paths
    }


def _total(kind: str) -> int:
    """Instructions of one run of this module as a program."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**_environment(), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", sys.executable]
        done = subprocess.run(
            [*command, "-m", "bench.counted", kind],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    found = _COUNTED.search(done.stderr)
    if done.returncode or found is None:
        raise SystemExit(f"bench: valgrind did not count: {done.stderr[-400:]}")
    return int(found[1])


def main(argv: Sequence[str] | None = None) -> int:
    """Count, print, and tell by the exit code whether nothing grew."""
    parser = argparse.ArgumentParser(prog="python -m bench.instructions", description=__doc__)
    parser.add_argument("--record", action="store_true", help="keep the counts as the ones to compare with")
    options = parser.parse_args(argv)
    plan = Plan()
    held = measure(plan, record=options.record)
    for figure in plan.figures:
        print(figure.row(44))
    if not held:
        print(f"bench: a count is more than {TOLERANCE:.0%} above the kept one; if it has to be, --record keeps it")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
