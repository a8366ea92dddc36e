"""Naming inputs and reading them: what paths stand for, what is skipped, how errors and counts come out."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from spanwise import sources
from spanwise.errors import SourceError
from spanwise.model.raw import RawSpan
from spanwise.sources import SOURCES, Tally
from tests.sources.otlp import Outcome, dump, edited, json_document, made

SPANS = dump(json_document([made("one")]))
CUT = gzip.compress(SPANS, mtime=0)[:12]


class Expanded:
    """What paths stand for, and what was told meanwhile."""

    def __init__(self, *paths: str | Path) -> None:
        self.errors: list[str] = []
        self.skipped: list[list[str]] = []
        self.files = sources.expand(
            paths,
            on_error=lambda error: self.errors.append(str(error)),
            on_skip=lambda files: self.skipped.append(list(files)),
        )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of traces and other things, as the current one."""
    for name in ("b.json", "a/z.jsonl", "a/c.json.gz", ".hidden.json", ".git/x.json", "a/.secret/y.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(SPANS) if name.endswith(".gz") else SPANS)
    (tmp_path / "README.md").write_text("About these traces.\n")
    (tmp_path / "a" / "empty.json").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Naming


def test_a_folder_stands_for_what_is_below_it(folder: Path) -> None:
    """A folder is searched to its depth in sorted order; hidden files are passed over, unknown ones told once."""
    found = Expanded(".")
    assert ["b.json", "a/c.json.gz", "a/z.jsonl"] == found.files
    assert ([["README.md", "a/empty.json"]], []) == (found.skipped, found.errors)


def test_patterns_stand_for_what_they_match(folder: Path) -> None:
    """Patterns are matched, also across folders and to folders, without hidden files."""
    assert ["a/z.jsonl", "b.json"] == Expanded("**/*.json*").files[1:]
    assert ["a/c.json.gz", "a/z.jsonl"] == Expanded("a*").files
    assert [str(folder / "b.json")] == Expanded(folder / "[b].json").files


def test_a_file_stands_for_itself(folder: Path) -> None:
    """A file that is named is taken, hidden or of no known format as it may be."""
    found = Expanded("README.md", ".hidden.json")
    assert (["README.md", ".hidden.json"], [], []) == (found.files, found.skipped, found.errors)


def test_a_name_with_pattern_characters_is_a_name_first(folder: Path) -> None:
    """A file that is called like a pattern is that file."""
    (folder / "b[1].json").write_bytes(SPANS)
    assert ["b[1].json"] == Expanded("b[1].json").files


def test_each_file_is_taken_once(folder: Path) -> None:
    """A file that is named in several ways is read once."""
    (folder / "link.json").symlink_to(folder / "b.json")
    found = Expanded("b.json", "./b.json", str(folder / "b.json"), "a", "a/z.jsonl", "*.json", "-", "-")
    assert ["b.json", "a/c.json.gz", "a/z.jsonl", "-"] == found.files


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("phoenix://project", "phoenix://project: this is an address, not a file; export the traces to a file first"),
        ("https://example.org/x.json", "this is an address, not a file; export the traces to a file first"),
        ("gone.json", "gone.json: there is no such file or folder"),
        ("*.nothing", "*.nothing: the pattern holds no file"),
        ("docs", "docs: the folder holds no file"),
        ("notes", "notes: the folder holds no file of a known format"),
        ("b.*", "b.*: the pattern holds no file that is not named already"),
    ],
)
def test_paths_that_stand_for_nothing(folder: Path, path: str, message: str) -> None:
    """An address, a missing file, and a folder or pattern without traces are each one error; the others are taken."""
    (folder / "docs").mkdir()
    (folder / "notes").mkdir()
    (folder / "notes" / "read.me").write_text("No spans are here.")
    found = Expanded("b.json", path)
    assert (["b.json"], 1, True) == (found.files, len(found.errors), found.errors[0].endswith(message))
    with pytest.raises(SourceError):
        sources.expand(["b.json", path])


def test_a_broken_file_in_a_folder_is_an_error(folder: Path) -> None:
    """A compressed file that cannot even be looked at is told as an error, not as skipped."""
    (folder / "a" / "cut.gz").write_bytes(CUT)
    found = Expanded("a")
    assert (["a/c.json.gz", "a/z.jsonl"], [["a/empty.json"]]) == (found.files, found.skipped)
    assert ["a/cut.gz, byte 12 of the compressed file: the file ends in the middle of its gzip data"] == found.errors


def test_what_is_no_regular_file_is_passed_over(folder: Path) -> None:
    """Links that lead nowhere are no files."""
    (folder / "a" / "dangling.json").symlink_to(folder / "gone")
    assert ["a/c.json.gz", "a/z.jsonl"] == Expanded("a").files


# Reading


def test_the_table_names_each_format_once() -> None:
    """Each source has a name and a title of its own."""
    names, titles = [source.name for source in SOURCES], [source.title for source in SOURCES]
    assert (len(names), len(titles)) == (len(set(names)), len(set(titles)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "made: the file is empty"),
        (b"hello", "made: the file is of no known format (TRAIL, OTLP JSON, "),
        (b"\x89PNG\r\n", "made: the file is of no known format (TRAIL, OTLP JSON, "),
        (
            CUT,
            "made, byte 12 of the compressed file: the file ends in the middle of its gzip data",
        ),
    ],
    ids=["empty", "text", "image", "cut"],
)
def test_what_cannot_be_read_is_one_error(content: bytes, message: str) -> None:
    """A file of no known format, or that cannot be looked at, raises one error that names it."""
    outcome = Outcome(content)
    assert ([], [], message) == (outcome.records, outcome.errors, str(outcome.failure)[: len(message)])


def test_without_a_listener_the_first_error_is_raised(tmp_path: Path) -> None:
    """Who does not ask to be told of errors gets the first one raised, and it is counted once."""
    path = tmp_path / "odd.json"
    path.write_bytes(dump(edited(lambda span: span.update(spanId="1")), json_document([made("last")])))
    tally = Tally()
    names: list[str] = []
    with pytest.raises(SourceError, match="is not 16 hexadecimal digits") as raised:
        names.extend(record.name for record in sources.read(path, tally=tally) if isinstance(record, RawSpan))
    assert (1, str(path), "line 1, $.resourceSpans[0].scopeSpans[0].spans[1].spanId") == (
        tally.refused,
        raised.value.source,
        raised.value.place,
    )


def test_counts_go_on_from_file_to_file() -> None:
    """One tally may count several files."""
    tally = Tally()
    for _ in range(2):
        outcome = Outcome(dump(edited(lambda span: span.update(kind=99))))
        assert {"span kind unknown: left unspecified": 1} == outcome.tally.repairs
    for path in (1, 2):
        content = dump(edited(lambda span: span.update(kind=99)))
        reading = sources.read(io.BytesIO(content), tally=tally)
        assert (3, path * 3) == (len(list(reading)), tally.kept)
    assert {"span kind unknown: left unspecified": 2} == tally.repairs


def test_every_recording_is_read(recordings: Path) -> None:
    """All recordings of a folder are read without an error or a repair."""
    tally = Tally()
    files = sources.expand([recordings])
    records = [record for file in files for record in sources.read(file, tally=tally)]
    assert (len(records), 0, {}, {}) == (tally.read, tally.refused, tally.ignored, tally.repairs)
    assert {path.name for path in recordings.glob("*.json") if not path.name.endswith(".facts.json")} == {
        Path(file).name for file in files
    }
