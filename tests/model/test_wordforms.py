"""The words of a text in the forms in which they are looked for."""

from __future__ import annotations

import pytest

from spanwise.model.content import Memo
from spanwise.model.wordforms import Forms, has_unspaced, is_telling, rounded, text_of


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("The Thermowell, please", ["thermowell"]),
        ("an ox", []),
        ("1,082.50", ["=1", "1", "=082.5", "825", "=1082.5", "10825"]),
        ("12,5", ["=12", "12", "=5", "5", "=12.5", "125"]),
        ("30 3.0", ["=30", "3", "=3", "3"]),
        ("ORD-4711 a1", ["=4711", "4711", "a1"]),
        ("\u5929\u6c1425", ["=25", "25"]),
    ],
)
def test_forms(text: str, forms: list[str]) -> None:
    """Words that tell stand for themselves, numbers for their values and their digits."""
    assert forms == Forms().of(text)


def test_rounded() -> None:
    """Digits are rounded to two and more places."""
    assert ["11", "108", "1083"] == list(rounded("10827"))


def test_telling() -> None:
    """A word of six letters or a number of three digits tells something, unless its digits were known."""
    telling = [is_telling(one, {"4711"}) for one in ("storms", "storm", "=4712", "=4711", "=12", "123456")]
    assert [True, False, True, False, False, False] == telling


def test_scripts_without_spaces() -> None:
    """Text in a script whose words cannot be told apart is known as such."""
    assert [False, False, True] == [has_unspaced(one) for one in ("a", "\u00e4", "a \u5929")]


def test_text_of() -> None:
    """Recorded content is text, decoded where it is escaped, and nothing where JSON does not know it."""
    memo = Memo()
    assert ["a", 'a"b', '{"a":1}', "\\ x", ""] == [
        text_of(one, memo) for one in ("a", '"a\\"b"', {"a": 1}, "\\ x", {"a": object()})
    ]
    assert "a\\b" == text_of("a\\b", None)
