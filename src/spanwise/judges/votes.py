"""Several verdicts into one: a majority, and what is done where there is none.

`agree` votes for the same number decide. Asked are as many as are needed to decide, and the others only while they can
still change something. A vote of None abstains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from spanwise.errors import ModelError

Tie: TypeAlias = Literal["lower", "median", "abstain"]
Abstain: TypeAlias = Literal["drop", "count"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a vote: a number, or None where the voters cannot tell; whether that is final; and the count."""

    number: int | None
    final: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """How votes are counted.

    Args:
        of: How many votes there are.
        agree: How many equal votes decide; more than half where not given.
        tie: Where no number has so many: the lowest of those with the most votes, the (lower) median of all votes, or
            none.
        abstain: Whether votes of None are dropped, so that more than half of the others decides, or counted, so that
            more than half of all has to agree.

    Raises:
        ModelError: So many cannot agree.
    """

    of: int = 1
    agree: int | None = None
    tie: Tie = "lower"
    abstain: Abstain = "drop"

    def __post_init__(self) -> None:
        if self.of < 1:
            raise ModelError(f"Ballot: read {self.of} votes, expected at least 1.")
        if self.agree is not None and not 1 <= self.agree <= self.of:
            raise ModelError(
                f"Ballot: agree is {self.agree}, expected a number from 1 to {self.of}, as there are so many votes."
            )

    @property
    def needed(self) -> int:
        """How many equal votes decide."""
        return self.agree or self.of // 2 + 1

    def more(self, votes: Sequence[int | None], *, lost: int = 0) -> int:
        """How many more votes to ask for at once; 0 where the outcome is final."""
        if self.count(votes, lost=lost).final:
            return 0
        most = max(Counter(votes).values(), default=0)
        return min(max(self.needed - most, 1), self.of - lost - len(votes))

    def count(self, votes: Sequence[int | None], *, lost: int = 0) -> Outcome:
        """What came of the votes so far; `lost` are those that will not come."""
        counts = Counter(vote for vote in votes if vote is not None)
        abstained = sum(vote is None for vote in votes)
        text = _told(counts, abstained, lost)
        best = max(counts.values(), default=0)
        leading = [number for number, count in counts.items() if count == best]
        if best >= self.needed and len(leading) == 1:
            return Outcome(number=leading[0], final=True, text=text)
        if self.abstain == "count" and abstained >= self.needed:
            return Outcome(number=None, final=True, text=text)
        if len(votes) + lost < self.of:
            return Outcome(number=None, final=False, text=text)
        return self._settled(counts, abstained, text)

    def _settled(self, counts: Counter[int], abstained: int, text: str) -> Outcome:
        """All votes are in, and nobody has as many as decide of all."""
        cast = sum(counts.values())
        if not cast:
            return Outcome(number=None, final=True, text=text)
        best = max(counts.values())
        leading = sorted(number for number, count in counts.items() if count == best)
        enough = self.agree or ((cast if self.abstain == "drop" else cast + abstained) // 2 + 1)
        if len(leading) == 1 and best >= enough:
            return Outcome(number=leading[0], final=True, text=text)
        if self.tie == "abstain":
            return Outcome(number=None, final=True, text=f"{text}, and so no majority")
        listed = sorted(counts.elements())
        number = leading[0] if self.tie == "lower" else listed[(len(listed) - 1) // 2]
        return Outcome(number=number, final=True, text=f"{text}; without a majority the {self.tie} one counts")


def _told(counts: Counter[int], abstained: int, lost: int) -> str:
    said = [f"{count} for {number}" for number, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    said += [f"{abstained} cannot tell"] if abstained else []
    said += [f"{lost} without an answer"] if lost else []
    return "votes: " + (", ".join(said) or "none")
