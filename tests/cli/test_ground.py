"""`spanwise ground`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import spanwise

ANSWER = "The tower is 342 metres high. It was built in 1889. Do you want more?"
PAGE = "The tower is 324 metres high and was built in 1889."


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """An answer and a page."""
    answer, page = tmp_path / "answer.md", tmp_path / "page.txt"
    answer.write_text(ANSWER, encoding="utf-8")
    page.write_text(PAGE, encoding="utf-8")
    return answer, page


def test_table(files: tuple[Path, Path]) -> None:
    """Each claim has its verdict and the passage behind it; the score stands below."""
    answer, page = files
    done = spanwise("ground", "--answer", answer, "--evidence", page, "--width", "200")
    assert (0, "") == (done.code, done.err)
    assert [word in done.out for word in ("contradicted", "supported", "not checkable", "324 metres")] == [True] * 4
    assert "grounding 0.33" == done.out.splitlines()[-1]


def test_json(files: tuple[Path, Path]) -> None:
    """JSON tells the places of claims and quotes."""
    answer, page = files
    done = spanwise("ground", "--answer", answer, "--evidence", page, "--format", "json")
    told = json.loads(done.out)
    assert ("spanwise.ground/1", 1 / 3, True) == (told["schema"], told["value"], told["complete"])
    first, _, last = told["claims"]
    assert ("contradicted", {"source": str(page), "quote": PAGE, "start": 0, "end": len(PAGE)}) == (
        first["verdict"],
        first["evidence"],
    )
    assert ("not_checkable", "a question", None) == (last["verdict"], last["reason"], last["evidence"])


def test_standard_input(files: tuple[Path, Path]) -> None:
    """The answer, or one piece of evidence, may come from standard input, but not both."""
    answer, page = files
    for arguments, given in ((("-", page), ANSWER), ((answer, "-"), PAGE)):
        done = spanwise("ground", "--answer", arguments[0], "--evidence", arguments[1], stdin=given.encode())
        assert "grounding 0.33" in done.out
    twice = spanwise("ground", "--answer", "-", "--evidence", "-")
    assert (2, True) == (twice.code, "standard input can be read once" in twice.err)


def test_unreadable_evidence(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Evidence that cannot be read is one line on standard error and exit 2; the rest is used."""
    answer, page = files
    odd = tmp_path / "odd.bin"
    odd.write_bytes(b"ab\xff")
    done = spanwise("ground", "--answer", answer, "--evidence", page, "--evidence", odd, "--evidence", tmp_path / "no")
    assert (2, True) == (done.code, "grounding 0.33" in done.out)
    assert [
        f"error: {odd}: is no UTF-8 text, at byte 2",
        f"error: {tmp_path / 'no'}: cannot be read: No such file or directory",
    ] == done.err.splitlines()


def test_unreadable_answer(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Without an answer there is nothing to do."""
    done = spanwise("ground", "--answer", tmp_path / "no", "--evidence", files[1])
    assert (2, "") == (done.code, done.out)


def test_nothing_to_check(files: tuple[Path, Path], tmp_path: Path) -> None:
    """An answer without claims says so; very many claims are cut, and that is said."""
    path = tmp_path / "hello.txt"
    path.write_text("", encoding="utf-8")
    assert "nothing to check\n" == spanwise("ground", "--answer", path, "--evidence", files[1]).out
    path.write_text("It was built in 1889. " * 300, encoding="utf-8")
    assert "only the first 200 claims were judged" in spanwise("ground", "--answer", path, "--evidence", files[1]).out
