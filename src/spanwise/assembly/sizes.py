"""How much memory records take, about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from spanwise.model.canonical import shown
from spanwise.model.raw import LogEvent, RawSpan

_RECORD, _VALUE = 420, 64
"""What a record takes beside its attributes and text, and each of them beside its text; keys are shared."""


def size_of(record: RawSpan | LogEvent) -> int:
    """About how many bytes a record holds: its text, and a constant for the rest."""
    if isinstance(record, LogEvent):
        return 200 + _size(record.event.attributes) + (len(str(record.event.body)) if record.event.body else 0)
    size = _RECORD + len(record.name) + _size(record.attributes)
    return size + sum([_size(event.attributes) for event in record.events]) if record.events else size


def _size(attributes: Mapping[str, object]) -> int:
    total = _VALUE * len(attributes)
    for value in attributes.values():
        if value.__class__ is str or isinstance(value, str | bytes):
            total += len(cast("str", value))
        elif isinstance(value, list | tuple | dict):
            total += len(shown(cast("object", value)))
    return total
