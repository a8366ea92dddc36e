"""Adversarial claims, told as data: what was swapped, added or left out is found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from spanwise.grounding import check

CASES: list[Mapping[str, Any]] = [
    case
    for path in sorted(Path(__file__).with_name("cases").glob("*.json"))
    for case in json.loads(path.read_text(encoding="utf-8"))
]
FILLER = (
    "A further sentence says nothing of any of this, and goes on for a while about the weather and about bread. " * 12
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['kind']}: {case['name']}")
def test_verdicts(case: Mapping[str, Any]) -> None:
    """The verdict is what the case expects, and what is quoted stands in the evidence where the result says."""
    evidence = case.get("evidence") or [FILLER.join([*case["evidence_long"], ""])]
    said = check(case["claim"], evidence)
    if case["verdict"] == "not supported":
        assert said.verdict in {"unsupported", "contradicted"}, said
    else:
        assert case["verdict"] == said.verdict, said
    if "quote" in case:
        assert case["quote"] == said.quote
    if said.index >= 0:
        assert said.quote == evidence[said.index][said.start : said.end]
    assert 0.0 <= said.score <= 1.0
