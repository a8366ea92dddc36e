"""Dollars for tokens: list prices from the genai-prices package, asked once per model and hour.

Prices are linear in the counts of tokens for most models, so that one look-up gives the price of a token of each
kind; for models with tiers by context length every call is asked for. Without the package, or for a model that it
does not know, there is no price and no estimate. The hour is the call's own, since some prices depend on the date;
the clock is never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

HOUR_NS = 3_600_000_000_000
_FIRST_PRICED_HOUR = 438_000  # early 2020; a time before it is a counter, not a date
_PROBE = 1000
_FAR_PROBE = 10_000_000
_TOLERANCE = 1e-9
_OWN_MACHINES = ("ollama", "vllm", "lmstudio", "lm_studio", "llamafile", "llama_cpp", "llamacpp", "localai", "mlx")
"""Engines that run a model on machines of one's own, as providers are called: there is no list price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPrices:
    """Dollars per token by kind, and per call.

    `linear` is False where the price of a token depends on how many there are.
    """

    call: float
    input: float
    output: float
    cache_read: float
    cache_write: float
    linear: bool


def estimate(  # noqa: PLR0917  (called for every model call: keywords would cost a tenth of it)
    model: str, provider: str | None, sent: int, got: int, cache_read: int = 0, cache_write: int = 0, hour: int = 0
) -> float | None:
    """The list price of one model call; None where the model or its price is not known.

    `sent` are all input tokens, those read from or written to a cache among them; `hour` counts from the epoch.
    """
    prices = unit_prices(model, provider, hour)
    if prices is None:
        return None
    fresh = sent - cache_read - cache_write
    if fresh < 0:
        return None
    if not prices.linear:
        return _asked(model, provider, hour, (sent, got, cache_read, cache_write))
    try:
        cached = cache_read * prices.cache_read + cache_write * prices.cache_write if cache_read or cache_write else 0.0
        return prices.call + fresh * prices.input + got * prices.output + cached
    except OverflowError:  # a whole number beyond all fractions counts no tokens
        return None


@lru_cache(maxsize=1024)
def unit_prices(model: str, provider: str | None, hour: int) -> UnitPrices | None:
    """The prices of a model's tokens at an hour since the epoch (0: today's); None where there are none."""
    base = _asked(model, provider, hour, (0, 0, 0, 0))
    if base is None:
        return None

    def per_token(*, at: int) -> tuple[float, ...] | None:
        probes = [(at, 0, 0, 0), (0, at, 0, 0), (at, 0, at, 0), (at, 0, 0, at)]
        found = [_asked(model, provider, hour, probe) for probe in probes]
        return tuple((price - base) / at for price in found if price is not None) if None not in found else None

    near, far = per_token(at=_PROBE), per_token(at=_FAR_PROBE)
    if near is None or far is None:
        return None
    linear = all(abs(a - b) <= _TOLERANCE * max(abs(a), abs(b)) for a, b in zip(near, far, strict=True))
    return UnitPrices(call=base, input=near[0], output=near[1], cache_read=near[2], cache_write=near[3], linear=linear)


def _asked(model: str, provider: str | None, hour: int, counts: tuple[int, int, int, int]) -> float | None:
    try:
        from genai_prices import Usage, calc_price
    except ModuleNotFoundError:
        return None
    from datetime import UTC, datetime

    usage = Usage(
        input_tokens=counts[0], output_tokens=counts[1], cache_read_tokens=counts[2], cache_write_tokens=counts[3]
    )
    moment = datetime.fromtimestamp(hour * 3600, UTC) if hour > _FIRST_PRICED_HOUR else None
    for name, provider_id in _names(model, provider):
        try:
            return float(
                calc_price(usage, model_ref=name, provider_id=provider_id, genai_request_timestamp=moment).total_price
            )
        except (LookupError, ValueError):
            continue
    return None


def _names(model: str, provider: str | None) -> Iterator[tuple[str, str | None]]:
    """Under which names a model may be known, and at whom; LiteLLM and others write `provider/model`."""
    if (provider or model.partition("/")[0]).lower().startswith(_OWN_MACHINES):
        return
    yield model, provider
    yield model, None
    for mark in "/:":
        head, found, tail = model.partition(mark)
        if found:
            yield tail, head
