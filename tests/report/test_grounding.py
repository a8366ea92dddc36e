"""The claims of an answer with their verdicts."""

from __future__ import annotations

import io

from spanwise.grounding.answers import judge
from spanwise.grounding.pool import Piece, Pool
from spanwise.report.grounding import show_grounding, to_grounded
from spanwise.report.terminal import console


def shown(answer: str, *pieces: Piece) -> str:
    """What is printed."""
    file = io.StringIO()
    show_grounding(console(file, width=160), judge(answer, Pool(pieces)))
    return file.getvalue()


def test_control_characters_are_shown() -> None:
    """What an answer or its evidence holds does not act upon the terminal."""
    text = shown("The lamp\x1b[31m is red.", Piece("The lamp\x1b[31m is red.", "document", "a\x1bb"))
    assert "\x1b" not in text
    assert "\\x1b" in text


def test_reasons_stand_before_quotes() -> None:
    """A reason without a quote stands alone."""
    text = shown("Lyon has 5 lamps. The lamp is red.", Piece("The lamp is red.", "document", "page"))
    assert ["5 stands nowhere" in text, "page: The lamp is red." in text] == [True, True]


def test_places() -> None:
    """The object names places in the answer and in the evidence."""
    told = to_grounded(judge("The lamp is red.", Pool([Piece("Now: the lamp is red.", "document", "page")])))
    (claim,) = told["claims"]
    assert (0, 16, {"source": "page", "quote": "Now: the lamp is red.", "start": 0, "end": 21}) == (
        claim["start"],
        claim["end"],
        claim["evidence"],
    )
