"""Every built-in has its file, its line in the table, its test and its page."""

import importlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from spanwise import extensions
from spanwise.catalog import SinkEntry
from spanwise.delivery import level_of

# Kind of built-in -> its folder, and its table in spanwise.catalog. Kinds to come are checked when there.
CATALOGUED = {"evaluators": "EVALUATORS", "sources": "SOURCES", "sinks": "SINKS"}
# Files of evaluators/ that are no row of that table: a profile of their own, and what weighs scores into one.
BESIDE = {"classic": "CLASSIC", "overall": "PROFILES"}


def stems(folder: Path) -> list[str]:
    """The public modules of a package."""
    return sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))


def of_module(module: ModuleType, rows: Iterable[object]) -> bool:
    """True when a row of the table is, or was defined by, the module."""
    own = [value for name, value in vars(module).items() if not name.startswith("__")]
    return any(row is module or any(row is value for value in own) for row in rows)


def rows_of(table: object) -> list[object]:
    """The entries of a table, be it a mapping or a sequence; of an entry that is loaded by its path, what it names."""
    if isinstance(table, Mapping):
        return [made_by(row) for row in table.values()]
    assert isinstance(table, Iterable)
    return list(table)


def made_by(row: object) -> object:
    """What an entry makes: the class whose method it may name, where it is a path."""
    if not isinstance(row, SinkEntry):
        return row
    module, _, name = row.path.partition(":")
    return getattr(importlib.import_module(module), name.partition(".")[0])


def file_of(kind: str, name: str, row: object) -> str:
    """The file of a built-in, from the package's folder: named by its entry, else by its kind and its name."""
    return (
        f"{row.path.partition(':')[0].partition('.')[2].replace('.', '/')}.py"
        if isinstance(row, SinkEntry)
        else f"{kind}/{name}.py"
    )


def headings(page: Path) -> set[str]:
    """The headings of a page, in lower case and without marks."""
    lines = page.read_text(encoding="utf-8").splitlines() if page.is_file() else []
    return {re.sub(r"[`*#]", "", line).strip().lower() for line in lines if line.startswith("#")}


def described(kind: str, name: str, *, root: Path) -> bool:
    """True when the built-in has a page of its own, or a section on the page of its kind."""
    docs = root / "docs"
    return (docs / kind / f"{name}.md").is_file() or name in headings(docs / f"{kind}.md")


def has_test(kind: str, name: str, *, root: Path) -> bool:
    """True when the built-in has its test module."""
    return (root / "tests" / kind / f"test_{name}.py").is_file()


def is_tested(file: str, *, root: Path) -> bool:
    """True when a file of the package has its test module: `store/sink.py` has `tests/store/test_sink.py`."""
    folder, _, name = file.rpartition("/")
    return has_test(folder, name.removesuffix(".py"), root=root)


def kinds_present(root: Path) -> list[str]:
    """The kinds of built-ins whose package is there."""
    return [kind for kind in CATALOGUED if (root / "src" / "spanwise" / kind / "__init__.py").is_file()]


def test_conventions_are_in_their_table(root: Path) -> None:
    """Each file of conventions/ has a line in CONVENTIONS, and the table nothing else but the generic dialect."""
    from spanwise.conventions import CONVENTIONS

    names = stems(root / "src" / "spanwise" / "conventions")
    modules = {name: importlib.import_module(f"spanwise.conventions.{name}") for name in names}
    rows = rows_of(CONVENTIONS)
    assert [] == [name for name, module in modules.items() if not of_module(module, rows)]
    generic = importlib.import_module("spanwise.conventions._genai")
    assert [] == [row for row in rows if not any(of_module(module, [row]) for module in (*modules.values(), generic))]


def test_conventions_are_described(root: Path) -> None:
    """Each convention of the table has its page under docs/conventions."""
    from spanwise.conventions import CONVENTIONS

    pages = root / "docs" / "conventions"
    assert [] == [row.name for row in CONVENTIONS if not (pages / f"{row.name}.md").is_file()]


def test_conventions_are_tested(root: Path) -> None:
    """Each file of conventions/ has its test module."""
    names = stems(root / "src" / "spanwise" / "conventions")
    assert [] == [name for name in names if not has_test("conventions", name, root=root)]


@pytest.mark.parametrize("kind", CATALOGUED)
def test_built_ins_are_in_the_catalogue(root: Path, kind: str) -> None:
    """Each file of evaluators/, sources/ and sinks/ has a line in the catalogue."""
    from spanwise import catalog

    names = stems(root / "src" / "spanwise" / kind) if kind in kinds_present(root) else []
    rows = rows_of(getattr(catalog, CATALOGUED[kind])) if names else []
    names = [name for name in names if kind != "evaluators" or name not in BESIDE]
    modules = {name: importlib.import_module(f"spanwise.{kind}.{name}") for name in names}
    assert [] == [name for name, module in modules.items() if not of_module(module, rows)]


@pytest.mark.parametrize("kind", CATALOGUED)
def test_catalogued_names_have_a_file_a_test_and_a_page(root: Path, kind: str) -> None:
    """Each name of a catalogue table has its file, its test module and its page."""
    from spanwise import catalog

    table = getattr(catalog, CATALOGUED[kind], {}) if kind in kinds_present(root) else {}
    assert isinstance(table, Mapping)
    lacking = {
        name: (with_file, with_test, with_page)
        for name, row in table.items()
        if not all(
            (
                with_file := (root / "src" / "spanwise" / (file := file_of(kind, name, row))).is_file(),
                with_test := is_tested(file, root=root),
                with_page := described(kind, name, root=root),
            )
        )
    }
    assert {} == lacking


@pytest.mark.parametrize("name", BESIDE)
def test_what_stands_beside_the_table_is_used_described_and_tested(root: Path, name: str) -> None:
    """A file of evaluators/ that is no row is used by a table of its own, and has its page and its test module."""
    from spanwise import catalog

    module = importlib.import_module(f"spanwise.evaluators.{name}")
    rows = rows_of(getattr(catalog, BESIDE[name]))
    used = [*rows, *(type(getattr(row, "overall", None)) for row in rows)]
    assert of_module(module, used)
    assert described("evaluators", name, root=root)
    assert has_test("evaluators", name, root=root)


def test_sinks_are_sinks() -> None:
    """Each line of the table of sinks leads to a class with `emit` and `close`, and to what makes its values."""
    from spanwise.catalog import SINKS

    assert [] == [name for name, row in SINKS.items() if not extensions.is_sink(made_by(row))]
    assert [] == [name for name, row in SINKS.items() if not callable(extensions.load_sink(row.path))]


def test_sinks_say_what_they_let_out() -> None:
    """A sink that lets content out by default says so; all others let out none."""
    from spanwise.catalog import SINKS

    said = {name: getattr(made_by(row), "emits", None) for name, row in SINKS.items()}
    local = {"log", "console", "callback", "jsonl", "store"}
    assert {} == {name: level for name, level in said.items() if name not in local and level not in {None, "none"}}
    assert ["all"] * 3 == [level_of(made_by(SINKS[name])()) for name in ("log", "console", "jsonl")]


def test_there_are_built_ins(root: Path) -> None:
    """The checks above look at something: there are conventions, evaluators and sources."""
    from spanwise import catalog
    from spanwise.conventions import CONVENTIONS

    assert {"evaluators", "sources"} <= set(kinds_present(root))
    assert all(len(rows) > 1 for rows in (CONVENTIONS, catalog.EVALUATORS, catalog.SOURCES))
