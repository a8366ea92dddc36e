"""Near spellings: how a name may stand in the evidence that is spelt a little differently in the claim.

As with inflections, the forms are made from the claim's word once and looked up, so evidence is read as fast as before.
A near spelling counts only where the name itself stands nowhere: where both do, they are two names.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from spanwise.grounding.words import cased

_SWAPPED, _SLIPPED = 7, 8
"""From so many letters on two inner letters may have changed places, one may lack, and a vowel be more or another."""
_SHORTEST, _ACCENTED = 5, 3
_VOWELS = "aeiouy"
_PAIRS = (
    ("ph", "f"), ("th", "t"), ("ck", "k"), ("c", "k"), ("kh", "h"), ("kh", "k"), ("ks", "x"), ("y", "i"), ("yy", "iy"),
    ("ie", "y"), ("w", "v"), ("z", "s"), ("tz", "z"), ("sch", "sh"), ("tch", "ch"), ("ou", "u"), ("oo", "u"),
    ("ee", "i"), ("ae", "a"), ("oe", "o"), ("ue", "u"), ("ae", "e"), ("oe", "e"), ("our", "or"), ("ss", "\u00df"),
    ("ae", "\u00e4"), ("oe", "\u00f6"), ("oe", "\u00f8"), ("ue", "\u00fc"), ("aa", "\u00e5"),
)  # fmt: skip
"""Letters that are written for one another, most of them where a name comes from another alphabet."""
_ACCENTS = {
    "a": "áàâäãåą", "c": "çćč", "d": "ðđ", "e": "éèêëęě", "g": "ğ", "i": "íìîïı",
    "l": "ł", "n": "ñńň", "o": "óòôöõøő", "r": "ř", "s": "šśş", "t": "ţ", "u": "úùûüůű", "y": "ý",
    "z": "žźż",
}  # fmt: skip


@lru_cache(maxsize=256)
def spellings_of(word: str) -> tuple[str, ...]:
    """The near spellings of a name in small letters; none for a short one, a code or a number.

    >>> "patterson" in spellings_of("paterson")
    True
    """
    if len(word) < _ACCENTED or not word.isalpha() or word == word.upper():
        return ()
    found = {*_accented(word)}
    if len(word) >= _SHORTEST:
        found |= {*_doubled(word), *_written(word), *_exchanged(word), *_slipped(word)}
    found.discard(word)
    return tuple(found.union(*(cased(other) for other in found if not other.isascii())))


def _accented(word: str) -> Iterator[str]:
    """One letter with an accent that it lacks; the other way round is no other spelling, see `forms_of`."""
    for at, letter in enumerate(word):
        for other in _ACCENTS.get(letter, ""):
            yield word[:at] + other + word[at + 1 :]


def _doubled(word: str) -> Iterator[str]:
    """One letter of two that are the same left out, or one letter put twice; the first letter stays."""
    for at in range(1, len(word)):
        is_double = word[at] == word[at - 1] or word[at] == word[at + 1 : at + 2]
        yield word[:at] + word[at + 1 :] if is_double else word[: at + 1] + word[at:]


def _written(word: str) -> Iterator[str]:
    """Some letters written as others are that sound alike."""
    for one, other in (*_PAIRS, *((other, one) for one, other in _PAIRS)):
        at = word.find(one)
        while at >= 0:
            yield word[:at] + other + word[at + len(one) :]
            at = word.find(one, at + 1)


def _exchanged(word: str) -> Iterator[str]:
    """Two neighbouring letters in one another's place, the first and the last one stay."""
    for at in range(1, len(word) - 2 if len(word) >= _SWAPPED else 0):
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _slipped(word: str) -> Iterator[str]:
    """One inner letter less, or a vowel more or another: how a name ends says more, `Caroline` and `Carolina`."""
    for at in range(1, len(word) - 1 if len(word) >= _SLIPPED else 0):
        before, behind = word[:at], word[at:]
        for letter in _VOWELS:
            yield before + letter + behind
        if len(behind) > 2:
            yield before + behind[1:]
            if behind[0] in _VOWELS:
                for letter in _VOWELS:
                    yield before + letter + behind[1:]
