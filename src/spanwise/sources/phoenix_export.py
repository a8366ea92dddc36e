"""Spans out of Phoenix (Arize): its REST API's two forms, and the data frame of its client saved as JSON.

Phoenix takes OpenInference's flattened attributes apart and puts them together again in several ways: as dotted keys
down to the last leaf, as lists and objects, as one column for each. Here they become again what the instrumentation
wrote. The scope of a span and its links are in none of the forms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import cast

from spanwise.model.raw import EMPTY, RawEvent, RawSpan, Scope
from spanwise.sources._json_text import BROKEN
from spanwise.sources._open import Input
from spanwise.sources._otlp_mend import Mender, Unusable
from spanwise.sources._outline import ITEM, Path, below, outline
from spanwise.sources._records import Fields, Found, decode_record, fields_of, id_of, list_of, records, text_of
from spanwise.sources._source import Intake, Record, Source
from spanwise.sources._times import time_ns

STATUSES: Mapping[str, int] = {"OK": 1, "ERROR": 2}
KIND = "openinference.span.kind"
# The values of these are JSON objects of somebody else's making: what is in them is no attribute.
OBJECTS = ("metadata", "tool.parameters", "llm.invocation_parameters", "llm.prompt_template.variables")
LATER_OBJECTS = ("document.metadata", "tool.json_schema")
_COUNTS = "llm.token_count."
_COLUMN = "attributes."
_MOST_LEVELS = 100
_SCOPE = Scope("", "", EMPTY)
_ROW_KEYS = frozenset({"span_kind", "status_code"})
_OTLP_KEYS = frozenset({"start_time_unix_nano", "startTimeUnixNano"})


def sniff(head: bytes, name: str) -> bool:
    """Whether the text is JSON with spans in one of Phoenix's forms, in a list, below `data`, or one on each line."""
    del name
    if b"span_id" not in head and b"attributes" not in head:
        return False
    paths = outline(head)
    for prefix in ((), (ITEM,), ("data", ITEM)):
        if _is_row(below(paths, *prefix), paths, prefix) or (prefix and below(paths, *prefix) & _OTLP_KEYS):
            return True
    if {"columns", "index"} <= below(paths):
        return b'"context.span_id"' in head
    return ("context.span_id",) in {path[1:] for path in paths if len(path) == 2}


def _is_row(keys: frozenset[str], paths: frozenset[Path], prefix: Path) -> bool:
    if "context.span_id" in keys or ("span_kind" in keys and any(key.startswith(_COLUMN) for key in keys)):
        return True
    context = below(paths, *prefix, "context")
    return bool(keys & _ROW_KEYS) and "span_id" in context and not context & {"trace_state"}


def read(data: Input, /, *, intake: Intake) -> Iterator[Record]:
    """The spans of an export."""
    reader = _Reader(intake)
    for found in records(data, intake=intake):
        for row in _rows(found):
            yield from reader.span(row)


def _rows(found: Found) -> Iterator[Found]:
    """The spans in a value: itself, a page of the API, or a whole data frame in one of pandas' layouts."""
    fields = fields_of(found.value) or {}
    path = found.place
    page = list_of(fields.get("data"))
    names = list_of(fields.get("columns"))
    if page is not None and names is not None:
        for index, cells in enumerate(page):
            held = zip(names, list_of(cells) or (), strict=False)
            yield Found({name: cell for name, cell in held if isinstance(name, str)}, f"{path}, data[{index}]")
    elif page is not None:
        for index, row in enumerate(page):
            yield Found(row, f"{path}, data[{index}]")
    elif fields_of(fields.get("context.span_id")) is not None:
        yield from _transposed(fields, path)
    elif fields and all("context.span_id" in (fields_of(row) or ()) for row in fields.values()):
        for index, row in fields.items():
            yield Found(row, f"{path}, {index}")
    else:
        yield found


def _transposed(columns: Fields, path: str) -> Iterator[Found]:
    rows: dict[str, dict[str, object]] = {}
    for name, column in columns.items():
        for index, cell in (fields_of(column) or EMPTY).items():
            rows.setdefault(index, {})[name] = cell
    for index, row in rows.items():
        yield Found(row, f"{path}, {index}")


class _Reader:
    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._mender = Mender(intake.repair)

    def span(self, found: Found) -> Iterator[Record]:
        """The span in a row, if it is one."""
        try:
            fields = fields_of(found.value)
            if fields is None:
                raise Unusable("it is no object")
            if _OTLP_KEYS.isdisjoint(fields):
                span = self._row(fields)
            else:
                span = _regrouped(self._mender.span(fields, _SCOPE))
        except Unusable as failure:
            part = f", {failure.part}" if failure.part else ""
            self._intake.refuse(f"the span is left out: {failure}", place=found.place + part)
            return
        self._intake.keep(1)
        yield span

    def _row(self, fields: Fields) -> RawSpan:
        context = fields_of(fields.get("context")) or EMPTY
        trace_id = id_of(context.get("trace_id", fields.get("context.trace_id")))
        span_id = id_of(context.get("span_id", fields.get("context.span_id")))
        if not trace_id or not span_id:
            raise Unusable(f"it has no {'context.span_id' if trace_id else 'context.trace_id'}")
        attributes = attributes_of(fields)
        kind = text_of(fields.get("span_kind"))
        if kind and kind != "UNKNOWN":
            attributes.setdefault(KIND, kind)
        return RawSpan(
            trace_id,
            span_id,
            id_of(fields.get("parent_id")) or None,
            text_of(fields.get("name")),
            self._time(fields.get("start_time")),
            time_ns(fields.get("end_time")) or 0,
            STATUSES.get(text_of(fields.get("status_code")).upper(), 0),
            text_of(fields.get("status_message")),
            attributes,
            tuple(_event(event) for event in self._events(fields.get("events"))),
            _SCOPE,
        )

    def _time(self, value: object) -> int:
        found = time_ns(value)
        if found is None or found < 0:
            self._intake.repair("start time missing or unreadable: taken as unknown")
            return 0
        return found

    def _events(self, value: object) -> list[Fields]:
        if isinstance(value, str):
            decoded = decode_record(value.encode(), intake=self._intake)
            value = None if decoded is BROKEN else decoded
        return [event for item in list_of(value) or () if (event := fields_of(item)) is not None]


def _event(fields: Fields) -> RawEvent:
    attributes: dict[str, object] = {}
    for key, value in (fields_of(fields.get("attributes")) or EMPTY).items():
        _flatten(key, value, attributes)
    return RawEvent(text_of(fields.get("name")), time_ns(fields.get("timestamp")) or 0, attributes)


def attributes_of(fields: Fields) -> dict[str, object]:
    """The attributes of a row as the instrumentation wrote them, whether they stand in columns or below one key."""
    flat: dict[str, object] = {}
    held = fields_of(fields.get("attributes"))
    for key, value in (held if held is not None else fields).items():
        if held is not None:
            _flatten(key, value, flat)
        elif key.startswith(_COLUMN):
            _flatten(key[len(_COLUMN) :], value, flat)
    return _grouped(flat)


def _regrouped(span: RawSpan) -> RawSpan:
    span.attributes = _grouped(span.attributes)
    return span


def _is_object(key: str) -> bool:
    return key in OBJECTS or key.endswith(LATER_OBJECTS)


def _flatten(key: str, value: object, out: dict[str, object]) -> None:
    """Put a value under its dotted key, or the leaves of a nest under theirs; a table's empty cells are none."""
    waiting: list[tuple[str, object, int]] = [(key, value, 0)]
    while waiting:
        at, held, level = waiting.pop()
        fields = fields_of(held)
        listed = list_of(held)
        if fields is not None and not _is_object(at) and level < _MOST_LEVELS:
            waiting.extend((f"{at}.{name}", item, level + 1) for name, item in reversed(list(fields.items())))
        elif listed is not None and level < _MOST_LEVELS and any(isinstance(item, dict) for item in listed):
            waiting.extend((f"{at}.{index}", listed[index], level + 1) for index in range(len(listed) - 1, -1, -1))
        elif held is None or (isinstance(held, float) and math.isnan(held)):
            continue
        elif isinstance(held, float) and at.startswith(_COUNTS) and held.is_integer():
            out[at] = int(held)  # a column with gaps holds floats
        else:
            out[at] = held


def _grouped(flat: Mapping[str, object]) -> dict[str, object]:
    """The attributes with each object of `OBJECTS` in one piece again."""
    out: dict[str, object] = {}
    parts: dict[str, dict[str, object]] = {}
    for key, value in flat.items():
        whole, rest = _split(key)
        if rest:
            parts.setdefault(whole, {})[rest] = value
        else:
            out[key] = value
    for whole, leaves in parts.items():
        out.setdefault(whole, _nested(leaves))
    return out


def _split(key: str) -> tuple[str, str]:
    for name in OBJECTS:
        if key.startswith(name + "."):
            return name, key[len(name) + 1 :]
    for name in LATER_OBJECTS:
        head, found, rest = key.partition(f".{name}.")
        if found:
            return f"{head}.{name}", rest
    return key, ""


def _nested(leaves: Fields) -> object:
    root: dict[str, object] = {}
    for key in sorted(leaves, key=lambda key: key.count(".")):
        here = root
        *names, last = key.split(".")
        for at, name in enumerate(names[:_MOST_LEVELS]):
            inner = here.setdefault(name, {})
            if not isinstance(inner, dict):  # a name that holds a dot itself
                last = ".".join([*names[at:], last])
                break
            here = cast("dict[str, object]", inner)
        here[last] = leaves[key]
    return _listed(root, 0)


def _listed(value: object, level: int) -> object:
    """The value with objects whose keys count from 0 as the lists that they were."""
    fields = fields_of(value)
    if fields is None or level > _MOST_LEVELS:
        return value
    items = {name: _listed(item, level + 1) for name, item in fields.items()}
    numbers = [str(number) for number in range(len(items))]
    return [items[number] for number in numbers] if items and items.keys() == set(numbers) else items


SOURCE = Source(name="phoenix_export", title="Phoenix export", sniff=sniff, read=read)
