"""What has to stand in the evidence as it is: addresses, quotes, names in backquotes, identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from spanwise.grounding.features import Read
from spanwise.grounding.index import Index
from spanwise.grounding.steps import Steps
from spanwise.grounding.words import STOP, low, raw_of, words_of

_QUOTED = 400
"""So many bytes of the blocks around one are read for a quote that begins or ends there."""
_SOUGHT = 60
"""In so many blocks the beginning of a hash is looked for in one step."""
_CODE = re.compile(
    r"https?://[^\s<>\"'`|)\]]+|`([^`\n]{2,80})`|[\"\u201c]([^\"\u201c\u201d\n]{1,300})[\"\u201d]"
    r"|(?<![\w.+-])[\w.+-]{1,40}@[\w-]{1,40}(?:\.[\w-]{1,40}){1,4}"
    r"|\b(?=[\w./:@#-]{0,60}\d)(?=[\w./:@#-]{0,60}[A-Za-z])[A-Za-z0-9][\w./:@#-]{2,60}[A-Za-z0-9]|\b\w+(?:_\w+)+(?:\(\))?"
    r"|(?<![\w.])\d+(?:\.\d+){2,}(?![\w.]*\d)"
)
_LEFT_OUT = re.compile(r"\[?(?:\.\.\.|\u2026)\]?")
_HASH = re.compile(r"(?=.{0,40}\d)[0-9a-f]{7,40}")
"""What is often cut short: `9f3c2ab` is `9f3c2ab41d`."""


class Codes:
    """Looks for what has to stand in some evidence as it is."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._flats: dict[int, str] = {}
        self._words: dict[int, bytes] = {}

    def absent(self, claim: Read) -> Steps[str]:
        """The first of them in a claim that stands nowhere; empty where all do."""
        for said in codes_of(claim):
            if not (yield from (self._anywhere(said) if isinstance(said, str) else self._quoted(said))):
                return str(said)
        return ""

    def _quoted(self, said: Quote) -> Steps[bool]:
        """Whether a quote stands somewhere word by word, what it leaves out by `[...]` aside."""
        for part in _LEFT_OUT.split(str(said)):
            words = [word.text for word in words_of(part)]
            slots = (self._index.sought.of(word)[:1] for word in words if word not in STOP)
            wanted = _plain(part)
            for number in self._index.holding({slot for some in slots for slot in some}, across=True):
                yield
                if wanted in self._spoken(number):
                    break
            else:
                return False
        return True

    def _anywhere(self, said: str) -> Steps[bool]:
        """Whether some words stand somewhere as they are, space and letter case aside."""
        wanted = " ".join(said.lower().split())
        telling = [word.text for word in words_of(said) if word.text not in STOP]
        slots = frozenset(slot for word in telling for slot in self._index.sought.of(word)[:1])
        for count, number in enumerate(self._index.holding(slots, across=True)):
            if wanted in self._flat(number):
                return True
            if count % 2:
                yield
        return _HASH.fullmatch(wanted) is not None and (yield from self._begins(wanted))

    def _begins(self, said: str) -> Steps[bool]:
        """Whether a hash begins so anywhere."""
        wanted, index = raw_of(said), self._index
        for count, block in enumerate(index.blocks):
            at = index.raws[block.text].find(wanted, block.start, block.end)
            if at >= 0 and not index.raws[block.text][max(0, at - 1) : at].isalnum():
                return True
            if count % _SOUGHT == _SOUGHT - 1:
                yield
        return False

    def _spoken(self, number: int) -> bytes:
        """The words of the same."""
        held = self._words.get(number)
        if held is None:
            held = self._words[number] = _plain(self._index.around(number, _QUOTED))
        return held

    def _flat(self, number: int) -> str:
        """A block, and what of its neighbours a quote may reach into, in lower case and with single spaces."""
        held = self._flats.get(number)
        if held is None:
            held = self._flats[number] = " ".join(self._index.around(number, _QUOTED).lower().split())
        return held


def _plain(text: str) -> bytes:
    """The words of a text with single spaces between them and at the ends."""
    return b" " + b" ".join(low(raw_of(text)).split()) + b" "


class Quote(NamedTuple):
    """What a claim quotes."""

    said: str

    def __str__(self) -> str:
        return self.said


def codes_of(claim: Read) -> Iterator[str | Quote]:
    """What of a claim has to stand in the evidence as it is."""
    for met in _CODE.finditer(claim.text):
        said = (met[1] or met[2] or met.group()).strip(" .,;:!?")
        if met[2]:
            if len(said.split()) >= 4:
                yield Quote(said)
        elif not any(one.start < met.end() and met.start() < one.end for one in claim.facts):
            yield said
