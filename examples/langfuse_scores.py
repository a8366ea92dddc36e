"""An app that is traced by Langfuse's own SDK, and whose runs are scored: the scores appear on its traces.

python examples/langfuse_scores.py

Without LANGFUSE_PUBLIC_KEY it runs against a local stand-in of Langfuse, which takes only what the real one takes, and
prints what the dashboard would show. With the keys of a project it writes there.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from langfuse import Langfuse, observe, propagate_attributes

import spanwise
from spanwise.sinks.langfuse import LangfuseSink
from tests.sinks.langfuse_server import PUBLIC, SECRET, LangfuseServer, serving

INHABITANTS = {"Quito": 2_011_000, "Hanoi": 8_500_000}


@observe(as_type="tool")
def look_up(city: str) -> int:
    """Inhabitants of a city."""
    return INHABITANTS[city]


@observe(as_type="agent")
def careful(question: str) -> str:
    """Asks once for what it needs."""
    return f"{question} {look_up('Quito'):,}"


@observe(as_type="agent")
def forgetful(question: str) -> str:
    """Asks for the same city again and again."""
    return f"{question} {[look_up('Hanoi') for _ in range(4)][-1]:,}"


@observe(as_type="agent")
def hopeful(question: str) -> str:
    """Asks for a city that nobody knows, and goes on with another."""
    try:
        return f"{question} {look_up('Atlantis'):,}"
    except KeyError:
        return f"{question} {look_up('Hanoi'):,}"


def work(folder: str) -> None:
    """The app: one client of Langfuse, one line of Spanwise."""
    langfuse = Langfuse()
    handle = spanwise.instrument(sinks=[LangfuseSink.from_environment(outbox=Path(folder) / "outbox.db")])
    with propagate_attributes(session_id="a visit"):
        careful("How many live in Quito?")
        forgetful("How many live in Hanoi?")
        hopeful("How many live in Atlantis?")
    handle.flush(10)
    langfuse.flush()


def show(server: LangfuseServer) -> None:
    """What Langfuse shows on its page of scores."""
    rows = sorted(server.scores.values(), key=lambda row: (row["timestamp"], row["traceId"]))
    print(f"{'trace':<10}{'on':<10}{'score':<24}{'value':<16}{'label':<7}revision")
    for row in rows:
        print(_line(row, row["metadata"]))
    numbers = [row["value"] for row in rows if row["name"] == "redundancy"]
    print(f"\naverage of redundancy: {sum(numbers) / len(numbers):.2f} of {len(numbers)} traces")
    print(f"{len(server.otlp)} requests with spans by Langfuse's SDK, {len(rows)} scores by Spanwise")


def _line(row: Mapping[str, str], told: Mapping[str, str]) -> str:
    value = row["value"] if isinstance(row["value"], str) else f"{row['value']:.3f}"
    place = "span" if "observationId" in row else "trace"
    where = f"{row['traceId'][:8]:<10}{place:<10}{row['name']:<24}"
    return f"{where}{value:<16}{told['label']:<7}{told['spanwise.score.revision']}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as outbox:
        if "LANGFUSE_PUBLIC_KEY" in os.environ:
            work(outbox)
        else:
            with serving() as stand_in:
                os.environ.update(
                    LANGFUSE_PUBLIC_KEY=PUBLIC, LANGFUSE_SECRET_KEY=SECRET, LANGFUSE_BASE_URL=stand_in.host
                )
                work(outbox)
                show(stand_in)
