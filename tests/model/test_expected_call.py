"""A call that was expected of a run."""

from __future__ import annotations

import pytest

from spanwise.errors import ModelError
from spanwise.model.expected_call import ExpectedCall, expected_calls


def test_written_as_mappings() -> None:
    """Calls are given as they are or as mappings; arguments may be left out."""
    given = [ExpectedCall(tool="a"), {"tool": "b", "arguments": {"x": 1}}, {"tool": "c"}]
    assert (ExpectedCall(tool="a"), ExpectedCall(tool="b", arguments={"x": 1}), ExpectedCall(tool="c")) == (
        expected_calls(given, "here")
    )


@pytest.mark.parametrize(
    "given", [None, "search", {"tool": "a"}, ["search"], [{"arguments": {}}], [{"tool": "a", "x": 1}]]
)
def test_no_calls(given: object) -> None:
    """What is no list of calls is refused with what was read."""
    with pytest.raises(ModelError, match=r"here: read .*, expected"):
        expected_calls(given, "here")


@pytest.mark.parametrize(
    "given", [{"tool": ""}, {"tool": 3}, {"tool": "a", "arguments": [1]}, {"tool": "a", "arguments": None}]
)
def test_no_names_and_arguments(given: object) -> None:
    """A tool has a name, arguments have names."""
    with pytest.raises(ModelError, match="ExpectedCall"):
        expected_calls([given], "here")
