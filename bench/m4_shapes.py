"""M4: what must stay linear, whatever the shape of a trace and the order in which its spans come."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from bench import paths
from bench.dialects import moved, spans_of
from bench.m4_build import TEXTS
from bench.timing import Figure, Plan, interleaved, ratio, same, say
from bench.workload import Run
from spanwise.assembly.assembler import Assembler
from spanwise.model.raw import STATUS_ERROR, RawSpan
from spanwise.model.trace import Trace

_SHORT, _LONG, _MOST = 1_000, 10_000, 30_000
_TARGET = 1.5
_COARSE_NS = 100_000_000
_ROUNDS, _GROWN_ROUNDS = 7, 3

Spans: TypeAlias = Sequence[RawSpan]


def measure(plan: Plan) -> None:
    """Check that the order of arrival does not matter, then add each shape against the plain one, and how some grow."""
    _check()
    _against_plain(plan)
    _growing(plan)


def _as_it_is(spans: Spans) -> list[RawSpan]:
    return list(spans)


def _reversed(spans: Spans) -> list[RawSpan]:
    return list(reversed(spans))


def _shuffled(spans: Spans) -> list[RawSpan]:
    listed = list(spans)
    random.Random(3).shuffle(listed)
    return listed


def _chain(spans: Spans) -> list[RawSpan]:
    return [moved(span, parent=at - 1) for at, span in enumerate(spans)]


def _star(spans: Spans) -> list[RawSpan]:
    return [moved(span, parent=0 if at else -1) for at, span in enumerate(spans)]


def _coarse(spans: Spans) -> list[RawSpan]:
    return [moved(span, start_ns=span.start_ns // _COARSE_NS * _COARSE_NS) for span in spans]


def _unanswered(spans: Spans) -> list[RawSpan]:
    """Failed tools whose spans hold no result, as GenAI's instrumentations leave them: the messages must be asked."""
    out: list[RawSpan] = []
    for span in spans:
        copy = moved(span)
        if copy.status_code == STATUS_ERROR:
            copy.attributes = {k: v for k, v in span.attributes.items() if k != "gen_ai.tool.call.result"}
        out.append(copy)
    return out


_ARRIVALS: Mapping[str, Callable[[Spans], list[RawSpan]]] = {
    "by start": _as_it_is,
    "reversed": _reversed,
    "shuffled": _shuffled,
}
_SHAPES: Mapping[str, Callable[[Spans], list[RawSpan]]] = {
    "a chain": _chain,
    "a star": _star,
    "many starts alike": _coarse,
}
_GROWING: Mapping[str, Callable[[Spans], list[RawSpan]]] = {"a chain": _chain, "failures without results": _unanswered}


def _made(size: int) -> list[RawSpan]:
    return spans_of(Run(size, seed=1, texts=TEXTS), dialect="genai", number=1)


def _check() -> None:
    say("M4: the same results in every order of arrival")
    spans = _made(_SHORT)
    found = {name: paths.outcome(paths.scores(arrange(spans))) for name, arrange in _ARRIVALS.items()}
    found["one by one"] = [item for trace in _assembled(spans) for item in paths.outcome(paths.scores_of(trace))]
    same("M4, orders of arrival", found)


def _assembled(spans: Spans) -> list[Trace]:
    assembler = Assembler()
    for at, span in enumerate(spans):
        assembler.add(span, at)
    return [finished.trace for finished in assembler.drain(len(spans))]


def _one_by_one(spans: Spans) -> None:
    for trace in _assembled(spans):
        paths.facts_of(trace)


def _figure(name: str, value: float, rounds: int) -> Figure:
    return Figure(area="M4", name=name, value=value, unit="x", op="<=", target=_TARGET, note=f"{rounds} rounds")


def _dearer(name: str, value: float) -> Figure:
    """A chain is another trace than the plain one: its calls nest, so the messages must tell which ones are doubles.

    Whether it is linear, the growth tells.
    """
    return Figure(area="M4", name=name, value=value, unit="x", note="calls nest: messages are read")


def _against_plain(plan: Plan) -> None:
    say(f"M4: shapes and orders of arrival, {_LONG:,} spans")
    spans = _made(_LONG)
    variants = {
        name: partial(paths.spent_on_new, paths.facts, [arrange(spans)])
        for name, arrange in {**_ARRIVALS, **_SHAPES}.items()
    }
    variants["one by one"] = partial(paths.spent_on_new, _one_by_one, [spans])
    rounds = plan.rounds(_ROUNDS)
    taken = interleaved(variants, rounds=rounds)
    for name, found in taken.items():
        if name != "by start":
            title = f"tree + facts, {_LONG:,} spans: {name} / by start"
            value = ratio(found, taken["by start"])
            plan.add(_dearer(title, value) if name == "a chain" else _figure(title, value, rounds))


def _growing(plan: Plan) -> None:
    say("M4: growth")
    rounds = plan.rounds(_GROWN_ROUNDS)
    for name, arrange in _GROWING.items():
        short, grown, most = (arrange(_made(size)) for size in (_SHORT, _LONG, _MOST))
        variants = {
            "short": partial(paths.spent_on_new, paths.facts, [short], batches=_LONG // _SHORT),
            "grown": partial(paths.spent_on_new, paths.facts, [grown]),
            "most": partial(paths.spent_on_new, paths.facts, [most]),
        }
        taken = interleaved(variants, rounds=rounds, warm_up=0)
        title = f"tree + facts, {name}: a span of {_LONG:,} / of {_SHORT:,}"
        plan.add(_figure(title, ratio(taken["grown"], taken["short"]), rounds))
        title = f"tree + facts, {name}: a span of {_MOST:,} / of {_SHORT:,}"
        plan.add(_figure(title, ratio(taken["most"], taken["short"]) / (_MOST / _LONG), rounds))
