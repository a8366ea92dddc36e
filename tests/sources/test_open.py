"""Opening inputs: compression is told by the bytes, and what expands without end is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from spanwise import sources
from spanwise.errors import SourceError
from spanwise.sources import Limits
from tests.sources.otlp import Outcome, json_document, made

TEXT = json.dumps(json_document([made("one")])).encode()


def zstd(content: bytes) -> bytes:
    """The content compressed with zstd."""
    import zstandard

    return zstandard.ZstdCompressor().compress(content)


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_compressed_files(pack: object) -> None:
    """A compressed file reads as the plain one does, whatever its name."""
    assert callable(pack)
    assert ["one"] == Outcome(pack(TEXT)).names


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_bomb_is_refused(pack: object) -> None:
    """A file that expands beyond the ratio is one error that names it, however small it is."""
    assert callable(pack)
    outcome = Outcome(pack(b" " * 50_000_000 + TEXT), limits=Limits(ratio_free_bytes=1_000_000))
    assert ([], 1) == (outcome.names, len(outcome.messages))
    assert "made" in outcome.messages[0]


def test_cut_gzip() -> None:
    """Compressed data that end in the middle are one error."""
    assert 1 == len(Outcome(gzip.compress(TEXT)[:-20]).messages)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A path that leads nowhere is one error that names it."""
    with pytest.raises(SourceError, match=r"gone\.json"):
        list(sources.read(tmp_path / "gone.json"))


def test_an_empty_file(tmp_path: Path) -> None:
    """An empty file is one error."""
    path = tmp_path / "empty.json"
    path.touch()
    with pytest.raises(SourceError, match="empty"):
        list(sources.read(path))


def test_progress_is_told(tmp_path: Path) -> None:
    """Whoever asks is told how many bytes were read, up to the file's size."""
    path = tmp_path / "one.json"
    path.write_bytes(TEXT)
    told: list[int] = []
    list(sources.read(path, on_progress=told.append))
    assert told[-1] == len(TEXT)
