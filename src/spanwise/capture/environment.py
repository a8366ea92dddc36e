"""`SPANWISE_*` variables, and the options of a declarative configuration file, as what `instrument` takes.

Whatever is not usable is told and left out: a wrong letter in a variable must not stop an app.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from spanwise.capture.sampling import Gate

PREFIX = "SPANWISE_"
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


class _UnusableError(Exception):
    """What was expected."""


def _truth(value: object) -> bool:
    word = str(value).strip().lower()
    if word not in _TRUE + _FALSE:
        raise _UnusableError("true or false")
    return word in _TRUE


def _place(value: object) -> str | bool:
    word = str(value).strip()
    return _truth(word) if word.lower() in _TRUE + _FALSE else word


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise _UnusableError("a name")
    return value.strip()


def _names(value: object) -> tuple[str, ...]:
    listed = cast("list[object]", value) if isinstance(value, list) else str(value).split(",")
    names = tuple(name for one in listed if (name := str(one).strip()))
    if not names:
        raise _UnusableError("names of evaluators, separated by commas")
    return names


def _gate(value: object) -> Gate:
    try:
        rate = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        rate = math.nan
    if not 0.0 <= rate <= 1.0:
        raise _UnusableError("a number from 0 to 1")
    from spanwise.capture.sampling import Admission, Gate, Sampling

    # Pipelines live by a clock that only grows; days are counted by the other one.
    return Gate(Admission(Sampling(default=rate)), wall_offset_ns=time.time_ns() - time.monotonic_ns())


OPTIONS: Mapping[str, tuple[str, Callable[[object], object]]] = {
    "console": ("console", _truth),
    "store": ("store", _place),
    "profile": ("profile", _word),
    "evaluators": ("evaluators", _names),
    "sample": ("sampling", _gate),
}
"""By the option's name, which is the variable's in small letters: the argument of `instrument`, and how it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the environment asks for: whether to score at all, the arguments, and what could not be used."""

    enabled: bool
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    problems: tuple[str, ...] = ()


def asked(
    environment: Mapping[str, str], options: Mapping[str, object] | None = None, *, explicit: bool = False
) -> Asked:
    """What the variables ask for, and the options of a file, which win.

    SPANWISE_ENABLED decides. Without it, scoring is on if it was asked for explicitly, or by any other variable here:
    that the package is installed asks for nothing yet.
    """
    problems: list[str] = []
    arguments: dict[str, object] = {}
    found: dict[str, tuple[str, object]] = {}
    for name in OPTIONS:
        written = environment.get(PREFIX + name.upper(), "").strip()
        if written:
            found[name] = (PREFIX + name.upper(), written)
    found |= {name: (name, value) for name, value in (options or {}).items() if value is not None}
    for name, (place, value) in found.items():
        if name not in OPTIONS:
            problems.append(f"{place}: unknown option; known: {', '.join(OPTIONS)}")
            continue
        argument, read = OPTIONS[name]
        try:
            arguments[argument] = read(value)
        except _UnusableError as expected:
            problems.append(f"{place}: read {value!r}, expected {expected}")
    enabled = explicit or bool(found)
    switch = environment.get(f"{PREFIX}ENABLED", "").strip()
    if switch:
        try:
            enabled = _truth(switch)
        except _UnusableError as expected:
            enabled = False
            problems.append(f"{PREFIX}ENABLED: read {switch!r}, expected {expected}; nothing is scored")
    return Asked(enabled=enabled, arguments=arguments, problems=tuple(problems))
