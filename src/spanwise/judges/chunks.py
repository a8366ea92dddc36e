"""Fitting a long run into what a model can read: whole, else pruned to its failing paths, else in overlapping parts.

First the tokens are estimated. What fits is asked about whole. Else the steps that did not fail, and have no failed
neighbour, are told in outline, and very long texts lose their middle. Where that is still too much, the steps are
divided into parts that share some steps with their neighbours; every part comes with the task, the tools and the
answer. A run that needs more parts than allowed is an overflow, and an overflow is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.judges.failures import ContextOverflowError
from spanwise.judges.transcript import Step

_PER_TOKEN = 3.5
_LINE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Lines to ask about together: which part of how many, and what was done to make them fit."""

    lines: tuple[str, ...]
    number: int = 1
    of: int = 1
    pruned: bool = False


def tokens_of(text: str) -> int:
    """An estimate of the tokens of a text that is rather too high: 3.5 letters each, one for each sign beyond ASCII."""
    if text.isascii():
        return int(len(text) / _PER_TOKEN) + 1
    plain = sum(1 for sign in text if sign < "\x80")
    return int(plain / _PER_TOKEN) + len(text) - plain + 1


def fit(steps: Sequence[Step], *, room: int, most: int = 8, overlap: int = 2) -> list[Part]:
    """The steps as parts of at most `room` tokens each.

    Args:
        steps: What was done.
        room: How many tokens there are for the steps of one part.
        most: How many parts there may be.
        overlap: How many steps a part shares with the one before it.

    Raises:
        ContextOverflowError: There is no such division.
    """
    whole = [step.line for step in steps]
    if _cost(whole) <= room:
        return [Part(lines=tuple(whole))]
    lines = pruned(steps)
    if _cost(lines) <= room:
        return [Part(lines=tuple(lines), pruned=True)]
    return _divided(lines, room, most, overlap)


def _cost(lines: Sequence[str]) -> int:
    return sum(tokens_of(line) + _LINE for line in lines)


def pruned(steps: Sequence[Step]) -> list[str]:
    """The lines of the failing paths, without the middle of very long texts; the other steps in outline.

    A path is a failed step with the one before it and the one after it; the first and the last step are kept too.
    """
    kept = {0, len(steps) - 1}
    for at, step in enumerate(steps):
        if step.failed:
            kept |= {at - 1, at, at + 1}
    return [step.shortened if at in kept else step.outline for at, step in enumerate(steps)]


def _divided(lines: Sequence[str], room: int, most: int, overlap: int) -> list[Part]:
    groups: list[tuple[int, int]] = []
    start = 0
    while start < len(lines):
        end, used = start, 0
        while end < len(lines) and used + tokens_of(lines[end]) + _LINE <= room:
            used += tokens_of(lines[end]) + _LINE
            end += 1
        if end == start:
            raise ContextOverflowError(
                f"step {start + 1} alone takes about {tokens_of(lines[start])} tokens of {max(room, 0)};"
                " name models that read more, and set `context_tokens`"
            )
        groups.append((start, end))
        if len(groups) > most:
            raise ContextOverflowError(
                f"the run takes more than {most} parts of {room} tokens;"
                " name models that read more and set `context_tokens`, or allow more `parts`"
            )
        if end == len(lines):
            break
        start = max(end - overlap, start + 1)
    return [
        Part(lines=tuple(lines[start:end]), number=number, of=len(groups), pruned=True)
        for number, (start, end) in enumerate(groups, start=1)
    ]
