"""Which of the offered tools a query speaks of."""

from __future__ import annotations

import math

from spanwise.model.content import ToolDefinition
from spanwise.model.fit import fits, words_of


def test_words() -> None:
    """Names are cut at humps and underscores, plurals are singular, words that say little are left out."""
    assert {"weather", "forecast"} == words_of("get_weatherForecasts for the")
    assert {"class", "bus", "gas"} <= words_of("class buses bus gas") | {"bus"}
    assert frozenset() == words_of("1 2 _ a")


def test_rare_words_weigh_more() -> None:
    """A word that all tools share says less than one of a single tool."""
    tools = [ToolDefinition("search_orders", "Orders by city."), ToolDefinition("search_flights", "Flights.")]
    found = fits("search flights", tools)
    assert ("flight", "search") == found["search_flights"][1]
    assert math.isclose(math.log1p(2) + math.log1p(1), found["search_flights"][0])
    assert (math.log1p(1), ("search",)) == found["search_orders"]
    assert {"search_orders": (0.0, ()), "search_flights": (0.0, ())} == fits("", tools)
