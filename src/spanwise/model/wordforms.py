"""The words of a text in the forms in which they are looked for in other texts.

Looked for are numbers, and words of four letters and more that carry meaning. A number is found again by its value or
by its digits, rounded or not: 6840000.0 in `6.84 million`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from itertools import chain

import msgspec

from spanwise.model.content import Memo

READ = 20_000
"""How much of a result or of arguments is gone through."""
# Scripts that put no space between words, or glue particles to them, have no words that could be found again.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(rf"\d++(?:[.,]\d++)*+(?![^\W_{_UNSPACED}])|[^\W_{_UNSPACED}]++")
# What divides words in ASCII text; points and commas may stand inside numbers.
_PIECES = "".join(sign if sign.isalnum() or sign in ".," else " " for sign in map(chr, range(128)))
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})++(?:\.\d++)?")
_SPACES = re.compile(r"\\[nrt]")

# Words that stand in any text, and those that results are wrapped in.
_COMMON = frozenset(
    """about above after again against also another available because been before being below between both call called
    cannot code common completed content could data default description detail details does done during each either
    else empty error every false field fields final finished first following found from further function have having
    here however info information input into item items just kind last later least less like list made main make many
    message messages metadata more most much must name names need next none nothing number object once only other others
    output over page performed please provided query range request requested required response result results return
    returned returns same search second should some status string success successful successfully such table text than
    thank thanks that their them then there these they thing this those through time title today together tool total
    true type under unknown until used user using value values very want well were what when where whether which while
    will with within without would your null undefined processed received redacted scrubbed""".split()
)


def has_unspaced(text: str) -> bool:
    """Some of the text is in a script of which words cannot be found again."""
    return not text.isascii() and _HAS_UNSPACED.search(text) is not None


def text_of(recorded: object, memo: Memo | None) -> str:
    """Recorded content as text, what JSON escapes in it as it was."""
    if isinstance(recorded, str) and "\\" not in recorded:
        return recorded
    value = memo.json(recorded) if memo else recorded
    if isinstance(value, str):
        return value
    try:
        return _SPACES.sub(" ", msgspec.json.encode(value).decode())
    except (TypeError, ValueError, RecursionError):
        return recorded if isinstance(recorded, str) else ""


class Forms(dict[str, tuple[str, ...]]):
    """What the words in a piece of text are looked for as, worked out once for each piece."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        bare = piece.strip(".,")
        if bare.isalpha() and bare.isascii():  # as most are: one word, which no expression has to look for
            forms = _forms(bare)
        else:
            forms = tuple([form for word in _WORD.findall(piece) for form in _forms(word)])
        self[piece] = forms
        return forms

    def of(self, text: str) -> list[str]:
        """The words of a text in their forms, in order, each piece once."""
        lowered = text.lower()
        pieces = lowered.translate(_PIECES).split() if lowered.isascii() else lowered.split()
        return list(chain.from_iterable(map(self.__getitem__, dict.fromkeys(pieces))))


def _forms(word: str) -> tuple[str, ...]:
    """A word as it is looked for: itself, nothing for one that stands everywhere, a number by value and digits."""
    number = word[0].isdecimal()
    if number and (word.isdecimal() or not word.isalnum()):
        return tuple(_numbers(word))
    says = (len(word) > 3 and word not in _COMMON) or number or word[-1].isdecimal()
    return (word,) if says else ()


def _numbers(number: str) -> list[str]:
    """The value of a number, as `=12.5`, and the digits that count; of one with commas, maybe a list, each part too."""
    if number.isdecimal():
        return [f"={number}", number.strip("0") or "0"]
    if "," not in number:
        return [f"={number.rstrip('0').rstrip('.')}", number.replace(".", "").strip("0") or "0"]
    parts = [form for part in number.split(",") for form in _numbers(part)]
    whole = number.replace(",", "" if _THOUSANDS.fullmatch(number) else ".")
    return parts + _numbers(whole)


def rounded(digits: str) -> Iterable[str]:
    """The digits of a number rounded to two and more places."""
    for places in range(2, min(len(digits), 9)):
        yield str(int(digits[:places]) + (digits[places] >= "5")).rstrip("0")


def is_telling(word: str, known: Container[str]) -> bool:
    """A word or number that hardly stands in a text by chance."""
    if word[0] == "=":
        digits = word[1:].replace(".", "")
        return len(digits) >= 3 and (digits.strip("0") or "0") not in known
    return len(word) >= 6 and not word.isdecimal()
