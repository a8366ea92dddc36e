"""What is bounded: money, memory, disk and time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from spanwise.errors import ModelError
from spanwise.judges import Panel, UnaskedError
from spanwise.judges.budget import Ledger, Purse, price_of
from spanwise.judges.cache import Cache
from spanwise.judges.retrying import pause_s
from tests.judges.standin import MODEL


class Clock:
    """Seconds since the epoch, as they are set."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        """The time."""
        return self.now


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"votes": 0}, "votes is 0"),
        ({"run_usd": 0.0}, "run_usd is 0.0"),
        ({"day_usd": float("nan")}, "day_usd is nan"),
        ({"timeout_s": -1.0}, "timeout_s"),
        ({"prices": (1.0, -1.0)}, "prices"),
        ({"models": (MODEL,), "agree": 2}, "agree is 2"),
        ({"context_tokens": 10}, "context_tokens"),
    ],
)
def test_a_panel_out_of_range_is_refused(fields: dict[str, object], says: str) -> None:
    """Limits below their least, and votes that cannot agree, are refused."""
    with pytest.raises(ModelError, match=says):
        Panel(**fields)


def test_prices_are_listed_or_given(require: Callable[[str], str]) -> None:
    """A listed model has its price, however its provider is spelt; a given price goes first; else there is none."""
    require("genai_prices")
    listed = price_of("openai:gpt-4o-mini", 1_000_000, 0, prices=None)
    assert listed is not None
    assert listed == price_of("openai-chat:gpt-4o-mini", 1_000_000, 0, prices=None)
    assert 3.0 == price_of("openai:gpt-4o-mini", 1_000_000, 1_000_000, prices=(1.0, 2.0))
    assert None is price_of("openai:home-made", 1, 1, prices=None)


def test_a_day_begins_at_midnight() -> None:
    """What was spent yesterday does not count today."""
    clock = Clock()
    ledger = Ledger(clock=clock)
    ledger.add(1.5)
    assert 1.5 == ledger.today()
    clock.now += 86_400
    assert 0.0 == ledger.today()


def test_a_folder_is_shared(tmp_path: Path) -> None:
    """Two ledgers with one folder know what the other spent; a line that is no number is nothing."""
    clock = Clock()
    one, other = Ledger(folder=str(tmp_path), clock=clock), Ledger(folder=str(tmp_path), clock=clock)
    threads = [threading.Thread(target=ledger.add, args=(0.5,)) for ledger in (one, other) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (4.0, 4.0) == (one.today(), other.today())
    (kept,) = tmp_path.glob("spent-*.txt")
    kept.write_text(kept.read_text() + "odd\n0.25\n0.1")
    assert 4.25 == Ledger(folder=str(tmp_path), clock=clock).today()


def test_what_is_on_its_way_is_held() -> None:
    """Two requests cannot both take what is left: what one may cost is put aside until it is settled."""
    purse = Purse(panel=Panel(prices=(0.0, 1e6), run_usd=1.0), ledger=Ledger(clock=Clock()))
    held = purse.hold(MODEL, 100, 0)
    assert 0.0 == held
    first = purse.hold(MODEL, 0, 1)
    with pytest.raises(UnaskedError, match="run_usd"):
        purse.hold(MODEL, 0, 1)
    purse.settle(first, MODEL, 0, 0)
    assert 1.0 == purse.hold(MODEL, 0, 1)


def test_memory_is_bounded() -> None:
    """The replies that were used longest ago are forgotten first; a very long one is not kept."""
    cache = Cache(remember=2)
    cache.put("a", "1")
    cache.put("b", "2")
    assert "1" == cache.get("a")
    cache.put("c", "3")
    assert ("1", None, "3") == (cache.get("a"), cache.get("b"), cache.get("c"))
    cache.put("d", "x" * 200_000)
    assert None is cache.get("d")


def test_the_folder_is_bounded(tmp_path: Path) -> None:
    """There are never many more files than allowed."""
    cache = Cache(remember=1, folder=str(tmp_path / "deep" / "er"), files=10)
    for number in range(200):
        cache.put(f"{number:064d}", str(number))
    assert len(list((tmp_path / "deep" / "er").iterdir())) <= 10 + 64
    assert "199" == Cache(folder=str(tmp_path / "deep" / "er")).get(f"{199:064d}")


def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path: Path) -> None:
    """Without its folder a cache goes on in memory, and says what is wrong."""
    (tmp_path / "file").write_text("")
    cache = Cache(folder=str(tmp_path / "file" / "inner"))
    cache.put("a", "1")
    assert ("1", True) == (cache.get("a"), bool(cache.problem))
    ledger = Ledger(folder=str(tmp_path / "file" / "inner"), clock=Clock())
    ledger.add(0.5)
    ledger.add(0.25)
    assert 0.75 == ledger.today()


@pytest.mark.parametrize(
    ("attempt", "after_s", "least", "most"),
    [(0, None, 0.25, 0.5), (1, None, 0.5, 1.0), (3, None, 2.0, 4.0), (50, None, 15.0, 30.0), (0, 2.0, 2.0, 2.2),
     (9, 60.0, 60.0, 61.0)],
)  # fmt: skip
def test_pauses_grow_and_are_jittered(attempt: int, after_s: float | None, least: float, most: float) -> None:
    """The pause doubles up to 30 seconds and varies by half; a wish of the provider is a lower bound."""
    found = [pause_s(attempt, after_s=after_s, chance=chance) for chance in (0.0, 0.5, 1.0)]
    assert (least, most) == (pytest.approx(found[0]), pytest.approx(found[2]))
    assert sorted(found) == found
