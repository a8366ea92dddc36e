"""Arithmetic: a number that stands nowhere, but follows from numbers that do.

Any number follows from enough others. So both operands stand in the claim or right before it, or the claim's words say
what was done (`in total`, `difference`, `on average`), and the search is bounded.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations

from spanwise.grounding.dates import Clock, Date
from spanwise.grounding.quantities import Fact, Quantity, close
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
    r"before|ahead|minus|profit|net|up|down|cheaper|warmer|colder|hotter|cooler|heavier|"
    r"lighter|taller|deeper|wider|bigger)\b|\u2212",
    re.IGNORECASE,
)
_RATIO = re.compile(
    r"\b(?:times|ratio|half|double\w*|twice|triple\w*|per|each|share|fraction|proportion|rate|divided|factor|of)\b|/|\u00f7",
    re.IGNORECASE,
)
_ADDED = re.compile(
    r"\b(?:with|plus|includ\w*|inclusive|tax\w*|vat|fees?|tips?|surcharge|mark-?up|after|increas\w*|rais\w*)\b",
    re.IGNORECASE,
)
_TAKEN = re.compile(
    r"\b(?:discount\w*|off|less|minus|after|sav\w*|reduc\w*|without|net|deduct\w*|rebate)\b", re.IGNORECASE
)
_MEAN = re.compile(r"\b(?:average\w*|mean|median|typical\w*)\b", re.IGNORECASE)
_AGED = re.compile(r"\b(?:age[ds]?|old|when|years?|anniversary|birthday)\b", re.IGNORECASE)
_DAY, _FACTS = 86_400, 40
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
        if how in {"plus % of", "less % of"}:
            return two.unit == "percent" and not percent and one.unit in {"", number.unit}
        return not percent

    return fits


def _ways(one: Quantity, two: Quantity) -> Iterator[tuple[str, float]]:
    a, b = one.value, two.value
    yield "+", a + b
    yield "-", a - b
    yield "x", a * b
    yield "% of", a * b / 100
    yield "plus % of", a + a * b / 100
    yield "less % of", a - a * b / 100
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
        "% up from": _DIFFERENCE, "plus % of": _ADDED, "less % of": _TAKEN,
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


def elapsed(number: Quantity, text: str, seen: Sequence[Fact]) -> str:
    """How a number is the time between two dates or two times of day of one passage; empty where it is not."""
    years = number.unit == "" and _AGED.search(text) is not None
    if not years and number.unit not in {"time", "month"}:
        return ""
    dates = [one for one in seen[:_FACTS] if isinstance(one, Date)][:NEAR]
    clocks = [one for one in seen[:_FACTS] if isinstance(one, Clock)][:NEAR]
    for one, two in combinations(dates, 2):
        if any(close(number.value, value, number.fine) for value in _between(one, two, number, years=years)):
            return "the time between two dates"
    for one, two in combinations(clocks, 2):
        apart = abs(two.minutes - one.minutes) * 60 / number.factor
        if number.unit == "time" and number.factor < _DAY and close(number.value, apart, number.fine):
            return "the time between two times of day"
    return ""


def _between(one: Date, two: Date, number: Quantity, *, years: bool) -> Iterator[float]:
    """The time between two dates in the unit of a number; of days also the first and the last one counted."""
    apart = 12 * (two.year - one.year) + (two.month - one.month)
    unit = 12.0 if years else number.factor
    if not one.year or not two.year or one.until or two.until or bool(one.month) != bool(two.month):
        return
    if number.unit != "time":
        months = abs(apart) - (two.day < one.day if apart > 0 else one.day < two.day)
        yield months // unit
        return
    first, second = _day(one), _day(two)
    if first and second and number.factor >= _DAY:
        yield abs(second - first) * _DAY / number.factor
        if number.factor == _DAY:
            yield abs(second - first) + 1.0


def _day(date: Date) -> int:
    """The number of a day since long ago; 0 for what is none."""
    try:
        return datetime.date(date.year, date.month, date.day).toordinal()
    except ValueError:
        return 0
