"""Who did what to whom, and who is what."""

from __future__ import annotations

import pytest

from spanwise.grounding import check


@pytest.mark.parametrize(
    ("claim", "evidence", "verdict"),
    [
        ("Acme bought Birch in 2021.", "Birch bought Acme in 2021.", "contradicted"),
        ("Acme Mills bought Birch Farm.", "In 2021 Birch Farm bought Acme Mills.", "contradicted"),
        ("Acme bought Birch.", "Birch bought Acme in 2019. Acme bought Birch in 2021.", "supported"),
        ("Acme bought Birch.", "Acme bought Birch in 2021. Birch bought Acme in 2023.", "supported"),
        ("Acme bought Birch.", "Birch bought Acme in 2019. Birch bought Acme again.", "contradicted"),
        ("Anna met Omar in Lyon.", "Omar met Anna in Lyon.", "supported"),
        ("Anna and Omar won.", "Omar and Anna won.", "supported"),
        ("Birch was bought by Acme.", "Acme bought Birch in 2021.", "supported"),
    ],
)
def test_turned(claim: str, evidence: str, verdict: str) -> None:
    """Two names in one another's place contradict, unless that is the same, or stands there both ways."""
    assert verdict == check(claim, evidence).verdict


SHOP = '{"shop": "Mitte", "manager": "Nora Vale", "clerk": "Kai Brandt"}'


@pytest.mark.parametrize(
    ("claim", "evidence", "verdict"),
    [
        ("The manager is Kai Brandt.", SHOP, "contradicted"),
        ("Kai Brandt is the manager.", SHOP, "contradicted"),
        ("The manager is Nora Vale.", SHOP, "supported"),
        ("The manager is Kai Brandt.", f'[{SHOP}, {{"shop": "Ost", "manager": "Kai Brandt"}}]', "supported"),
        ("The manager is Kai Brandt.", f'[{SHOP}, {{"manager": "Ida Holm", "clerk": "Kai Brandt"}}]', "contradicted"),
        ("The manager is Kai Brandt.", '{"manager": "on leave", "clerk": "Kai Brandt"}', "supported"),
        ("The shop manager saw Kai Brandt.", SHOP, "supported"),
        (
            "The manager is Kai Brandt.",
            '{"phone": "---", "manager": "Nora Vale", "clerk": "Kai Brandt"}',
            "contradicted",
        ),
        ("The shop is run by a manager. Kai Brandt", SHOP, "supported"),
    ],
)
def test_misplaced(claim: str, evidence: str, verdict: str) -> None:
    """A name under another role contradicts, where somebody else stands under the claim's."""
    assert verdict == check(claim, evidence).verdict


def test_reasons() -> None:
    """What stands in the place is quoted."""
    said = check("Acme bought Birch in 2021.", "News. Birch bought Acme in 2021. More news.")
    assert "the claim says Acme bought Birch, the evidence Birch bought Acme" == said.reason
    assert "Birch bought Acme in 2021." == said.quote
    assert "the claim says Kai Brandt, the evidence Nora Vale" == check("The manager is Kai Brandt.", SHOP).reason
