"""Names, opposites and negations exchanged."""

from __future__ import annotations

import pytest

from spanwise.grounding import check
from spanwise.grounding.swaps import OPPOSITES


@pytest.mark.parametrize(
    ("claim", "evidence", "reason"),
    [
        ("Sales rose in May.", "Sales fell in May.", "the claim says rose, the evidence fell"),
        ("The door is open today.", "The door is not open today.", "the evidence says that it is not so"),
        ("The door isn't open today.", "The door is open today.", "the evidence says that it is so"),
        ("The plugin is no longer maintained.", "The plugin is maintained.", "the evidence says that it is so"),
        (
            "Sales rose by 5% in May.",
            "Sales fell by 5% in May. In May sales never rose.",
            "the claim says rose, the evidence fell",
        ),
        ("The bill is unpaid.", "The bill is paid.", "the claim says unpaid, the evidence paid"),
        ("The bill is paid.", "The bill is unpaid.", "the claim says paid, the evidence unpaid"),
        (
            "The first prize of the contest went to Anna.",
            "The first prize of the contest went to Carla.",
            "the claim says Anna, the evidence Carla",
        ),
    ],
)
def test_swapped(claim: str, evidence: str, reason: str) -> None:
    """What was exchanged is told."""
    said = check(claim, evidence)
    assert ("contradicted", reason) == (said.verdict, said.reason)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The request was not approved.", "The request was rejected."),
        ("Sales did not rise in May.", "Sales fell in May."),
        ("Red.", "The lamp is not red."),
        ("Sales rose by 5% in May.", "Sales fell by 5% in May. In May sales rose."),
        ("The course runs for three weeks.", "The course runs for 21 days."),
        ("The lamp is red and bright.", "The lamp is not red. The lamp is red and bright."),
        ("The lamp stands in Oslo and Rome.", "The lamp stands in rooms of Oslo and elsewhere."),
    ],
)
def test_not_swapped(claim: str, evidence: str) -> None:
    """Two negations cancel out, one word is too little, and another passage may say it."""
    assert "contradicted" != check(claim, evidence).verdict


def test_opposites_are_mutual() -> None:
    """Each word is an opposite of its opposites, none of itself."""
    assert [] == [word for word, others in OPPOSITES.items() if word in others]
    assert all(word in OPPOSITES[other] for word, others in OPPOSITES.items() for other in others)
