"""What a source is, and where it tells what became of each record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from spanwise.errors import SourceError
from spanwise.model.raw import LogEvent, RawSpan
from spanwise.sources._open import DEFAULT_LIMITS, Input, Limits

Record: TypeAlias = RawSpan | LogEvent


@dataclass(slots=True, kw_only=True)
class Tally:
    """What became of the records read: `read == kept + refused + sum(ignored.values())`.

    Args:
        read: Spans and log records met; a line or message that could not be taken apart counts as one.
        kept: Those handed out, repaired ones among them.
        refused: Those that were unusable, each reported as an error.
        ignored: Those that are sound but carry nothing for a trace, by reason.
        repairs: What was guessed or put right in kept records, by what was done.
    """

    read: int = 0
    kept: int = 0
    refused: int = 0
    ignored: dict[str, int] = field(default_factory=dict[str, int])
    repairs: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True, kw_only=True)
class Intake:
    """One file's reading, as its source sees it: the name for messages, the limits, and where to report."""

    source: str
    on_error: Callable[[SourceError], None]
    limits: Limits = DEFAULT_LIMITS
    tally: Tally = field(default_factory=Tally)
    _told: SourceError | None = None

    def keep(self, count: int) -> None:
        """So many records are handed out."""
        self.tally.read += count
        self.tally.kept += count

    def refuse(self, message: str, *, place: str) -> None:
        """One record is unusable; the reading goes on."""
        self.tally.read += 1
        self.tally.refused += 1
        self._told = self.error(message, place=place)
        self.on_error(self._told)

    def refuse_for(self, failure: SourceError, *, place: str) -> None:
        """One record is unusable for an error that was raised while it was read.

        Raises:
            SourceError: It is `on_error` that raised it, to end the reading.
        """
        if failure is self._told:
            raise failure
        self.refuse(failure.message, place=failure.place or place)

    def ignore(self, words: str, *, count: int = 1) -> None:
        """So many records are sound but of no use for traces."""
        self.tally.read += count
        self.tally.ignored[words] = self.tally.ignored.get(words, 0) + count

    def ignore_unlinked(self, count: int) -> None:
        """So many log records belong to no span."""
        if count:
            self.ignore("log record without trace and span id", count=count)

    def repair(self, words: str, *, count: int = 1) -> None:
        """Something in a kept record was guessed or put right."""
        self.tally.repairs[words] = self.tally.repairs.get(words, 0) + count

    def error(self, message: str, *, place: str = "") -> SourceError:
        """The error that ends the reading, for the source to raise."""
        return SourceError(message, source=self.source, place=place)


class Read(Protocol):
    """Reads one input; reports unusable records to `intake` and raises SourceError where the rest cannot be read."""

    def __call__(self, data: Input, /, *, intake: Intake) -> Iterator[Record]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One format of recorded traces.

    `sniff` is given the first `HEAD_BYTES` bytes, decompressed, and the file's name; it says whether `read` can read
    the file.
    """

    name: str
    title: str
    sniff: Callable[[bytes, str], bool]
    read: Read
