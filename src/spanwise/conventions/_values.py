"""Reading one value out of a mapping whose values may have any type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast


def text_of(value: object) -> str | None:
    """The value if it is non-empty text."""
    return value if isinstance(value, str) and value else None


def int_of(value: object) -> int | None:
    """A whole number, also from a float or from text; None for anything else, for booleans and for negative numbers."""
    if value is None:
        return None
    number = number_of(value)
    return int(number) if number is not None and number >= 0 and number == int(number) else None


def number_of(value: object) -> float | None:
    """A finite number, also from text; None for anything else and for booleans."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    try:
        return value if isinstance(value, int | float) and math.isfinite(value) else None
    except OverflowError:  # a whole number beyond all floats counts nothing here
        return None


def first_text(fields: Mapping[str, object], *keys: str) -> str | None:
    """The first of the keys that holds non-empty text, or a number as text."""
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return None


def first_int(fields: Mapping[str, object], *keys: str) -> int | None:
    """The first of the keys that holds a whole number."""
    for key in keys:
        value = fields.get(key)
        if value is not None:
            found = value if type(value) is int and value >= 0 else int_of(value)
            if found is not None:
                return found
    return None


def first_number(fields: Mapping[str, object], *keys: str) -> float | None:
    """The first of the keys that holds a finite number."""
    for key in keys:
        value = fields.get(key)
        if value is not None:
            found = number_of(value)
            if found is not None:
                return found
    return None


def mapping_of(value: object) -> Mapping[str, object] | None:
    """The value if it is a mapping with text keys."""
    kind = type(value)  # to ask an abstract class takes ten times as long
    if kind is dict:
        return cast("Mapping[str, object]", value)
    if value is None or kind is str or kind is list:
        return None
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


_NAMES = ("title", "name", "url", "uri", "source", "link", "file_path", "file_name", "filename", "path")
_IS_NAME = frozenset(_NAMES)


def names_of(*places: Mapping[str, object]) -> tuple[str, ...]:
    """Titles, addresses and files of a document, from its own fields and from its metadata."""
    # Most documents have none, which the set tells at once.
    there = [fields for fields in places if not _IS_NAME.isdisjoint(fields)]
    if not there:
        return ()
    found = (fields.get(key) for fields in there for key in _NAMES)
    return tuple(dict.fromkeys(value for value in found if isinstance(value, str) and value.strip()))
