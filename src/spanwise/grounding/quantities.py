"""Numbers with what they measure, and when two of them say the same.

A number says as much as its digits: 68.4 million agrees with 68,412,345, and 6.84e7 with both. A number that says more
than what was seen does not rest on it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from spanwise.grounding.dates import Clock, Date, clocks_in, compare_clocks, compare_dates, dates_in
from spanwise.grounding.steps import Steps, finish
from spanwise.grounding.units import KEYED, MONEY, ORDINALS, SCALES, SMALL, SPELT, UNITS

Bound: TypeAlias = Literal["", "about", "over", "under"]
Relation: TypeAlias = Literal["same", "unit", "differs", "apart"]

_STEP = 40
_JOINED = frozenset({"time", "month", "mass", "length"})
_SHORTENED = frozenset({"mio", "mrd", "mn", "bn"})
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.])(?<![A-Za-z][-_/.])[-\u2212+]?"
    r"(?:(?<!\d )[1-9]\d{0,2}(?: \d{3}){2,}(?![\d.,]| \d)|\d+(?:[.,'\u2019\u202f\xa0]\d+)*)(?:[eE][-+]?\d{1,3}(?!\w))?"
)
_DIGIT = re.compile(r"\d")
_QUOTED = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_SPELT = re.compile(rf"(?:{'|'.join(sorted(SPELT))})(?:[- ](?:{'|'.join(SMALL)}))?(?![\w-])")
_BEHIND = re.compile(
    r"([ \xa0-]?)(per ?cent|us\$|km/h|m/s|[A-Za-z\u00e0-\u00f6\u00f8-\u00ff]+[\u00b22]?"
    r"|[%\uff05\u00b0\u2103\u2109\u00d7$\u20ac\u00a3\u00a5\u20b9\u5186\u5143\u4e07\u842c\u5104\u4ebf][CcFf]?)"
)
_AHEAD = re.compile(r"(?:([$€£¥₹])|(?<!\d )\b(USD|EUR|GBP|JPY|CNY|INR|CHF) )[ \xa0]?$", re.IGNORECASE)
_KEY = re.compile(r"[_ (]([A-Za-z]{1,12})\)?[\"']?\s{0,3}[:=]\s{0,3}[\"']?$")
_BOUND = re.compile(
    r"(?:^|[\s(])(?:(about|around|roughly|approximately|approx\.?|circa|ca\.?|c\.|nearly|almost|some|~|\u2248|estimated"
    r"|close to)"
    r"|(over|at least|above|exceeding|exceeds|upwards of|>|>=|≥|minimum of|between"
    r"|(?:more|greater|higher|longer|larger|bigger|taller|heavier|deeper|wider|older|later) than)"
    r"|(under|at most|below|up to|<|<=|≤|maximum of|no more than"
    r"|(?:less|fewer|lower|shorter|smaller|lighter|cheaper|younger|earlier) than"
    r"|between \S{1,12}(?: \S{1,8})? and))"
    r"(?: an?| the| [A-Z]{3})? ?[$€£¥₹]?$",
    re.IGNORECASE,
)
_LOOSE = " \xa0\t\r\n\"'"
_CURRENCY, _BOUNDING, _KEYING = frozenset("$€£¥₹dDrRpPyYfF"), frozenset(".~\u2248<>=≤≥$€£¥₹"), frozenset(":=")
_GROUPED = re.compile(r"[-+\u2212]?\d{1,3}(?:[,' \u2019\u202f\xa0]\d{3})+(?:\.\d+)?")
_DOTTED = re.compile(r"[-+\u2212]?\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?")
_MARKS = str.maketrans("", "", ",' \u2019\u202f\xa0")


class Quantity(NamedTuple):
    """A number: its value, what it measures, and how fine it says it (the worth of its last telling digit)."""

    start: int
    end: int
    value: float
    unit: str = ""
    factor: float = 1.0
    fine: float = 1.0
    bound: Bound = ""
    other: float | None = None
    """What else it may be: `1.234` is 1234 in some countries."""

    @property
    def telling(self) -> bool:
        """It hardly stands somewhere by chance: three digits that count, or a unit."""
        return bool(self.unit) or len(f"{abs(self.value):.12g}".replace(".", "").strip("0")) >= 3


Fact: TypeAlias = Quantity | Date | Clock


def facts_in(text: str, *, spelt: bool = True) -> list[Fact]:
    """The dates, times and numbers of a text, in their order."""
    return finish(finding(text, spelt=spelt))


def finding(text: str, *, spelt: bool = True) -> Steps[list[Fact]]:
    """The same in steps."""
    if text.count(",") > 1:
        text = "\n".join(map(_undivided, text.split("\n")))
    found: list[Fact] = []
    for one in _written(text) if _DIGIT.search(text) else ():
        found.append(one)
        if len(found) % _STEP == 0:
            yield
    if spelt:
        taken = bytearray(len(text) + 1)
        for one in found:
            taken[one.start : one.end] = b"x" * (one.end - one.start)
        found += [one for one in _spelt(text) if not any(taken[one.start : one.end])]
    return sorted(found, key=lambda one: one.start)


def _written(text: str) -> Iterator[Fact]:
    """The dates, the times, and the numbers that are no part of them."""
    taken = bytearray(len(text) + 1)
    dates = (date for date in dates_in(text) if not date.bare_year or not _measures(text, date))
    for made in (dates, clocks_in(text), _numbers(text)):
        for one in made:
            if not any(taken[one.start : one.end]):
                taken[one.start : one.end] = b"x" * (one.end - one.start)
                yield one


def _undivided(line: str) -> str:
    """A line of values between commas, with other marks for them: in `2023,14` they are no decimal commas.

    What stands in quotes is one value, with its commas: a text in JSON.
    """
    fields = line.split(",")
    if len(fields) < 3 or any(field[:1] == " " for field in fields[1:]):
        return line
    grouped = all(field[:3].isdecimal() and not field[3:4].isdecimal() for field in fields[1:])
    if grouped:
        return line
    out: list[str] = []
    at = 0
    for quoted in _QUOTED.finditer(line):
        out += (line[at : quoted.start()].replace(",", ";"), quoted.group())
        at = quoted.end()
    return "".join((*out, line[at:].replace(",", ";")))


def _measures(text: str, year: Date) -> bool:
    """Four digits that might be a year measure something."""
    return bool(_measured(text, year.start, year.end, (float(year.year), 1.0, None)).unit)


def _spelt(text: str) -> Iterator[Quantity]:
    lowered = text.lower()
    if len(lowered) != len(text):  # some letters of other scripts are two in lower case
        return
    for met in _SPELT.finditer(lowered):
        start = met.start()
        if start and (lowered[start - 1].isalnum() or lowered[start - 1] == "_"):
            continue
        first, _, second = met.group().replace("-", " ").partition(" ")
        value = float(SPELT[first] + (SMALL[second] if second and SPELT[first] >= 20 else 0))
        yield _measured(text, start, met.end(), (value, 1.0, None))


def _numbers(text: str) -> Iterator[Quantity]:
    held: Quantity | None = None
    for met in _NUMBER.finditer(text):
        read = _value(met.group())
        made = _measured(text, met.start(), met.end(), read) if read is not None else None
        if made is None or made.end < 0:
            continue
        joined = _joined(text, held, made) if held is not None and held.unit in _JOINED else None
        if held is not None and joined is None:
            yield held
        held = joined or made
    if held is not None:
        yield held


def _joined(text: str, large: Quantity, small: Quantity) -> Quantity | None:
    """`2 hours 15 minutes` is one number, and so is `1h 30m`."""
    if text[large.end : small.start] not in {"", " ", " and "} or large.fine != 1.0 or small.value < 0:
        return None
    if large.factor == 3600 and text[small.end - 2 : small.end].isalnum() and text[small.end - 1] == "m":
        small = small._replace(unit="time", factor=60.0)
    if small.unit != large.unit or small.value * small.factor >= large.factor:
        return None
    value = large.value * large.factor / small.factor + small.value
    return small._replace(start=large.start, value=value, bound=large.bound, other=None)


def _value(said: str) -> tuple[float, float, float | None] | None:
    """The value, the worth of its last digit, and what else it may be; None for a version or an address."""
    other = None
    digits, _, exponent = said.lower().replace("\u2212", "-").partition("e")
    if _GROUPED.fullmatch(digits):
        if digits.count(",") == 1 and "." not in digits:
            other = float(digits.replace(",", "."))
        digits = digits.translate(_MARKS)
    elif _DOTTED.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif digits.count(",") == 1 and (at := digits.find(".")) < digits.find(","):
        digits = (digits.replace(".", "") if at >= 0 else digits).replace(",", ".")
    elif digits.count(".") == 1 and "," not in digits:
        if len(digits.rpartition(".")[2]) == 3 and digits.lstrip("+-")[0] != "0":
            other = float(digits.replace(".", ""))
    elif not digits.lstrip("+-").isdecimal():
        return None
    power = int(exponent or 0)
    if not digits.replace(".", "").lstrip("+-").isdecimal() or abs(power) > 300:
        return None
    scale = 10.0**power
    behind = digits.partition(".")[2]
    value = float(digits) * scale
    return (value, 10.0 ** -len(behind) * scale, other) if math.isfinite(value) else None


def _measured(text: str, start: int, end: int, read: tuple[float, float, float | None]) -> Quantity:
    """The number with its scale, unit and bound; its end is -1 if it is a part of a name."""
    before = text[max(0, start - 28) : start]
    last = before.rstrip(_LOOSE)[-1:]  # which of them can match at all
    ahead = _AHEAD.search(before) if last in _CURRENCY else None
    unit, factor = UNITS[(ahead[1] or ahead[2]).lower()] if ahead else ("", 1.0)
    met = _BOUND.search(before) if last.isalnum() or last in _BOUNDING else None
    bound: Bound = "" if met is None else "about" if met[1] else "over" if met[2] else "under"
    value, fine, other = read
    made = _behind(text, Quantity(start, end, value, unit, factor, fine, bound, other))
    if not made.unit and last in _KEYING and (key := _KEY.search(before)) is not None and key[1].lower() in KEYED:
        unit, factor = UNITS[key[1].lower()]
        return made._replace(unit=unit, factor=factor)
    return made


def _behind(text: str, made: Quantity) -> Quantity:
    """The number with the scale and the unit that stand behind it."""
    for _ in range(2):
        met = _BEHIND.match(text, made.end)
        if met is None:
            break
        gap, name = met[1], met[2].lower().replace("per cent", "percent")
        scale = _scale(name, gap, made)
        if not scale:
            return _in_unit(text, made, name, gap, met.end())
        end = met.end() + (name in _SHORTENED and text[met.end() : met.end() + 1] == ".")  # `12 Mio. Euro`
        made = made._replace(value=made.value * scale, fine=made.fine * scale, end=end, other=None)
    return made


def _scale(name: str, gap: str, made: Quantity) -> float:
    if name == "m":
        return 1e6 if not gap and made.unit in MONEY else 0.0
    return SCALES.get(name, 0.0) if not gap or len(name) > 1 else 0.0


def _in_unit(text: str, made: Quantity, name: str, gap: str, end: int) -> Quantity:
    known = name in UNITS and (gap != "-" or len(name) > 2) and not (gap and name in {"t", "x", "s", "b"})
    if known and not made.unit:
        unit, factor = UNITS[name]
        if unit == "percent" and text[end : end + 7].lower() == " points":
            unit = "points"
        other = made.value * 1e6 if name == "m" and not gap else made.other
        return made._replace(end=end, unit=unit, factor=factor, other=other)
    if not gap and name in ORDINALS:
        return made._replace(end=end)
    if not gap and name[0].isalpha() and name not in UNITS:
        return made._replace(end=-1)
    return made


def relation(said: Fact, seen: Fact) -> Relation:
    """Whether what is said is what was seen, that in another unit, something else of its kind, or of another kind."""
    if isinstance(said, Date) and isinstance(seen, Date):
        agreement = compare_dates(said, seen)
        if agreement == "same":
            return "same"
        return "apart" if agreement == "partly" or (said.month and not seen.month) else "differs"
    if isinstance(said, Clock) and isinstance(seen, Clock):
        return "same" if compare_clocks(said, seen) == "same" else "differs"
    if isinstance(said, Date) and isinstance(seen, Quantity):
        return "same" if said.bare_year and said.year == seen.value and not seen.unit else "apart"
    if isinstance(said, Quantity) and isinstance(seen, Date):
        return "same" if seen.bare_year and said.value == seen.year and not said.unit else "apart"
    if isinstance(said, Quantity) and isinstance(seen, Quantity):
        return _relation(said, seen)
    return "apart"


def _relation(said: Quantity, seen: Quantity) -> Relation:
    if _comparable(said, seen):
        return "same" if agree(said, seen) else "differs"
    if said.unit in MONEY and seen.unit in MONEY:
        return "unit" if agree(said._replace(unit=""), seen._replace(unit="")) else "apart"
    if {said.unit, seen.unit} <= {"celsius", "fahrenheit"}:
        celsius = (seen.value - 32) / 1.8 if seen.unit == "fahrenheit" else seen.value * 1.8 + 32
        if close(said.value, celsius, max(said.fine, seen.fine)):
            return "same"
    bare = agree(said._replace(unit="", factor=1.0), seen._replace(unit="", factor=1.0))
    return "unit" if bare and said.unit and seen.unit else "apart"


def _comparable(said: Quantity, seen: Quantity) -> bool:
    return said.unit == seen.unit or not said.unit or not seen.unit or {said.unit, seen.unit} <= {"month", "time"}


def agree(said: Quantity, seen: Quantity) -> bool:
    """Whether two numbers that measure the same say the same, as far as the digits of the said one go."""
    if {said.unit, seen.unit} == {"month", "time"}:
        return False
    both = said.unit == seen.unit
    for one in (said.value, said.other):
        for two in (seen.value, seen.other):
            if one is None or two is None:
                continue
            fine = said.fine * (abs(one / said.value) if said.value else 1.0)
            if both and said.factor != seen.factor:
                if _within(one, two * seen.factor / said.factor, said, max(fine, 0.005 * abs(one))):
                    return True
            elif _within(one, two, said, fine):
                return True
    return "percent" in {said.unit, seen.unit} and not both and _within(said.value, seen.value * 100, said, said.fine)


def satisfies(seen: Fact, said: Fact) -> bool:
    """Whether a number lies on the side of another that its words name: `at least 40` of 53."""
    if not isinstance(said, Quantity) or not isinstance(seen, Quantity) or said.bound not in {"over", "under"}:
        return False
    if seen.bound not in {"", said.bound} or not _comparable(said, seen) or {said.unit, seen.unit} == {"month", "time"}:
        return False
    value = seen.value * (seen.factor / said.factor if said.unit == seen.unit else 1.0)
    return value >= said.value if said.bound == "over" else value <= said.value


def _within(said: float, seen: float, quantity: Quantity, fine: float) -> bool:
    """Whether one number is the other, rounded to its digits, or as its words (`over`, `about`) leave room."""
    if close(said, seen, fine):
        return True
    if (said < 0) != (seen < 0):
        return False
    coarse = _coarse(said, fine)
    if not quantity.bound:  # 513,000 for 513,275: thousands, and three digits that count
        return coarse >= 1000 * fine and abs(said) >= 100 * coarse and close(said, seen, coarse)
    if quantity.bound == "about":
        return abs(said - seen) <= max(coarse / 2, 0.02 * abs(said))
    apart = seen - said if quantity.bound == "over" else said - seen
    return 0 <= apart <= max(coarse, 0.1 * abs(said))


def close(said: float, seen: float, fine: float) -> bool:
    """Whether a number is another one, rounded (up, down, or to the nearest) to a digit of a worth."""
    return abs(said - seen) <= fine * 0.5 + 1e-9 * max(abs(said), abs(seen)) if fine else said == seen


def _coarse(value: float, fine: float) -> float:
    """The worth of the last digit that is no zero."""
    worth = fine
    while worth and abs(value) >= worth * 10 and math.isclose(value % (worth * 10), 0, abs_tol=worth * 0.01):
        worth *= 10
    return worth
