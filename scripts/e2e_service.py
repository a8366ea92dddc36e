"""Use an installed `spanwise serve` as scorers behind a real Collector, while everything that may go wrong does.

python scripts/e2e_service.py OTELCOL SPANWISE

While 300 interleaved traces are on their way and the backend is away for a minute (`SPANWISE_AWAY_S`), a scorer is
killed, the Collector is killed, a scorer is added, one is drained, and Langfuse answers 429. Exit 1 when a run is lost,
torn, doubled or wrong.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.servers import wait_for
from tests.service.picture import Picture
from tests.sinks.langfuse_server import PUBLIC, SECRET, LangfuseServer, serving

TRACES = 300
AWAY_S = float(os.environ.get("SPANWISE_AWAY_S", "60"))


def main() -> int:
    """Run the picture, print what became of it, and say whether all is well."""
    otelcol, command = Path(sys.argv[1]), sys.argv[2]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="spanwise-e2e-") as folder, serving() as langfuse:
        langfuse.per_minute, langfuse.seconds_per_minute = 60, 4.0
        keys = {"LANGFUSE_PUBLIC_KEY": PUBLIC, "LANGFUSE_SECRET_KEY": SECRET, "LANGFUSE_BASE_URL": langfuse.host}
        with Picture(otelcol, Path(folder), command=[command], environment=keys) as picture:
            say(f"Collector, 3 scorers, backend and Langfuse up after {time.monotonic() - started:.1f} s")
            begun = time.monotonic()
            got, app = picture.run(traces=TRACES, over_s=15.0, within_s=60.0, meanwhile=lambda: trouble(picture, begun))
            wait_for(lambda: spans_at(picture) == TRACES * 20 and len(scored_by(langfuse)) == TRACES, timeout_s=30)
            took = time.monotonic() - begun
            there, spans = len(scored_by(langfuse)), spans_at(picture)
            refusals = sum(status == 429 for _, _, status, _ in langfuse.asked)
            say(str(got))
            say(f"spans at the backend {spans} of {TRACES * 20}, runs at Langfuse {there} after {refusals} times 429")
            total = time.monotonic() - started
            say(f"requests that the app sent again {app.refused}; {took:.1f} s, {total:.1f} s in all")
            if got.is_right and spans == TRACES * 20 and there == TRACES:
                say("1 passed")
                return 0
            say(f"FAILED\n{picture.logs()}")
            return 1


def trouble(picture: Picture, begun: float) -> None:
    """One thing after the other, all while the backend is away."""
    away = threading.Thread(target=lambda: picture.backend_away(away_s=AWAY_S))
    away.start()
    steps: tuple[tuple[str, Callable[[], object]], ...] = (
        ("a scorer killed and started again", picture.kill_scorer),
        ("the Collector killed and started again", picture.kill_collector),
        ("a scorer added", picture.grow),
        ("a scorer drained and taken away", picture.drain),
    )
    say(f"backend away for {AWAY_S:g} s from second {time.monotonic() - begun:.0f} on")
    for name, step in steps:
        at = time.monotonic()
        step()
        say(f"second {at - begun:.0f}: {name}, in {time.monotonic() - at:.1f} s")
    away.join()


def spans_at(picture: Picture) -> int:
    """How many spans the backend has, each counted once."""
    return len({span.span_id for span in picture.backend.received.spans})


def scored_by(langfuse: LangfuseServer) -> set[object]:
    """The traces whose overall score Langfuse holds."""
    return {row["traceId"] for row in langfuse.scores.values() if row["name"] == "overall"}


def say(text: str) -> None:
    """One line of the tally."""
    print(f"e2e service: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
