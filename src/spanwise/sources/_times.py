"""Times as exports write them, in nanoseconds. Text without an offset is UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SUB_MICRO = re.compile(r"[.,]\d{6}(\d{1,3})")
_FULL = len("2025-01-31T12:00:00.123456Z")  # what is longer may hold nanoseconds
# An epoch number says by its size which unit it counts: in each unit, these are dates from 1973 to 5138.
_UNITS = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3), (10**20, 1))


def time_ns(value: object) -> int | None:
    """Nanoseconds since 1970 of ISO 8601 text or of an epoch number in s, ms, us or ns; None for anything else."""
    if isinstance(value, str):
        return _text_ns(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        size = abs(value)  # not smaller than any limit if it is no number
        for limit, factor in _UNITS:
            if size < limit:
                return round(value * factor)
    return None


def _text_ns(text: str) -> int | None:
    try:
        whole = epoch_ns(datetime.fromisoformat(text))
    except ValueError:
        return None
    if len(text) > _FULL:
        finer = _SUB_MICRO.search(text)
        if finer is not None:
            whole += int(finer[1].ljust(3, "0"))
    return whole


def epoch_ns(moment: datetime) -> int:
    """Nanoseconds since 1970."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // MICROSECOND * 1_000
