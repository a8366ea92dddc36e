"""Use an installed `spanwise` on recorded spans, as a person would, and check what it says.

python e2e.py COMMAND RECORDINGS
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SCORE_KEYS = {"name", "value", "status", "reason", "evidence", "evaluator", "version", "config_hash", "revision", "id"}
RUN_KEYS = {"schema", "trace_id", "run_id", "source", "completeness", "query", "answer", "tool_calls", "scores"}
STATUSES = {"scored", "not_applicable", "not_measurable", "error"}


def run(*command: str, stdin: bytes | None = None) -> tuple[int, str, str]:
    """The exit code of a command and what it printed."""
    done = subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=300)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def must(fact: object, otherwise: str) -> None:
    """Stop with a sentence unless the fact holds."""
    if not fact:
        sys.exit(f"e2e: {otherwise}")


def scored(spanwise: str, paths: Sequence[str], *, code: int = 0, stdin: bytes | None = None) -> list[dict[str, Any]]:
    """The runs that `spanwise score` finds."""
    got, out, err = run(spanwise, "score", *paths, "--format", "json", stdin=stdin)
    must(got == code, f"score {' '.join(paths)} left with {got}, not {code}: {err}")
    return [json.loads(line) for line in out.splitlines()]


def check_contract(runs: Sequence[dict[str, Any]]) -> None:
    """Every run has the keys of its schema, every score a status that is one."""
    for found in runs:
        must(found["schema"] == "spanwise.score/1", f"an unknown schema: {found['schema']}")
        must(found.keys() >= RUN_KEYS, f"a run of {found['source']} lacks {RUN_KEYS - found.keys()}")
        must(found["scores"], f"a run of {found['source']} has no score")
        for score in found["scores"]:
            must(score.keys() >= SCORE_KEYS, f"score {score['name']} lacks {SCORE_KEYS - score.keys()}")
            must(score["status"] in STATUSES, f"score {score['name']} has status {score['status']}")
            must(score["status"] != "error", f"score {score['name']} broke on {found['source']}: {score['reason']}")


def check_one(spanwise: str, recording: Path) -> None:
    """The best-known recording reads as the run that was recorded, from its file and from standard input."""
    (found,) = scored(spanwise, [str(recording)])
    names = [call["name"] for call in found["tool_calls"] if not call["control"]]
    must(len(names) == 4, f"{recording.name} shows the calls {names}, not four")
    must(found["query"] and found["answer"], f"{recording.name} shows no query or no answer")
    statuses = [call["status"] for call in found["tool_calls"]]
    must({"error", "retry"} & set(statuses), f"{recording.name} shows no failing call: {statuses}")
    (piped,) = scored(spanwise, ["-"], stdin=recording.read_bytes())
    must(piped["tool_calls"] == found["tool_calls"], "standard input gives other tool calls than the file")
    code, out, err = run(spanwise, "inspect", str(recording))
    must(code == 0 and all(name in out for name in names), f"inspect left with {code} or shows no calls: {out}{err}")


def check_failures(spanwise: str, recording: Path) -> None:
    """A broken file is named and does not stop the others; a gate that is not met is exit 1."""
    broken = Path("broken.json")
    broken.write_text('{"resourceSpans": [')
    code, out, err = run(spanwise, "score", str(broken), str(recording), "--format", "json")
    must(code == 2 and "broken.json" in err, f"a broken file left with {code}: {err}")
    must(len(out.splitlines()) == 1, "a broken file stopped the other one")
    code, _, err = run(spanwise, "score", str(recording), "--fail-under", "redundancy=1")
    must(code == 1, f"a gate that is not met left with {code}: {err}")


def main() -> None:
    """Check the command on a folder of recordings."""
    spanwise, recordings = sys.argv[1], Path(sys.argv[2])
    code, out, err = run(spanwise, "--help")
    must(
        code == 0 and all(verb in out for verb in ("score", "inspect", "doctor")),
        f"--help left with {code}: {out}{err}",
    )
    traces = sorted(str(path) for path in recordings.glob("*.json") if not path.name.endswith(".logs.json"))
    must(traces, f"no recordings in {recordings}")
    runs = scored(spanwise, [str(recordings)])
    must(len(runs) >= len(traces), f"{len(runs)} runs in {len(traces)} recordings")
    check_contract(runs)
    best_known = recordings / "pydantic-ai__builtin.json"
    check_one(spanwise, best_known)
    check_failures(spanwise, best_known)
    code, out, err = run(spanwise, "doctor")
    must(code == 0, f"doctor left with {code}: {out}{err}")
    print(f"e2e: {len(runs)} runs of {len(traces)} recordings scored by the installed command; 1 passed")


if __name__ == "__main__":
    main()
