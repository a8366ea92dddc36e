"""What a user set for a project: `[tool.spanwise]` in pyproject.toml, or a spanwise.toml of its own.

    [tool.spanwise]
    evaluators = ["redundancy", "recovery"]      # which ones run; all where not given

    [tool.spanwise.thresholds.redundancy]        # when a score without a unit is ok, and when it is an alert
    ok = 0.95
    alert = 0.85

In spanwise.toml the same keys stand at the top. All errors of a file are told at once.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from spanwise.catalog import EVALUATORS
from spanwise.errors import SpecError
from spanwise.model.ports import Evaluator
from spanwise.run import DEFAULT_THRESHOLD, THRESHOLDS

KEYS = ("evaluators", "thresholds")
_LIMITS = ("ok", "alert")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a project; `source` is the file they are from, empty for the defaults."""

    evaluators: tuple[str, ...] = tuple(EVALUATORS)
    thresholds: Mapping[str, tuple[float, float]] = field(default_factory=lambda: dict(THRESHOLDS))
    source: str = ""


def load(path: Path | None = None, *, start: Path | None = None) -> Settings:
    """The settings in a file, or in the nearest one at or above a folder; the defaults where there is none.

    Raises:
        SpecError: a file that was named is not there, or its text is not usable.
    """
    if path is not None:
        return _read(path) or Settings(source=str(path))
    for candidate in _candidates(start or Path.cwd()):
        found = _read(candidate) if candidate.is_file() else None
        if found is not None:
            return found
    return Settings()


def chosen(names: Collection[str]) -> dict[str, Evaluator]:
    """The evaluators of these names, with their default parameters, in the order of the catalogue.

    Raises:
        SpecError: a name is not in the catalogue.
    """
    unknown = [name for name in names if name not in EVALUATORS]
    if unknown:
        raise SpecError(f"unknown evaluator {', '.join(map(repr, unknown))}; known: {', '.join(EVALUATORS)}")
    return {name: make() for name, make in EVALUATORS.items() if name in names}


def _candidates(start: Path) -> Iterator[Path]:
    """The files that may hold settings, nearest first, up to the folder that holds the repository."""
    for folder in (start, *start.parents):
        yield folder / "spanwise.toml"
        yield folder / "pyproject.toml"
        if (folder / ".git").exists():
            return


def _read(path: Path) -> Settings | None:
    """The settings of a file; None where it is a pyproject.toml that has none."""
    try:
        document: Mapping[str, object] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SpecError(f"{path}: is not TOML: {error}") from error
    where = ""
    table: object = document
    if path.name == "pyproject.toml":
        where = "tool.spanwise"
        tools = document.get("tool")
        table = cast("Mapping[str, object]", tools).get("spanwise") if isinstance(tools, Mapping) else None
        if table is None:
            return None
    errors: list[str] = []
    settings = _settings(table, where, str(path), errors)
    if errors:
        raise SpecError("\n".join(f"{path}, {error}" for error in errors))
    return settings


def _settings(table: object, where: str, source: str, errors: list[str]) -> Settings:
    fields = _table(table, where, KEYS, errors)
    names = tuple(EVALUATORS)
    if "evaluators" in fields:
        names = _names(fields["evaluators"], _place(where, "evaluators"), errors)
    thresholds = dict(THRESHOLDS)
    place = _place(where, "thresholds")
    for name, limits in _table(fields.get("thresholds", {}), place, None, errors).items():
        thresholds[name] = _threshold(limits, name, _place(place, name), errors)
    return Settings(evaluators=names, thresholds=thresholds, source=source)


def _place(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _table(value: object, where: str, known: tuple[str, ...] | None, errors: list[str]) -> Mapping[str, object]:
    """The value as a table; an error for anything else, and for each key that is not known."""
    if not isinstance(value, Mapping):
        errors.append(f"{where or 'top'}: read {value!r}, expected a table")
        return {}
    fields = cast("Mapping[str, object]", value)
    if known is not None:
        errors += [
            f"{_place(where, key)}: unknown key; known: {', '.join(known)}" for key in fields if key not in known
        ]
    return fields


def _names(value: object, where: str, errors: list[str]) -> tuple[str, ...]:
    listed = cast("list[object]", value) if isinstance(value, list) else []
    if not listed or not all(isinstance(name, str) for name in listed):
        errors.append(f"{where}: read {value!r}, expected a list of names of evaluators")
        return ()
    names = tuple(str(name) for name in listed)
    errors += [
        f"{where}: unknown evaluator {name!r}; known: {', '.join(EVALUATORS)}"
        for name in names
        if name not in EVALUATORS
    ]
    return names


def _threshold(value: object, name: str, where: str, errors: list[str]) -> tuple[float, float]:
    good, bad = THRESHOLDS.get(name, DEFAULT_THRESHOLD)
    fields = _table(value, where, _LIMITS, errors)
    read = {"ok": good, "alert": bad}
    for key in _LIMITS:
        number = fields.get(key, read[key])
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0.0 <= number <= 1.0:
            errors.append(f"{_place(where, key)}: read {number!r}, expected a number from 0 to 1")
        else:
            read[key] = float(number)
    if read["alert"] > read["ok"]:
        errors.append(f"{where}: alert {read['alert']} lies above ok {read['ok']}")
    return read["ok"], read["alert"]
