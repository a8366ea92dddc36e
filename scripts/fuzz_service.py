"""Damage real requests at random and send them to both receivers: `scripts/fuzz_service.py SECONDS [SEED]`.

Prints what was answered, by status; exit 1 if a receiver failed, did not answer, or kept memory or tasks.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.service.fuzzing import fuzz


def main() -> int:
    """Fuzz, and tell."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() & 0xFFFF_FFFF
    print(f"seed {seed}, {seconds:g} s", flush=True)
    tally = fuzz(seconds, seed=seed)
    for answer, count in sorted(tally.answers.items()):
        print(f"{answer:<32}{count:>10,}")
    print(f"{tally.requests:,} requests; memory grew by {tally.growth / (1 << 20):.1f} MB")
    for failure in tally.failures[:20]:
        print(f"FAILED: {failure}")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
