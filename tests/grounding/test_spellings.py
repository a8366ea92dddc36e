"""Names that are spelt a little differently."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.grounding import check
from spanwise.grounding.index import Index, Sought
from spanwise.grounding.spellings import spellings_of


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("paterson", "patterson"),
        ("patterson", "paterson"),
        ("zelensky", "zelenskyy"),
        ("mueller", "müller"),
        ("müller", "mueller"),
        ("tchaikovsky", "chaikovsky"),
        ("microsft", "microsoft"),
        ("microsoft", "microsft"),
        ("portuguese", "portugese"),
        ("michael", "micheal"),
        ("jose", "josé"),
        ("sofia", "sophia"),
        ("elodie", "Élodie"),
    ],
)
def test_near(name: str, other: str) -> None:
    """Doubled letters, letters that sound alike, accents, and slips within a long name."""
    assert other in spellings_of(name)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("christian", "christina"),
        ("caroline", "carolina"),
        ("gabriel", "gabriela"),
        ("marta", "maria"),
        ("austria", "australia"),
        ("slovakia", "slovenia"),
        ("niger", "nigeria"),
        ("iran", "iraq"),
    ],
)
def test_other_names(name: str, other: str) -> None:
    """How a name ends, and what is further apart than a slip, makes another name."""
    assert other not in spellings_of(name)
    assert name not in spellings_of(other)


@pytest.mark.parametrize("word", ["", "al", "b12345678", "北京市民", "v2"])
def test_none(word: str) -> None:
    """Codes, numbers, short words and scripts without letters of two sizes are looked for as they are."""
    assert () == spellings_of(word)


@given(st.text(st.characters(whitelist_categories=["Ll"]), max_size=40))
def test_many(word: str) -> None:
    """There are few of them, and the word itself is none."""
    found = spellings_of(word)
    assert word not in found
    assert len(found) == len(set(found)) <= 40 * max(len(word), 1)


def test_the_name_itself_comes_first() -> None:
    """A near spelling stands for its name last, whichever of the two was sought first."""
    sought = Sought()
    near = sought.near("paterson")
    own = sought.slot("patterson")
    assert (own, near) == sought.of("patterson")
    assert near == sought.near("paterson")
    assert sought.near("x7") is None


def test_only_where_the_name_stands_nowhere() -> None:
    """Where both spellings stand, they are two names."""
    claim, seen = "Paterson won the race in 1987.", "Patterson won the race in 1987."
    told = check(claim, seen)
    assert ("supported", "the claim spells Paterson what the evidence spells Patterson") == (told.verdict, told.reason)
    assert "contradicted" == check(claim, [seen, "Paterson came second."]).verdict


def test_capitals() -> None:
    """Capitals that are no ASCII are found in lowered evidence."""
    sought = Sought()
    slot = sought.slot("zürich")
    index = Index(sought)
    list(index.add("ZÜRICH, Été"))
    assert {slot} == index.held()
