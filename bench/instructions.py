"""Instructions per span, counted by valgrind: the same on a busy machine as on an idle one.

The program is run twice, once doing the work `_MORE` times more often; the difference is the work alone, without the
interpreter's start, imports and making of spans. Counts are kept in instructions.json, for one version of Python: a
change of more than 3 % is worth a look, and is told as FAIL until the new counts are accepted.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import paths
from bench.dialects import Dialect, spans_of
from bench.timing import Figure, Plan, say
from bench.workload import Run, Texts

KEPT = Path(__file__).with_name("instructions.json")
_WAYS = {"tree": paths.tree, "facts": paths.facts}
_DIALECTS: tuple[Dialect, ...] = ("genai", "openinference")
_SPANS, _MORE = 500, 4
_TOLERANCE = 0.03
_COUNTED = re.compile(r"Collected\s*:\s*(\d+)")


def measure(plan: Plan, *, accept: bool = False) -> None:
    """Count, compare with the kept counts, or keep the new ones."""
    if shutil.which("valgrind") is None:
        say("instructions are not counted: valgrind is not installed")
        return
    say("instructions: valgrind counts, a minute or two")
    jobs: list[tuple[str, str, int]] = [("", "", 0)]
    jobs += [(dialect, way, _MORE) for dialect in _DIALECTS for way in _WAYS]
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 2)) as pool:
        first, *others = pool.map(lambda job: _counted(*job), jobs)
    counts = {
        f"{dialect} {way}": round((found - first) / (_SPANS * _MORE))
        for (dialect, way, _), found in zip(jobs[1:], others, strict=True)
    }
    if accept:
        KEPT.write_text(json.dumps({"python": _python(), "instructions": counts}, indent=2) + "\n", encoding="utf-8")
    _tell(plan, counts)


def _tell(plan: Plan, counts: dict[str, int]) -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {"python": "", "instructions": {}}
    comparable = kept["python"] == _python()
    if not comparable:
        say(f"the kept counts are of {kept['python'] or 'no Python'}, this is {_python()}: nothing to compare with")
    for name, count in counts.items():
        before = kept["instructions"].get(name)
        plan.add(Figure(area="instr", name=f"{name}: instructions per span", value=count, unit=""))
        if comparable and before:
            plan.add(
                Figure(
                    area="instr",
                    name=f"{name}: change against the kept count",
                    value=abs(count / before - 1) * 100,
                    unit="%",
                    op="<=",
                    target=_TOLERANCE * 100,
                    note=f"{before} kept, {'more' if count > before else 'not more'} now",
                )
            )


def _python() -> str:
    return f"{platform.python_implementation()} {platform.python_version()} {platform.machine()}"


def _counted(dialect: str, way: str, more: int) -> int:
    """Instructions of one run of this module as a program."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={folder}/out",
            sys.executable,
            "-m",
            "bench.instructions",
        ]
        done = subprocess.run(
            [*command, dialect, way, str(more)], env=environment, capture_output=True, text=True, check=False
        )
    found = _COUNTED.search(done.stderr)
    if done.returncode or found is None:
        raise SystemExit(f"bench: valgrind did not count: {done.stderr[-400:]}")
    return int(found[1])


def _work(argv: Sequence[str]) -> None:
    """Under valgrind: each way once for each dialect, then one of them `more` times."""
    dialect, way, more = argv
    run = Run(_SPANS, seed=1, texts=Texts().scaled(0.2))
    spans = {name: spans_of(run, dialect=name, number=1) for name in _DIALECTS}
    for name in _DIALECTS:
        for each in _WAYS.values():
            each(spans[name])
    for _ in range(int(more)):
        _WAYS[way](spans[dialect])


if __name__ == "__main__":
    _work(sys.argv[1:])
