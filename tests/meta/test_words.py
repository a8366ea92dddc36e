"""No file of the project names the machine it was written on, or where its packages came from."""

import re
from collections.abc import Sequence
from pathlib import Path

# Spelt in pieces, so that this file does not find itself.
SLASH = "/"
MACHINE = re.compile(
    rf"(?<![\w.:{SLASH}-])(?:"
    + "|".join(
        (
            f"{SLASH}root{SLASH}",
            rf"{SLASH}home{SLASH}(?!me\b|user\b|you\b)\w+",
            rf"{SLASH}Users{SLASH}\w+",
            rf"{SLASH}work{SLASH}\w+",
            rf"{SLASH}tmp{SLASH}(?:w|venvs|bash_jobs)\b",
            r"[A-Z]:\\Users\\\w+",
        )
    )
    + ")"
)
INDEX = re.compile(
    "|".join((r"pypi\." + "org", "python" + "hosted", "--(?:extra-)?" + "index-url", "--find-" + "links"))
)


def found(pattern: re.Pattern[str], files: Sequence[Path], root: Path) -> list[str]:
    """Where the pattern occurs in the texts among the files."""
    hits: list[str] = []
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        hits += [f"{path.relative_to(root)}: {match.group()}" for match in pattern.finditer(text)]
    return hits


def test_no_machine_path(files: Sequence[Path], root: Path) -> None:
    """No file, recordings included, holds a path of the machine that it was made on."""
    assert [] == found(MACHINE, files, root)


def test_the_patterns_find_what_they_look_for() -> None:
    """A machine path is recognised at the start of a word and in quotes, a web address is not one."""
    examples = {
        f"see {SLASH}root{SLASH}x": True,
        f'"{SLASH}home{SLASH}alice{SLASH}x"': True,
        f"https:{SLASH}{SLASH}example.org{SLASH}home{SLASH}alice": False,
    }
    assert examples == {text: bool(MACHINE.search(text)) for text in examples}


def test_no_index_host(files: Sequence[Path], root: Path) -> None:
    """Packages come from wherever the machine is set to look: no file names a package index."""
    assert [] == found(INDEX, files, root)
