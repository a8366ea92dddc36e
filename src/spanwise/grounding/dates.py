"""Dates and times of day, in the forms in which people and programs write them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

Agreement: TypeAlias = Literal["same", "partly", "differs"]

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_MONTH_OF = {name[:3]: at for at, name in enumerate(_MONTHS, start=1)}
_NAME = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
# German, French, Spanish, Italian and Portuguese. `mars` and a year is as often a planet and a mission.
_ABROAD = (
    "januar enero janvier gennaio janeiro", "februar febrero f\u00e9vrier febbraio fevereiro",
    "m\u00e4rz marzo mars mar\u00e7o", "abril avril aprile", "mai mayo maggio maio", "juni junio juin giugno junho",
    "juli julio juillet luglio julho", "agosto ao\u00fbt", "septiembre septembre settembre setembro",
    "oktober octubre octobre ottobre outubro", "noviembre novembre novembro",
    "dezember diciembre d\u00e9cembre dicembre dezembro",
)  # fmt: skip
_MONTH_ABROAD = {name: at for at, row in enumerate(_ABROAD, start=1) for name in row.split()}
_NAMES = rf"(?:{'|'.join(sorted(_MONTH_ABROAD, key=len, reverse=True))}|{_NAME})"
_FIRST = "".join(sorted({name[0] for name in (*_MONTHS, *_MONTH_ABROAD)}))
_RANGE = re.compile(r"(?<![\w.,:/-])(\d{1,2})\.?(?: ?[-\u2013\u2014] ?| (?:to|until|and|bis|und|au|et|al|y|a|e) )$")
# Two looks ahead say at nearly every sign that no date begins there.
_DATE = re.compile(
    rf"""(?<![A-Za-z0-9_.])(?:(?=\d)(?:
      (?P<iy>\d{{4}})[-/](?P<im>\d{{1,2}})[-/](?P<id>\d{{1,2}})(?=[Tt]\d\d:|\b)
    | (?P<cy>\d{{4}})年(?:(?P<cm>\d{{1,2}})月(?:(?P<cd>\d{{1,2}})日)?)?
    | (?P<jm>\d{{1,2}})月(?P<jd>\d{{1,2}})日
    | (?P<de>\d{{3}}0)['\u2019]?s\b
    | (?P<ce>\d{{1,2}})(?:st|nd|rd|th)[ -]century\b
    | (?P<a>\d{{1,2}})(?P<sep>[./-])(?P<b>\d{{1,2}})(?P=sep)(?P<ny>\d{{4}}|\d{{2}})(?![\w.]*\d)
    | (?P<ed>\d{{1,2}})(?:st|nd|rd|th|er|\u00ba)?\.?[ ](?:(?:of|de|di)[ ])?(?P<em>{_NAMES})\b\.?
      (?:,?[ ](?:del?[ ])?(?P<ey>\d{{4}}|['\u2019]\d\d)\b)?
    | (?P<sy>(?:1[89]|20)\d\d)(?:[-/](?!0\d|1[012])|\u2013)(?P<sn>\d\d)(?![\w-]|[.,:]\d)
    | (?P<y>1[89]\d\d|20\d\d)(?![\w%]|[.,:]\d|-\d|[ ]?(?:%|percent\b))
    )|(?=[{_FIRST}])(?:
      (?P<am>{_NAME})\b\.?[ ](?P<ad>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.,]\d)(?:,?[ ](?P<ay>\d{{4}}|['\u2019]\d\d)\b)?
    | (?!mars\b)(?P<mm>{_NAMES})\b\.?,?[ ](?:(?:of|del?)[ ])?(?P<my>\d{{4}}|['\u2019]\d\d)\b
    ))""",
    re.VERBOSE | re.IGNORECASE,
)
_TIME = re.compile(
    r"(\d(?:(?<![A-Za-z0-9_.:]\d)|(?<=\dT\d))\d?)(?::(\d{2})(?::\d{2}(?:\.\d+)?)?)?"
    r"(?:[ ]?(am\b|pm\b|a\.m\.|p\.m\.))?(?!:?\d)(?:[ ](?:UTC|GMT)\b)?",
    re.IGNORECASE,
)


class Date(NamedTuple):
    """A day, a month or a year; what is not said is 0. `other` is the reading with day and month exchanged.

    Of a decade or a century `year` is the first year, and `until` the last.
    """

    start: int
    end: int
    year: int = 0
    month: int = 0
    day: int = 0
    other: tuple[int, int] = (0, 0)
    until: int = 0

    @property
    def bare_year(self) -> bool:
        """Nothing but four digits, which may be any number."""
        return self.month == 0 and not self.until


class Clock(NamedTuple):
    """A time of day, in minutes; `vague` where it may be of the morning or of the evening."""

    start: int
    end: int
    minutes: int
    vague: bool = False


def dates_in(text: str) -> Iterator[Date]:
    """The dates in a text."""
    for met in _DATE.finditer(text):
        got = _date(met)
        if got is not None:
            begun = _RANGE.search(text, max(0, got.start - 10), got.start) if met["ed"] else None
            if begun is not None and 0 < int(begun[1]) <= 31:  # `4 to 7 May` is two days
                yield got._replace(start=begun.start(1), end=begun.end(1), day=int(begun[1]))
            yield got


def _date(met: re.Match[str]) -> Date | None:
    part = met.groupdict()
    start, end = met.span()

    def number(*names: str) -> int:
        said = next((said for name in names if (said := part[name])), "0")
        return int(said) if said[0].isdecimal() else _year(said[1:])

    if part["de"] or part["ce"]:
        first = number("de") or number("ce") * 100 - 100
        return Date(start, end, first, until=first + (9 if part["de"] else 100))
    if part["sy"]:
        season = (number("sy") + 1 - number("sn")) % 100 == 0  # `2018-19`
        return Date(start, end if season else start + 4, number("sy"))
    month = number("im", "cm", "jm")
    if month == 0:
        month = next((_month(said.lower()) for name in ("em", "am", "mm") if (said := part[name])), 0)
    found = Date(
        start, end, number("iy", "cy", "ny", "ey", "ay", "my", "y"), month, number("id", "cd", "jd", "ed", "ad")
    )
    if part["a"]:
        a, b = number("a"), number("b")
        year = _year(part["ny"]) if len(part["ny"]) == 2 else found.year
        month, day = (b, a) if a > 12 or part["sep"] == "." else (a, b)
        found = Date(start, end, year, month, day, other=(day, month) if day <= 12 else (0, 0))
    return found if found.month <= 12 and found.day <= 31 else None


def _year(digits: str) -> int:
    """A year of two digits: none of them lies far ahead."""
    return int(digits) + (2000 if int(digits) < 70 else 1900)


def _month(name: str) -> int:
    return _MONTH_ABROAD.get(name) or _MONTH_OF[name[:3]]


def weekday_of(date: Date) -> str:
    """The name of a day's weekday, empty where no one day is meant."""
    if not date.year or not date.day or date.other != (0, 0):
        return ""
    try:
        return _DAYS[datetime.date(date.year, date.month, date.day).weekday()]
    except ValueError:
        return ""


def clocks_in(text: str) -> Iterator[Clock]:
    """The times of day in a text."""
    for met in _TIME.finditer(text):
        hour, minute, half = int(met[1]), met[2], (met[3] or "").lower().replace(".", "")
        if (minute is None and not half) or hour > 24 or int(minute or 0) > 59:
            continue
        if half and hour <= 12:
            hour = hour % 12 + (12 if half == "pm" else 0)
        yield Clock(met.start(), met.end(), hour * 60 + int(minute or 0), vague=not half and 0 < hour < 12)


def compare_dates(said: Date, seen: Date) -> Agreement:
    """Whether one date is the other, is it as far as the other goes, or is another."""
    if said.until or seen.until:
        return _spanned(said, seen)
    pairs = [(seen.month, seen.day)]
    if seen.other != (0, 0):
        pairs.append(seen.other)
    mine = [(said.month, said.day)]
    if said.other != (0, 0):
        mine.append(said.other)
    results = [_compare((said.year, *one), (seen.year, *two)) for one in mine for two in pairs]
    return "same" if "same" in results else "partly" if "partly" in results else "differs"


def _compare(said: tuple[int, int, int], seen: tuple[int, int, int]) -> Agreement:
    if any(one and two and one != two for one, two in zip(said, seen, strict=True)):
        return "differs"
    if not any(one and two for one, two in zip(said, seen, strict=True)):
        return "partly"
    return "partly" if any(one and not two for one, two in zip(said, seen, strict=True)) else "same"


def _spanned(said: Date, seen: Date) -> Agreement:
    """The same where one of them is a decade or a century."""
    if not said.until or not seen.year:
        return "partly"
    return "same" if said.year <= seen.year and (seen.until or seen.year) <= said.until else "differs"


def compare_clocks(said: Clock, seen: Clock) -> Agreement:
    """Whether two times are the same."""
    if said.minutes == seen.minutes:
        return "same"
    half = (said.vague or seen.vague) and (said.minutes - seen.minutes) % 720 == 0
    return "same" if half else "differs"
