"""Rows of tables and items of lists."""

from __future__ import annotations

import pytest

from spanwise.grounding import check

CSV = "station,rain_mm,wind\nB6,3.1,22\nB7,12.4,18\nB8,0.0,31"
TSV = "node\tcores\tram\nn1\t8\t32\nn2\t16\t64\nn3\t12\t48"


@pytest.mark.parametrize(
    ("claim", "evidence", "verdict"),
    [
        ("Station B7 recorded 12.4 mm of rain.", CSV, "supported"),
        ("Station B7 recorded 3.1 mm of rain.", CSV, "contradicted"),
        ("Station B9 recorded 3.1 mm of rain.", CSV, "unsupported"),
        ("Node n3 has 12 cores.", TSV, "supported"),
        ("Node n3 has 16 cores.", TSV, "contradicted"),
        ("Station B7 had wind of 22.", CSV, "contradicted"),
        ("Station B7 had 99 storms.", f"station B6 had storms,{'1,x,' * 50}99\nB7,x,y", "contradicted"),
    ],
)
def test_columns(claim: str, evidence: str, verdict: str) -> None:
    """A number of another row is not the claim's, where its own row has another one in that column."""
    assert verdict == check(claim, evidence).verdict


@pytest.mark.parametrize(
    ("claim", "evidence", "verdict"),
    [
        ("The team has 3 members.", '{"team": {"members": ["Ida", "Jo, junior", "Malik"]}}', "supported"),
        ("The team has 4 members.", '{"team": {"members": ["Ida", "Jo, junior", "Malik"]}}', "unsupported"),
        ("The team has 3 members.", '{"team": {"members": [Ida, Jo, Malik]}}', "unsupported"),
        ("The team has 3 members.", '{"team": {"chairs": ["Ida", "Jo", "Malik"]}}', "unsupported"),
        ("There are 3 open tickets.", '[{"ticket": "a, open"}, {"ticket": "b"}, {"ticket": "c"}]', "supported"),
        ("The team has 3 kg of members.", '{"team": {"members": ["Ida", "Jo", "Malik"]}}', "unsupported"),
    ],
)
def test_counts(claim: str, evidence: str, verdict: str) -> None:
    """The rows of a result and the items of a list that the claim names may be counted."""
    assert verdict == check(claim, evidence).verdict
