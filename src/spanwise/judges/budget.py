"""What judging may cost: by run and by day, counted before a request is sent and settled when its reply is there.

Days are those of UTC. What was spent is known to one process; with a folder, to all that use it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from spanwise.judges.failures import UnaskedError
from spanwise.judges.panel import DAY_USD, RUN_USD, Panel
from spanwise.pricing import estimate

_DAY_S = 86_400


def price_of(model: str, sent: int, got: int, *, prices: tuple[float, float] | None, hour: int = 0) -> float | None:
    """Dollars for one request; None where the price is not known.

    Args:
        model: Its name, with the provider's and a colon before it.
        sent: How many tokens were sent.
        got: How many came back.
        prices: Dollars for a million tokens sent and received, which go before the list.
        hour: Since the epoch: some prices depend on it.
    """
    if prices is not None:
        return (sent * prices[0] + got * prices[1]) / 1e6
    provider, found, name = model.partition(":")
    if not found:
        provider, name = "", model
    provider = provider.removeprefix("gateway/").removesuffix("-chat").removesuffix("-responses")
    return estimate(name, provider or None, sent, got, hour=hour)


class Ledger:
    """What was spent today; with a folder it is kept in `spent-DAY.txt`, one line for each request."""

    def __init__(self, *, folder: str = "", clock: Callable[[], float]) -> None:
        self._folder = Path(folder).expanduser() if folder else None
        self._clock = clock
        self._day: int = -1
        self._spent = 0.0
        self._read = 0
        self._lock = threading.Lock()

    def today(self) -> float:
        """Dollars spent since midnight."""
        with self._lock:
            self._turn()
            return self._spent

    def add(self, usd: float) -> None:
        """So much was spent now."""
        with self._lock:
            self._turn()
            try:
                kept = self._folder is not None and self._write(self._folder, usd)
            except OSError:  # the cache, which has the same folder, tells of it
                kept = False
            if not kept:
                self._spent += usd
            self._turn()

    def _write(self, folder: Path, usd: float) -> bool:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            return bool(os.write(handle, f"{usd:.9f}\n".encode()))
        finally:
            os.close(handle)

    @property
    def _path(self) -> Path:
        return (self._folder or Path()) / f"spent-{self._day}.txt"

    def _turn(self) -> None:
        """Begin a new day where it is time, and read what others added."""
        day = int(self._clock() // _DAY_S)
        if day != self._day:
            self._day, self._spent, self._read = day, 0.0, 0
        if self._folder is None:
            return
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._read += len(line)
                    self._spent += _number(line)
        except OSError:
            return


def _number(line: bytes) -> float:
    try:
        return max(float(line), 0.0)
    except ValueError:
        return 0.0


@dataclass(slots=True, kw_only=True)
class Purse:
    """What one judge may still spend on one run, within what all may spend that day."""

    panel: Panel
    ledger: Ledger
    hour: Callable[[], int] = field(default=lambda: 0)
    spent: float = 0.0
    held: float = 0.0

    def hold(self, model: str, sent: int, got: int) -> float:
        """Put aside what a request may cost at most.

        Raises:
            UnaskedError: There is not enough left, or a limit is set and the price is not known.
        """
        panel = self.panel
        most = price_of(model, sent, got, prices=panel.prices, hour=self.hour())
        if most is None:
            if panel.run_usd is not None or panel.day_usd is not None:
                raise UnaskedError(
                    f"the price of {model} is not known, so that no budget can be kept:"
                    " set `prices`, or leave run_usd and day_usd out"
                )
            return 0.0
        run, day = panel.run_usd or RUN_USD, panel.day_usd or DAY_USD
        if self.spent + self.held + most > run:
            raise UnaskedError(
                f"the budget of ${run:g} for this run does not suffice: ${self.spent:.4f} are spent, and the next"
                f" request may cost ${most:.4f}; set run_usd, or shorten context_tokens and reply_tokens"
            )
        today = self.ledger.today()
        if today + self.held + most > day:
            raise UnaskedError(
                f"the budget of ${day:g} a day is used up: ${today:.4f} are spent, and the next request may cost"
                f" ${most:.4f}; set day_usd, or wait until midnight UTC"
            )
        self.held += most
        return most

    def settle(self, held: float, model: str, sent: int, got: int) -> None:
        """What was put aside is free again, and what the request did cost is spent."""
        self.held = max(self.held - held, 0.0)
        cost = price_of(model, sent, got, prices=self.panel.prices, hour=self.hour())
        if cost:
            self.spent += cost
            self.ledger.add(cost)
