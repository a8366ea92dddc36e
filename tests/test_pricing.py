"""Dollars for tokens, against the package that knows the prices."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import pricing
from spanwise.pricing import HOUR_NS, estimate, unit_prices

FLAT = ["gpt-4o", "gpt-4o-mini", "claude-3-5-haiku-20241022", "o3", "gpt-5"]
TIERED = ["gemini-2.5-pro", "claude-sonnet-4-5"]
DATED = "o3"


def hour(year: int, month: int) -> int:
    """The hour, since the epoch, in which a month begins."""
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) // 3600


def listed(model: str, sent: int, got: int, read: int = 0, written: int = 0, *, at: int = 0) -> float:
    """What the package itself says."""
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=sent, output_tokens=got, cache_read_tokens=read, cache_write_tokens=written)
    moment = datetime.fromtimestamp(at * 3600, UTC) if at else None
    return float(calc_price(usage, model_ref=model, genai_request_timestamp=moment).total_price)


@pytest.fixture
def without_prices(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package that knows the prices is not installed."""
    unit_prices.cache_clear()
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    yield
    unit_prices.cache_clear()


@pytest.mark.parametrize("model", [*FLAT, *TIERED])
@pytest.mark.parametrize(
    "counts",
    [(0, 0, 0, 0), (1000, 500, 0, 0), (300_000, 2000, 0, 0), (300_000, 2000, 100_000, 0), (9000, 1, 1000, 2000)],
)
def test_the_list_price(model: str, counts: tuple[int, int, int, int]) -> None:
    """An estimate is the list price: of few tokens and of many, fresh, read from a cache and written to one."""
    assert pytest.approx(listed(model, *counts)) == estimate(model, None, *counts)


@pytest.mark.parametrize(("models", "linear"), [(FLAT, True), (TIERED, False)])
def test_tiers_are_seen(models: list[str], linear: bool) -> None:
    """A model whose prices depend on the length of context is known for one."""
    import genai_prices

    assert genai_prices.calc_price
    assert [linear] * len(models) == [prices.linear for model in models if (prices := unit_prices(model, None, 0))]


def test_prices_of_their_time() -> None:
    """A call is estimated at the prices of its hour, not at today's."""
    before, after = hour(2025, 3), hour(2026, 10)
    old, new = listed(DATED, 1000, 100, at=before), listed(DATED, 1000, 100, at=after)
    assert old != new
    assert pytest.approx((old, new)) == (
        estimate(DATED, None, 1000, 100, hour=before),
        estimate(DATED, None, 1000, 100, hour=after),
    )


def test_hours_that_are_no_dates() -> None:
    """A time counted from a start of its own is no date: today's prices hold."""
    assert pytest.approx(listed("gpt-4o", 1000, 100)) == estimate("gpt-4o", None, 1000, 100, hour=7)


def test_the_hour_of_a_time() -> None:
    """An hour is so many nanoseconds."""
    assert hour(2026, 3) == int(datetime(2026, 3, 1, 0, 59, tzinfo=UTC).timestamp()) * 10**9 // HOUR_NS


def test_providers() -> None:
    """A provider that the package knows decides; an unknown one is left out of the question."""
    assert pytest.approx(listed("gpt-4o", 1000, 0)) == estimate("gpt-4o", "openai", 1000, 0)
    assert pytest.approx(listed("gpt-4o", 1000, 0)) == estimate("gpt-4o", "nobody", 1000, 0)


@pytest.mark.parametrize(
    ("model", "provider", "bare"),
    [
        ("openai/gpt-4o-mini", None, "gpt-4o-mini"),
        ("openai/gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("anthropic/claude-3-5-haiku-20241022", "openrouter", "claude-3-5-haiku-20241022"),
        ("openai:gpt-4o", None, "gpt-4o"),
        ("anthropic:claude-3-5-haiku-20241022", "nobody", "claude-3-5-haiku-20241022"),
    ],
)
def test_names_with_their_provider(model: str, provider: str | None, bare: str) -> None:
    """A model that is known by no such name is asked for at the provider that stands before it."""
    assert pytest.approx(listed(bare, 1000, 100)) == estimate(model, provider, 1000, 100)


def test_unknown_providers_before_a_name() -> None:
    """What stands before a model's name must be a provider; a model's size behind it names none."""
    assert (None, None) == (estimate("nobody/gpt-4o", None, 1, 1), estimate("nobody-knows-this:8b", None, 1, 1))


@pytest.mark.parametrize(
    ("model", "provider"), [("deepseek-r1:8b", "ollama"), ("mistral-large", "Ollama"), ("ollama_chat/command-r", None)]
)
def test_models_on_own_machines(model: str, provider: str | None) -> None:
    """A model that runs on a machine of one's own has no list price, though others sell it under the same name."""
    assert listed(model.removeprefix("ollama_chat/"), 1000, 100) > 0
    assert None is estimate(model, provider, 1000, 100)


def test_unknown_models() -> None:
    """A model that the package does not know has no price."""
    assert (None, None) == (estimate("nobody-knows-this", None, 1, 1), unit_prices("nobody-knows-this", None, 0))


@pytest.mark.parametrize("model", [FLAT[0], TIERED[0]])
def test_more_cached_than_sent(model: str) -> None:
    """Where more tokens were cached than sent the counts contradict each other, and nothing is estimated."""
    assert None is estimate(model, None, 100, 10, 101)
    assert None is estimate(model, None, 100, 10, 60, 41)


def test_prices_that_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose price of one kind of token cannot be told has no prices."""
    unit_prices.cache_clear()
    monkeypatch.setattr(pricing, "_asked", lambda model, provider, hour, counts: None if counts[3] else 0.0)
    assert None is unit_prices("any", None, 0)
    unit_prices.cache_clear()


@pytest.mark.usefixtures("without_prices")
def test_without_the_package() -> None:
    """Without the package nothing has a price, and nothing fails."""
    assert None is estimate("gpt-4o", None, 1000, 100)


@settings(max_examples=50)
@given(st.sampled_from(FLAT), st.tuples(*(st.integers(0, 10**6),) * 4))
def test_any_counts(model: str, counts: tuple[int, int, int, int]) -> None:
    """Prices multiplied out are those that the package adds up."""
    fresh, got, read, written = counts
    sent = fresh + read + written
    assert pytest.approx(listed(model, sent, got, read, written)) == estimate(model, None, sent, got, read, written)


@given(st.text(), st.none() | st.text())
def test_any_name(model: str, provider: str | None) -> None:
    """Whatever a span calls its model, asking for its price raises nothing."""
    found = estimate(model, provider, 10, 10)
    assert found is None or found >= 0


def test_a_number_beyond_all_fractions() -> None:
    """A count that no fraction can hold has no price."""
    assert estimate("gpt-4o", None, 10**400, 0) is None
