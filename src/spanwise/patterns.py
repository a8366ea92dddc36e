"""Regexes that users write, run under RE2: time grows with the text only, and memory is bounded.

What RE2 cannot do (a backreference, a lookaround) is refused, and so is what takes exponential time elsewhere: the same
rules may be read by a tool that backtracks.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Protocol, cast

from spanwise.errors import SpecError

MOST = 10_000
"""How many characters of a text are looked at."""
_LONGEST = 2_000
_MEMORY = 1 << 20
_INSTALL = "regexes need google-re2: pip install 'spanwise[cli]'"


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Compiled(Protocol):
    def search(self, text: str, /) -> object: ...
    def finditer(self, text: str, /) -> Iterator[_Match]: ...


class _Options(Protocol):
    log_errors: bool
    max_mem: int


class _RE2(Protocol):
    Options: Callable[[], _Options]
    error: type[Exception]

    def compile(self, pattern: str, options: _Options, /) -> _Compiled: ...


class _Parser(Protocol):
    def parse(self, text: str, /) -> Sequence[object]: ...


def compile_pattern(text: str) -> Callable[[str], bool]:
    """Whether a text holds what a regex describes, anywhere in its first 10,000 characters; `(?i)` ignores case.

    Raises:
        SpecError: The regex is not one, RE2 cannot run it, it is catastrophic where regexes backtrack, or google-re2
            is not installed.
    """
    found = _checked(text)

    def matches(query: str) -> bool:
        return found.search(_whole(query[:MOST])) is not None

    return matches


def compile_finder(text: str) -> Callable[[str], Iterator[tuple[int, int]]]:
    """Where a text, however long, holds what a regex describes: beginnings and ends, from left to right.

    Raises:
        SpecError: As for `compile_pattern`.
    """
    found = _checked(text)
    return lambda held: (one.span() for one in found.finditer(_whole(held)))


def _whole(text: str) -> str:
    """The text, as long as it was; half a surrogate pair, which a careless exporter leaves, has no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _checked(text: str) -> _Compiled:
    if len(text) > _LONGEST:
        raise SpecError(f"read a regex of {len(text)} characters, expected at most {_LONGEST}")
    found = _compiled(text)
    inner = _nested(text)
    if inner:
        raise SpecError(
            f"{text!r} repeats without bound what repeats without bound itself, which can take exponential time where "
            "regexes backtrack; write one repeat for the two ((a+)+ as a+), or bound one of them ((a+){1,5})"
        )
    return found


def _compiled(text: str) -> _Compiled:
    try:
        re2 = cast("_RE2", import_module("re2"))
    except ImportError as error:
        raise SpecError(f"{text!r} is a regex; {_INSTALL}") from error
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(text, options)
    except (re2.error, UnicodeEncodeError) as error:
        said: object = error.args[0]
        words = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(error)
        if _is_beyond(words):
            why = "backreferences and lookarounds cannot run in bounded time; match what they test in a rule of its own"
            raise SpecError(f"{text!r} is not a regex that RE2 can run ({words}); {why}") from error
        raise SpecError(f"{text!r} is not a regex: {words}") from error


def _is_beyond(words: str) -> bool:
    """Whether what RE2 objects to is something that backtracking engines can do."""
    kind, _, part = words.partition(": ")
    return kind == "invalid perl operator" or (kind == "invalid escape sequence" and part[1:2].isdigit())


# Repeats within repeats


def _nested(text: str) -> bool:
    """An unbounded repeat stands inside another one; False for a regex that only RE2 can read."""
    parser = cast("_Parser", import_module("re._parser"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ahead: list[tuple[object, bool]] = [(item, False) for item in parser.parse(text)]
    except (ValueError, OverflowError, RecursionError, re.error):
        return False
    while ahead:
        item, inside = ahead.pop()
        repeats = _is_unbounded(item)
        if repeats and inside:
            return True
        ahead += [(one, inside or repeats) for one in _parts(item)]
    return False


def _is_unbounded(item: object) -> bool:
    """A parsed item is (operation, its arguments); those of a repeat are (least, most, what repeats)."""
    operation, arguments = cast("tuple[object, object]", item)
    if str(operation) not in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
        return False
    return str(cast("Sequence[object]", arguments)[1]) == "MAXREPEAT"


def _parts(item: object) -> Iterator[object]:
    """The items within one, however its arguments hold them."""
    ahead: list[object] = [cast("tuple[object, object]", item)[1]]
    while ahead:
        held = ahead.pop()
        if type(held).__name__ == "SubPattern":
            yield from cast("Sequence[object]", held)
        elif isinstance(held, tuple | list):
            ahead += cast("Sequence[object]", held)
