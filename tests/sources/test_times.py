"""Times in the spellings of exports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.sources._times import time_ns

NS = 1_742_402_525_506_553_000


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2025-03-19T16:42:05.506553Z", NS),
        ("2025-03-19T16:42:05.506553", NS),
        ("2025-03-19 16:42:05.506553", NS),
        ("2025-03-19T18:42:05.506553+02:00", NS),
        ("2025-03-19T16:42:05.506553789Z", NS + 789),
        ("2025-03-19T16:42:05.5065537Z", NS + 700),
        ("2025-03-19T16:42:05.506Z", NS - 553_000),
        (1_742_402_525, 1_742_402_525_000_000_000),
        (1_742_402_525.5, 1_742_402_525_500_000_000),
        (1_742_402_525_506, NS - 553_000),
        (1_742_402_525_506_553, NS),
        (NS, NS),
        (0, 0),
        ("", None),
        ("soon", None),
        ("0001-01-01T00:00:00+14:00", -62_135_647_200_000_000_000),
        (True, None),
        (None, None),
        ([], None),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
    ],
)
def test_times(written: object, expected: int | None) -> None:
    """Text is read to the nanosecond, without an offset as UTC; numbers by the unit that their size tells."""
    assert expected == time_ns(written)


@given(st.datetimes(timezones=st.timezones() | st.none()) | st.text() | st.floats() | st.integers())
def test_nothing_raises(written: object) -> None:
    """Any value is a time or none."""
    found = time_ns(str(written) if not isinstance(written, int | float | str) else written)
    assert found is None or isinstance(found, int)
