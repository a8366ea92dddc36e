"""What a case says is expected, by the documented keys."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from spanwise.errors import SpanwiseError
from spanwise.evals.expectations import KEYS, Expectations, expectations_of
from spanwise.model.expected_call import ExpectedCall


@dataclass
class Typed:
    """Metadata of a user's own type."""

    expected_tools: list[str] = field(default_factory=lambda: ["search"])
    note: str = "typed"


def test_nothing_is_expected() -> None:
    """A case without these keys expects nothing, whatever its metadata and output are."""
    assert Expectations() == expectations_of() == expectations_of({"topic": 1}, "text") == expectations_of(3, [1])


def test_every_key() -> None:
    """Each key is read, lists as tuples, pairs of agents and mappings of calls as values."""
    found = expectations_of(
        {
            "expected_tools": ["search"],
            "expected_order": ["search", "search"],
            "expected_calls": [{"tool": "search", "arguments": {"q": 1}}, {"tool": "stop"}],
            "forbidden_tools": ["delete"],
            "expected_handoffs": ["billing", ["triage", "billing"], "a -> b"],
            "expected_documents": ["doc-1"],
        }
    )
    assert found == Expectations(
        tools=("search",),
        order=("search", "search"),
        calls=(ExpectedCall(tool="search", arguments={"q": 1}), ExpectedCall(tool="stop")),
        forbidden=("delete",),
        handoffs=("billing", ("triage", "billing"), "a -> b"),
        documents=("doc-1",),
    )


def test_metadata_goes_before_output() -> None:
    """Each key counts on its own: where the metadata lacks it, the expected output is asked."""
    found = expectations_of({"expected_tools": ["a"]}, {"expected_tools": ["b"], "forbidden_tools": ["c"]})
    assert (("a",), ("c",)) == (found.tools, found.forbidden)


def test_objects_with_attributes() -> None:
    """Metadata of a type of one's own is read by its attributes."""
    assert ("search",) == expectations_of(Typed()).tools


@pytest.mark.parametrize(
    ("metadata", "tools"),
    [
        ({"expected_order": ["a", "b", "a"]}, ("a", "b", "a")),
        ({"expected_calls": [{"tool": "a"}, {"tool": "a"}]}, ("a", "a")),
        ({"expected_tools": [], "expected_order": ["a"]}, ()),
        ({"expected_calls": []}, ()),
    ],
)
def test_tools_follow_from_order_and_calls(metadata: dict[str, object], tools: tuple[str, ...]) -> None:
    """Without a list of tools they are those of the order, else of the calls; an empty list is an explicit nothing."""
    assert tools == expectations_of(metadata).tools


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", ["search", 3, [1], [""], [["a", "b", "c"]]])
def test_what_has_another_form_is_refused(key: str, value: object) -> None:
    """A value of another form is an error that names the key and what was read."""
    with pytest.raises(SpanwiseError, match=rf"case: {key}: read "):
        expectations_of({key: value})
