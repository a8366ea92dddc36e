"""Every error that Spanwise raises on purpose.

SpanwiseError
├── SourceError      a file or stream cannot be read as what it claims to be
├── SpecError        a text that a user wrote (spec, rules, settings) is not usable
├── SinkError        a destination refused or could not be reached
└── ModelError       a value handed to the Python API contradicts itself
"""

from __future__ import annotations


class SpanwiseError(Exception):
    """A failure that its reader can act on; the message is one sentence and names the way out."""


class SourceError(SpanwiseError):
    """An input is unusable; `place` says where in it."""

    def __init__(self, message: str, *, source: str = "", place: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.source = source
        self.place = place

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.source, self.place) if part)
        return f"{where}: {self.message}" if where else self.message


class SpecError(SpanwiseError):
    """A text that a user wrote is not usable."""


class SinkError(SpanwiseError):
    """A destination refused a result or could not be reached."""


class ModelError(SpanwiseError):
    """A value handed to the Python API contradicts itself."""
