"""The store as a whole: opening, asking, failing."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import event

from spanwise.errors import ModelError, SinkError
from spanwise.report.contract import to_contract
from spanwise.store.failures import BusyStoreError, UnusableStoreError
from spanwise.store.store import Store
from tests.store.keeping import NOW_NS, content_of, result_of

TEN_THOUSAND_S = 90.0
BATCH = 200


def test_the_users_own_store_is_for_the_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default file and those beside it have mode 0600, their folder 0700."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SPANWISE_STORE", raising=False)
    before = os.umask(0)
    try:
        with Store.open() as store:
            store.add([result_of(1)])
            folder = tmp_path / "state" / "spanwise"
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    finally:
        os.umask(before)
    assert {"runs.db": 0o600, "runs.db-wal": 0o600, "runs.db-shm": 0o600} == modes
    assert 0o700 == stat.S_IMODE(folder.stat().st_mode)
    assert str(folder / "runs.db") == store.where


def test_the_variable_names_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPANWISE_STORE is used where no place is given."""
    monkeypatch.setenv("SPANWISE_STORE", f"sqlite:///{tmp_path}/named.db")
    Store.open().close()
    assert (tmp_path / "named.db").is_file()


def test_questions(place: str) -> None:
    """Runs are found by session, request, user, agent, score, label, value, time and beginning of the trace id."""
    clock = iter(range(NOW_NS, NOW_NS + 10**12, 10**9))
    with Store.open(place, clock=lambda: next(clock)) as store:
        store.add([result_of(1, session="s-1", calls=1)])
        store.add([result_of(2, session="s-2", calls=4)])
        store.add([result_of(0x21, session="s-2", calls=1)])

        def found(**question: object) -> list[str]:
            return [run.trace_id[-2:] for run in store.query(**question)]

        assert ["21", "02", "01"] == found() == [run.trace_id[-2:] for run in store.recent(9)]
        assert ["21"] == [run.trace_id[-2:] for run in store.recent(1)]
        assert ["21", "02"] == found(session_id="s-2")
        assert ["01"] == found(request_id="r-1")
        assert (["21", "02", "01"], []) == (found(user_id="ann", agent="helper"), found(agent="other"))
        assert ["02"] == found(label="alert") == found(score="redundancy", label="alert") == found(below=0.5)
        assert [] == found(score="recovery", label="alert")
        assert ["21", "02", "01"] == found(score="cost", below=1.0)
        assert (["21", "02", "01"], []) == (found(since_ns=1), found(until_ns=1))
        assert ["21"] == found(trace_id="0" * 30 + "21")
        assert (["21", "02", "01"], []) == (found(trace_id="0000"), found(trace_id="%"))
        assert (["21"], []) == (found(limit=1), found(limit=0))


def test_what_is_not_there_is_none(store: Store) -> None:
    """A run that the store does not have is None; an empty store has none."""
    assert (None, [], []) == (store.get("ab", "cd"), store.recent(), store.query(session_id="s"))
    store.add([])
    assert [] == store.recent()


@pytest.mark.once
def test_ten_thousand_runs(tmp_path: Path) -> None:
    """10,000 runs in batches of 200 are kept within 90 s, and the last of them found within one."""
    base = [result_of(number) for number in range(1, 101)]
    begun = time.monotonic()
    with Store.open(tmp_path / "runs.db", document=to_contract, max_age_s=None) as store:
        number = 0
        for _ in range(10_000 // BATCH):
            batch = []
            for result in (*base, *base):
                number += 1
                result.run.trace.key = f"{number:032x}"
                batch.append(result)
                if len(batch) == len(base):
                    store.add(batch)
                    batch = []
        took = time.monotonic() - begun
        begun = time.monotonic()
        assert f"{10_000:032x}" in {run.trace_id for run in store.recent(100)}
        assert 100 == len(store.query(session_id="s-1", limit=100))
        assert 1.0 > time.monotonic() - begun
        assert 10_000 == len(content_of(store)["runs"])
    assert TEN_THOUSAND_S > took


def test_a_full_disk_is_one_error_and_nothing_is_torn(tmp_path: Path) -> None:
    """When the file cannot grow, an error says so and nothing of the batch is kept; with room again, all is."""
    with Store.open(tmp_path / "runs.db") as store:
        store.add([result_of(1)])
        engine = store._database._own().engine
        full = True

        def limit(connection: object) -> None:
            pages = 1 if full else 2**30
            connection.connection.execute(f"PRAGMA max_page_count={pages}")

        event.listen(engine, "begin", limit)
        results = [result_of(number) for number in range(2, 60)]
        with pytest.raises(SinkError, match=r"runs\.db cannot grow: the disk is full"):
            store.add(results)
        assert 1 == len(store.recent(100))
        full = False
        store.add(results)
        assert 59 == len(store.recent(100))


def test_a_corrupt_file_is_one_error(tmp_path: Path) -> None:
    """A file that is no database, or a torn one, is an error that names it, when opened or when used."""
    path = tmp_path / "runs.db"
    path.write_bytes(b"no database at all, but quite some text" * 100)
    with pytest.raises(UnusableStoreError, match="is no SQLite file"):
        Store.open(path)
    path.unlink()
    with Store.open(path) as store:
        store.add([result_of(number) for number in range(1, 30)])
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    with pytest.raises(UnusableStoreError, match="is corrupt"), Store.open(path) as store:
        store.add([result_of(number) for number in range(30, 60)])


READ_ONLY = """
import os, sys
from spanwise.errors import SinkError
from spanwise.store.store import Store
from tests.store.keeping import result_of
result = result_of(2)
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
store = Store.open(sys.argv[1])
print(len(store.recent()))
try:
    store.add([result])
except SinkError as error:
    print(type(error).__name__, error)
"""


def test_a_file_that_may_only_be_read_is_one_error(root: Path) -> None:
    """Of a file without write permission runs can be read; adding is an error that says what to allow."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        with Store.open(path) as store:
            store.add([result_of(1)])
        path.chmod(0o444)
        Path(folder).chmod(0o777)
        environment = {**os.environ, "PYTHONPATH": f"{root}/src:{root}", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(path)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert ("", f"1\nUnusableStoreError the store {path} is read-only; allow writing to the file and its folder\n") == (
        done.stderr,
        done.stdout,
    )


def test_a_file_that_others_hold_is_one_error(tmp_path: Path) -> None:
    """When another process holds the file longer than one waits, the error says so, within the time."""
    path = tmp_path / "runs.db"
    with Store.open(path, timeout_s=0.4) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        begun = time.monotonic()
        with pytest.raises(BusyStoreError, match="is locked by another process"):
            store.add([result_of(1)])
        assert 5.0 > time.monotonic() - begun
        other.execute("ROLLBACK")
        store.add([result_of(1)])
        assert 1 == len(store.recent())


def test_a_folder_that_cannot_be_made_is_one_error(tmp_path: Path) -> None:
    """A place below a file, and a folder in the file's place, are refused with what stands in the way."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match="cannot be made: "):
        Store.open(tmp_path / "file" / "x" / "runs.db")
    with pytest.raises(UnusableStoreError, match="cannot be opened"):
        Store.open(tmp_path)


def test_a_store_that_must_be_there_is_not_made(tmp_path: Path) -> None:
    """Opened for reading only, a store that is not there is an error and stays away."""
    with pytest.raises(UnusableStoreError, match="there is no store"):
        Store.open(tmp_path / "runs.db", must_exist=True)
    assert [] == list(tmp_path.iterdir())


def test_a_closed_store_says_so(store: Store) -> None:
    """After closing, twice if need be, every use is an error."""
    store.close()
    store.close()
    with pytest.raises(SinkError, match="is closed"):
        store.add([result_of(1)])


def test_senseless_times_are_refused(tmp_path: Path) -> None:
    """A time of nothing, or less, is an error of whoever gives it."""
    for wrong in ({"timeout_s": 0}, {"max_age_s": -1.0}, {"timeout_s": float("nan")}):
        with pytest.raises(ModelError):
            Store.open(tmp_path / "runs.db", **wrong)


def test_a_server_that_is_not_there_is_told_without_its_password() -> None:
    """The error of a database that cannot be reached, or whose driver is missing, does not show the password."""
    with pytest.raises(SinkError) as caught:
        Store.open("postgresql://ann:s3cret@127.0.0.1:1/runs?connect_timeout=1", timeout_s=1)
    shown = f"{caught.value} {caught.value.__cause__!r} {caught.value.__context__!r}"
    assert (True, False) == ("postgresql://ann@127.0.0.1:1/runs" in shown, "s3cret" in shown)
