"""A property that is computed once."""

from __future__ import annotations

from spanwise.model.lazy import lazy


class Counted:
    """Counts how often its value is computed."""

    def __init__(self) -> None:
        self.times = 0

    @lazy
    def value(self) -> int:
        """How often."""
        self.times += 1
        return self.times


def test_computed_once_per_owner() -> None:
    """The value is computed at the first read, and for each owner anew."""
    one, other = Counted(), Counted()
    assert 0 == one.times
    assert [1, 1, 1] == [one.value, one.value, other.value]


def test_read_from_the_class() -> None:
    """The class gives the property itself, with its description."""
    assert isinstance(Counted.value, lazy)
    assert "How often." == Counted.value.__doc__
