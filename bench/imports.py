"""What `import spanwise` costs, against `import opentelemetry.sdk.trace`, which every instrumented app pays anyway."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial

from bench.timing import Figure, Plan, interleaved, median_us, ratio, say

_TARGET = 1.5
_TIMED = "import time; begun = time.process_time_ns(); import {module}; print(time.process_time_ns() - begun)"


def measure(plan: Plan) -> None:
    """Add the ratio of the two imports, each in a fresh interpreter that has its bytecode."""
    say("imports")
    with tempfile.TemporaryDirectory() as cache:
        variants = {name: partial(_spent_ns, name, cache) for name in ("spanwise", "opentelemetry.sdk.trace")}
        taken = interleaved(variants, rounds=plan.rounds())
    ours, theirs = taken.values()
    plan.add(
        Figure(
            area="import",
            name="import spanwise / import opentelemetry.sdk.trace",
            value=ratio(ours, theirs),
            unit="x",
            op="<=",
            target=_TARGET,
            note=f"{median_us(ours, 1000):.1f} ms against {median_us(theirs, 1000):.1f} ms",
        )
    )


def _spent_ns(module: str, cache: str) -> int:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
    command = [sys.executable, "-c", _TIMED.format(module=module)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)
