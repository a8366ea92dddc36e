"""M6: spans per second from bytes in a file to its traces, against json.loads and pydantic-evals' SpanTree.

The peer's path ends at a tree of spans, so ours is told to the canonical trace, too; the target is held to the
structural facts of its runs, for which the peer has nothing. What seven structural scores take
besides is told beside it. Both start from the same spans: theirs always from JSON, which is what `json` reads. The
garbage collector is on, as in any program; `json.loads` makes many objects for it to look at, so the figures without it
are told, too.
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter_ns, process_time_ns

from bench import paths, peers, wire
from bench.dialects import spans_of, text_of
from bench.timing import Figure, Plan, interleaved, median_us, ratio, same, say, spent_ns
from bench.workload import Run, Texts
from spanwise.model.raw import RawSpan
from spanwise.model.result import RunResult
from spanwise.model.trace import Trace
from spanwise.offline.reading import Reading

TRAIL_FOLDERS = "SPANWISE_TRAIL"
"""Names a folder of TRAIL's traces; else `../shared/trail` beside the project is looked for."""

_TRACES, _SPANS = 100, 100
_LINE = 100
_SIZES = ((512, 0.13), (2560, 1.0))
_TARGET, _TARGET_TRAIL, _TARGET_TWO = 4.0, 2.5, 1.8
_ROUNDS, _UNCOLLECTED_ROUNDS, _TRAIL_ROUNDS, _TWO_ROUNDS = 7, 3, 7, 9
_TRAIL_BYTES = 24_000_000


def measure(plan: Plan) -> None:
    """Check that every format gives the same scores, then add the figures of each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size, factor in _SIZES:
            _formats(plan, folder, size, factor)
        _trail(plan, folder)
        _two_processes(plan, folder)


def results(files: Sequence[Path]) -> list[RunResult]:
    """The scores of every run in some files, by the offline door."""
    failures: list[str] = []
    reading = Reading(paths=[str(file) for file in files], on_error=lambda error: failures.append(str(error)))
    found = list(reading.results(paths.STRUCTURAL))
    if failures:
        raise SystemExit(f"bench: an input cannot be read: {failures[0]}")
    return found


def trees(files: Sequence[Path]) -> list[Trace]:
    """The traces in some files, by the same door."""
    reading = Reading(paths=[str(file) for file in files])
    return list(reading.traces_of())


def facts(files: Sequence[Path]) -> list[Trace]:
    """The same, the facts read that structural scores stand on."""
    found = trees(files)
    for trace in found:
        paths.facts_of(trace)
    return found


_STAGES: Mapping[str, Callable[[Sequence[Path]], object]] = {
    "to traces": trees,
    "to facts": facts,
    "to scores": results,
}


def _made(factor: float) -> list[list[RawSpan]]:
    texts = Texts().scaled(factor)
    return [
        spans_of(Run(_SPANS, seed=seed, texts=texts), dialect="genai" if seed % 2 else "openinference", number=seed)
        for seed in range(1, _TRACES + 1)
    ]


def _formats(plan: Plan, folder: Path, size: int, factor: float) -> None:
    label = f"{size / 1024:g} KB of text per span"
    say(f"M6: {label}")
    traces = _made(factor)
    spans = [span for trace in traces for span in trace]
    batches = [spans[at : at + _LINE] for at in range(0, len(spans), _LINE)]
    files = {
        "OTLP JSON": wire.otlp_json(folder / "one.json", spans),
        "OTLP JSON lines": wire.json_lines(folder / "lines.jsonl", batches),
        "OTLP protobuf": wire.protobuf(folder / "one.pb", spans),
    }
    given = {name: paths.outcome(results([file])) for name, file in files.items()}
    given["spans in memory"] = paths.outcome([result for trace in traces for result in paths.scores(trace)])
    same(f"M6, {label}", given)
    on_disk = ", ".join(f"{name} {file.stat().st_size / len(spans):.0f} B" for name, file in files.items())
    say(f"{label}: {len(spans):,} spans, {text_of(spans):.0f} characters each; on disk {on_disk}")
    count = len(spans)
    del traces, spans, batches, given  # what the collector would have to look at besides the work itself
    for collecting in (True, False):
        _timed(plan, files, label, count, collecting=collecting)


def _timed(plan: Plan, files: dict[str, Path], label: str, count: int, *, collecting: bool) -> None:
    rounds = plan.rounds(_ROUNDS if collecting else _UNCOLLECTED_ROUNDS)
    ways: dict[str, Callable[[], object]] = {
        f"{name} {stage}": partial(way, [file]) for name, file in files.items() for stage, way in _STAGES.items()
    }
    ways["document -> SpanTree"] = partial(peers.from_otlp_json, files["OTLP JSON"])
    ways["lines -> SpanTree"] = partial(peers.from_json_lines, files["OTLP JSON lines"])
    taken = interleaved(
        {name: partial(spent_ns, way, collecting=collecting) for name, way in ways.items()}, rounds=rounds
    )
    for name in files:
        peer = "lines -> SpanTree" if name == "OTLP JSON lines" else "document -> SpanTree"
        for stage in _STAGES:
            key = f"{name} {stage}"
            fast, slow = (1e6 / median_us(taken[one], count) for one in (key, peer))
            judged = collecting and stage == "to facts"
            plan.add(
                Figure(
                    area="M6",
                    name=f"{key}, {label}{'' if collecting else ', no garbage collector'}",
                    value=ratio(taken[peer], taken[key]),
                    unit="x",
                    op=">=" if judged else None,
                    target=_TARGET if judged else None,
                    note=f"{fast / 1000:.0f}k spans/s against {slow / 1000:.0f}k, {rounds} rounds",
                )
            )


def _trail_files(folder: Path) -> tuple[list[Path], str]:
    beside = Path(__file__).resolve().parents[2] / "shared" / "trail"
    found = sorted(Path(os.environ.get(TRAIL_FOLDERS, beside)).glob("*/traces/*.json"))
    if found:
        kept: list[Path] = []
        held = 0
        for path in found[::2]:
            if held + path.stat().st_size <= _TRAIL_BYTES:
                kept.append(path)
                held += path.stat().st_size
        return kept, f"{len(kept)} of TRAIL's {len(found)} traces, {held / 1e6:.0f} MB"
    texts = Texts().scaled(12)
    made = [spans_of(Run(30, seed=n, texts=texts), dialect="openinference", number=n) for n in range(1, 21)]
    return wire.trail(folder, made), "TRAIL's files are not here: 20 made-up traces in its format"


def _trail(plan: Plan, folder: Path) -> None:
    say("M6: TRAIL")
    files, note = _trail_files(folder)
    whole = paths.outcome(results(files))
    same("M6, TRAIL", {"at once": whole, "one by one": sorted_outcome([results([file]) for file in files])})
    variants = {
        name: partial(spent_ns, partial(way, files), collecting=True)
        for name, way in {**_STAGES, "theirs": peers.from_trail}.items()
    }
    rounds = plan.rounds(_TRAIL_ROUNDS)
    taken = interleaved(variants, rounds=rounds)
    for stage in _STAGES:
        judged = stage != "to scores"  # to traces is what the peer does; to facts is what is asked of the other formats
        plan.add(
            Figure(
                area="M6",
                name=f"TRAIL's files {stage}",
                value=ratio(taken["theirs"], taken[stage]),
                unit="x",
                op=">=" if judged else None,
                target=_TARGET_TRAIL if judged else None,
                note=f"{note}, {rounds} rounds",
            )
        )


def sorted_outcome(parts: Sequence[Sequence[RunResult]]) -> list[tuple[str, object, object]]:
    """The outcome of several readings as if they were one."""
    return paths.outcome([result for part in parts for result in part])


def _read_many(files: Sequence[Path]) -> list[tuple[str, object, object]]:
    """In another process: what the files give."""
    return paths.outcome(results(files))


def _ready(number: int) -> int:
    return number


def _two_processes(plan: Plan, folder: Path) -> None:
    say("M6: two processes")
    traces = _made(1.0)
    for number, spans in enumerate(traces):
        wire.otlp_json(folder / f"part-{number}.json", spans)
    files = [folder / f"part-{number}.json" for number in range(len(traces))]
    # The dialects alternate, and one takes longer than the other: each half has as many files of both.
    halves = [[file for at, file in enumerate(files) if at // 2 % 2 == half] for half in range(2)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(_ready, range(2)))
        alone = sorted_of([pool.submit(_read_many, files).result()])
        together = sorted_of([future.result() for future in [pool.submit(_read_many, half) for half in halves]])
        same("M6, two processes", {"one process": alone, "two": together})
        shares = {"one": [files], "two": halves}
        clocks: dict[str, list[int]] = {name: [] for name in shares}
        taken = interleaved(
            {name: partial(_first_to_last, pool, share, clocks[name]) for name, share in shares.items()},
            rounds=plan.rounds(_TWO_ROUNDS),
        )
    rounds = len(taken["one"])
    plan.add(
        Figure(
            area="M6",
            name="one process / two processes on two halves",
            value=ratio(taken["one"], taken["two"]),
            unit="x",
            op=">=",
            target=_TARGET_TWO,
            note=f"wall clock, {rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        )
    )
    plan.add(
        Figure(
            area="M6",
            name="the same by the processor time of the slower one",
            value=ratio(clocks["one"][-rounds:], clocks["two"][-rounds:]),
            unit="x",
            note="does not see waiting for a core",
        )
    )


def sorted_of(parts: Sequence[list[tuple[str, object, object]]]) -> list[tuple[str, object, object]]:
    """Several outcomes as one."""
    return sorted((item for part in parts for item in part), key=lambda item: item[0])


def _worked(files: Sequence[Path]) -> tuple[int, int, int]:
    """In another process: when reading and scoring began, when it was done, and how long it had a core."""
    gc.collect()
    used = process_time_ns()
    begun = perf_counter_ns()
    found = results(files)
    done = perf_counter_ns()
    used = process_time_ns() - used
    del found
    return begun, done, used


def _first_to_last(pool: ProcessPoolExecutor, shares: Sequence[Sequence[Path]], clocks: list[int]) -> int:
    """From when the first process begins until the last is done, by the clock that they share.

    Each collects its garbage before it begins, which with all the peers' modules in it takes a quarter of what the work
    takes, and as long for half of the files.
    """
    times = [future.result() for future in [pool.submit(_worked, share) for share in shares]]
    clocks.append(max(used for *_, used in times))
    return max(done for _, done, _ in times) - min(begun for begun, *_ in times)
