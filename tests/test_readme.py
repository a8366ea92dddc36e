"""The README's first example prints what the README says, and the cost that it names is the measured one."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

SHOWN = re.compile(r"^```console\n\$ python (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
VARYING = re.compile(r"\b[0-9a-f]{32}\b|overall [\d.]+ \w+|under 1 ms|\b\d+(?:\.\d+)? m?s\b")


def lines(text: str) -> list[str]:
    """The lines, without what is another at each run: ids, times, and the overall score, which counts them in."""
    return sorted(VARYING.sub("*", line) for line in text.splitlines())


def test_the_first_example_prints_what_is_shown(root: Path, require: Callable[[str], str]) -> None:
    """The one line is in the example, and its output is the output shown, all of it, but for times and ids."""
    require("pydantic_ai")
    readme = (root / "README.md").read_text(encoding="utf-8")
    line = re.search(r'^```python \{test="no"\}\n(.*)\n```$', readme, re.MULTILINE)
    shown = SHOWN.search(readme)
    assert line is not None
    assert shown is not None
    assert line[1] in (root / shown[1]).read_text(encoding="utf-8")
    done = subprocess.run([sys.executable, shown[1]], cwd=root, capture_output=True, text=True, check=False, timeout=60)
    assert (0, lines(shown[2])) == (done.returncode, lines(done.stdout + done.stderr)), done.stderr


def test_the_cost_is_the_measured_one(root: Path) -> None:
    """What the README says that an app's threads pay is the default suite's figure in docs/overhead.md, rounded."""
    measured = re.search(
        r"^\| Spanwise, the default suite \| (\d+\.\d+)x", (root / "docs/overhead.md").read_text("utf-8"), re.MULTILINE
    )
    named = re.search(r"threads pay (\d+\.\d+) times", (root / "README.md").read_text("utf-8"))
    assert measured is not None
    assert named is not None
    assert f"{float(measured[1]):.1f}" == named[1]
