"""M5: tool metrics beside those of ragas, agentevals, deepeval and pydantic-evals, in an environment of their own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from bench.timing import Figure, Plan, say

_ROOT = Path(__file__).resolve().parents[1]
_PEERS = _ROOT / ".build" / "peers"
_ROUNDS = 7
_TARGETS = {10: 1.3, 200: 0.6}
_JUDGED = ("spanwise tool_selection", "spanwise tool_sequence", "spanwise redundancy")
_ANCHOR = "ragas ToolCallAccuracy"


def measure(plan: Plan) -> None:
    """Add microseconds per call of each metric at each size, and ours against the fastest peer's."""
    say("M5: installing the peers, once")
    subprocess.run(["scripts/venv", str(_PEERS), "requirements/peers.txt", "--no-project"], cwd=_ROOT, check=True)
    say("M5: tool metrics")
    environment = {**os.environ, "PYTHONPATH": f"{_ROOT / 'src'}{os.pathsep}{_ROOT}"}
    command = [str(_PEERS / "bin" / "python"), "-m", "bench.tool_metrics", str(plan.rounds(_ROUNDS))]
    done = subprocess.run(command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    anchors = {item["size"]: item["us_per_call"] for item in found if item["name"] == _ANCHOR}
    for item in found:
        size, name, us = item["size"], item["name"], item["us_per_call"]
        target = _TARGETS.get(size) if name in _JUDGED else None
        plan.add(
            Figure(
                area="M5",
                name=f"{name}, {size} calls",
                value=us,
                unit="us/call",
                op="<=" if target is not None else None,
                target=target,
                note=f"{us / anchors[size]:.2f} times {_ANCHOR}" if name != _ANCHOR else "",
            )
        )
