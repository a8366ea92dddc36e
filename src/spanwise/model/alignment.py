"""Values compared leaf by leaf, and the best one-to-one assignment of rows to columns.

The assignment is Jonker and Volgenant's shortest augmenting path with potentials: rows are taken in one by one, each
along the cheapest path to a free column, n * n * m steps at worst for n rows and m >= n columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from spanwise.model.canonical import canonical

_INFINITE = math.inf


def leaves(value: object) -> dict[str, object]:
    """The leaves of a value by their dotted key paths; items of lists by position.

    Leaves are comparable: text without the space around it, numbers as they are, the rest as canonical bytes. An empty
    mapping is no leaf at the top, and one below it. A dot in a key is written with a backslash before it.

    >>> leaves({"q": " a ", "page": {"size": 5, "tags": ["x", "y"]}})
    {'q': 'a', 'page.size': 5, 'page.tags.0': 'x', 'page.tags.1': 'y'}
    """
    if not isinstance(value, Mapping) and (not isinstance(value, list | tuple) or not value):
        return {"": _leaf(cast("object", value))}
    out: dict[str, object] = {}
    ahead: list[tuple[str, object]] = [("", value)]
    while ahead:
        prefix, item = ahead.pop()
        pairs: list[tuple[str, object]]
        if isinstance(item, Mapping):
            fields = cast("Mapping[object, object]", item)
            pairs = [(prefix + _key(key), inner) for key, inner in fields.items()]
        else:
            pairs = [(f"{prefix}{n}", inner) for n, inner in enumerate(cast("Sequence[object]", item))]
        deeper: list[tuple[str, object]] = []
        for path, inner in pairs:
            if isinstance(inner, Mapping | list | tuple) and inner:
                deeper.append((path + ".", cast("object", inner)))
            else:
                out[path] = _leaf(cast("object", inner))
        ahead.extend(reversed(deeper))
    return out


def _key(key: object) -> str:
    text = key if isinstance(key, str) else str(key)
    return text.replace(".", "\\.") if "." in text else text


def _leaf(value: object) -> object:
    kind = type(value)
    if kind is str:
        return cast("str", value).strip()
    if kind is int or (kind is float and math.isfinite(cast("float", value))):
        return value
    return canonical(value)


def equal_leaves(one: Mapping[str, object], other: Mapping[str, object], *, tolerance: float = 0.0) -> int:
    """How many leaves two values have in common, numbers compared with a relative tolerance."""
    if not tolerance:
        return len(one.items() & other.items())
    return sum(path in other and equal_leaf(leaf, other[path], tolerance=tolerance) for path, leaf in one.items())


def equal_leaf(one: object, other: object, *, tolerance: float = 0.0) -> bool:
    """Whether two leaves are the same."""
    if one == other:
        return True
    if not tolerance or not isinstance(one, int | float) or not isinstance(other, int | float):
        return False
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


def assign(gains: Sequence[Sequence[float]], pause: Callable[[], None] | None = None) -> list[int]:
    """For each row the column that is its own, so that the sum of the gains is largest; -1 for a row left over.

    `pause` is called between rows.

    >>> assign([[0.9, 0.8], [0.8, 0.1]])
    [1, 0]
    """
    if not gains or not gains[0]:
        return [-1] * len(gains)
    if len(gains) > len(gains[0]):
        turned = assign(list(zip(*gains, strict=True)), pause)
        out = [-1] * len(gains)
        for column, row in enumerate(turned):
            out[row] = column
        return out
    return _assigned([[-gain for gain in row] for row in gains], pause)


def _assigned(costs: Sequence[Sequence[float]], pause: Callable[[], None] | None) -> list[int]:
    """The cheapest assignment of rows to at least as many columns."""
    width = len(costs[0])
    of_row = [0.0] * len(costs)
    of_column = [0.0] * width
    held = [-1] * width
    for row in range(len(costs)):
        if pause is not None:
            pause()
        _take_in(row, costs, of_row, of_column, held)
    out = [-1] * len(costs)
    for column, row in enumerate(held):
        if row >= 0:
            out[row] = column
    return out


def _take_in(
    row: int, costs: Sequence[Sequence[float]], of_row: list[float], of_column: list[float], held: list[int]
) -> None:
    """Give a row a column, along the cheapest path through the columns that others hold."""
    width = len(of_column)
    distance = [_INFINITE] * width
    came_from = [-1] * width
    free = list(range(width))
    path: list[int] = []
    best, column, at, shortest = -1, -1, row, 0.0
    while at >= 0:
        line, base = costs[at], shortest - of_row[at]
        nearest = _INFINITE
        for other in free:
            length = base + line[other] - of_column[other]
            if length < distance[other]:
                distance[other] = length
                came_from[other] = column
            else:
                length = distance[other]
            if length < nearest:
                nearest, best = length, other
        column, shortest = best, nearest
        free.remove(column)
        path.append(column)
        at = held[column]
    of_row[row] += shortest
    for other in path[:-1]:
        of_row[held[other]] += shortest - distance[other]
        of_column[other] -= shortest - distance[other]
    while column >= 0:
        before = came_from[column]
        held[column] = row if before < 0 else held[before]
        column = before
