"""Which scores go where each of them costs something."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

from spanwise.errors import SinkError
from spanwise.model.score import Score

DEFAULT = ("overall", "tool_selection", "redundancy", "latency", "grounding")
Choice: TypeAlias = Literal["default", "all"] | Collection[str]


def is_chosen(score: Score, choice: Choice) -> bool:
    """Whether a score is sent: those that were asked for; by default five by name, and whatever is an alert."""
    if choice == "all":
        return True
    if choice == "default":
        return score.name in DEFAULT or score.label == "alert"
    return score.name in choice


def chosen_of(scores: Sequence[Score], choice: Choice) -> list[Score]:
    """The chosen scores of a run; by default none where all they say is that there was nothing to measure.

    A trace without any agent is a run, too, and there are many of them in an app that also serves other requests.
    """
    chosen = [score for score in scores if is_chosen(score, choice)]
    if choice == "default" and all(score.status in ("not_applicable", "not_measurable") for score in chosen):
        return []
    return chosen


def checked(choice: Choice) -> Choice:
    """The choice, if it is one.

    Raises:
        SinkError: It is a word that is none.
    """
    if isinstance(choice, str) and choice not in ("default", "all"):
        raise SinkError(f"read {choice!r}, expected the scores to send: 'default', 'all', or a list of names")
    return choice if isinstance(choice, str) else tuple(choice)
