"""Which steps are begun and not ended, and which of them end when another one does."""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

S = TypeVar("S")


class OpenSteps(Generic[S]):
    """Open steps, each with those begun within it that its end has to end."""

    __slots__ = ("_below", "_lock")

    def __init__(self) -> None:
        self._lock = Lock()
        self._below: dict[S, dict[S, None]] = {}

    def add(self, step: S, parent: S) -> None:
        """A step was begun within another one."""
        with self._lock:
            self._below[step] = {}
            siblings = self._below.get(parent)
            if siblings is not None:
                siblings[step] = None

    def release(self, step: S, parent: S | None) -> None:
        """The end of its parent is no longer to end a step."""
        with self._lock:
            self._forget(step, parent)

    def end(self, step: S, parent: S | None) -> list[S] | None:
        """Take out a step and all that its end ends, outermost first, without itself; None if it is not open."""
        with self._lock:
            waiting = self._below.pop(step, None)
            if waiting is None:
                return None
            self._forget(step, parent)
            out = list(waiting)
            for one in out:  # grows while it is walked
                out.extend(self._below.pop(one, ()))
            return out

    def _forget(self, step: S, parent: S | None) -> None:
        siblings = self._below.get(parent) if parent is not None else None
        if siblings is not None:
            siblings.pop(step, None)
