"""The write-ahead log loses nothing that it took, whatever happened to its files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.service.wal import Wal, WalError, WalFullError

A, B, C = (bytes([number]) * 16 for number in (1, 2, 3))


def payloads(wal: Wal) -> list[bytes]:
    """What would be taken again."""
    return [entry.payload for entry in wal.entries()]


def filled(folder: Path, count: int = 3) -> Wal:
    """A log with so many requests, each of a trace of its own."""
    wal = Wal(folder)
    for number in range(count):
        wal.append("traces", "protobuf", f"request {number}".encode(), [bytes([number + 1]) * 16])
    return wal


def segment(folder: Path) -> Path:
    """The first file of a log."""
    return min(folder.glob("*.wal"))


def test_what_was_taken_is_there_after_the_process(tmp_path: Path) -> None:
    """A request comes back as it was, with its signal, encoding and traces, whether the log was closed or not."""
    wal = Wal(tmp_path / "wal", fsync="always")
    wal.append("traces", "protobuf", b"one", [A, B])
    wal.append("logs", "json", b"{}", [A])
    wal.sync()
    wal.close()
    again = Wal(tmp_path / "wal")
    found = [(one.seq, one.signal, one.content, one.traces, one.payload) for one in again.entries()]
    assert [(1, "traces", "protobuf", (A, B), b"one"), (2, "logs", "json", (A,), b"{}")] == found
    assert 3 == again.append("traces", "protobuf", b"three", [A])
    again.close()


def test_it_is_the_users_own(tmp_path: Path) -> None:
    """Others can read neither the folder nor a file in it."""
    wal = filled(tmp_path / "wal")
    assert 0o700 == stat.S_IMODE((tmp_path / "wal").stat().st_mode)
    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "wal").iterdir()}
    wal.close()


def test_any_crash_loses_the_last_record_only(tmp_path: Path) -> None:
    """Cut off at any byte, the log gives every request before the one that was being written, and counts the tail."""
    wal = filled(tmp_path / "wal")
    wal.close()
    whole = segment(tmp_path / "wal").read_bytes()
    ends = [whole.index(f"request {number}".encode()) + len(f"request {number}") for number in range(3)]
    assert len(whole) == ends[-1]
    for cut in range(len(whole) + 1):
        folder = tmp_path / f"cut{cut}"
        folder.mkdir()
        (folder / "000000000001.wal").write_bytes(whole[:cut])
        again = Wal(folder)
        intact = sum(end <= cut for end in ends)
        assert [f"request {number}".encode() for number in range(intact)] == payloads(again)
        assert (cut not in (16, *ends)) == bool(again.stats.torn)
        assert 0 == again.stats.damaged
        again.append("traces", "protobuf", b"next", [A])
        assert b"next" == payloads(again)[-1]
        again.close()


@settings(max_examples=60)
@given(at=st.integers(min_value=16), new=st.integers(0, 255))
def test_damage_costs_what_it_hit(tmp_path_factory: pytest.TempPathFactory, at: int, new: int) -> None:
    """One changed byte costs at most the request it stands in; the others come back, and no byte stops the service."""
    folder = tmp_path_factory.mktemp("wal")
    filled(folder).close()
    data = bytearray(segment(folder).read_bytes())
    data[16 + at % (len(data) - 16)] = new
    segment(folder).write_bytes(data)
    again = Wal(folder)
    found = payloads(again)
    assert 2 <= len(found) == 3 - min(1, again.stats.damaged + again.stats.torn)
    assert set(found) <= {f"request {number}".encode() for number in range(3)}
    again.close()


def test_payloads_cannot_pass_for_records(tmp_path: Path) -> None:
    """A request that holds the bytes of another log is one request, even if its own frame is damaged."""
    filled(tmp_path / "other").close()
    foreign = segment(tmp_path / "other").read_bytes()
    wal = Wal(tmp_path / "wal")
    wal.append("traces", "protobuf", foreign, [A])
    wal.append("traces", "protobuf", b"after", [B])
    wal.close()
    data = bytearray(segment(tmp_path / "wal").read_bytes())
    data[30] ^= 0xFF
    segment(tmp_path / "wal").write_bytes(data)
    again = Wal(tmp_path / "wal")
    assert ([b"after"], 1) == (payloads(again), again.stats.damaged)
    again.close()


def test_a_file_that_is_no_segment_is_set_aside(tmp_path: Path) -> None:
    """Something else of the same name is kept under another, and counted."""
    (tmp_path / "000000000001.wal").write_bytes(b"not a log at all, but long enough")
    wal = Wal(tmp_path)
    assert ([], 1) == (payloads(wal), wal.stats.damaged)
    assert (tmp_path / "000000000001.broken").exists()
    wal.close()


def test_marks_survive(tmp_path: Path) -> None:
    """What was done, how, and under which revision is known after a restart; a later request makes a trace undone."""
    wal = filled(tmp_path)
    wal.mark(A, "scored", 2, 1)
    wal.mark(B, "handed_off", 0, 2)
    wal.append("traces", "protobuf", b"more", [A])
    wal.close()
    again = Wal(tmp_path)
    mark = again.mark_of(A)
    assert mark is not None
    assert ("scored", 2, False) == (mark.how, mark.revision, again.is_done(A))
    assert [True, False] == [again.is_done(B), again.is_done(C)]
    assert [b"request 0", b"request 2", b"more"] == payloads(again)
    again.close()


def test_settled_segments_are_deleted(tmp_path: Path) -> None:
    """A file is deleted when all its traces are done and released, and not before."""
    wal = Wal(tmp_path, segment_bytes=64)
    for trace in (A, B, C):
        wal.append("traces", "protobuf", b"x" * 60, [trace])
    first, second, third = sorted(tmp_path.glob("*.wal"))
    wal.mark(A, "scored", 1, 1)
    assert first.exists()
    wal.release(A)
    assert [False, True] == [first.exists(), second.exists()]
    wal.release(B)
    assert second.exists()
    wal.mark(B, "scored", 1, 2)
    assert [False, True] == [second.exists(), third.exists()]
    assert wal.bytes == sum(path.stat().st_size for path in tmp_path.glob("*.wal"))
    wal.close()


def test_a_full_log_refuses(tmp_path: Path) -> None:
    """Past its bound it takes no more, and takes again when traces are done."""
    wal = Wal(tmp_path, max_bytes=1000, segment_bytes=300)
    for number in range(1, 7):
        wal.append("traces", "protobuf", b"x" * 100, [bytes([number]) * 16])
    with pytest.raises(WalFullError):
        wal.append("traces", "protobuf", b"x" * 200, [C])
    assert 1000 >= sum(path.stat().st_size for path in tmp_path.glob("*.wal"))
    for done in range(1, 7):
        wal.mark(bytes([done]) * 16, "scored", 1, done)
        wal.release(bytes([done]) * 16)
    wal.append("traces", "protobuf", b"x" * 100, [C])
    wal.close()


def test_a_long_trace_does_not_keep_the_log(tmp_path: Path) -> None:
    """What one open trace needs of an old file is moved, with what was said of others; it all survives a restart."""
    wal = Wal(tmp_path, max_bytes=8000, segment_bytes=1000)
    wal.append("traces", "protobuf", b"long", [A, B])
    wal.mark(B, "scored", 3, 1)
    wal.release(B)
    for number in range(10, 200):
        trace = bytes([number]) * 16
        seq = wal.append("traces", "protobuf", b"x" * 300, [trace])
        wal.mark(trace, "scored", 1, seq)
        wal.release(trace)
        wal.keep_up()
    assert wal.bytes < 6000
    assert wal.stats.moved >= 1
    wal.close()
    again = Wal(tmp_path)
    assert b"long" in payloads(again)
    mark = again.mark_of(B)
    assert mark is not None
    assert (3, True, False) == (mark.revision, again.is_done(B), again.is_done(A))
    again.close()


def test_a_folder_is_of_one_process(tmp_path: Path) -> None:
    """A second process is told which one has the folder, and what to do; after the first one's end it gets it."""
    wal = filled(tmp_path)
    code = f"from pathlib import Path\nfrom spanwise.service.wal import Wal\nWal(Path({str(tmp_path)!r}))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert f"is in use by process {os.getpid()}; give each process a folder of its own" in ended.stderr
    wal.close()
    assert 0 == subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False).returncode


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A log whose folder is gone raises its own error and says why; it goes on when the folder is back."""
    wal = Wal(tmp_path / "wal", segment_bytes=64)
    wal.append("traces", "protobuf", b"x" * 60, [A])
    for path in (tmp_path / "wal").iterdir():
        path.unlink()
    (tmp_path / "wal").rmdir()
    with pytest.raises(WalError, match="cannot be written"):
        wal.append("traces", "protobuf", b"x", [B])
    assert wal.broken
    (tmp_path / "wal").mkdir()
    wal.append("traces", "protobuf", b"x", [B])
    assert "" == wal.broken
    wal.close()


def test_what_is_written_in_part_is_taken_back(tmp_path: Path) -> None:
    """Where the system takes a part of a request only, the log says so and goes on whole: nothing of it is torn."""
    code = (
        "import resource, sys; from pathlib import Path; from spanwise.service.wal import Wal, WalError\n"
        "wal = Wal(Path(sys.argv[1])); wal.append('traces', 'protobuf', b'a' * 5000, [b'1' * 16])\n"
        "had = resource.getrlimit(resource.RLIMIT_FSIZE); resource.setrlimit(resource.RLIMIT_FSIZE, (8000, had[1]))\n"
        "try: wal.append('traces', 'protobuf', b'b' * 5000, [b'2' * 16])\n"
        "except WalError as error: print(error)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, had); wal.append('traces', 'protobuf', b'c' * 5000, [b'3' * 16])\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "cannot be written: File too large" in ended.stdout
    wal = Wal(tmp_path)
    assert [b"a" * 5000, b"c" * 5000] == [entry.payload for entry in wal.entries()]
    assert (0, 0) == (wal.stats.torn, wal.stats.damaged)
    wal.close()


def test_a_place_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    """A file where the folder should be is named in one sentence."""
    (tmp_path / "wal").write_text("a file")
    with pytest.raises(WalError, match="cannot be opened"):
        Wal(tmp_path / "wal")
