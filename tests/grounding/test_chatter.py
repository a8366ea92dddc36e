"""Sentences that claim nothing."""

from __future__ import annotations

import pytest

from spanwise.grounding.chatter import why_not


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Shall I book it?", "a question"),
        ("\u3044\u304f\u3089\u3067\u3059\u304b\uff1f", "a question"),
        ("Here are the results:", "leads to what follows"),
        ("I couldn't find any flights.", "says that something is not known"),
        ("No relevant documents were found.", "says that something is not known"),
        ("Feel free to ask.", "speaks to the user"),
        ("Hello there!", "speaks to the user"),
        ("I'll look into it.", "speaks to the user"),
        ("I've checked your order.", "speaks to the user"),
        ("You can try again later.", "speaks to the user"),
        ("It might rain.", "a guess"),
        ("It seems that the shop is shut.", "a guess"),
        ("Press the red button.", "an instruction"),
        ("17", "says too little to be checked"),
        ("Yes.", "says too little to be checked"),
        ("TERMINATE", "ends the conversation"),
        ("**TERMINATE**.", "ends the conversation"),
        ("TASK_COMPLETED", "ends the conversation"),
    ],
)
def test_no_claims(text: str, why: str) -> None:
    """Why a sentence is not judged."""
    assert why == why_not(text)


@pytest.mark.parametrize(
    "text",
    [
        "The tower is 324 metres high.",
        "You can return items within 30 days.",
        "Here's the weather for Oslo: it is 18 degrees with light rain.",
        "I've booked the flight LH454 for 3 June.",
        "736008",
        "Paris",
        "7:45",
        "The Pro plan is not available in Japan.",
        "Call volume increased in May.",
        "Well, the shop opens at nine.",
        "It could be up to 40 km away.",
        "Terminate",
        "The word TERMINATE ends it.",
    ],
)
def test_claims(text: str) -> None:
    """What says a fact is judged, however it begins."""
    assert "" == why_not(text)
