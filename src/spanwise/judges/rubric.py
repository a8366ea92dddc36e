"""A question of your own: criteria in words, a scale, what passes, and examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from spanwise.errors import ModelError
from spanwise.judges.judge import Judge, lacking
from spanwise.judges.questions import Example, Scope
from spanwise.judges.scales import ONE_TO_FIVE, ZERO_TO_THREE, Scale
from spanwise.judges.transcript import Transcript
from spanwise.judges.verdicts import Merge
from spanwise.model.score import Score
from spanwise.model.trace import Run

_SCALES: Mapping[str, Scale] = {"0-3": ZERO_TO_THREE, "1-5": ONE_TO_FIVE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric(Judge):
    """How far a run meets criteria of your own, on 0 to 3 or 1 to 5, as a value in [0, 1].

    Args:
        criteria: What is judged, as a sentence or several.
        leaves: What is not judged here.
        levels: What numbers of the scale mean, by number.
        scale: `0-3` or `1-5`. Of 1-5, 4 and 5 pass, 3 is borderline, the rest fail.
        threshold: The least value in [0, 1] that passes, mapped onto the scale; the number below it is borderline.
        examples: Runs in words with the score they deserve.
        merge: How the parts of a long run are merged: the `worst` counts, or the `median`.

    Raises:
        ModelError: There are no criteria, or a level or an example is not on the scale.
    """

    question = "How far does the run meet criteria of your own?"

    criteria: str
    leaves: tuple[str, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict[str, str])
    scale: Literal["0-3", "1-5"] = "0-3"
    threshold: float | None = None
    examples: tuple[Example, ...] = ()
    merge: Merge = "worst"

    def __post_init__(self) -> None:
        if not self.criteria.strip():
            raise ModelError("rubric: criteria is empty, expected a sentence that says what is judged")
        numbers = self.numbers.numbers
        for level in self.levels:
            if level not in map(str, numbers):
                raise ModelError(
                    f"rubric: read the level {level!r}, expected a number from {numbers[0]} to {numbers[-1]}"
                )
        for given in (example.score for example in self.examples):
            if given not in numbers:
                expected = f"a number from {numbers[0]} to {numbers[-1]}"
                raise ModelError(f"rubric: an example has the score {given!r}, expected {expected}")

    @property
    def numbers(self) -> Scale:
        """The scale, with what passes on it."""
        scale = _SCALES[self.scale]
        return scale if self.threshold is None else Scale(low=scale.low, high=scale.high, threshold=self.threshold)

    @property
    def merging(self) -> Merge:
        """How the parts of a long run are merged."""
        return self.merge

    @property
    def scope(self) -> Scope:
        """What the criteria say, and nothing else."""
        return Scope(
            asks=self.criteria.strip(),
            leaves=(*self.leaves, "anything that these criteria do not name"),
            levels={int(level): text for level, text in self.levels.items()},
            scale=self.numbers,
            examples=self.examples,
        )

    def unfit(self, run: Run, told: Transcript) -> Score | None:
        """Anything that was recorded may bear on the criteria."""
        if told.steps or told.answer is not None or told.ended_in:
            return None
        return lacking(self.name, run, "spans", "answer", "tool_calls", "query")
