"""Calls that were strung together, taken apart."""

from __future__ import annotations

from spanwise.conventions._strung import apart
from spanwise.model.content import Message, Part, ToolDefinition

TOOLS = (ToolDefinition("add"), ToolDefinition("find"))


def test_parallel_calls() -> None:
    """Each has its id, name and arguments, and what stands around them is kept."""
    before, after = Part("text", "Wait."), Part("tool_call", "", "c9", "find", {"q": 1})
    strung = Part("tool_call", "", "call_1call_2", "addfind", '{"a":1}{"q":"x"}')
    first = Part("tool_call", "", "call_1", "add", {"a": 1})
    second = Part("tool_call", "", "call_2", "find", {"q": "x"})
    expected = (before, first, second, after)
    assert (Message("assistant", expected),) == apart((Message("assistant", (before, strung, after)),), lambda: TOOLS)


def test_what_cannot_be_told() -> None:
    """Without the tools that were offered no names are known; what is not strung together does not ask for them."""
    strung = (Message("assistant", (Part("tool_call", "", "c1c2", "addadd", '{"a":1}{"a":2}'),)),)
    plain = (Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),)),)
    assert (None, None, plain, None) == (
        apart(strung, lambda: None), apart(strung, lambda: TOOLS[1:]), apart(plain, list), apart(None, list)
    )  # fmt: skip
