"""Arithmetic: a number that stands nowhere, but follows from numbers that do.

Any number follows from enough others. So both operands stand in the claim or right before it, or the claim's words say
what was done (`in total`, `difference`, `on average`), and the search is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

from spanwise.grounding.quantities import Quantity, close
from spanwise.grounding.steps import Steps

_STEP = 32
NEAR, SEEN = 8, 24
"""So many numbers of the claim and around it, and of the evidence, are combined."""
_SUM = re.compile(
    r"\b(?:total\w*|sum\w*|combined|together|altogether|overall|plus|added|add up|adds up)\b|\+", re.IGNORECASE
)
_DIFFERENCE = re.compile(
    r"\b(?:differ\w*|gap|more|less|fewer|higher|lower|larger|smaller|older|younger|longer|shorter|increas\w*|decreas\w*|grew|"
    r"growth|grow|rose|rise|fell|fall|drop\w*|declin\w*|gain\w*|los[st]\w*|chang\w*|remain\w*|left|sav\w*|later|earlier|after|"
    r"before|ahead|minus|profit|net|up|down|cheaper)\b|\u2212",
    re.IGNORECASE,
)
_RATIO = re.compile(
    r"\b(?:times|ratio|half|double\w*|twice|triple\w*|per|each|share|fraction|proportion|rate|divided|factor|of)\b|/|\u00f7",
    re.IGNORECASE,
)
_MEAN = re.compile(r"\b(?:average\w*|mean|median|typical\w*)\b", re.IGNORECASE)
_PRODUCT = re.compile(r"\b(?:times|multipl\w*|each|per|product|cost\w*|for|comes to|makes)\b|[\u00d7*]", re.IGNORECASE)


def derived(
    number: Quantity,
    text: str,
    near: Sequence[Quantity],
    seen: Sequence[Quantity],
    columns: Sequence[Sequence[float]] = (),
) -> Steps[str]:
    """How a number follows from others, in a few words; empty where it does not.

    `near` are numbers of the claim and of what stands right before it, `seen` those of the evidence close to it,
    `columns` the numbers that stand there under one key each.
    """
    near, seen = near[-NEAR:], seen[:SEEN]
    fine = number.fine
    tell = _teller(number)
    for one, two in permutations(near, 2):
        for how, value in _ways(one, two):
            if close(number.value, value, fine) and tell(how, one, two):
                return f"{one.value:g} {how} {two.value:g}"
    yield
    found = yield from _from_evidence(number, text, [*near, *seen], tell)
    return found or (yield from _of_many(number, text, [*columns, *_alike([*near, *seen], number.unit)]))


def calculates(text: str) -> bool:
    """The words say that several numbers were taken together."""
    return bool(_SUM.search(text) or _MEAN.search(text))


def _teller(number: Quantity) -> Callable[[str, Quantity, Quantity], bool]:
    """Whether two numbers can be taken together so as to measure what a number measures."""
    percent = number.unit in {"percent", "points"}

    def fits(how: str, one: Quantity, two: Quantity) -> bool:
        if how in {"+", "-"}:
            units = {one.unit, two.unit, number.unit} - {"", "points"}
            return len(units) < 2 and (not percent or one.unit in {"", "percent"})
        if how in {"as % of", "% up from"}:
            return percent and "percent" not in {one.unit, two.unit}
        if how == "% of":
            return one.unit == "percent" and not percent
        return not percent

    return fits


def _ways(one: Quantity, two: Quantity) -> Iterator[tuple[str, float]]:
    a, b = one.value, two.value
    yield "+", a + b
    yield "-", a - b
    yield "x", a * b
    yield "% of", a * b / 100
    if b:
        yield "/", a / b
        yield "as % of", a / b * 100
        yield "% up from", (a - b) / b * 100
        yield "% up from", (b - a) / b * 100


def _from_evidence(
    number: Quantity, text: str, all_: Sequence[Quantity], tell: Callable[[str, Quantity, Quantity], bool]
) -> Steps[str]:
    wanted = {
        "+": _SUM, "-": _DIFFERENCE, "x": _PRODUCT, "/": _RATIO, "% of": _RATIO, "as % of": None,
        "% up from": _DIFFERENCE,
    }  # fmt: skip
    asked = {how for how, cue in wanted.items() if cue is None or cue.search(text)}
    for count, (one, two) in enumerate(permutations(all_, 2)):
        if count % _STEP == _STEP - 1:
            yield
        for how, value in _ways(one, two):
            if how in asked and close(number.value, value, number.fine) and tell(how, one, two):
                return f"{one.value:g} {how} {two.value:g}"
    return ""


def _alike(all_: Sequence[Quantity], unit: str) -> list[list[float]]:
    """The numbers that measure the same, one kind after the other; of a unit that fits, or without one."""
    units = [one for one in dict.fromkeys(one.unit for one in all_) if not unit or one in {"", unit}]
    return [[one.value for one in all_ if one.unit == kind] for kind in units]


def _of_many(number: Quantity, text: str, rows: Sequence[Sequence[float]]) -> Steps[str]:
    """The sum or the mean of numbers that follow one another in a row."""
    sums, means = _SUM.search(text), _MEAN.search(text)
    if not sums and not means:
        return ""
    for row in rows:
        row = row[:SEEN]
        for start in range(len(row)):
            total = row[start]
            for end in range(start + 1, len(row)):
                total += row[end]
                many = end - start + 1
                if sums and close(number.value, total, number.fine):
                    return f"the sum of {many} numbers"
                if means and close(number.value, total / many, number.fine):
                    return f"the mean of {many} numbers"
        yield
    return ""
