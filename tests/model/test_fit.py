"""Which of the offered tools a query speaks of."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.content import ToolDefinition
from spanwise.model.fit import Catalogue, catalogue_of, words_of

SPOKEN = st.lists(
    st.sampled_from(
        [*"abs1_ -.SU\u00e9\u0130\u03a3", "search", "orders", "Orders", "class", "gas", "as", "cans", "get"]
    ),
    max_size=12,
).map("".join)


def found_in(query: str, catalogue: Catalogue) -> dict[str, tuple[float, tuple[str, ...]]]:
    """How well each tool fits a query."""
    return catalogue.fits(catalogue.met(query))


def test_words() -> None:
    """Names are cut at humps and underscores, plurals are singular, words that say little are left out."""
    assert {"weather", "forecast"} == words_of("get_weatherForecasts for the")
    assert {"class", "bus", "gas"} <= words_of("class buses bus gas") | {"bus"}
    assert frozenset() == words_of("1 2 _ a")
    assert frozenset() == words_of("You cannot answer all other questions of this type: first find the time.")


def test_rare_words_weigh_more() -> None:
    """A word that all tools share says less than one of a single tool."""
    tools = [ToolDefinition("search_orders", "Orders by city."), ToolDefinition("search_flights", "Flights.")]
    found = found_in("search flights", catalogue_of(tools))
    assert ("flight", "search") == found["search_flights"][1]
    assert math.isclose(math.log1p(2) + math.log1p(1), found["search_flights"][0])
    assert (math.log1p(1), ("search",)) == found["search_orders"]
    assert {"search_orders": (0.0, ()), "search_flights": (0.0, ())} == found_in("", catalogue_of(tools))


@given(SPOKEN, st.lists(st.tuples(SPOKEN, SPOKEN), max_size=4))
def test_met_words(query: str, told: list[tuple[str, str]]) -> None:
    """The words that are met are those of the query that any tool has, however they are spelt there."""
    catalogue = catalogue_of([ToolDefinition(name, description) for name, description in told])
    words = [words_of(f"{name} {description}") for name, description in told]
    assert [len(held) for held in words] == catalogue.widths
    assert words_of(query) == words_of(f"{query} \u00e9")
    assert words_of(query).intersection(frozenset().union(*words)) == set(catalogue.met(query))
