"""What becomes of a claim."""

from __future__ import annotations

import pytest

from spanwise.grounding import check
from spanwise.grounding.answers import judge
from spanwise.grounding.pool import Piece, Pool


@pytest.mark.parametrize(
    ("claim", "evidence", "verdict", "reason"),
    [
        ("The lamp costs 7 euros.", "nothing of the kind", "unsupported", "7 euros stands nowhere in the evidence"),
        ("The lamp costs 7 euros.", "", "unsupported", "7 euros stands nowhere in the evidence"),
        ("Berlin has many lamps.", "The lamps are red. There are many lamps.", "unsupported", "Berlin stands nowhere"),
        ("The answer is 736008.", "result: 736008", "supported", ""),
        ("There are 3 rows.", '[{"row": "a"}, {"row": "b"}, {"row": "c"}]', "supported", ""),
        ("There are 4 rows.", '[["a"], ["b"], ["c"]]', "unsupported", "4 stands nowhere"),
        ("The rate was 4.5 for lamps.", "lamps have no rate", "unsupported", "4.5 stands nowhere"),
        (
            "In total the lamps cost 50 euros.",
            "One of the lamps costs 7 euros.",
            "unsupported",
            "50 euros stands nowhere",
        ),
        ("Use `x_1` for lamps.", "lamps use `x_1`", "not_checkable", "an instruction"),
        ("The lamp is called `Fern`.", "The lamp is called Fern.", "supported", ""),
        ('The lamp is called "Fern Deluxe".', "The lamp is called Fern.", "unsupported", "Deluxe"),
        ("The lamp of May 2019 is red.", "In 05/2019 lamps were red; the lamp is red.", "unsupported", "May 2019"),
        ("The lamp weighs 5 kg and its box 7 kg.", "The lamp weighs 5 kg. Its box weighs 7 kg.", "supported", ""),
        (
            "The lamps in the hall of the castle number 5.",
            "The lamps in the hall of the castle are said to have been made by somebody who had come by boat in May 7",
            "unsupported",
            "5 stands nowhere",
        ),
        ("Lamp A weighs 5 kg.", "Lamp A weighs 0.00001 kg.", "unsupported", "5 kg stands nowhere"),
    ],
)
def test_verdicts(claim: str, evidence: str, verdict: str, reason: str) -> None:
    """Numbers, names, codes, counts and quotes decide where words alone do not."""
    said = check(claim, evidence)
    assert verdict == said.verdict, said
    assert reason in said.reason


def test_numbers_in_large_evidence() -> None:
    """Where there is much evidence, the blocks that hold a number are gone through, however few words they share."""
    filler = [f"Page {number} is about gardens and their many flowers, and lamps." for number in range(900)]
    filler[700] = "Fact sheet: 48213"
    text = "\n".join(filler)
    assert len(text) > 16_000
    assert "supported" == check("The answer is 48213.", text).verdict
    assert "unsupported" == check("The answer is 48219.", text).verdict
    assert "unsupported" == check("The answer is three pm, 3 pm.", text).verdict
    assert "supported" == check("Gardens and their many flowers fill page 612.", text).verdict


def test_calculation_from_claims_before() -> None:
    """A claim may calculate with the numbers of the claims before it."""
    pool = Pool([Piece("Oslo has 709,000 inhabitants. Bergen has 289,000 inhabitants.", "tool")])
    said = judge("Oslo has 709,000 inhabitants. Bergen has 289,000 inhabitants. Together that makes 998,000.", pool)
    assert ["supported"] * 3 == [one.verdict for one in said.claims]


def test_quotes_across_blocks() -> None:
    """A quote that lies across the border of two blocks is found."""
    quote = "the lamp that stands in the hall is not to be moved by anybody at all"
    text = "red " * 990 + quote + " blue" * 990
    assert "supported" == check(f'The sign says "{quote}".', text).verdict


def test_rows_and_codes_are_looked_for_once() -> None:
    """Several claims about the number of rows, and several names in one claim, read the evidence once."""
    pool = Pool([Piece('[{"ticket": "T-10 open"}, {"ticket": "T-11 open"}]', "tool")])
    said = judge("There are 2 tickets. Tickets T-10 and T-11 are open. There are 7 tickets.", pool)
    assert ["supported", "supported", "unsupported"] == [one.verdict for one in said.claims]
