"""M4: microseconds per span from raw spans in memory to a canonical trace, to its structural facts, to its scores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench import paths, peers
from bench.dialects import Dialect, spans_of, text_of
from bench.timing import ROUNDS, Figure, Plan, interleaved, median_us, ratio, same, say, spent_ns
from bench.workload import Run, Texts, mix
from spanwise.model.raw import RawSpan

DIALECTS: tuple[Dialect, ...] = ("genai", "openinference")
SIZES = (10, 100, 1_000, 10_000, 100_000)
TEXTS = Texts().scaled(0.4)  # about 1.1 KB per span
# Before each measurement all garbage is collected, which leaves nothing of ours in the processor's caches: the first
# runs behind it take twice as long and more. With fewer spans short runs would be measured by that.
_BATCH = 5_000
_AGAIN_SIZE = 1_000
_LONG = 100_000
_TEN_THOUSAND_ROUNDS, _LONG_ROUNDS = 7, 3
_TARGET_US, _TARGET_LONG_US = 1.5, 2.0


def measure(plan: Plan) -> None:
    """Check that all ways agree, then add the figures of every size and dialect."""
    _check()
    for dialect in DIALECTS:
        for size in SIZES:
            _size(plan, dialect, size)


def _runs(size: int) -> list[Run]:
    return [Run(size, seed=seed, texts=TEXTS) for seed in range(1, max(_BATCH // size, 1) + 1)]


def _traces(runs: Sequence[Run], dialect: Dialect) -> list[list[RawSpan]]:
    return [spans_of(run, dialect=dialect, number=at) for at, run in enumerate(runs, start=1)]


def _check() -> None:
    """The same facts and scores in both dialects."""
    say("M4: the same results in both dialects")
    for size in SIZES[:3]:
        for run in _runs(size)[:3]:
            by_dialect = {name: paths.scores(spans_of(run, dialect=name, number=1)) for name in DIALECTS}
            same(f"M4, {size} spans", {name: paths.outcome(found) for name, found in by_dialect.items()})


def _size(plan: Plan, dialect: Dialect, size: int) -> None:
    say(f"M4: {dialect}, {size:,} spans in a trace")
    runs = _runs(size)
    traces = _traces(runs, dialect)
    is_long = size == _LONG
    ways: dict[str, paths.Way] = {"tree": paths.tree, "facts": paths.facts, "scores": paths.scores}
    if is_long:
        del ways["scores"]  # nothing new is shown by it, and it takes long
    variants = {name: partial(paths.spent_on_new, way, traces) for name, way in ways.items()}
    variants["SpanTree"] = partial(paths.spent_on_new, peers.from_spans, traces)
    if size == _AGAIN_SIZE:
        variants["again"] = partial(spent_ns, partial(paths.each, paths.facts, traces))
    rounds = plan.rounds({10_000: _TEN_THOUSAND_ROUNDS, _LONG: _LONG_ROUNDS}.get(size, ROUNDS))
    taken = interleaved(variants, rounds=rounds, warm_up=0 if is_long else 1)
    us = {name: median_us(found, size * len(traces)) for name, found in taken.items()}
    title = f"{dialect}, {size:,} spans"
    plan.add(Figure(area="M4", name=f"{title}: tree", value=us["tree"], unit="us/span"))
    plan.add(
        Figure(
            area="M4",
            name=f"{title}: tree + facts",
            value=us["facts"],
            unit="us/span",
            op="<=",
            target=_TARGET_LONG_US if is_long else _TARGET_US,
            note=f"{rounds} rounds" if size > _BATCH else "",
        )
    )
    if "scores" in us:
        plan.add(Figure(area="M4", name=f"{title}: tree + facts + scores", value=us["scores"], unit="us/span"))
    plan.add(
        Figure(
            area="M4",
            name=f"{title}: pydantic-evals SpanTree / tree + facts",
            value=ratio(taken["SpanTree"], taken["facts"]),
            unit="x",
            note=f"SpanTree takes {us['SpanTree']:.2f} us/span here, making its nodes included",
        )
    )
    if size == _AGAIN_SIZE:
        plan.add(
            Figure(
                area="M4",
                name=f"{title}: tree + facts, the same spans again and again",
                value=us["again"],
                unit="us/span",
                note="everything in the processor's cache",
            )
        )
        attributes = sum(len(span.attributes) for spans in traces for span in spans) / (size * len(traces))
        say(
            f"{dialect}: {mix(runs)}; {attributes:.1f} attributes, {text_of(traces[0]):.0f} characters of text per span"
        )
