"""Who judges, how often, at what cost: the settings that judges share."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass

from spanwise.errors import ModelError
from spanwise.judges.votes import Abstain, Ballot, Tie

MODEL_VARIABLE = "SPANWISE_JUDGE_MODEL"
RUN_USD, DAY_USD = 0.25, 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The models that are asked, how their votes are counted, and the limits of it all.

    Args:
        models: Names such as `openai:gpt-5-mini`, as pydantic-ai spells them. Where none are given, those that
            SPANWISE_JUDGE_MODEL names, with commas between.
        votes: How often each model is asked.
        agree: How many equal votes decide; more than half where not given.
        tie: Where no number has so many votes: `lower`, `median` or `abstain`.
        abstain: Whether votes of "cannot tell" are dropped or counted.
        run_usd: What judging one run may cost, by one judge; 0.25 dollars where not given.
        day_usd: What all judges may cost a day (UTC); 10 dollars where not given. A limit that is given needs a known
            price; the others hold where the price is known.
        prices: Dollars for a million tokens sent and received, where they are not those of the price list.
        concurrency: How many requests may be on their way to one model.
        timeout_s: How long one request may take.
        deadline_s: How long all about one question may take, waiting included.
        retries: How often a request is sent again after it failed in a way that passes.
        context_tokens: How much a model reads at once, the question and its reply included.
        reply_tokens: How long a reply may be, thinking included.
        parts: In how many parts a long run may be asked about.
        remember: How many replies are kept in memory.
        cache: A folder where replies are kept too, and what was spent; none where empty.
        cache_files: How many replies are kept in that folder.

    Raises:
        ModelError: One of these is out of range.
    """

    models: tuple[str, ...] = ()
    votes: int = 1
    agree: int | None = None
    tie: Tie = "lower"
    abstain: Abstain = "drop"
    run_usd: float | None = None
    day_usd: float | None = None
    prices: tuple[float, float] | None = None
    concurrency: int = 4
    timeout_s: float = 60.0
    deadline_s: float = 180.0
    retries: int = 3
    context_tokens: int = 100_000
    reply_tokens: int = 2_000
    parts: int = 8
    remember: int = 1_024
    cache: str = ""
    cache_files: int = 10_000

    def __post_init__(self) -> None:
        least: Mapping[str, float] = {
            "votes": 1, "concurrency": 1, "retries": 0, "context_tokens": 1_000, "reply_tokens": 50, "parts": 1,
            "remember": 0, "cache_files": 1,
        }  # fmt: skip
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise ModelError(f"{name} is {getattr(self, name)!r}, expected a number of at least {bound:g}")
        for name in ("run_usd", "day_usd", "timeout_s", "deadline_s"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ModelError(f"{name} is {value!r}, expected a number above 0")
        if self.prices is not None and not all(math.isfinite(one) and one >= 0 for one in self.prices):
            raise ModelError(f"prices is {self.prices!r}, expected two numbers of at least 0")
        if self.models:
            self.ballot(len(self.models))

    def named(self, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
        """The models by name, each as often as it is asked."""
        names = self.models or tuple(one.strip() for one in environ.get(MODEL_VARIABLE, "").split(",") if one.strip())
        return names * self.votes

    def ballot(self, models: int) -> Ballot:
        """How the votes of so many models are counted."""
        return Ballot(of=models * self.votes, agree=self.agree, tie=self.tie, abstain=self.abstain)
