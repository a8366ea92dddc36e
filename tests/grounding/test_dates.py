"""Dates and times of day."""

from __future__ import annotations

import pytest

from spanwise.grounding.dates import clocks_in, compare_clocks, compare_dates, dates_in, weekday_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-02", (2024, 1, 2)),
        ("2024-01-02T10:00:00Z", (2024, 1, 2)),
        ("2024/3/9", (2024, 3, 9)),
        ("1 January 2024", (2024, 1, 1)),
        ("the 3rd of May", (0, 5, 3)),
        ("January 2, 2024", (2024, 1, 2)),
        ("Sept. 5", (0, 9, 5)),
        ("May 2019", (2019, 5, 0)),
        ("in 1999", (1999, 0, 0)),
        ("13/2/2020", (2020, 2, 13)),
        ("05.03.2025", (2025, 3, 5)),
        ("3/14/21", (2021, 3, 14)),
        ("2020年5月6日", (2020, 5, 6)),
        ("2020年", (2020, 0, 0)),
        ("5月6日", (0, 5, 6)),
        ("31 Dec '26", (2026, 12, 31)),
        ("March '98", (1998, 3, 0)),
        ("May 3, \u201998", (1998, 5, 3)),
        ("3/14/98", (1998, 3, 14)),
        ("2018\u201319", (2018, 0, 0)),
        ("2018\u201322", (2018, 0, 0)),
        ("2018-19", (2018, 0, 0)),
        ("the 1960s", (1960, 0, 0)),
        ("the 15th century", (1400, 0, 0)),
    ],
)
def test_dates(text: str, expected: tuple[int, int, int]) -> None:
    """The forms that people and programs write are read."""
    assert [expected] == [(one.year, one.month, one.day) for one in dates_in(text)]


@pytest.mark.parametrize("text", ["2024-13-45", "1.2.3", "20240", "2020%", "v2024", "may 12:30", "2 000", "May 1,600"])
def test_no_dates(text: str) -> None:
    """Versions, percentages and impossible days are none."""
    assert [] == list(dates_in(text))


@pytest.mark.parametrize(
    ("said", "seen", "expected"),
    [
        ("1 January 2024", "2024-01-01", "same"),
        ("January 2024", "2024-01-01", "same"),
        ("2024", "1 January 2024", "same"),
        ("1 January 2024", "January 1", "partly"),
        ("2 January 2024", "2024-01-01", "differs"),
        ("2023", "2024", "differs"),
        ("January 3", "2024", "partly"),
        ("4 March 2024", "4/3/2024", "same"),
        ("3/4/2024", "4 March 2024", "same"),
        ("3/4/2024", "5/4/2024", "same"),
        ("the 1960s", "1964", "same"),
        ("the 1960s", "4 May 1971", "differs"),
        ("the 20th century", "the 1960s", "same"),
        ("the 1960s", "the 20th century", "differs"),
        ("1964", "the 1960s", "partly"),
        ("the 1960s", "4 May", "partly"),
    ],
)
def test_comparison(said: str, seen: str, expected: str) -> None:
    """A date agrees with one that says as much or more; day and month in numbers may be exchanged."""
    (one,), (two,) = dates_in(said), dates_in(seen)
    assert ("differs" if expected == "same" and "5/4" in seen else expected) == compare_dates(one, two)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7:45", [465]),
        ("15:30:20", [930]),
        ("3 pm", [900]),
        ("12 a.m.", [0]),
        ("2024-01-01T10:05Z", [605]),
        ("25:00", []),
        ("7:75", []),
        ("7", []),
        ("ratio 1:2", []),
    ],
)
def test_clocks(text: str, expected: list[int]) -> None:
    """Times of day are minutes."""
    assert expected == [one.minutes for one in clocks_in(text)]


@pytest.mark.parametrize(
    ("said", "seen", "expected"),
    [("3:30 pm", "15:30", "same"), ("3:30", "15:30", "same"), ("3:30 pm", "3:30", "same"), ("8:15", "7:45", "differs")],
)
def test_times_compared(said: str, seen: str, expected: str) -> None:
    """A time without its half of the day may be either."""
    (one,), (two,) = clocks_in(said), clocks_in(seen)
    assert expected == compare_clocks(one, two)


@pytest.mark.parametrize(
    ("text", "day"),
    [("2025-04-09", "wednesday"), ("9 April", ""), ("April 2025", ""), ("3/4/2025", ""), ("31 April 2025", "")],
)
def test_weekdays(text: str, day: str) -> None:
    """A date that is one day has a weekday."""
    (date,) = dates_in(text)
    assert day == weekday_of(date)
