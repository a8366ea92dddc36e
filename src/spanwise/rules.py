"""Rules that users write: which tools a kind of query calls for, and what calls should not do.

    [[tool.spanwise.rules]]
    name = "weather"
    words = ["weather", "forecast*"]            # any of them, as a whole word; `*` at the end: as its beginning
    pattern = "(?i)how (hot|cold) is it"        # or a regex, under RE2
    expected = ["get_weather"]                  # [] says that no tool is needed
    forbidden = ["web_search"]

The same keys stand in a file of rules (YAML, TOML, JSON): a list of them, or `rules:` above one. All errors are told
at once.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import cast

from spanwise.errors import ModelError, SpecError
from spanwise.model.antipatterns import AntiPattern, Kind
from spanwise.model.expectation import Rule
from spanwise.patterns import compile_pattern

RULE_KEYS = ("name", "words", "pattern", "expected", "forbidden")
ANTI_PATTERN_KEYS = ("kind", "penalty", "tool", "first", "then", "n")
_MOST_BYTES = 1_000_000


def rules_of(value: object, where: str) -> tuple[Rule, ...]:
    """The rules in a list of tables; `where` says where the list stands.

    Raises:
        SpecError: Something in it is unusable; the message has a line per error.
    """
    errors: list[str] = []
    rules = [rule for table in _tables(value, where, RULE_KEYS, errors) if (rule := _rule(table)) is not None]
    names = Counter(rule.name for rule in rules)
    errors += [f"{where}: the name {name!r} stands {count} times" for name, count in names.items() if count > 1]
    if errors:
        raise SpecError("\n".join(errors))
    return tuple(rules)


def anti_patterns_of(value: object, where: str) -> tuple[AntiPattern, ...]:
    """The anti-patterns in a list of tables; `where` says where the list stands.

    Raises:
        SpecError: Something in it is unusable; the message has a line per error.
    """
    errors: list[str] = []
    tables = _tables(value, where, ANTI_PATTERN_KEYS, errors)
    found = [pattern for table in tables if (pattern := _anti_pattern(table)) is not None]
    if errors:
        raise SpecError("\n".join(errors))
    return tuple(found)


def load_rules(path: str | PathLike[str]) -> tuple[Rule, ...]:
    """The rules in a file that ends in .yaml, .yml, .toml or .json.

    Raises:
        SpecError: The file cannot be read, or something in it is unusable; the message has a line per error.
    """
    file = Path(path)
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise SpecError(f"{file}: read {file.suffix or 'no suffix'!r}, expected one of {', '.join(_READERS)}")
    document = _document(file, reader)
    where = "top"
    errors: list[str] = []
    if isinstance(document, Mapping):
        fields = cast("Mapping[object, object]", document)
        errors = [f"{key}: unknown key; known: rules" for key in fields if key != "rules"]
        where, document = "rules", fields.get("rules", [])
    rules: tuple[Rule, ...] = ()
    try:
        rules = rules_of(document, where)
    except SpecError as error:
        errors += str(error).splitlines()
    if errors:
        raise SpecError("\n".join(f"{file}, {error}" for error in errors))
    return rules


def _document(file: Path, reader: Callable[[str], object]) -> object:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise SpecError(f"{file}: is larger than {_MOST_BYTES} bytes")
        return reader(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"{file}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise SpecError(f"{file}: is not {file.suffix[1:].upper()}: {said}") from error


def _yaml(text: str) -> object:
    try:
        import yaml
    except ImportError as error:
        raise SpecError("rules in YAML need pyyaml: pip install 'spanwise[cli]'") from error
    try:
        return cast("object", yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise ValueError(error) from error


_READERS: Mapping[str, Callable[[str], object]] = {
    ".yaml": _yaml,
    ".yml": _yaml,
    ".toml": tomllib.loads,
    ".json": json.loads,
}


@dataclass(frozen=True, slots=True)
class _Table:
    """One table of a user's, read key by key; what does not fit is noted."""

    fields: Mapping[object, object]
    place: str
    errors: list[str]

    def wrong(self, key: str, expected: str) -> None:
        """Note that a value is not what it should be."""
        self.errors.append(f"{self.place}.{key}: read {self.fields.get(key)!r}, expected {expected}")

    def text(self, key: str) -> str:
        """Text; empty where not given."""
        value = self.fields.get(key, "")
        if not isinstance(value, str):
            self.wrong(key, "text")
            return ""
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of text; None where not given."""
        if key not in self.fields:
            return None
        value = self.fields[key]
        listed = cast("list[object]", value) if isinstance(value, list) else [None]
        if not all(isinstance(item, str) and item.strip() for item in listed):
            self.wrong(key, "a list of text, none of it empty")
            return ()
        return tuple(str(item) for item in listed)

    def number(self, key: str, default: float, *, whole: bool = False) -> float:
        """A number."""
        value = self.fields.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            self.wrong(key, "a whole number" if whole else "a number")
            return default
        return value


def _tables(value: object, where: str, known: tuple[str, ...], errors: list[str]) -> Iterator[_Table]:
    """The tables of a list; an error for anything else, and for each key that is not known."""
    if not isinstance(value, list):
        errors.append(f"{where}: read {value!r}, expected a list of tables")
        return
    for number, item in enumerate(cast("list[object]", value), start=1):
        place = f"{where}[{number}]"
        if not isinstance(item, Mapping):
            errors.append(f"{place}: read {item!r}, expected a table")
            continue
        fields = cast("Mapping[object, object]", item)
        errors += [f"{place}.{key}: unknown key; known: {', '.join(known)}" for key in fields if key not in known]
        yield _Table(fields, place, errors)


def _rule(table: _Table) -> Rule | None:
    errors = table.errors
    before = len(errors)
    name, pattern, matches = table.text("name"), table.text("pattern"), None
    if not name.strip() and len(errors) == before:
        table.wrong("name", "a name")
    words, expected, forbidden = (table.texts(key) for key in ("words", "expected", "forbidden"))
    if pattern:
        try:
            matches = compile_pattern(pattern)
        except SpecError as error:
            errors.append(f"{table.place}.pattern: {error}")
    if len(errors) > before:
        return None
    try:
        return Rule(
            name=name, words=words or (), pattern=pattern, expected=expected, forbidden=forbidden or (), matches=matches
        )
    except ModelError as error:
        errors.append(f"{table.place}: {error}")
        return None


def _anti_pattern(table: _Table) -> AntiPattern | None:
    errors = table.errors
    before = len(errors)
    kind, tool, first, then = (table.text(key) for key in ("kind", "tool", "first", "then"))
    penalty, most = table.number("penalty", 0.1), int(table.number("n", 0, whole=True))
    if len(errors) > before:
        return None
    try:
        return AntiPattern(kind=cast("Kind", kind), penalty=penalty, tool=tool, first=first, then=then, n=most)
    except ModelError as error:
        errors.append(f"{table.place}: {error}")
        return None
