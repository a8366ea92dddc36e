"""How everything here is timed.

Variants of one thing take turns: each round runs every variant once, in an order shuffled anew, and a ratio is the
median of the rounds' own ratios, so that a slow moment of the machine meets all variants alike. Processor time of this
process is counted, since other work on the machine is not ours; where several processes or files are the point, the
clock on the wall. The garbage collector runs to its end before each measurement and is off during it, for every
variant alike: it would slow down those most that make many tracked objects, which ours does not.
"""

from __future__ import annotations

import gc
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

Op: TypeAlias = Literal["<=", ">="]
T = TypeVar("T")

ROUNDS = 15


class NotIdenticalError(Exception):
    """Two paths that must give the same result gave different ones."""


def say(words: str) -> None:
    """Tell on stderr what is being measured."""
    print(f"bench: {words}", file=sys.stderr, flush=True)


@dataclass(slots=True, kw_only=True)
class Figure:
    """One measured number. Without a target it is only told."""

    area: str
    name: str
    value: float
    unit: str
    op: Op | None = None
    target: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without a target."""
        if self.target is None:
            return None
        return self.value <= self.target if self.op == "<=" else self.value >= self.target

    @property
    def verdict(self) -> str:
        """The word for the table."""
        return {True: "PASS", False: "FAIL", None: ""}[self.met]

    def row(self, width: int) -> str:
        """The line of the table, where the longest name has this width."""
        target = f"{self.op} {self.target:g}" if self.target is not None else ""
        row = f"{self.area:<8}{self.name:<{width}}  {self.value:>10.2f} {self.unit:<9}{target:>9}  {self.verdict:<4}"
        return f"{row}  {self.note}".rstrip()


@dataclass(slots=True, kw_only=True)
class Plan:
    """How much to measure. `full` is for the night: more rounds, and what takes long."""

    full: bool = False
    figures: list[Figure] = field(default_factory=list["Figure"])

    def rounds(self, most: int = ROUNDS) -> int:
        """Rounds for a measurement that does `most` of them in an ordinary run."""
        return most * 3 if self.full else most

    def add(self, figure: Figure) -> None:
        """Keep a figure for the table."""
        self.figures.append(figure)


def spent_ns(work: Callable[[], object], *, wall: bool = False, collecting: bool = False) -> int:
    """What one piece of work takes; `collecting` leaves the garbage collector on, as it is in any program."""
    clock = time.perf_counter_ns if wall else time.process_time_ns
    gc.collect()
    if not collecting:
        gc.disable()
    try:
        begun = clock()
        result = work()
        taken = clock() - begun
    finally:
        gc.enable()
    del result
    return taken


def interleaved(
    variants: Mapping[str, Callable[[], int]], *, rounds: int, warm_up: int = 1, seed: int = 1
) -> dict[str, list[int]]:
    """Nanoseconds of each variant in each round; the rounds of warming up are not counted."""
    rng = random.Random(seed)
    names = list(variants)
    taken: dict[str, list[int]] = {name: [] for name in names}
    for number in range(-warm_up, rounds):
        rng.shuffle(names)
        for name in names:
            ns = variants[name]()
            if number >= 0:
                taken[name].append(ns)
    return taken


def ratio(over: list[int], under: list[int]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def median_us(taken: list[int], count: int) -> float:
    """Microseconds for each of `count` things, in the median round."""
    return statistics.median(taken) / 1000 / count


def same(what: str, results: Mapping[str, T]) -> T:
    """The result that all paths gave.

    Raises:
        NotIdenticalError: They gave different ones.
    """
    (first, expected), *others = results.items()
    for name, result in others:
        if result != expected:
            raise NotIdenticalError(f"{what}: {name} gives another result than {first}")
    return expected
