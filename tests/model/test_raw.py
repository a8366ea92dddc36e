"""Raw spans, and ids as people read them."""

from __future__ import annotations

import gc

import pytest

from spanwise.model.raw import RawLink, RawSpan, Scope, hex_id, hex_trace_id


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (None, ""),
        ("00000000000000AB", "00000000000000ab"),
        (b"\x00\x00\x00\x00\x00\x00\x00\xab", "00000000000000ab"),
        (0xAB, "00000000000000ab"),
        (1 << 64, "00000000000000010000000000000000"),
        ((1 << 64) - 1, "f" * 16),
        ((1 << 128) - 1, "f" * 32),
    ],
)
def test_ids_as_hex(key: str | bytes | int | None, text: str) -> None:
    """Text, bytes and numbers of one id are the same lower-case hex text; no id is empty text."""
    assert text == hex_id(key)


@pytest.mark.parametrize("key", ["0" * 31 + "A", bytes(15) + b"\x0a", 10])
def test_trace_ids_as_hex(key: str | bytes | int) -> None:
    """A trace id is 32 digits also where it begins with zeros."""
    assert "0" * 31 + "a" == hex_trace_id(key)


def test_what_need_not_be_said() -> None:
    """A span is local, without links and whole unless said otherwise; a link needs no attributes."""
    raw = RawSpan("t", "s", None, "name", 1, 2, 0, "", {}, (), Scope("", "", {}))
    assert ((), 0, False, 0) == (raw.links, raw.span_kind, raw.parent_remote, raw.dropped)
    assert {} == RawLink("t", "s").attributes


def test_spans_are_no_work_for_the_collector() -> None:
    """Spans are many, so the garbage collector does not track them."""
    assert not gc.is_tracked(RawSpan("t", "s", None, "name", 1, 2, 0, "", {}, (), Scope("", "", {})))
