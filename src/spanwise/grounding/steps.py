"""Work in steps: a generator that yields None after each, and returns what came of it."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, T]


def finish(steps: Steps[T]) -> T:
    """What comes of some work, done without a pause."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value
