"""What the tests of `spanwise.record` share."""

from collections.abc import Iterator

import pytest

from spanwise import record
from tests.record.reading import Recorded


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    """The spans of this test; content is recorded unless it says otherwise."""
    record.configure(content=True)
    yield Recorded()
    record.configure(content=True)
