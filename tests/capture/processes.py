"""Scripts in processes of their own, and whether a process has ended."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether there is a process of this number that is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid: int, within_s: float = 10.0) -> bool:
    """Whether a process ends in time."""
    until = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(pid)


def python(code: str, *, folder: Path, timeout_s: float = 60.0, **more: str) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own."""
    script = folder / "app.py"
    script.write_text(textwrap.dedent(code))
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env={**os.environ, "PYTHONPATH": path, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
