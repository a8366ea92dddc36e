"""Expected calls and made ones, matched one to one so that as many arguments as can be agree.

Credit of a pair: equal leaves / all leaves of both, by their key paths. Calls that ask the same are taken out first:
for that credit this loses nothing, since 1 - credit keeps to the triangle inequality. (With leaves that are free or a
tolerance it does not, so there all calls go into the assignment.) What is left is assigned for the largest sum, tool
by tool, up to 200 calls of a tool and 200,000 pairs in all; beyond that in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple, TypeAlias, cast

from spanwise.model.alignment import assign, equal_leaf, equal_leaves, leaves
from spanwise.model.calls import ToolCall, canonical_of
from spanwise.model.canonical import canonical
from spanwise.model.expected_call import ExpectedCall
from spanwise.model.trace import paced

Match: TypeAlias = Literal["exact", "subset", "superset", "ignore"]

_MOST = 200
_PAIRS = 200_000


def _nothing() -> None: ...


class Pair(NamedTuple):
    """An expected call and the one that was made for it."""

    expected: ExpectedCall
    made: ToolCall
    credit: float


class Difference(NamedTuple):
    """A leaf that differs; None for the side that does not have it, else the leaf as a tuple of one."""

    path: str
    expected: tuple[object] | None
    made: tuple[object] | None


@dataclass(slots=True, kw_only=True)
class Matching:
    """What belongs together, what was not made, what was made too much; whether any pairs were made in order."""

    pairs: list[Pair] = field(default_factory=list[Pair])
    missing: list[ExpectedCall] = field(default_factory=list[ExpectedCall])
    surplus: list[ToolCall] = field(default_factory=list[ToolCall])
    in_order: bool = False


@dataclass(slots=True, kw_only=True)
class Lens:
    """What of the arguments is compared, and how."""

    match: Match = "exact"
    overrides: Mapping[str, Match] = field(default_factory=dict[str, Match])
    paths: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    defaults: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    tolerance: float = 0.0
    _kept: dict[str, bool] = field(default_factory=dict[str, bool])

    def match_of(self, tool: str) -> Match:
        """Which keys have to be there for a tool."""
        return self.overrides.get(tool, self.match)

    def leaves(self, tool: str, arguments: object) -> dict[str, object]:
        """The leaves that are compared."""
        defaults = self.defaults.get(tool)
        if defaults and isinstance(arguments, Mapping):
            given = cast("Mapping[str, object]", arguments)
            arguments = {
                key: value
                for key, value in given.items()
                if key not in defaults or canonical(value) != canonical(defaults[key])
            }
        found = leaves(arguments)
        if not self.paths and not self.ignore:
            return found
        return {path: leaf for path, leaf in found.items() if self._keeps(path)}

    def key(self, tool: str, arguments: object) -> object:
        """What is equal for arguments that ask the same."""
        return frozenset(self.leaves(tool, arguments).items())

    def credit(self, tool: str, expected: Mapping[str, object], made: Mapping[str, object]) -> float:
        """The share of the leaves that agree, among those that have to be there."""
        match = self.match_of(tool)
        if match == "ignore":
            return 1.0
        if match == "exact":
            judged = len(expected.keys() | made.keys())
        else:
            judged = len(expected if match == "superset" else made)
        return equal_leaves(expected, made, tolerance=self.tolerance) / judged if judged else 1.0

    def differences(self, pair: Pair) -> list[Difference]:
        """The leaves that cost a pair its credit, by path."""
        tool = pair.expected.tool
        match = self.match_of(tool)
        wanted, made = self.leaves(tool, pair.expected.arguments), self.leaves(tool, pair.made.arguments)
        out: list[Difference] = []
        for path in sorted(wanted.keys() | made.keys()):
            one = (wanted[path],) if path in wanted else None
            other = (made[path],) if path in made else None
            free = (match == "superset" and one is None) or (match == "subset" and other is None)
            same = one is not None and other is not None and equal_leaf(one[0], other[0], tolerance=self.tolerance)
            if not free and not same:
                out.append(Difference(path, one, other))
        return out

    def _keeps(self, path: str) -> bool:
        kept = self._kept.get(path)
        if kept is None:
            above = _above(path)
            kept = not self.paths or any(one in self.paths for one in above)
            kept = kept and not any(_globbed(one, glob) for glob in self.ignore for one in above)
            self._kept[path] = kept
        return kept


def _above(path: str) -> list[str]:
    """A path and the paths above it."""
    return [path, *(path[:at] for at in range(len(path)) if path[at] == "." and path[at - 1 : at] != "\\")]


def _globbed(path: str, glob: str) -> bool:
    """Whether a glob names a path; one that begins with `*.` names it at the top too."""
    return fnmatchcase(path, glob) or (glob.startswith("*.") and fnmatchcase(path, glob[2:]))


def matched(
    expected: Sequence[ExpectedCall], made: Sequence[ToolCall], lens: Lens, pause: Callable[[], None] | None = None
) -> Matching:
    """Expected and made calls of the same tools, each with at most one of the other side.

    `pause` is called between small pieces of the work.
    """
    out = Matching()
    rest = pause or _nothing
    wanted: dict[str, list[ExpectedCall]] = {}
    for one in expected:
        wanted.setdefault(one.tool, []).append(one)
    calls: dict[str, list[ToolCall]] = {tool: [] for tool in wanted}
    for call in made:
        if call.name in calls:
            calls[call.name].append(call)
    pairs_left = _PAIRS
    for tool, ones in wanted.items():
        others = calls[tool]
        if not lens.tolerance and lens.match_of(tool) == "exact":
            ones, others = _take_equal(ones, others, lens, out, rest)
        pairs_left -= _match_tool(ones, others, lens, out, pairs_left, pause=rest)
    return out


def _take_equal(
    ones: list[ExpectedCall], others: list[ToolCall], lens: Lens, out: Matching, pause: Callable[[], None]
) -> tuple[list[ExpectedCall], list[ToolCall]]:
    """Match the calls of a tool that ask the same; what is left of both."""
    whole = not (lens.paths or lens.ignore or lens.defaults)
    open_: dict[object, list[ExpectedCall]] = {}
    for one in reversed(ones):
        open_.setdefault(canonical(one.arguments) if whole else lens.key(one.tool, one.arguments), []).append(one)
    taken: set[int] = set()
    left: list[ToolCall] = []
    for call in paced(others, pause):
        same = open_.get(canonical_of(call) if whole else lens.key(call.name, call.arguments))
        if same:
            one = same.pop()
            taken.add(id(one))
            out.pairs.append(Pair(one, call, 1.0))
        else:
            left.append(call)
    return [one for one in ones if id(one) not in taken], left


def _match_tool(
    ones: Sequence[ExpectedCall],
    others: Sequence[ToolCall],
    lens: Lens,
    out: Matching,
    pairs_left: int,
    *,
    pause: Callable[[], None],
) -> int:
    """Match the calls of one tool for the largest credit; how many pairs were looked at."""
    if not ones or not others:
        out.missing.extend(ones)
        out.surplus.extend(others)
        return 0
    tool, pairs = ones[0].tool, len(ones) * len(others)
    wanted = [lens.leaves(tool, one.arguments) for one in paced(ones, pause)]
    made = [lens.leaves(tool, call.arguments) for call in paced(others, pause)]
    if lens.match_of(tool) == "ignore" or pairs == 1:
        pairs, columns = 0, [n if n < len(others) else -1 for n in range(len(ones))]
    elif max(len(ones), len(others)) > _MOST or pairs > pairs_left:
        pairs, columns = 0, [n if n < len(others) else -1 for n in range(len(ones))]
        out.in_order = True
    else:
        columns = assign([[lens.credit(tool, one, other) for other in paced(made, pause)] for one in wanted], pause)
    for row, column in enumerate(paced(columns, pause)):
        if column < 0:
            out.missing.append(ones[row])
        else:
            out.pairs.append(Pair(ones[row], others[column], lens.credit(tool, wanted[row], made[column])))
    used = set(columns)
    out.surplus.extend(call for n, call in enumerate(others) if n not in used)
    return pairs
