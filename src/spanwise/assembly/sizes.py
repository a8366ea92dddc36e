"""How much memory records take, about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from spanwise.model.canonical import shown
from spanwise.model.ports import Record
from spanwise.model.raw import LogEvent, PackedSpan
from spanwise.native import core

RECORD, _PACKED, VALUE = 420, 360, 64
"""What a record takes beside its attributes and text, one that is packed beside its bytes, and each attribute beside
its text; keys are shared."""
_text_in = None if core is None else core.text_in


def size_of(record: Record) -> int:
    """About how many bytes a record holds: its text, and a constant for the rest."""
    if isinstance(record, LogEvent):
        return 200 + _size(record.event.attributes) + (len(str(record.event.body)) if record.event.body else 0)
    if isinstance(record, PackedSpan):
        return _PACKED + len(record.content)
    size = RECORD + len(record.name) + _size(record.attributes)
    return size + sum([_size(event.attributes) for event in record.events]) if record.events else size


def _size(attributes: Mapping[str, object]) -> int:
    total = VALUE * len(attributes)
    if _text_in is not None and (text := _text_in(attributes)) >= 0:
        return total + text
    for value in attributes.values():
        if value.__class__ is str or isinstance(value, str | bytes):
            total += len(cast("str", value))
        elif isinstance(value, list | tuple | dict):
            total += len(shown(cast("object", value)))
    return total
