"""`A is longer than B` against both lengths."""

from __future__ import annotations

import pytest

from spanwise.grounding import check


@pytest.mark.parametrize(
    ("claim", "evidence", "verdict"),
    [
        ("The Alda is longer than the Brin.", "The Alda is 320 km long. The Brin is 410 km long.", "contradicted"),
        ("The Alda is shorter than the Brin.", "The Alda is 410 km long. The Brin is 320 km long.", "contradicted"),
        ("The Brin is longer than the Alda.", "The Alda is 320 km long. The Brin is 410 km long.", "supported"),
        ("The Alda is longer than the Brin.", "The Alda is 41 km long. The Brin is 320 m long.", "supported"),
        ("The Alda is longer than the Brin.", "The Alda is long, 320 km. The Brin is long, 410 kg.", "supported"),
        ("The Alda is longer than the Brin.", "The Alda is 1 km or 2 km long. The Brin is 4 km long.", "supported"),
        ("The Alda is longer than the Brin.", "The Alda and the longer Brin are 320 km and 410 km.", "supported"),
        ("The Alda is longer than 9 km.", "The Alda is 320 km long.", "supported"),
        ("North holds more pallets than South.", "North holds 90 pallets. South holds 120 pallets.", "contradicted"),
        ("North holds more pallets than South.", "North holds 9 staff. South has 12 staff; pallets.", "supported"),
        (
            "The Alda is longer than the Brin.",
            "The Alda, mapped in 1990, is 3 km long. The Brin is 4 km long.",
            "contradicted",
        ),
    ],
)
def test_compared(claim: str, evidence: str, verdict: str) -> None:
    """A comparison is contradicted where each side has one number of what is compared, and they say the opposite."""
    assert verdict == check(claim, evidence).verdict


def test_reason() -> None:
    """Both numbers are named."""
    said = check("The Alda is longer than the Brin.", "The Alda is 320 km long. The Brin is 410 km long.")
    assert "the claim says longer, the evidence 320 km and 410 km" == said.reason
