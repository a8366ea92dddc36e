"""Attribute names, each held once: a trace repeats a few dozen of them on every span."""

from __future__ import annotations

_MOST = 16_384  # flattened messages make new names without end; those beyond this many are held as they come


class Interned(dict[str, str]):
    """`names[name]` is an equal text, the same object each time."""

    __slots__ = ()

    def __missing__(self, name: str) -> str:
        if len(self) < _MOST:
            self[name] = name
        return name


NAMES = Interned()
