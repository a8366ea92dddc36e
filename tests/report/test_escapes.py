"""What a terminal would act upon."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from spanwise.report.escapes import visible

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_no_control_character_gets_through(text: str) -> None:
    """Visible text has no control character, no lone surrogate and no line break, whatever went in."""
    assert set() == {unicodedata.category(char) for char in visible(text)} & {"Cc", "Cs", "Zl", "Zp"}


def test_escapes_are_readable() -> None:
    """What a terminal would act upon is written as the escape of its code point."""
    assert r"\x1b[31mred\x07 \u202egnp.exe \ud800 \U000e0041" == visible(
        "\x1b[31mred\x07 \u202egnp.exe \ud800 \U000e0041"
    )


def test_joiners_stay() -> None:
    """Text of scripts and emoji that need joiners is left as it is."""
    joined = "\U0001f469\u200d\U0001f680 \u0645\u06cc\u200c\u062e"
    assert joined == visible(joined)
