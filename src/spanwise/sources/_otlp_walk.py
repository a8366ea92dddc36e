"""OTLP/JSON read part by part: documents that are too large for memory, and all that is not plain OTLP/JSON.

The envelope (resources, scopes, lists) is walked with a scanner that tolerates what writers make of it: lists in any
order and number, deprecated and snake_case names, a resource or scope that stands behind its spans, documents in a
list or one after another. Spans are decoded in runs at full speed; a run that holds something odd is decoded as
generic JSON and mended item by item; and what is no JSON costs only the item that it breaks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeAlias, cast

from spanwise.model.raw import Scope
from spanwise.sources._json_scan import END, Scanner
from spanwise.sources._json_text import BROKEN, decode, decode_anyhow
from spanwise.sources._otlp_mend import Mender, Unusable
from spanwise.sources._otlp_typed import DOUBTS, TypedReader
from spanwise.sources._source import Intake, Record

_Kind: TypeAlias = Literal["span", "log"]

_ENVELOPE, _DOCUMENT, _RESOURCE, _SCOPE = -1, 0, 1, 2
# Which lists lead deeper, from which level to which; instrumentation libraries are what scopes were called.
_LISTS: Mapping[str, int] = {
    "resourceSpans": _RESOURCE,
    "resourceLogs": _RESOURCE,
    "batches": _RESOURCE,  # Tempo's name
    "scopeSpans": _SCOPE,
    "scopeLogs": _SCOPE,
    "instrumentationLibrarySpans": _SCOPE,
    "instrumentationLibraryLogs": _SCOPE,
}
# In which key of an object of their own the APIs of Tempo and Jaeger give a document.
_ENVELOPES = frozenset({"trace", "result"})
_ITEMS: Mapping[str, _Kind] = {"spans": "span", "logRecords": "log", "logs": "log"}
_OTHER_SIGNALS = {"resourceMetrics": "metrics", "resourceProfiles": "profiles"}
_SNAKE = re.compile(r"_([a-z])")
_BYTE = re.compile(r"\(byte (\d+)\)")
NOT_OTLP = "this is not OTLP: it holds neither resourceSpans nor resourceLogs"


class Walk:
    """One walk through one text. `where` leads every place in a message, for example "line 7"."""

    def __init__(self, more: Callable[[], bytes], *, intake: Intake, where: str = "") -> None:
        self._scan = Scanner(more, intake=intake, where=where)
        self._intake = intake
        self._where = where
        self._typed = TypedReader(intake)
        self._mender = Mender(intake.repair)
        self._known = False

    def documents(self) -> Iterator[list[Record]]:
        """The records of every document in the text, in batches.

        Raises:
            SourceError: The text is no JSON from some place on, or nothing in it is OTLP.
        """
        strange: list[str] = []
        number = 0
        while (byte := self._scan.peek()) != END:
            path = f"$[{number}]" if number else "$"
            if byte == ord("["):
                yield from self._list(_DOCUMENT, path, Scope("", "", {}), strange)
            else:
                yield from self._document(path, strange)
            self._scan.take(b",")
            number += 1
        if strange and not self._known:
            raise self._intake.error(NOT_OTLP, place=self._place(""))
        for path in strange:
            self._intake.refuse(NOT_OTLP, place=self._place(path))

    def _document(self, path: str, strange: list[str]) -> Iterator[list[Record]]:
        known, self._known = self._known, False
        if self._scan.peek() == ord("{"):
            yield from self._object(_ENVELOPE, path, Scope("", "", {}))
        else:
            self._scan.value()
        if not self._known:
            strange.append(path)
        self._known |= known

    def _list(self, level: int, path: str, scope: Scope, strange: list[str]) -> Iterator[list[Record]]:
        if not self._opens(path):
            return
        index = 0
        while True:
            place = f"{path}[{index}]"
            if level == _DOCUMENT:
                yield from self._document(place, strange)
            elif self._scan.peek() == ord("{"):
                # Each resource has attributes of its own; its scopes share them.
                resource = dict[str, object]() if level == _RESOURCE else scope.resource
                yield from self._object(level, place, Scope("", "", resource))
            else:
                self._scan.value()
                self._intake.refuse("an object is expected here", place=self._place(place))
            if not self._scan.separator(b"]"):
                return
            index += 1

    def _object(self, level: int, path: str, scope: Scope) -> Iterator[list[Record]]:
        self._scan.take(b"{")
        if self._scan.take(b"}"):
            return
        while True:
            written = self._scan.key()
            name = _SNAKE.sub(lambda found: found[1].upper(), written)
            place = f"{path}.{written}"
            if _LISTS.get(name, _ENVELOPE) > level:
                self._known = True
                yield from self._list(_LISTS[name], place, scope, [])
            elif name in _ITEMS and level == _SCOPE:
                yield from self._items(_ITEMS[name], place, scope)
            elif name in _ENVELOPES and level == _ENVELOPE and self._scan.peek() == ord("{"):
                yield from self._object(_DOCUMENT, place, Scope("", "", {}))
            else:
                self._field(name, level, scope)
            if not self._scan.separator(b"}"):
                return

    def _field(self, name: str, level: int, scope: Scope) -> None:
        if name == "resource":
            # In place: spans that stand before their resource hold it already.
            cast("dict[str, object]", scope.resource).update(self._resource())
        elif name in {"scope", "instrumentationLibrary"}:
            fields = self._part()
            scope.name, scope.version = (
                text if isinstance(text := fields.get(key), str) else "" for key in ("name", "version")
            )
        else:
            if level <= _DOCUMENT and name in _OTHER_SIGNALS:
                self._known = True
                self._intake.ignore(_OTHER_SIGNALS[name])
            self._scan.skip()

    def _resource(self) -> Mapping[str, object]:
        try:
            return self._mender.attributes(self._part().get("attributes"))
        except Unusable:
            self._intake.repair("attributes of a resource that are no list: left out")
            return {}

    def _part(self) -> Mapping[str, object]:
        held = decode_anyhow(self._scan.value(), intake=self._intake)
        if isinstance(held, Mapping):
            return cast("Mapping[str, object]", held)
        if held is not None:
            self._intake.repair("resource or scope that is no object: left empty")
        return {}

    def _opens(self, path: str) -> bool:
        if self._scan.take(b"["):
            return not self._scan.take(b"]")
        if self._scan.value() != b"null":
            self._intake.refuse("a list is expected here", place=self._place(path))
        return False

    def _items(self, kind: _Kind, path: str, scope: Scope) -> Iterator[list[Record]]:
        if not self._opens(path):
            return
        first = self._intake.tally.read
        one_by_one_until = 0
        while True:
            number = self._intake.tally.read - first
            records = None
            if self._scan.offset >= one_by_one_until:
                records = self._run(kind, path, number, scope)
                one_by_one_until = 0 if records is not None else self._scan.window_end
            if records is None:
                records = self._single(kind, f"{path}[{number}]", scope)
            if records:
                yield records
            if not self._scan.separator(b"]"):
                return

    def _run(self, kind: _Kind, path: str, number: int, scope: Scope) -> list[Record] | None:
        run = self._scan.guess_run()
        if not run:
            return None
        try:
            records = self._decode(kind, run, scope)
        except DOUBTS as doubt:
            ends = _BYTE.search(str(doubt))
            rest = self._scan.rest_of_list(int(ends[1]) - 2) if ends else b""
            if rest:
                # The decoder went as far as the end of the list: what lies before it is the run.
                try:
                    records, run = self._decode(kind, rest, scope), rest
                except DOUBTS:
                    return None
            else:
                items = decode(b"[%b]" % run)
                if not isinstance(items, list):
                    return None
                items = cast("list[object]", items)
                records = [
                    r for i, item in enumerate(items) for r in self._mend(kind, item, f"{path}[{number + i}]", scope)
                ]
        self._scan.advance(run)
        return records

    def _single(self, kind: _Kind, path: str, scope: Scope) -> list[Record]:
        text = self._scan.value()
        try:
            return self._decode(kind, text, scope)
        except DOUBTS:
            item = decode_anyhow(text, intake=self._intake)
        if item is BROKEN:
            self._intake.refuse(f"the {kind} is not valid JSON, or nested too deeply", place=self._place(path))
            return []
        return self._mend(kind, item, path, scope)

    def _decode(self, kind: _Kind, run: bytes, scope: Scope) -> list[Record]:
        return self._typed.spans(run, scope) if kind == "span" else self._typed.logs(run, scope)

    def _mend(self, kind: _Kind, item: object, path: str, scope: Scope) -> list[Record]:
        try:
            record = self._mender.span(item, scope) if kind == "span" else self._mender.log(item, scope)
        except Unusable as failure:
            part = f".{failure.part}" if failure.part else ""
            self._intake.refuse(f"the {kind} is left out: {failure}", place=self._place(path + part))
            return []
        if record is None:
            self._intake.ignore_unlinked(1)
            return []
        self._intake.keep(1)
        return [record]

    def _place(self, path: str) -> str:
        return ", ".join(part for part in (self._where, path) if part)
