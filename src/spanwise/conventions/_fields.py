"""Records read from attributes: each field from the first attribute that tells it.

A reader is made once from what a record's fields are called in a dialect. It runs for every model or tool span of every
trace, so it stands twice: in C (`spanwise.native`), and here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar, cast

from spanwise.conventions._values import first_text, int_of, number_of, text_of
from spanwise.model.raw import Attributes
from spanwise.native import core

T = TypeVar("T")
_COMPILED: frozenset[type] = frozenset((dict,) if core is None else (dict, core.Late))
"""The types of attributes that the compiled part looks into."""
Field: TypeAlias = tuple[int, tuple[str, ...], object]
"""What sort of value, the attributes that may hold it, the best first, and what reads values of unusual types."""

_ANY, _TEXT, _COUNT, _AMOUNT, _FIXED, _CONVERTED, _MARKED, _LOWERED = range(8)


def any_of(*keys: str) -> Field:
    """The first value that is there, as it is."""
    return _ANY, keys, None


def text(*keys: str) -> Field:
    """The first that is text and not empty."""
    return _TEXT, keys, text_of


def lowered(*keys: str) -> Field:
    """The first that is text and not empty, in small letters."""
    return _LOWERED, keys, lowered_of


def written(*keys: str) -> Field:
    """The first that is text and not empty, or a whole number as text."""
    return _TEXT, keys, written_of


def count(*keys: str) -> Field:
    """The first whole number that is not negative, also from text or a float."""
    return _COUNT, keys, int_of


def amount(*keys: str) -> Field:
    """The first finite number that is not negative, also from text."""
    return _AMOUNT, keys, amount_of


def converted(read: Callable[[object], object], *keys: str) -> Field:
    """The first of which `read` makes anything."""
    return _CONVERTED, keys, read


def fixed(value: object) -> Field:
    """What no attribute tells."""
    return _FIXED, (), value


def marked(*values: str | bool, among: tuple[str, ...]) -> Field:
    """Whether any of some attributes has one of these values."""
    return _MARKED, among, frozenset(values)


def below(attributes: Attributes, prefix: str) -> list[str]:
    """The names that begin with a prefix, in their order."""
    if core is not None and type(attributes) in _COMPILED:
        return core.below(attributes, prefix)
    return [name for name in attributes if name.startswith(prefix)]


def lowered_of(value: object) -> str | None:
    """Text that is not empty, in small letters."""
    found = text_of(value)
    return None if found is None else found.lower()


def written_of(value: object) -> str | None:
    """Text that is not empty, or a whole number as text."""
    return first_text({"": value}, "")


def is_text(attributes: Attributes, name: str) -> bool:
    """Whether a value is text, which attributes that are decoded late tell without decoding it."""
    tells = getattr(attributes, "is_text", None)
    return isinstance(attributes.get(name), str) if tells is None else tells(name)


def may_hold(attributes: Attributes, name: str, words: tuple[str, ...]) -> bool:
    """False where attributes tell, without decoding a text, that it holds none of some words in quotes."""
    tells = getattr(attributes, "may_hold", None)
    return tells is None or tells(name, words)


def amount_of(value: object) -> float | None:
    """A finite number that is not negative."""
    number = number_of(value)
    return number if number is not None and number >= 0 else None


def reader(record: Callable[..., T], *fields: Field) -> Callable[[Attributes], T]:
    """What reads such a record, whose fields are told in their order."""
    read = reader_in_python(record, *fields)
    return read if core is None else core.Reader(record, fields, read)


def reader_in_python(record: Callable[..., T], *fields: Field) -> Callable[[Attributes], T]:
    """The same where nothing is compiled, and for attributes that are no plain dict."""
    rows = [
        (keys, _taker(sort, rest), _marks(sort, rest), rest if sort == _FIXED else None) for sort, keys, rest in fields
    ]

    def read(attributes: Attributes, /) -> T:
        get = attributes.get
        values: list[object] = []
        for keys, take, marks, found in rows:
            for key in keys:
                value = get(key)
                if value is not None:
                    found = take(value)
                    if found is not None:
                        break
            values.append(found if marks is None else found is True)
        return record(*values)

    return read


def _marks(sort: int, values: object) -> object:
    return values if sort == _MARKED else None


def _taker(sort: int, rest: object) -> Callable[[object], object]:
    """What gives a value as the record has it; None for one that tells nothing."""
    if sort == _ANY:
        return lambda value: value
    if sort == _MARKED:
        values = cast("frozenset[object]", rest)
        return lambda value: True if type(value) in _PLAIN and value in values else None
    convert = cast("Callable[[object], object]", rest)
    taken = _TAKEN.get(sort)
    return convert if taken is None else lambda value: value if taken(value) else convert(value)


_PLAIN = frozenset({str, bool})
_TAKEN: Mapping[int, Callable[[object], bool]] = {
    _COUNT: lambda value: type(value) is int and value >= 0,
    _AMOUNT: lambda value: type(value) is float and 0.0 <= value < math.inf,
}
"""Whether a value is of the sort as it stands."""
