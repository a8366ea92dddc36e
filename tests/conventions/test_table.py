"""The table of dialects is whole, and the generic one has the last word."""

from __future__ import annotations

from pathlib import Path

from spanwise.conventions import _genai, _table


def test_each_dialect_stands_in_the_table_once() -> None:
    """Each public module of the package is a row, under its own name; the generic convention comes last."""
    modules = {path.stem for path in Path(_table.__file__).parent.glob("[a-z]*.py")}
    names = [one.name for one in _table.CONVENTIONS]
    assert sorted({*modules, _genai.CONVENTION.name}) == sorted(names)
    assert _genai.CONVENTION is _table.CONVENTIONS[-1]
