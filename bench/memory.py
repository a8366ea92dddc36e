"""What a span costs in memory, and that a long stream does not cost more than a short one."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

from bench import paths, wire
from bench.dialects import spans_of
from bench.timing import Figure, Plan, say
from bench.workload import Run, Texts
from spanwise.model.raw import RawSpan
from spanwise.offline.reading import Reading

_TRACES, _SPANS = 100, 100
_KB_TARGET = 1.05
_SHORT_MB, _LONG_MB = 100, 200
_GROWTH = 1.25


def measure(plan: Plan) -> None:
    """Add bytes per held span above its text, and the peaks of a short and of a long stream."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _held(plan, folder)
        _streamed(plan, folder)


def _traces(texts: Texts) -> list[list[RawSpan]]:
    return [spans_of(Run(_SPANS, seed=n, texts=texts), dialect="genai", number=n) for n in range(1, _TRACES + 1)]


def _held(plan: Plan, folder: Path) -> None:
    say("memory: traces held")
    traces = _traces(Texts())
    spans = [span for trace in traces for span in trace]
    text = sum(len(v.encode()) for span in spans for v in span.attributes.values() if isinstance(v, str))
    for name, file in (
        ("OTLP JSON", wire.otlp_json(folder / "held.json", spans)),
        ("OTLP protobuf", wire.protobuf(folder / "held.pb", spans)),
    ):
        list(Reading(paths=[str(file)]).traces_of())  # what is loaded once is not a span's
        gc.collect()
        tracemalloc.start()
        held = list(Reading(paths=[str(file)]).traces_of())
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        count = sum(len(trace.spans) for trace in held)
        del held
        plan.add(
            Figure(
                area="memory",
                name=f"{name}: traces held, per span above its text",
                value=(size - text) / count / 1024,
                unit="KB",
                note=f"{text / count / 1024:.1f} KB of text beside it; M9 allows a captured span {_KB_TARGET} KB",
            )
        )


def _streamed(plan: Plan, folder: Path) -> None:
    peaks: dict[int, float] = {}
    for megabytes in (_SHORT_MB, _LONG_MB):
        say(f"memory: a stream of {megabytes} MB")
        file = folder / "stream.jsonl"
        count = _write(file, megabytes)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-m", "bench.memory", str(file)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        traces, kilobytes = (int(word) for word in done.stdout.split())
        if traces != count:
            raise SystemExit(f"bench: {traces} of {count} traces were read")
        peaks[megabytes] = kilobytes / 1024
        file.unlink()
    plan.add(
        Figure(
            area="memory",
            name=f"peak of reading {_LONG_MB} MB / {_SHORT_MB} MB of JSON lines",
            value=peaks[_LONG_MB] / peaks[_SHORT_MB],
            unit="x",
            op="<=",
            target=_GROWTH,
            note=f"{peaks[_LONG_MB]:.0f} MB against {peaks[_SHORT_MB]:.0f} MB",
        )
    )


def _write(file: Path, megabytes: int) -> int:
    """A stream of small traces, each on a line of its own; the same few are repeated under other ids."""
    traces = _traces(Texts())[:20]
    written = count = 0
    with file.open("wb") as lines:
        while written < megabytes * 1_000_000:
            spans = traces[count % len(traces)]
            count += 1
            for span in spans:
                span.trace_id = f"{count:032x}"
            line = wire.line(spans)
            written += lines.write(line)
    return count


def _peak(argv: Sequence[str]) -> None:
    """In a process of its own: score a file and print the runs in it, and the peak of memory in KB."""
    import resource

    count = sum(1 for _ in Reading(paths=argv).results(paths.STRUCTURAL))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(count, peak // 1024 if sys.platform == "darwin" else peak)


if __name__ == "__main__":
    _peak(sys.argv[1:])
