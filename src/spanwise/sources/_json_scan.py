"""JSON taken apart while it is read, so that a document larger than memory gives up its parts one by one.

The scanner stands at a place in the text and is asked for what comes next: a key, a whole value, the end of a list.
It holds no more than the value it is asked for. A value's end is found by skipping strings and counting brackets,
without recursion, in time linear in the text; whether it is right in itself is left to the decoder that it is given
to.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from spanwise.errors import SourceError
from spanwise.sources._source import Intake

END = -1
_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SCALAR = re.compile(rb"[^ \t\r\n,\]}:\"\[{]*+")
# All up to the next bracket, whole strings included; an unfinished string stops it too.
_TO_BRACKET = re.compile(rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+', re.DOTALL)
_FIRST_KEY = re.compile(rb'\{[ \t\r\n]*+"[^"\\]*+"[ \t\r\n]*+:')
_OPEN, _QUOTE = b"{[", 0x22
_WINDOW = 128 * 1024
_CUT_OFF = "the JSON ends in the middle"


class Scanner:
    """A place in a JSON text; `more` gives the text that follows, in pieces, and nothing at its end."""

    def __init__(self, more: Callable[[], bytes], *, intake: Intake, where: str = "") -> None:
        self._more = more
        self._intake = intake
        self._where = where
        self._text = b""
        self._at = 0
        self._before = 0
        self._over = False
        self._failure: SourceError | None = None

    @property
    def place(self) -> str:
        """Where the scanner stands, for messages."""
        return self._byte(self._at)

    def peek(self) -> int:
        """The next byte that is not white space; END if there is none."""
        while True:
            found = _SPACE.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                if self._failure is not None:
                    raise self._failure
                return END

    def take(self, byte: bytes) -> bool:
        """Whether this byte comes next; if so it is passed."""
        if self.peek() != byte[0]:
            return False
        self._at += 1
        return True

    def key(self) -> str:
        """The next key of an object, passed together with its colon."""
        if self.peek() != _QUOTE:
            raise self.broken("a key in quotes is expected here")
        text = self.value()
        if not self.take(b":"):
            raise self.broken("a colon is expected here")
        try:
            return msgspec.json.decode(text, type=str)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""  # no key that anyone looks for

    def separator(self, close: bytes) -> bool:
        """After an element: True if another follows, False if the list or object was closed."""
        if self.take(b","):
            return True
        if self.take(close):
            return False
        raise self.broken(f"a comma or {close.decode()!r} is expected here")

    def value(self) -> bytes:
        """The next value, whole."""
        self.peek()
        length = self._length(keep=True)
        taken = self._text[self._at : self._at + length]
        self._at += length
        return taken

    def skip(self) -> None:
        """Pass the next value, however large."""
        self.peek()
        self._at += self._length(keep=False)

    def guess_run(self) -> bytes:
        """Several whole elements of a list, with commas between them, or nothing: a guess, for a decoder to prove.

        An element ends where the next one begins with the same key and the same white space. Within a string, that
        key's quotes would be escaped, so the guess can only be wrong by an equal key inside an element, or by the end
        of the list, and both leave brackets unmatched: what decodes as a list was guessed right.
        """
        self.peek()
        while len(self._text) - self._at < _WINDOW and not self._over:
            self._grow()
        first = _FIRST_KEY.match(self._text, self._at)
        if first is None:
            return b""
        cut = self._text.rfind(first[0], self._at + 1, self._at + _WINDOW)
        run = self._text[self._at : cut].rstrip() if cut > 0 else b""
        return run[:-1] if run.endswith(b",") else b""

    def rest_of_list(self, hint: int) -> bytes:
        """The elements up to the end of the list if that is within `hint` bytes: a guess like `guess_run`."""
        end = self._text.rfind(b"]", self._at, self._at + hint)
        return self._text[self._at : end].rstrip() if end > 0 else b""

    def advance(self, run: bytes) -> None:
        """Pass a run that was proved."""
        self._at += len(run)

    @property
    def window_end(self) -> int:
        """Where in the whole text the next guess would end."""
        return self._before + self._at + _WINDOW

    @property
    def offset(self) -> int:
        """Where in the whole text the scanner stands."""
        return self._before + self._at

    def broken(self, message: str) -> SourceError:
        """The error for a text that is no JSON at this place."""
        over = self.peek() == END
        return self._intake.error(_CUT_OFF if over else f"this is not valid JSON: {message}", place=self.place)

    def _byte(self, at: int) -> str:
        byte = f"byte {self._before + at}"
        return f"{self._where}, {byte}" if self._where else byte

    def _cut_off(self, place: str) -> SourceError:
        return self._failure or self._intake.error(_CUT_OFF, place=place)

    def _too_large(self) -> SourceError:
        most = self._intake.limits.record_bytes
        return self._intake.error(f"a value is larger than {most:,} bytes, which is the limit", place=self.place)

    def _grow(self) -> bool:
        # Reading as much again as is held keeps the work linear when a long value is scanned from its start each time.
        held = len(self._text) - self._at
        if held > self._intake.limits.record_bytes:
            raise self._too_large()
        parts = [self._text[self._at :]]
        gained = 0
        while not self._over and gained <= held:
            piece = self._next()
            self._over = not piece
            gained += len(piece)
            parts.append(piece)
        self._before += self._at
        self._at = 0
        self._text = b"".join(parts)
        return gained > 0

    def _next(self) -> bytes:
        # What was read before the text broke off is good: the failure is met by whoever comes to its end.
        try:
            return self._more()
        except SourceError as failure:
            self._failure = failure
            return b""

    def _length(self, *, keep: bool) -> int:
        first = self._text[self._at : self._at + 1]
        if first and first in _OPEN:
            return self._bracketed(keep=keep)
        pattern = _STRING if first == b'"' else _SCALAR
        while True:
            found = pattern.match(self._text, self._at)
            # A number that reaches the end of what is held may go on.
            if found and (found.end() < len(self._text) or self._over):
                if found.end() == self._at:
                    raise self.broken("a value is expected here")
                return found.end() - self._at
            if not self._grow() and not found:
                raise self._cut_off(self.place)

    def _bracketed(self, *, keep: bool) -> int:
        depth = 0
        at = self._at
        while True:
            found = _TO_BRACKET.match(self._text, at)
            at = found.end() if found else at
            if at == len(self._text) or self._text[at] == _QUOTE:
                passed = at - self._at if keep else 0
                self._at = at - passed
                if not self._grow():
                    raise self._cut_off(self._byte(len(self._text)))
                at = self._at + passed
                continue
            depth += 1 if self._text[at] in _OPEN else -1
            at += 1
            if depth == 0:
                if keep and at - self._at > self._intake.limits.record_bytes:
                    raise self._too_large()
                return at - self._at
