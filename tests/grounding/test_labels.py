"""Values under the same name."""

from __future__ import annotations

import pytest

from spanwise.grounding import check

DATA = '{"order_status": "shipped", "carrier": "DHL"}'


@pytest.mark.parametrize(
    ("claim", "evidence", "verdict"),
    [
        ("Order status: delivered", DATA, "contradicted"),
        ("Order status: shipped", DATA, "supported"),
        ("Carrier: DHL", DATA, "supported"),
        ("Carrier: UPS", DATA, "contradicted"),
        ("Carrier: UPS", '[{"carrier": "DHL"}, {"carrier": "UPS"}]', "supported"),
        ("Colour: red", DATA, "unsupported"),
        ("Weight: 5 kg", "weight: 5 kg", "supported"),
        ("`retry_after` is 30.", '{"error": "rate", "retry_after": 30}', "supported"),
        ("`retry_after` is 60.", '{"error": "rate", "retry_after": 30}', "contradicted"),
        ("`retry_after` is 60.", '[{"retry_after": 30}, {"retry_after": 60}]', "supported"),
        ("max_size is 5 by default.", "def grow(max_size=9, step=5): by default", "contradicted"),
        ("max_size is 5 by default.", f"max_size by default {' '.join(map(str, range(60)))}", "supported"),
    ],
)
def test_labels(claim: str, evidence: str, verdict: str) -> None:
    """Something else under the claim's name contradicts it, unless the same stands there once."""
    assert verdict == check(claim, evidence).verdict
