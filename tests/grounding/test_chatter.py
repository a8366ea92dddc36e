"""Sentences that claim nothing."""

from __future__ import annotations

import pytest

from spanwise.grounding.chatter import says_unknown, why_not


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Shall I book it?", "a question"),
        ("\u3044\u304f\u3089\u3067\u3059\u304b\uff1f", "a question"),
        ("Here are the results:", "leads to what follows"),
        ("I couldn't find any flights.", "says that something is not known"),
        ("No relevant documents were found.", "says that something is not known"),
        ("So it is not known where Homer was born.", "says that something is not known"),
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


@pytest.mark.parametrize(
    "text",
    [
        "Nobody knows.",
        "No one knows for sure.",
        "Nobody really knows where she was born.",
        "No one knows the exact population of Atlantis in 1900.",
        "Unknown",
        "Answer: unknown.",
        "The birthplace is unknown.",
        "Homer's birthplace remains unknown to us.",
        "The exact number isn\u2019t known.",
        "It is not known where Homer was born.",
        "There\u2019s no way to tell how many people lived there.",
        "I have no idea.",
        "I don't know.",
        "We may never know.",
        "Who knows?",
        "It's impossible to say.",
        "This cannot be answered from the sources.",
        "The documents do not mention the population.",
    ],
)
def test_ignorance(text: str) -> None:
    """A sentence that says only what is not known is no claim, in whatever words."""
    assert says_unknown(text)
    assert why_not(text)


@pytest.mark.parametrize(
    "text",
    [
        "Nobody knows Homer's birthplace exactly, but he was born in Thebes in 820.",
        "Its exact birthplace is unknown, but records name Thebes as home.",
        "Nobody knows it because the archive burned in 1874.",
        "Nobody knows Paris like Jean.",
        "No one knows more about wine than Robert Parker.",
        "No one has ever landed on Mars.",
        "The Tomb of the Unknown Soldier is in Paris.",
        "The author is unknown to most readers in France.",
        "Unknown to the police, the thief had fled to Rome in 1911.",
        "It is not known for its wine.",
        "It is not possible to return items after 30 days.",
        "It is unknown territory.",
        "Who knows French can apply.",
    ],
)
def test_more_than_ignorance(text: str) -> None:
    """A sentence that goes on with a claim, or where these words say something else, is judged."""
    assert not says_unknown(text)
    assert "" == why_not(text)
