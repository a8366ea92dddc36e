"""How much memory records take, about."""

from spanwise.assembly.sizes import size_of
from spanwise.model.raw import RawEvent
from tests.making import log_event, span


def test_sizes() -> None:
    """A record weighs its text and so much for each attribute, its own and its events'."""
    bare = size_of(span(1, name=""))
    assert bare + 4 == size_of(span(1, name="four"))
    assert bare + 64 + 5 == size_of(span(1, name="", attributes={"key": "value"}))
    assert bare + 64 == size_of(span(1, name="", attributes={"key": 12}))
    assert bare + 64 + len("[1, 2]") == size_of(span(1, name="", attributes={"key": [1, 2]}))
    assert bare + 64 + 2 == size_of(span(1, name="", events=[RawEvent("e", 1, {"key": b"12"})]))
    assert size_of(log_event(1)) + 4 == size_of(log_event(1, body="body"))
