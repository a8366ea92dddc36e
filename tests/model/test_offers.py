"""Tools and the calls that mean them."""

from __future__ import annotations

from spanwise.model.content import ToolDefinition
from spanwise.model.offers import by_name


def test_names_in_other_letters() -> None:
    """A call means the tool of its name, else the one whose name says the same in small letters and underscores."""
    docs, web = ToolDefinition("Search the docs"), ToolDefinition("web_search")
    called = ("search_the_docs", "search the docs", "Web Search", "search_docs", "web_search")
    assert {
        "Search the docs": docs,
        "web_search": web,
        "search_the_docs": docs,
        "search the docs": docs,
        "Web Search": web,
    } == by_name((docs, web), called)
    assert {"web_search": web} == by_name((web,), ("web_search",))
    assert {} == by_name((), ("add",))


def test_names_of_calls_that_never_ran() -> None:
    """They mean another tool's name only where one of the two is none that a model can say: else it was made up."""
    docs, add = ToolDefinition("Search the docs"), ToolDefinition("add")
    offered = by_name((docs, add), ("Add",), ("search_the_docs", "ADD", "subtract"))
    assert {"Search the docs": docs, "add": add, "Add": add, "search_the_docs": docs} == offered
