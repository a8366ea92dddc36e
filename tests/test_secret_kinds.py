"""What stands in every text that holds a secret, found at one look."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import secret_kinds
from spanwise.native import core
from spanwise.secret_kinds import BUILT_IN, may_hold
from tests.test_masking import JOINS, PIECES, SECRETS

TEXTS = st.lists(st.sampled_from(PIECES + JOINS), max_size=6).map("".join) | st.text()


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_never_passed_over(name: str) -> None:
    """Whatever holds a secret may hold one, in letters of any case and among letters of any script."""
    text = SECRETS[name][0]
    assert all(may_hold(one) for one in (text, text + "\N{GREEK SMALL LETTER ALPHA}"))


def test_ordinary_texts_are() -> None:
    """What holds no mark, and no row of digits, needs no closer look."""
    assert not may_hold('Nothing of 12 ms was lost to idle time: {"city": "Oslo", "rows": [1, 22, 333]}, 0.00964 ms')
    assert may_hold("a row of 4444-4444")
    assert not may_hold("two rows of 4444 -4444")


@given(TEXTS)
def test_what_is_found_may_be_there(text: str) -> None:
    """No built-in kind finds anything in a text that is passed over."""
    if not may_hold(text):
        assert not any(list(finder(text)) for _, finder in BUILT_IN.values())


@pytest.mark.skipif(core is None, reason="the compiled part was not built here")
@given(TEXTS | st.text(alphabet="eyJsk-_EYJ:/@=PASSWpasswTtOoKken- 0123\xe9", max_size=40))
def test_the_compiled_look_says_the_same(text: str) -> None:
    """In texts of one byte a character both looks agree; of others the compiled one asks for a closer look."""
    assert may_hold(text) == (secret_kinds._may_hold(text) or any(ord(letter) > 0xFF for letter in text))


@pytest.mark.skipif(core is None, reason="the compiled part was not built here")
@pytest.mark.parametrize("marks", [("",), ("\xe9",), (1,), ("a",) * 200])
def test_marks_that_cannot_be_looked_for(marks: tuple[str, ...]) -> None:
    """A mark is some letters of ASCII, and there are not too many."""
    assert core is not None
    with pytest.raises(ValueError, match="marks are at most"):
        core.Marks(marks, (), 4)
