"""How much memory records take, about."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.assembly import sizes
from spanwise.assembly.sizes import size_of
from spanwise.model.raw import RawEvent
from spanwise.native import core
from tests.making import log_event, span


class Text(str):
    """Some text."""

    __slots__ = ()


PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary())
VALUES = st.one_of(
    PLAIN, st.lists(PLAIN), st.lists(st.text()).map(tuple), st.builds(Text, st.text()), st.sampled_from([object(), 2j])
)


def test_sizes() -> None:
    """A record weighs its text and so much for each attribute, its own and its events'."""
    bare = size_of(span(1, name=""))
    assert bare + 4 == size_of(span(1, name="four"))
    assert bare + 64 + 5 == size_of(span(1, name="", attributes={"key": "value"}))
    assert bare + 64 == size_of(span(1, name="", attributes={"key": 12}))
    assert bare + 64 + len("[1, 2]") == size_of(span(1, name="", attributes={"key": [1, 2]}))
    assert bare + 64 + 2 == size_of(span(1, name="", events=[RawEvent("e", 1, {"key": b"12"})]))
    assert size_of(log_event(1)) + 4 == size_of(log_event(1, body="body"))


@pytest.mark.skipif(core is None, reason="the compiled part was not built here")
@given(attributes=st.dictionaries(st.text(), VALUES, max_size=6), view=st.booleans())
def test_the_compiled_loop_gives_the_same(attributes: Mapping[str, object], view: bool) -> None:
    """Whatever attributes hold, and whatever mapping they are, their text is the same with the compiled part."""
    one = span(1, attributes=MappingProxyType(attributes) if view else attributes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "_text_in", None)
        twin = size_of(one)
    assert twin == size_of(one)
