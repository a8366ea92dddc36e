"""What has to stand in the evidence as it is."""

from __future__ import annotations

import pytest

from spanwise.grounding import check

FILLER = "A further line says nothing of it. " * 400


@pytest.mark.parametrize(
    ("claim", "evidence", "absent"),
    [
        ("The fix is in commit 9f3c2ab.", "commit 9f3c2ab41d: the fix", ""),
        ("The fix is in commit 9f3c2ad.", "commit 9f3c2ab41d: the fix", "9f3c2ad"),
        ("The fix is in commit 9f3c2ab.", "commit 19f3c2ab41d: the fix", "9f3c2ab"),
        ("The fix is in commit 9f3c2ab.", f"{FILLER * 20} commit 9f3c2ab41d: the fix", ""),
        ("Write to ana.diaz@example.org.", "Write to ana.ruiz@example.org.", "ana.diaz@example.org"),
        ("Write to ana.ruiz@example.org.", "Write to ana.ruiz@example.org.", ""),
        ("He said “we will build, and stay here”.", "We will build and stay here, he said.", ""),
        ("He said “we will leave, and stay away”.", "We will build and stay here.", "we will leave, and stay away"),
        ('She called it "a long [...] road home".', "It was a long and winding road home, she called it.", ""),
        (
            'On "1989" he wrote a song "in the old manner".',
            "1989: he wrote a song in the manner of old.",
            "in the old manner",
        ),
        ('On "1989" the song that he wrote is "old".', "1989: the old song that he wrote", ""),
        ("It calls `parse_body` first.", "parse_head is done first", "parse_body"),
    ],
)
def test_absent(claim: str, evidence: str, absent: str) -> None:
    """Addresses, identifiers and quotes stand there as they are; marks between the words of a quote do not matter."""
    expected = f"{absent} stands nowhere in the evidence"
    assert (check(claim, evidence).reason == expected) is bool(absent)
