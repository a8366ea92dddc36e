"""Taking many records at once: those that follow each other and are ordinary spans of one trace.

It runs once for each span, so it stands twice: in C (`spanwise.native`), and in Python, where that was not built.
"""

from __future__ import annotations

from spanwise.assembly.bounds import AssemblySettings
from spanwise.assembly.entry import Entry
from spanwise.assembly.sizes import RECORD, VALUE, size_of
from spanwise.model.ports import Record
from spanwise.model.raw import LogEvent, PackedSpan, RawSpan
from spanwise.native import core

_NO_BOUND = (1 << 62) - 1
_ROWS = None if core is None else core.Rows(RawSpan, PackedSpan, size_of, RECORD, VALUE)


def hold_row(
    records: list[Record], at: int, entry: Entry, bounds: AssemblySettings, held: tuple[int, int]
) -> tuple[int, int]:
    """Hold the records from there on, as far as they are spans of the entry's trace that take no closer look.

    A root does, a span of an id that is held already, a log event, and what would break a bound where so many records,
    and so many bytes, are `held` of all traces.

    Returns:
        How many of them are held now, and about how many bytes they hold; 0 where bytes have no bound.
    """
    most = (bounds.max_trace_spans or _NO_BOUND) - entry.held
    if bounds.max_spans is not None:
        most = min(most, bounds.max_spans - held[0])
    most_bytes = -1 if bounds.max_bytes is None else max(bounds.max_bytes - held[1], 0)
    if _ROWS is None:
        count, size = _row(records[at : at + max(most, 0)], entry, most_bytes)
    else:
        count, size = _ROWS.hold(records, at, entry.key, entry.spans, (most, most_bytes))
    entry.bytes += size
    return count, size


def _row(records: list[Record], entry: Entry, most_bytes: int) -> tuple[int, int]:
    count = total = 0
    spans, key = entry.spans, entry.key
    for record in records:
        if isinstance(record, LogEvent) or record.trace_id != key or record.span_id in spans:
            break
        if record.parent_id is None or record.parent_remote:
            break
        size = size_of(record) if most_bytes >= 0 else 0
        if most_bytes >= 0 and size > most_bytes - total:
            break
        spans[record.span_id] = record
        total += size
        count += 1
    return count, total
