"""A target that was wrapped: what to use in its place, and how to make it behave as before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced(Generic[T]):
    """`target` is the same object where it could be changed in place, else a wrapper to be used instead of it."""

    target: T
    did: str
    undo: Callable[[], None]


class Switch:
    """Whether a wrapper does anything; what others hold of it goes on working when it is off."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = True

    def off(self) -> None:
        """From now on the wrapper passes everything on."""
        self.on = False
