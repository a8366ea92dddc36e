"""What waits for delivery survives, keeps its order and its bounds, and each parcel is there once."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from spanwise.sinks._outbox import Group, Held, Outbox, Parcel

MANY = 1_000


def parcels(*keys: str, rank: int = 1, body: bytes = b"{}") -> list[Parcel]:
    """Small parcels."""
    return [Parcel(key, body, rank) for key in keys]


def keys_in(outbox: Outbox) -> list[str]:
    """The keys that wait, in their order."""
    return [held.key for held in outbox.first(MANY, 10**9)]


@pytest.fixture(params=["disk", "memory"])
def outbox(request: pytest.FixtureRequest, tmp_path: Path) -> Outbox:
    """An empty outbox."""
    return Outbox(tmp_path / "state" / "out.db" if request.param == "disk" else None, max_rows=100, max_bytes=10_000)


def test_first_in_first_out(outbox: Outbox) -> None:
    """Parcels come out in the order in which they were put in, and go when they are done."""
    outbox.put([Group("a", parcels("1", "2")), Group("b", parcels("3"))])
    two = outbox.first(2, 10**6)
    assert ["1", "2"] == [held.key for held in two]
    assert (2, ["3"]) == (outbox.done(two), keys_in(outbox))
    outbox.close()


def test_a_portion_keeps_below_its_bytes(outbox: Outbox) -> None:
    """A portion ends before it is too large, but has one parcel in any case."""
    outbox.put([Group("a", parcels("1", "2", "3", body=b"x" * 100))])
    assert (2, 1) == (len(outbox.first(10, 210)), len(outbox.first(10, 10)))


def test_the_last_word_of_a_key_waits(outbox: Outbox) -> None:
    """A parcel takes the place of the one of its key; the end of the old one's sending leaves it there."""
    outbox.put([Group("a", parcels("1", "2", body=b"old"))])
    sending = outbox.first(10, 10**6)
    outbox.put([Group("a", parcels("1", "2", body=b"new"))])
    assert (0, [b"new", b"new"]) == (outbox.done(sending), [held.body for held in outbox.first(10, 10**6)])
    counts = outbox.counts
    assert (4, 2, 0, {}) == (counts.taken, counts.replaced, counts.done, counts.shed)


def test_what_a_group_no_longer_has_is_deleted(outbox: Outbox) -> None:
    """A key that a group had and has no more becomes a parcel without a body, sent before those that are new."""
    outbox.put([Group("a", parcels("1", "2"))])
    outbox.done(outbox.first(10, 10**6))
    outbox.put([Group("a", parcels("2", "3"))])
    assert [("1", b""), ("2", b"{}"), ("3", b"{}")] == [(held.key, held.body) for held in outbox.first(10, 10**6)]
    outbox.put([Group("a", [])])
    assert [b"", b"", b""] == [held.body for held in outbox.first(10, 10**6)]


@pytest.mark.parametrize(("rows", "size"), [(3, 10**6), (MANY, 350)])
def test_the_least_important_go_first(rows: int, size: int) -> None:
    """Over a bound, statuses and ok go before warnings and alerts, the older before the newer, and are counted."""
    outbox = Outbox(None, max_rows=rows, max_bytes=size)
    for name, rank in [("alert", 3), ("ok1", 1), ("warn", 2), ("status", 0), ("ok2", 1)]:
        outbox.put([Group(name, parcels(name, rank=rank, body=b"x" * 100))])
    assert ["alert", "warn", "ok2"] == keys_in(outbox)
    assert {0: 1, 1: 1} == outbox.counts.shed


def test_owners_share_a_file(tmp_path: Path) -> None:
    """Each owner sees its own parcels; the bounds hold for all of them together."""
    one, other = (Outbox(tmp_path / "out.db", owner=name, max_rows=3) for name in ("one", "other"))
    one.put([Group("a", parcels("1", "2"))])
    other.put([Group("a", parcels("1", "2"))])
    assert (["2"], ["1", "2"], {1: 1}) == (keys_in(one), keys_in(other), other.counts.shed)
    one.close()
    other.close()


def test_it_survives(tmp_path: Path) -> None:
    """What waits, and what groups had, is there after the file was closed; only its user can read it."""
    path = tmp_path / "deep" / "out.db"
    first = Outbox(path)
    first.put([Group("a", parcels("1"))])
    assert [0o600] * 3 == [file.stat().st_mode & 0o777 for file in sorted(path.parent.iterdir())]
    assert 0o700 == path.parent.stat().st_mode & 0o777
    first.close()
    second = Outbox(path)
    second.put([Group("a", parcels("2"))])
    assert [("1", b""), ("2", b"{}")] == [(held.key, held.body) for held in second.first(10, 10**6)]
    second.close()


def test_it_survives_a_kill(tmp_path: Path) -> None:
    """What was put is there after the process was killed in the middle of putting more."""
    code = (
        "import sys; from pathlib import Path; from spanwise.sinks._outbox import *\n"
        "outbox = Outbox(Path(sys.argv[1]))\n"
        "for at in range(10**9):\n"
        "    outbox.put([Group(str(at), [Parcel(f'{at}-{n}', b'{}', 1) for n in range(3)])])\n"
        "    print(at, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "out.db"], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        told = [int(child.stdout.readline()) for _ in range(50)][-1]
        child.kill()
        told = max(told, *(int(line) for line in child.stdout if line.strip()), 0)
    outbox = Outbox(tmp_path / "out.db")
    found = [held.key for held in outbox.first(10**6, 10**9)]
    outbox.close()
    assert [f"{at}-{n}" for at in range(told + 1) for n in range(3)] == found[: 3 * (told + 1)]
    assert len(found) % 3 == 0


def test_who_asks_later_keeps_nothing_open(tmp_path: Path) -> None:
    """A closed outbox tells what waits in its file, and lets go of the file each time: so its log is gone."""
    path = tmp_path / "out.db"
    outbox = Outbox(path)
    outbox.put([Group("a", parcels("1", "2"))])
    log = path.with_name("out.db-wal")
    assert log.exists()
    outbox.close()
    assert [2, 2] == [outbox.waiting(), outbox.waiting()]
    assert not log.exists()


def test_two_of_one_process_keep_the_file_from_others(tmp_path: Path) -> None:
    """Another process that looks into the file, and closes it, takes nothing from two outboxes that use it."""
    path = tmp_path / "out.db"
    one, other = Outbox(path, owner="one"), Outbox(path, owner="other")
    one.put([Group("a", parcels("1", "2"))])
    other.put([Group("b", parcels("3"))])
    look = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT key FROM parcels').fetchall())"
    seen: list[str] = []
    for _ in range(2):
        seen.append(
            subprocess.run([sys.executable, "-c", look, path], capture_output=True, text=True, check=True).stdout
        )
        one.done(one.first(1, 10**6))
    one.close()
    other.close()
    assert ["[('1',), ('2',), ('3',)]\n", "[('2',), ('3',)]\n"] == seen


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    """A damaged file is moved aside, and a new one made."""
    path = tmp_path / "out.db"
    path.write_bytes(b"no database at all, " * 100)
    outbox = Outbox(path)
    outbox.put([Group("a", parcels("1"))])
    assert (["1"], True) == (keys_in(outbox), (tmp_path / "out.db.broken").exists())
    outbox.close()


def test_a_locked_file_is_not_waited_for_long(tmp_path: Path) -> None:
    """Where another process holds the file, putting fails soon, and nothing of it is kept."""
    outbox = Outbox(tmp_path / "out.db", wait_s=0.05)
    outbox.put([Group("a", parcels("1"))])
    other = sqlite3.connect(tmp_path / "out.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    begun = time.monotonic()
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        outbox.put([Group("b", parcels("2"))])
    assert time.monotonic() - begun < 1
    other.close()
    assert (["1"], 1) == (keys_in(outbox), outbox.counts.taken)
    outbox.close()


def test_no_folder(tmp_path: Path) -> None:
    """A place that cannot be written is told as an error of the database."""
    (tmp_path / "file").write_text("")
    with pytest.raises(sqlite3.OperationalError, match="cannot be written"):
        Outbox(tmp_path / "file" / "out.db").put([])


def test_a_full_disk(tmp_path: Path) -> None:
    """A disk that is full costs the group that does not fit, as an error; what was there stays."""
    path = tmp_path / "out.db"
    outbox = Outbox(path)
    outbox.put([Group("a", parcels("1"))])
    assert outbox._base is not None
    pages = outbox._base.execute("PRAGMA page_count").fetchone()[0]
    outbox._base.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        outbox.put([Group("b", parcels("2", body=b"x" * 100_000))])
    assert ["1"] == keys_in(outbox)
    outbox.close()


def test_handing_over(tmp_path: Path) -> None:
    """An outbox gives all it has to another one, and is empty; what is counted stays true."""
    memory, disk = Outbox(None), Outbox(tmp_path / "out.db")
    memory.put([Group("a", parcels("1", "2")), Group("b", [Parcel("3", b"", 3)])])
    disk.put([Group("a", parcels("1"))])
    memory.hand_over(disk)
    assert ([], ["1", "2", "3"]) == (keys_in(memory), keys_in(disk))
    assert (0, 4, 1) == (memory.counts.taken, disk.counts.taken, disk.counts.replaced)
    disk.close()


def test_threads_that_hand_over_at_once(tmp_path: Path) -> None:
    """Each parcel is handed over once, whoever does it."""
    memory, disk = Outbox(None, wait_s=10), Outbox(tmp_path / "out.db", wait_s=10)
    memory.put([Group(str(number), parcels(str(number))) for number in range(400)])
    threads = [threading.Thread(target=memory.hand_over, args=(disk,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (0, 400, 0) == (memory.counts.taken, disk.counts.taken, disk.counts.replaced)
    assert (0, 400) == (memory.waiting(), disk.waiting())
    disk.close()


def test_the_mean_of_numbers(outbox: Outbox) -> None:
    """The last number of each name counts, of one thing at a time."""
    outbox.mean("session", "run 1", 0.2)
    assert (0.5, 2) == outbox.mean("session", "run 2", 0.8)
    assert (0.9, 2) == outbox.mean("session", "run 1", 1.0)
    assert (0.1, 1) == outbox.mean("other", "run 3", 0.1)


def test_what_is_set_back_comes_last(outbox: Outbox) -> None:
    """A parcel can be moved behind all others; one that is gone is not made anew."""
    outbox.put([Group("a", parcels("1", "2"))])
    outbox.last(outbox.first(1, 10**6)[0])
    outbox.last(Held(10_000, "9", b"{}"))
    assert ["2", "1"] == keys_in(outbox)


def test_threads_and_processes_write_to_one_file(tmp_path: Path) -> None:
    """Nothing is lost where two threads of two processes put at the same time."""
    path = tmp_path / "out.db"
    code = (
        "import sys; from pathlib import Path; from spanwise.sinks._outbox import *\n"
        "outbox = Outbox(Path(sys.argv[1]), wait_s=30)\n"
        "for at in range(200): outbox.put([Group(f'c{at}', [Parcel(f'c{at}', b'{}', 1)])])\n"
    )
    outbox = Outbox(path, wait_s=30)
    with subprocess.Popen([sys.executable, "-c", code, path]) as child:

        def work(name: str) -> None:
            for at in range(200):
                outbox.put([Group(f"{name}{at}", parcels(f"{name}{at}"))])

        threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert 0 == child.wait(60)
    assert {f"{name}{at}" for name in "abc" for at in range(200)} == set(keys_in(outbox))
    outbox.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork(tmp_path: Path) -> None:
    """A child uses a connection of its own, and the parent's stays usable."""
    code = (
        "import os, sys; from pathlib import Path; from spanwise.sinks._outbox import *\n"
        "outbox = Outbox(Path(sys.argv[1]))\n"
        "outbox.put([Group('parent', [Parcel('parent', b'{}', 1)])])\n"
        "if not (child := os.fork()):\n"
        "    outbox.after_fork(); outbox.put([Group('child', [Parcel('child', b'{}', 1)])]); os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "outbox.put([Group('again', [Parcel('again', b'{}', 1)])])\n"
        "print(*(held.key for held in outbox.first(9, 999)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, tmp_path / "out.db"], capture_output=True, text=True, check=True)
    assert "parent child again" == ran.stdout.strip()
