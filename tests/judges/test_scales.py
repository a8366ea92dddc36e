"""Scales of whole numbers."""

from __future__ import annotations

import pytest

from spanwise.errors import ModelError
from spanwise.judges.scales import ONE_TO_FIVE, ZERO_TO_THREE, Scale


def test_numbers_are_values() -> None:
    """The lowest number is 0, the highest 1, the others lie between at equal distances."""
    assert [0.0, 1 / 3, 2 / 3, 1.0] == [ZERO_TO_THREE.value(number) for number in ZERO_TO_THREE.numbers]
    assert [0.0, 0.25, 0.5, 0.75, 1.0] == [ONE_TO_FIVE.value(number) for number in ONE_TO_FIVE.numbers]


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        (ZERO_TO_THREE, "fail fail borderline pass"),
        (ONE_TO_FIVE, "fail fail borderline pass pass"),
        (Scale(low=1, high=5, threshold=0.5), "fail borderline pass pass pass"),
        (Scale(low=1, high=5, threshold=0.9), "fail fail fail borderline pass"),
        (Scale(low=0, high=3, threshold=2 / 3), "fail borderline pass pass"),
        (Scale(low=0, high=3, threshold=0.0), "pass pass pass pass"),
        (Scale(low=0, high=3, threshold=1.0), "fail fail borderline pass"),
    ],
)
def test_a_threshold_is_mapped_onto_the_scale(scale: Scale, words: str) -> None:
    """The least number whose value reaches the threshold passes, the one below it is borderline, the rest fail."""
    assert words.split() == [scale.word(number) for number in scale.numbers]


def test_labels_follow_the_words() -> None:
    """Pass, borderline and fail are ok, warn and alert; on the plain scale the thresholds of all scores say so."""
    assert ["alert", "alert", "warn", "ok", "ok"] == [ONE_TO_FIVE.label(number) for number in ONE_TO_FIVE.numbers]
    assert [""] * 4 == [ZERO_TO_THREE.label(number) for number in ZERO_TO_THREE.numbers]


def test_a_value_has_a_nearest_number() -> None:
    """Each value is nearest to a number; between two it is the lower."""
    assert [0, 1, 2, 3] == [ZERO_TO_THREE.nearest(ZERO_TO_THREE.value(number)) for number in range(4)]
    assert (1, 2) == (ONE_TO_FIVE.nearest(0.125), ONE_TO_FIVE.nearest(0.13))


@pytest.mark.parametrize(
    "fields", [{"low": 3, "high": 3}, {"low": -1}, {"high": 11}, {"threshold": 1.5}, {"threshold": float("nan")}]
)
def test_what_is_no_scale_is_refused(fields: dict[str, float]) -> None:
    """Numbers in no order, too many of them, and thresholds out of range are refused."""
    with pytest.raises(ModelError, match="Scale"):
        Scale(**fields)
