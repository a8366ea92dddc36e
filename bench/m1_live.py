"""M1, M2: what a live app pays, beside what other processors cost, in an environment of their own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from bench.timing import Figure, Plan, ratio, say

_ROOT = Path(__file__).resolve().parents[1]
_PEERS = _ROOT / ".build" / "peers"
_ROUNDS = 15
_BASE = "no-op"
_THREAD, _EIGHT, _PROCESS = 1.11, 1.08, 1.20


def measure(plan: Plan) -> None:
    """Add the cost on the app's thread and of the whole process."""
    say("M1: installing the peers, once")
    subprocess.run(["scripts/venv", str(_PEERS), "requirements/peers.txt", "--no-project"], cwd=_ROOT, check=True)
    say("M1, M2: live capture")
    environment = {**os.environ, "PYTHONPATH": f"{_ROOT / 'src'}{os.pathsep}{_ROOT}"}
    command = [str(_PEERS / "bin" / "python"), "-m", "bench.live", str(plan.rounds(_ROUNDS))]
    done = subprocess.run(command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    plan.figures += _costs(found["one"], "thread", area="M1", what="app's thread", target=_THREAD)
    plan.figures += _costs(found["one"], "process", area="M2", what="whole process", target=_PROCESS)
    plan.figures += _costs(found["eight"], "thread", area="M1", what="eight threads", target=_EIGHT)


def _costs(
    found: Mapping[str, Mapping[str, list[int]]], kind: str, *, area: str, what: str, target: float
) -> list[Figure]:
    base = found[_BASE][kind]
    return [
        _figure(area, f"{name} / no-op, {what}", ratio(taken[kind], base), "x", target if name == "spanwise" else None)
        for name, taken in found.items()
        if name != _BASE
    ]


def _figure(area: str, name: str, value: float, unit: str, target: float | None) -> Figure:
    return Figure(area=area, name=name, value=value, unit=unit, op="<=" if target is not None else None, target=target)
