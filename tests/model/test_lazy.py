"""A property that is computed once."""

from __future__ import annotations

import pytest

from spanwise.model.lazy import Lazy, lazy

KINDS = (lazy, Lazy)
"""What is used here, and its twin in Python."""


def counted(kind: type[Lazy[object, int]]) -> type:
    """A class that counts how often its value is computed."""

    class Counted:
        def __init__(self) -> None:
            self.times = 0

        @kind
        def value(self) -> int:
            """How often."""
            self.times += 1
            if self.times > 1:
                raise RuntimeError("twice")
            return self.times

    return Counted


@pytest.mark.parametrize("kind", KINDS)
def test_computed_once_per_owner(kind: type[Lazy[object, int]]) -> None:
    """The value is computed at the first read, and for each owner anew."""
    owner = counted(kind)
    one, other = owner(), owner()
    assert 0 == one.times
    assert [1, 1, 1] == [one.value, one.value, other.value]


@pytest.mark.parametrize("kind", KINDS)
def test_read_from_the_class(kind: type[Lazy[object, int]]) -> None:
    """The class gives the property itself, with its description."""
    owner = counted(kind)
    assert isinstance(owner.value, kind)
    assert "How often." == owner.value.__doc__


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_is_not_kept(kind: type[Lazy[object, int]]) -> None:
    """What computing it raises comes out, and it is computed anew at the next read."""
    one = counted(kind)()
    one.times = 1
    for times in (2, 3):
        with pytest.raises(RuntimeError, match="twice"):
            _ = one.value
        assert times == one.times
