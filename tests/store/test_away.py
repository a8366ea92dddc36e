"""While the store is away, results wait: real full disks, locks, servers that stop, files that vanish."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from spanwise.errors import ModelError
from spanwise.store import Store, StoreSink
from spanwise.store.failures import UnusableStoreError
from spanwise.store.sink import StoreStats
from tests.servers import Postgres
from tests.store.conftest import emptied
from tests.store.keeping import content_of, result_of

LOCK = """
import sqlite3, sys, time
raw = sqlite3.connect(sys.argv[1], isolation_level=None)
raw.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
raw.execute("ROLLBACK")
"""


def numbers_in(place: str | Path) -> set[int]:
    """The numbers of the traces that a store has."""
    with Store.open(place) as store:
        return {int(run.trace_id, 16) for run in store.query(limit=10_000)}


def test_nothing_is_lost_while_another_process_has_the_file(tmp_path: Path) -> None:
    """A lock of another process that is held for seconds delays results and costs none; later emits do not wait."""
    path = tmp_path / "runs.db"
    Store.open(path).close()
    sink = StoreSink(Store.open(path, timeout_s=0.4))
    with subprocess.Popen([sys.executable, "-c", LOCK, str(path), "2.5"], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert b"held\n" == other.stdout.readline()
        sink.emit([result_of(1)])
        begun = time.monotonic()
        for number in range(2, 40):
            sink.emit([result_of(number)])
        assert 2.0 > time.monotonic() - begun
        assert 39 == sink.stats.waiting
        other.wait(30)
    assert sink.flush(30)
    assert StoreStats(kept=39) == sink.stats
    sink.close()
    assert set(range(1, 40)) == numbers_in(path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes; only root may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"needs a file system to fill: {mounted.stderr.decode()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(path: Path) -> None:
    """Write to a file until the disk is full."""
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_nothing_is_lost_on_a_full_disk_that_is_freed(small_disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    """On a disk that is really full results wait; once there is room they are written, and the file is whole."""
    path = small_disk / "runs.db"
    sink = StoreSink.open(path)
    sink.emit([result_of(1)])
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="No space"):
        fill(ballast)
    for number in range(2, 30):
        sink.emit([result_of(number, question="why? " * 200)])
    assert 0 < sink.stats.waiting
    assert any("full" in record.getMessage() for record in caplog.records)
    ballast.unlink()
    assert sink.flush(30)
    assert StoreStats(kept=29) == sink.stats
    sink.close()
    assert set(range(1, 30)) == numbers_in(path)


FULL = """
import resource, sys
from spanwise.store import Store, StoreSink
from tests.store.keeping import result_of
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
sink = StoreSink.open(sys.argv[1], spool=5, close_s=0.2)
failures = 0
for number in range(1, 200):
    try:
        sink.emit([result_of(number, question=f"{number}? " * 300)])
    except Exception as error:
        failures += 1
        assert type(error).__name__ == "SinkError", error
try:
    sink.close()
except Exception as error:
    print(error)
stats = sink.stats
assert stats.kept + stats.waiting + sum(stats.dropped.values()) == 199, stats
print(failures == stats.dropped["spool_full"], stats.dropped["closed"], stats.kept > 0)
"""


def test_what_a_store_without_room_cannot_take_is_counted(tmp_path: Path, root: Path) -> None:
    """A file that may not grow: what is written, held, dropped and lost at the end adds up to what was given."""
    path = tmp_path / "runs.db"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)],
        env={**os.environ, "PYTHONPATH": f"{root}/src:{root}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    said = f"the store {path} was closed before it could take 5 results that were held\nTrue 5 True\n"
    assert said == done.stdout, done.stderr
    with closing(sqlite3.connect(path)) as raw:
        assert ("ok",) == raw.execute("PRAGMA integrity_check").fetchone()


def test_nothing_is_lost_while_postgres_is_restarted(server: Postgres) -> None:
    """Results that come while the server is stopped are held, and written when it is there again."""
    place = emptied(server.url())
    sink = StoreSink.open(place)
    sink.emit([result_of(1)])
    server.stop()
    try:
        for number in range(2, 30):
            sink.emit([result_of(number)])
        assert 28 == sink.stats.waiting
    finally:
        server.start()
    assert sink.flush(30)
    assert StoreStats(kept=29) == sink.stats
    sink.close()
    assert set(range(1, 30)) == numbers_in(place)


def test_a_server_that_starts_after_the_app_gets_all(server: Postgres) -> None:
    """The sink needs no server when the app starts: what was held is written when it is there."""
    place = emptied(server.url())
    server.stop()
    sink = StoreSink.open(place)
    try:
        sink.emit([result_of(1), result_of(2)])
    finally:
        server.start()
    assert sink.flush(30)
    sink.close()
    assert {1, 2} == numbers_in(place)


def test_tables_that_were_dropped_are_made_again(server: Postgres) -> None:
    """A database whose tables are gone gets them again, and what comes afterwards."""
    place = emptied(server.url())
    sink = StoreSink.open(place)
    sink.emit([result_of(1)])
    emptied(place)
    sink.emit([result_of(2)])
    assert sink.flush(20)
    sink.close()
    assert {2} == numbers_in(place)


@pytest.mark.parametrize("with_log", [False, True], ids=["the file", "the file and its log"])
def test_a_file_that_was_deleted_is_made_again(tmp_path: Path, with_log: bool) -> None:
    """What is written after the file was deleted under us is in a new one, which is whole."""
    path = tmp_path / "runs.db"
    sink = StoreSink.open(path)
    sink.emit([result_of(number) for number in range(1, 50)])
    for file in tmp_path.iterdir() if with_log else [path]:
        file.unlink()
    sink.emit([result_of(100)])
    assert sink.flush(20)
    sink.emit([result_of(101)])
    sink.close()
    with closing(sqlite3.connect(path)) as raw:
        assert ("ok",) == raw.execute("PRAGMA integrity_check").fetchone()
    assert {100, 101} == numbers_in(path)


def test_a_store_says_that_its_file_is_gone(tmp_path: Path) -> None:
    """A store used by itself raises when its file was deleted, and does not write into nowhere."""
    with Store.open(tmp_path / "runs.db") as store:
        (tmp_path / "runs.db").rename(tmp_path / "moved.db")
        with pytest.raises(UnusableStoreError, match="moved or deleted while it was open"):
            store.add([result_of(1)])


READ_ONLY = """
import os, sys
from pathlib import Path
from spanwise.store import Store, StoreSink
from tests.store.keeping import result_of
folder = Path(sys.argv[1])
Store.open(folder / "first.db").close()  # which loads all that is needed while it may be read
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
folder = folder / "kept"
folder.mkdir()
sink = StoreSink.open(folder / "runs.db")
folder.chmod(0o500)
sink.emit([result_of(1)])
before = sink.stats
folder.chmod(0o700)
print(before.waiting, before.kept, sink.flush(20), sink.stats.kept)
sink.close()
"""


def test_nothing_is_lost_in_a_folder_that_becomes_writable(root: Path) -> None:
    """In a folder that may not be written to results wait; once it may, they are kept."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, folder],
            env={**os.environ, "PYTHONPATH": f"{root}/src:{root}", "HOME": folder},
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert "1 0 True 1\n" == done.stdout, done.stderr


@pytest.mark.parametrize("setting", ["spool", "spool_bytes", "close_s"])
def test_bounds_below_zero_are_refused(setting: str) -> None:
    """A bound that cannot be is an error when the sink is made."""
    with pytest.raises(ModelError, match=setting):
        StoreSink(**{setting: -1})


def test_two_sinks_hold_and_deliver_the_same_run_once(tmp_path: Path) -> None:
    """What two processes held of one run is one row each of run and score when both have delivered it."""
    path = tmp_path / "runs.db"
    path.write_text("no database" * 100)
    sinks = [StoreSink.open(path), StoreSink.open(path)]
    for at, sink in enumerate(sinks):
        sink.emit([result_of(1, revision=at + 1)])
    path.unlink()
    for sink in sinks:
        assert sink.flush(20)
        sink.close()
    with Store.open(path) as store:
        (run,) = store.recent()
        assert 2 == run.revision
        assert len(content_of(store)["scores"]) == len(run.scores)
