"""Damaged requests against both receivers: SPANWISE_FUZZ_SECONDS says for how long, two seconds if nothing does."""

from __future__ import annotations

import os

from tests.service.fuzzing import fuzz


def test_damaged_requests() -> None:
    """However a request is damaged, its answer is a status that tells why, and nothing of it stays behind."""
    tally = fuzz(float(os.environ.get("SPANWISE_FUZZ_SECONDS", "2")))
    assert [] == tally.failures[:10]
    assert tally.answers["http 200"] > 0
    assert tally.answers["http 400"] > 0
    assert tally.answers["grpc OK"] > 0
    assert tally.answers["grpc INVALID_ARGUMENT"] > 0
