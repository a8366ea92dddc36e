"""Memory must follow the largest trace, not the number of traces: score few and many, and compare the peaks.

    python scripts/leaks.py [--few 2000] [--many 8000]

Each line of the input is one recorded request under trace ids of its own. Prints both peaks; exit 1 when the long run
needs more than GROWTH times the memory of the short one. Both are longer than what a stream of spans holds at a time.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RECORDINGS = Path(__file__).resolve().parents[1] / "tests" / "recordings"
TRACE_ID = re.compile(r'("traceId":\s*")([0-9a-f]{32})')
GROWTH = 1.2


def renumbered(text: str, number: int) -> str:
    """The request with its trace ids moved aside by the number."""
    return TRACE_ID.sub(lambda match: f"{match[1]}{(int(match[2], 16) ^ number << 96):032x}", text)


def peak_kb(count: int, folder: Path) -> int:
    """The peak memory of scoring so many requests from one file."""
    names = sorted(path for path in RECORDINGS.glob("*.json") if not path.name.endswith((".logs.json", ".facts.json")))
    texts = [" ".join(path.read_text(encoding="utf-8").splitlines()) for path in names]
    file = folder / f"{count}.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for number, text in zip(range(1, count + 1), itertools.cycle(texts), strict=False):
            lines.write(renumbered(text, number) + "\n")
    command = [sys.executable, "-m", "spanwise", "score", str(file), "--format", "json"]
    with (folder / "scores.jsonl").open("wb") as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"leaks: {' '.join(command)} left with {os.waitstatus_to_exitcode(status)}")
    file.unlink()
    return usage.ru_maxrss


def main() -> None:
    """Compare the peaks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--few", type=int, default=2000)
    parser.add_argument("--many", type=int, default=8000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        few, many = (peak_kb(count, Path(folder)) for count in (options.few, options.many))
    peaks = f"{options.few} requests {few / 1024:.0f} MB, {options.many} requests {many / 1024:.0f} MB"
    print(f"leaks: {peaks}, {many / few:.2f} times")
    if many > GROWTH * few:
        sys.exit(f"leaks: memory grows with the number of traces: more than {GROWTH} times")


if __name__ == "__main__":
    main()
