"""Opening inputs: compression is told by the bytes, and what is broken or expands without end is refused."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from spanwise import sources
from spanwise.errors import SourceError
from spanwise.sources import Limits
from spanwise.sources._open import HEAD_BYTES, Input, from_stream, open_input
from tests.sources.otlp import Named, Outcome, json_document, made

TEXT = json.dumps(json_document([made("one")])).encode()
PACKS = [gzip.compress, zstandard.compress]


def expanded(content: bytes, *, limits: Limits | None = None) -> tuple[bytes, str]:
    """All that can be read of the content, and the error that ended it."""
    data = from_stream(Named(content), name="made", limits=limits or Limits())
    parts: list[bytes] = []
    try:
        while chunk := data.read_chunk():
            parts.append(chunk)
    except SourceError as failure:
        return b"".join(parts), str(failure)
    return b"".join(parts), ""


# Compression


@pytest.mark.parametrize("pack", PACKS)
def test_compressed_files(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """A compressed file reads as the plain one does, whatever its name."""
    path = tmp_path / "spans.json"
    path.write_bytes(pack(TEXT))
    assert ["one"] == [span.name for span in sources.read(path)]


@pytest.mark.parametrize("pack", PACKS)
def test_several_members_are_one_file(pack: Callable[[bytes], bytes]) -> None:
    """What was compressed piece by piece, as rotating writers do, is read to its end."""
    assert (b"one two three", "") == expanded(pack(b"one ") + pack(b"") + pack(b"two ") + pack(b"three"))


def test_zeros_behind_gzip_are_padding() -> None:
    """Blocks of zeros that some tapes and copiers leave behind gzip data are no data."""
    assert (TEXT, "") == expanded(gzip.compress(TEXT) + bytes(512))


def test_skippable_zstd_frames_are_skipped() -> None:
    """A frame that holds no data, as seekable zstd files end with, is passed over."""
    frame = b"\x50\x2a\x4d\x18\x04\x00\x00\x00data"
    assert (TEXT, "") == expanded(zstandard.compress(TEXT) + frame)


@pytest.mark.parametrize(
    ("pack", "message"),
    [
        (gzip.compress, "the file ends in the middle of its gzip data"),
        (zstandard.compress, "the file ends in the middle of its zstd data"),
    ],
)
def test_a_cut_file_gives_what_came_before(pack: Callable[[bytes], bytes], message: str) -> None:
    """Of compressed data that end in the middle, what can be had is read, then the error tells of it."""
    content = pack(TEXT) + pack(TEXT)[:-20]
    got, error = expanded(content)
    assert TEXT == got[: len(TEXT)]
    assert f"made, byte {len(content)} of the compressed file: {message}" == error


@pytest.mark.parametrize("pack", PACKS)
def test_broken_data_are_one_error(pack: Callable[[bytes], bytes]) -> None:
    """Compressed data that are damaged within are one error that names the file."""
    content = bytearray(pack(bytes(range(256)) * 500))
    content[10:20] = b"\xff" * 10
    _, error = expanded(bytes(content))
    assert error.startswith("made, byte ")
    assert " data are broken: " in error


def test_spans_before_a_cut_are_given() -> None:
    """Lines that were whole before the compressed data break off are given, and the error follows."""
    lines = b"".join(json.dumps(json_document([made(f"{i}")])).encode() + b"\n" for i in range(2000))
    packed = gzip.compress(lines)
    outcome = Outcome(packed[: len(packed) // 2])
    assert 500 < len(outcome.records) < 2000
    assert "the file ends in the middle of its gzip data" == outcome.failure.message


@pytest.mark.parametrize("pack", PACKS)
def test_a_bomb_is_refused(pack: Callable[[bytes], bytes]) -> None:
    """A file that expands beyond the ratio is one error that names it, and memory stays small."""
    bomb = pack(TEXT + b" " * 100_000_000)
    tracemalloc.start()
    try:
        outcome = Outcome(bomb, limits=Limits(ratio_free_bytes=1_000_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [] == outcome.errors
    assert outcome.failure.message.startswith("the file expands to more than 250 times its size, as a bomb does;")
    assert ("made", True) == (outcome.failure.source, peak < 80_000_000)


def test_what_compresses_well_is_no_bomb() -> None:
    """Below the size that is free of suspicion, the ratio does not matter."""
    assert b" " * 5_000_000 == expanded(gzip.compress(b" " * 5_000_000))[0]


def test_a_total_beyond_the_limit_is_refused() -> None:
    """However well it compresses, a file may not expand beyond the total."""
    _, error = expanded(gzip.compress(TEXT * 5000, 1), limits=Limits(expanded_bytes=100_000))
    assert "the file expands to more than 100,000 bytes; decompress it first if you trust it" in error


def test_a_window_beyond_memory_is_refused() -> None:
    """Zstd data that would need a window of gigabytes are an error, not an allocation."""
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=30, write_content_size=False)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    _, error = expanded(packer.compress(TEXT) + packer.flush())
    assert "the zstd data are broken: " in error


def test_zstd_is_not_needed_until_it_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package for zstd, the error says what to install."""
    packed = zstandard.compress(TEXT)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert "reading zstd needs the package zstandard: pip install 'spanwise[cli]'" in expanded(packed)[1]


# Reading


steps = st.tuples(st.sampled_from(["peek", "read", "chunk"]), st.integers(0, 50))


@given(sizes=st.lists(steps, max_size=12), piece=st.integers(1, 40))
def test_every_byte_is_given_once_and_in_order(sizes: list[tuple[str, int]], piece: int) -> None:
    """In whatever pieces they are looked at and read, the bytes come once and in order; the offset counts them."""
    content = bytes(range(200))
    data = Input(iter([content[at : at + piece] for at in range(0, 200, piece)]), name="made")
    got = b""
    for how, size in sizes:
        if how == "peek":
            assert content[len(got) : len(got) + size] == data.peek(size)
        elif how == "read":
            taken = data.read(size)
            assert content[len(got) : len(got) + size] == taken
            got += taken
        else:
            got += data.read_chunk()
        assert (content[: len(got)], len(got)) == (got, data.offset)
    assert content[len(got) :] == data.read_all(at_most=200)


def test_a_whole_file_may_be_too_much() -> None:
    """A format that must be read as a whole has a limit, and the error says so."""
    with pytest.raises(SourceError, match="the file is larger than 3 bytes, which is the limit for its format"):
        from_stream(io.BytesIO(b"four"), name="made").read_all(at_most=3)


class OneWay(io.BytesIO):
    """A stream that cannot go back, as a pipe."""

    def seekable(self) -> bool:
        """Whether it can."""
        return False


class Failing(io.BytesIO):
    """A stream that fails once it goes back."""

    def tell(self) -> int:
        """Where it is: not to be told."""
        raise OSError("gone")


@pytest.mark.parametrize("stream", [io.BytesIO, OneWay])
@pytest.mark.parametrize("passed", [0, 3, 70_000])
def test_all_of_a_large_input(stream: type[io.BytesIO], passed: int) -> None:
    """Of an input of several pieces everything that is left can be read at once, from wherever it began."""
    content = random.Random(5).randbytes(3_000_000)
    source = stream(b"before" + content)
    source.read(6)
    told: list[int] = []
    data = from_stream(source, name="made", on_progress=told.append)
    assert content[:passed] == data.peek(64 * 1024 + passed)[:passed]
    data.read(passed)
    assert content[passed:] == data.read_all(at_most=3_000_000)
    assert (3_000_000, b"") == (data.offset, data.read_chunk())
    assert 3_000_000 == told[-1]


@pytest.mark.parametrize("stream", [io.BytesIO, OneWay])
def test_all_of_an_input_that_is_too_large(stream: type[io.BytesIO]) -> None:
    """An input of several pieces that is larger than it may be is refused, and can still be read piece by piece."""
    data = from_stream(stream(bytes(3_000_000)), name="made")
    data.peek(10)
    if stream is io.BytesIO:
        assert data._again(2_999_999) == b""
        assert 3_000_000 == sum(map(len, iter(data.read_chunk, b"")))
        data = from_stream(stream(bytes(3_000_000)), name="made")
        data.peek(10)
    with pytest.raises(SourceError, match="the file is larger than 2,999,999 bytes"):
        data.read_all(at_most=2_999_999)


def test_a_large_input_that_cannot_be_read_again() -> None:
    """A stream that fails on the way back is an error that says so."""
    data = from_stream(Failing(bytes(3_000_000)), name="made")
    data.peek(10)
    with pytest.raises(SourceError, match="the file cannot be read: gone"):
        data.read_all(at_most=3_000_000)


@pytest.mark.parametrize(("size", "read"), [(1 << 20, 1 << 20), ((1 << 20) + 1, HEAD_BYTES)])
def test_what_is_read_of_a_file_to_tell_its_format(tmp_path: Path, size: int, read: int) -> None:
    """A file is read at once, or little of it where it is large; in the end all of it is there."""
    content = random.Random(size).randbytes(size)
    path = tmp_path / "one"
    path.write_bytes(content)
    with open_input(path) as data:
        assert content[:10] == data.peek(10)
        assert read == len(data._ready)
        assert content == data.read_all(at_most=size)


def test_looking_ahead_does_not_raise() -> None:
    """A failure behind the first bytes is met by who reads on to it, not by who looks."""
    data = from_stream(Named(gzip.compress(b"good" * 9)[:-4]), name="made")
    assert b"good" == data.peek(100)[:4]
    with pytest.raises(SourceError, match="ends in the middle"):
        data.read(100)


# Files and streams


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash stands for standard input, compressed or not."""

    class Standard:
        buffer = io.BytesIO(gzip.compress(TEXT))

    monkeypatch.setattr(sys, "stdin", Standard())
    assert ["one"] == [span.name for span in sources.read("-")]


def test_a_stream_without_a_name() -> None:
    """An open stream is read as it is; without a name, messages call it a stream."""
    assert ["one"] == [span.name for span in sources.read(io.BytesIO(TEXT))]
    with pytest.raises(SourceError, match=r"^stream: the file is empty$"):
        list(sources.read(io.BytesIO()))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A path that leads nowhere is one error that names it."""
    with pytest.raises(SourceError, match=r"gone\.json: the file cannot be opened: No such file or directory"):
        list(sources.read(tmp_path / "gone.json"))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """A folder is one error that says so."""
    with pytest.raises(SourceError, match="the file cannot be opened: Is a directory"):
        list(sources.read(tmp_path))


def test_a_name_that_cannot_be() -> None:
    """A name that no file can have is one error."""
    with pytest.raises(SourceError, match="the file cannot be opened: embedded null byte"):
        list(sources.read("a\0b"))


def test_a_disk_that_fails() -> None:
    """A file that cannot be read on is one error."""

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 3:
                raise OSError(5, "Input/output error")
            return super().read(size)

    with pytest.raises(SourceError, match="the file cannot be read: Input/output error"):
        list(sources.read(Failing(b'{"resourceSpans": [')))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_progress_is_told(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """Whoever asks is told how many bytes of the file were read, up to its size and never backwards."""
    path = tmp_path / "one.json"
    noise = random.Random(1)  # does not compress, so that there is something to tell
    spans = [made(attributes={"noise": noise.randbytes(10_000)}) for _ in range(300)]
    path.write_bytes(pack(json.dumps(json_document(spans)).encode()))
    told: list[int] = []
    list(sources.read(path, on_progress=told.append))
    assert (sorted(told), path.stat().st_size) == (told, told[-1])
    assert len(told) > 1


def test_files_are_closed(tmp_path: Path) -> None:
    """A file is closed when its reading ends, also where it ends early."""
    path = tmp_path / "one.json"
    path.write_bytes(TEXT)
    reading = sources.read(path)
    next(reading)
    reading.close()
    with open_input(path) as data:
        assert TEXT == data.read_all(at_most=10_000)
