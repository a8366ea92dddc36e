"""Size, names and leftovers: the budgets that no linter checks."""

import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

FILE_LINES = 400
# Tables of data may be longer; each with the reason.
LONGER: Mapping[str, str] = {}
VAGUE = {"base", "bases", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
# Spelt in halves, so that this file does not find itself.
LEFTOVER = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b")
IGNORE = re.compile(r"#\s*(?:type|pyright):\s*ignore")
GOOD_IGNORE = re.compile(r"# (?:type|pyright): ignore\[[a-zA-Z-]+(?:, [a-zA-Z-]+)*\]  # \w+")


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """The comments of a file, each with its line."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def mirror_of(module: Path, *, tests: Path) -> Path:
    """Where the tests of a module are: `model/trace.py` has `tests/model/test_trace.py`."""
    return tests / module.parent / f"test_{module.stem.lstrip('_')}.py"


def test_files_are_short(python_files: Sequence[Path], root: Path) -> None:
    """No Python file is longer than 400 lines, tables of data excepted by name."""
    lengths = {
        path.relative_to(root).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files
    }
    too_long = {name: lines for name, lines in lengths.items() if lines > FILE_LINES and name not in LONGER}
    assert {} == too_long


def test_exceptions_to_the_length_are_needed(root: Path) -> None:
    """Every table of data that may be longer is there and is longer."""
    needless = [
        name
        for name in LONGER
        if not (root / name).is_file() or len((root / name).read_text(encoding="utf-8").splitlines()) <= FILE_LINES
    ]
    assert [] == needless


def test_ignores_say_what_and_why(python_files: Sequence[Path], root: Path) -> None:
    """A type ignore names its rule and gives its reason."""
    bare = [
        f"{path.relative_to(root)}:{line}"
        for path in python_files
        for line, comment in comments(path)
        if IGNORE.search(comment) and not GOOD_IGNORE.search(comment)
    ]
    assert [] == bare


def test_nothing_is_left_for_later(files: Sequence[Path], root: Path) -> None:
    """No file holds a note of work to do."""
    texts = (path for path in files if path.suffix in {".py", ".md", ".toml", ".in", ".yaml", ".yml", ""})
    left = [
        f"{path.relative_to(root)}:{number}"
        for path in texts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if LEFTOVER.search(line)
    ]
    assert [] == left


def test_names_say_what_a_module_is_for(python_files: Sequence[Path], root: Path) -> None:
    """No module or package is named for being useful."""
    named = {path.relative_to(root) for path in python_files}
    vague = [path.as_posix() for path in named if VAGUE & {part.strip("_") for part in path.with_suffix("").parts}]
    assert [] == vague


def test_modules_have_tests(root: Path) -> None:
    """The tests mirror the core file for file: each module from model to fleet has its test module."""
    package = root / "src" / "spanwise"
    modules = [package / f"{name}.py" for name in ("errors", "text", "pricing", "stats", "run", "fleet")]
    for folder in ("model", "conventions", "grounding", "assembly", "evaluators"):
        modules += sorted((package / folder).glob("*.py"))
    untested = [
        module.relative_to(package).as_posix()
        for module in modules
        if module.name != "__init__.py" and not mirror_of(module.relative_to(package), tests=root / "tests").is_file()
    ]
    assert [] == untested
