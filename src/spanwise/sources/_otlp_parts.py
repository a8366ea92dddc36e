"""One OTLP message in protobuf as many small ones, so that memory does not follow the file.

A message that is cut between its fields leaves messages. So a file without lengths is read a run of fields at a time; a
resource or scope that is itself too large is taken apart in the same way, its own description set before each part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from spanwise.sources._open import Input
from spanwise.sources._source import Intake
from spanwise.sources._wire import BYTES, Broken, extent

_RUN = 256 * 1024
_LARGE = 1024 * 1024
_REQUEST, _RESOURCE, _SCOPE = 0, 1, 2
# In a resource and in a scope the field that describes it; in each message the fields that lead deeper.
_DESCRIPTION = 1
_DEEPER = {_REQUEST: (1,), _RESOURCE: (2, 1000), _SCOPE: ()}
_LATE = "resource or scope that stands behind its spans: not applied to them"


def parts_of(data: Input, *, intake: Intake) -> Iterator[tuple[bytes, str]]:
    """The message that the input is, as messages of its kind, each with its place.

    Raises:
        SourceError: It is no message from some place on, or ends in the middle.
    """
    return _Cutter(data, intake).parts(_REQUEST, None, lambda content: content)


def take(data: Input, size: int, *, place: str, intake: Intake) -> bytes:
    """The next `size` bytes.

    Raises:
        SourceError: They are too many, or the input ends before.
    """
    if size > intake.limits.record_bytes:
        raise intake.error(f"a record is said to have {size:,} bytes, more than the limit", place=place)
    content = data.read(size)
    if len(content) < size:
        raise intake.error("the file ends in the middle of a record", place=place)
    return content


class _Cutter:
    def __init__(self, data: Input, intake: Intake) -> None:
        self._data = data
        self._intake = intake

    def parts(self, level: int, end: int | None, wrap: Callable[[bytes], bytes]) -> Iterator[tuple[bytes, str]]:
        """The parts of the message that goes on to `end`, each made a request by `wrap`."""
        description = b""
        begun = False
        while seen := self._data.peek(_RUN if end is None else min(_RUN, end - self._data.offset)):
            place = f"byte {self._data.offset}"
            try:
                number, wire, start, stop = extent(memoryview(seen), 0)
                size, described = _whole(memoryview(seen), level) if stop <= len(seen) else (stop, b"")
            except (Broken, IndexError) as failure:
                raise self._intake.error(f"the message is not valid protobuf: {failure}", place=place) from failure
            if end is not None and self._data.offset + size > end:
                raise self._intake.error("a field goes on beyond the message that holds it", place=place)
            if size > _LARGE and wire == BYTES and number in _DEEPER[level]:
                self._data.read(start)
                outer = partial(self._within, level, description, wrap)
                yield from self.parts(level + 1, self._data.offset + stop - start, outer)
                begun = True
                continue
            run = take(self._data, size, place=place, intake=self._intake)
            if described:
                description += described
                if begun:
                    self._intake.repair(_LATE)
            begun = True
            yield wrap(description + run), place
        if end is not None and self._data.offset < end:
            raise self._intake.error("the file ends in the middle of a record", place=f"byte {self._data.offset}")

    def _within(self, level: int, description: bytes, wrap: Callable[[bytes], bytes], content: bytes) -> bytes:
        return wrap(description + _field(level, content))


def _whole(seen: memoryview, level: int) -> tuple[int, bytes]:
    """How far whole fields go, and those of them that describe the message."""
    end = 0
    described = b""
    while end < len(seen):
        try:
            number, wire, _, stop = extent(seen, end)
        except (Broken, IndexError):
            break
        if stop > len(seen):
            break
        if level != _REQUEST and number == _DESCRIPTION and wire == BYTES:
            described += seen[end:stop]
        end = stop
    return end, described


def _field(level: int, content: bytes) -> bytes:
    # The scopes' old field number, 1000, is read like the one of today.
    number = 1 if level == _REQUEST else 2
    size = len(content)
    written = bytearray([number << 3 | BYTES])
    while size > 0x7F:
        written.append(size & 0x7F | 0x80)
        size >>= 7
    written.append(size)
    return bytes(written) + content
