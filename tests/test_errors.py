"""The errors that are raised on purpose."""

from __future__ import annotations

import pytest

from spanwise.errors import ModelError, SinkError, SourceError, SpanwiseError, SpecError


@pytest.mark.parametrize("kind", [SourceError, SpecError, SinkError, ModelError])
def test_one_family(kind: type[SpanwiseError]) -> None:
    """Every error can be caught as one kind, and reads as its message."""
    with pytest.raises(SpanwiseError, match=r"^it is so$"):
        raise kind("it is so")


@pytest.mark.parametrize(
    ("source", "place", "text"),
    [
        ("a.json", "line 3", "a.json, line 3: not JSON"),
        ("a.json", "", "a.json: not JSON"),
        ("", "line 3", "line 3: not JSON"),
        ("", "", "not JSON"),
    ],
)
def test_sources_say_where(source: str, place: str, text: str) -> None:
    """An unusable input is named with the place in it, as far as these are known."""
    error = SourceError("not JSON", source=source, place=place)
    assert (text, "not JSON", source, place) == (str(error), error.message, error.source, error.place)
