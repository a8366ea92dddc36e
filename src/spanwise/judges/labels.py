"""What people say of runs: a file of labels, JSON lines or CSV with a header.

    {"trace_id": "4bf9...", "run_id": "00f0...", "score": 2}
    {"trace_id": "5ac0...", "label": "fail"}

`score` is a number of the judge's scale, `value` one in [0, 1], `label` one of pass, borderline and fail, or ok, warn
and alert, or true and false. `run_id` is needed where a trace has several runs. A row with another name under `judge`
is for another judge.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import msgspec

from spanwise.errors import SourceError
from spanwise.judges.scales import Scale
from spanwise.text import excerpt

_WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("pass", "ok", "true", "yes", "good"), True),
    **dict.fromkeys(("fail", "alert", "false", "no", "bad", "borderline", "warn"), False),
}
_MOST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a person says of a run: whether it passes, and the number of the scale where one was given."""

    passes: bool
    number: int | None = None


class Labels:
    """Labels by trace and run."""

    def __init__(self, found: Mapping[tuple[str, str], Label]) -> None:
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    def of(self, trace_id: str, run_id: str) -> Label | None:
        """The label of a run: one for the run itself, else one for its trace."""
        return self._found.get((trace_id, run_id)) or self._found.get((trace_id, ""))


def read_labels(text: str, *, source: str, judge: str, scale: Scale) -> Labels:
    """The labels in the text of a file, of those for one judge.

    Raises:
        SourceError: A row is not usable; every such row is named.
    """
    found: dict[tuple[str, str], Label] = {}
    errors: list[str] = []
    for line, row in _rows(text, source):
        if row.get("judge") not in {None, "", judge}:
            continue
        label = _label(row, scale)
        trace_id = str(row.get("trace_id") or "").strip().lower()
        if isinstance(label, str) or not trace_id:
            errors.append(f"line {line}: {label if isinstance(label, str) else 'no trace_id'}")
            continue
        found[trace_id, str(row.get("run_id") or "").strip().lower()] = label
    if errors:
        shown = "; ".join(errors[:10]) + (f"; and {len(errors) - 10} more" if len(errors) > 10 else "")
        raise SourceError(shown, source=source)
    if not found:
        raise SourceError(f"no label for {judge!r} is in it", source=source)
    return Labels(found)


def _rows(text: str, source: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    if not text.lstrip().startswith("{"):
        try:
            reader = csv.DictReader(io.StringIO(text), strict=True)
            for row in reader:
                yield reader.line_num, cast("Mapping[str, object]", row)
        except csv.Error as error:
            raise SourceError(f"is neither JSON lines nor CSV: {error}", source=source) from error
        return
    for number, line in enumerate(text.splitlines()[:_MOST], start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise SourceError(f"is not JSON: {error}", source=source, place=f"line {number}") from None
        if not isinstance(row, dict):
            raise SourceError("is no JSON object", source=source, place=f"line {number}")
        yield number, cast("Mapping[str, object]", row)


def _label(row: Mapping[str, object], scale: Scale) -> Label | str:
    """The label of a row, or why it is none."""
    score, value, word = row.get("score"), row.get("value"), row.get("label")
    if score not in {None, ""}:
        number = _float(score)
        if number is None or number not in scale.numbers:
            return f"read the score {excerpt(score)!r}, expected a whole number from {scale.low} to {scale.high}"
        return Label(passes=scale.word(int(number)) == "pass", number=int(number))
    if value not in {None, ""}:
        number = _float(value)
        if number is None or not 0.0 <= number <= 1.0:
            return f"read the value {excerpt(value)!r}, expected a number from 0 to 1"
        return Label(passes=scale.word(scale.nearest(number)) == "pass", number=scale.nearest(number))
    if isinstance(word, bool):
        return Label(passes=word)
    known = _WORDS.get(str(word).strip().lower())
    if known is None:
        return f"read the label {excerpt(word)!r}, expected {', '.join(_WORDS)}, or a score or value beside it"
    return Label(passes=known)


def _float(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(cast("str", value))
    except (TypeError, ValueError):
        return None
