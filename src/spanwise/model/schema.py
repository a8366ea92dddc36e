"""Do arguments fit a tool's JSON schema? The part of JSON Schema that tools use, read so that no violation is made up.

Keywords that are not known here (`pattern` and `format` among them: both need a regex of somebody else's) are ignored,
and so are malformed ones. `oneOf` is read as `anyOf`, since two of its branches may differ in what is ignored. What
lies deeper than 64 levels, or behind 20,000 sub-schemas, is not judged; neither is what lies behind 20 violations, nor
what stands in the place of a value that was removed on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

import msgspec

from spanwise.model.canonical import canonical
from spanwise.model.content import is_redacted

_DEPTH = 64
_STEPS = 20_000
_MOST = 20
_NAME = 80

_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_KINDS: Mapping[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    str: "string",
    list: "array",
    tuple: "array",
    dict: "object",
}


def violations(value: object, schema: Mapping[str, object]) -> tuple[str, ...]:
    """What in the arguments of a call breaks the schema of its tool, each with its place; empty where all fits.

    >>> violations({"limit": "3"}, {"properties": {"limit": {"type": "integer"}}})
    ('arguments.limit: expected integer, found string',)
    """
    return tuple(map(str, _Check(schema).of(value, schema, 0)[:_MOST]))


class _Broken(NamedTuple):
    """One violation; `path` leads to it from the value looked at, `expected` is empty where `found` says it all."""

    path: str
    expected: str
    found: str

    def __str__(self) -> str:
        said = f"expected {self.expected}, found {self.found}" if self.expected else self.found
        return f"arguments{self.path}: {said}"


class _Check:
    """One check of a value against a schema: the schema's root, what may still be spent, the references under way."""

    __slots__ = ("left", "open", "root")

    def __init__(self, root: object) -> None:
        self.root = root
        self.left = _STEPS
        self.open: set[tuple[str, int]] = set()

    def of(self, value: object, schema: object, depth: int) -> list[_Broken]:
        """What in a value breaks a schema."""
        if schema is False:
            return [_Broken("", "", "not allowed")]
        if not isinstance(schema, Mapping) or depth > _DEPTH or self.left <= 0:
            return []
        self.left -= 1
        fields = cast("Mapping[object, object]", schema)
        if value is None and fields.get("nullable") is True:
            return []
        kind = _kind(value)
        wanted = fields.get("type")
        if wanted is not None and kind != wanted and (broken := _type(kind, wanted)):
            return [] if is_redacted(value) else [broken]
        out: list[_Broken] = []
        if _KEYWORDS.isdisjoint(fields):
            return out
        for keyword, given in fields.items():
            rule = _RULES.get(keyword)
            if rule is not None and (rule[0] == kind or not rule[0] or (rule[0] == "number" and kind == "integer")):
                out += rule[1](_At(self, value, depth, fields), given)
                if len(out) >= _MOST:
                    break
        return [] if out and is_redacted(value) else out


class _At(NamedTuple):
    """Where a rule is applied."""

    check: _Check
    value: object
    depth: int
    schema: Mapping[object, object]

    def all(self, parts: Iterable[tuple[object, object, object]]) -> list[_Broken]:
        """What in some parts of the value breaks the schema of each: (name or index, part, schema)."""
        out: list[_Broken] = []
        below = self.depth + 1
        for name, part, schema in parts:
            broken = self.check.of(part, schema, below)
            if broken:
                out += [_Broken(_step(name) + one.path, one.expected, one.found) for one in broken]
            if self.check.left <= 0 or len(out) >= _MOST:
                break
        return out


_Rule: TypeAlias = Callable[[_At, object], list[_Broken]]


def _kind(value: object) -> str:
    """The name that JSON Schema has for the type of a value; a whole number is an integer however it is written."""
    held = type(value)
    if held is float:
        return "integer" if cast("float", value).is_integer() else "number"
    return _KINDS.get(held) or ("object" if isinstance(value, Mapping) else "")


def _type(kind: str, wanted: object) -> _Broken | None:
    listed = cast("Sequence[object]", wanted) if isinstance(wanted, list | tuple) else (wanted,)
    names = [one.lower() for one in listed if isinstance(one, str)]
    if not names or len(names) != len(listed) or not _TYPES.issuperset(names):
        return None
    if not kind or kind in names or (kind == "integer" and "number" in names):
        return None
    return _Broken("", " or ".join(dict.fromkeys(names)), kind)


def _step(name: object) -> str:
    return f"[{name}]" if isinstance(name, int) else f".{str(name)[:_NAME]}"


def _told(value: object) -> str:
    """A value in a message: JSON where it is short, else its beginning."""
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        text = "a value that cannot be shown"
    return text if len(text) <= _NAME else text[: _NAME - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _same(one: object, other: object) -> bool:
    kind = _kind(one)
    if kind != _kind(other):
        return False
    if kind in {"integer", "number", "string"}:
        return one == other
    try:
        return canonical(one) == canonical(other)
    except ValueError:  # a number in it is too long for text
        return True


def _properties(at: _At, given: object) -> list[_Broken]:
    if not isinstance(given, Mapping):
        return []
    held = cast("Mapping[object, object]", at.value)
    named = cast("Mapping[object, object]", given).items()
    return at.all((name, held[name], schema) for name, schema in named if name in held)


def _required(at: _At, given: object) -> list[_Broken]:
    if not isinstance(given, list | tuple):
        return []
    held = cast("Mapping[object, object]", at.value)
    names = [name for name in cast("Sequence[object]", given) if isinstance(name, str) and name not in held]
    return [_Broken(_step(name), "", "required, not given") for name in dict.fromkeys(names)]


def _additional(at: _At, given: object) -> list[_Broken]:
    known = at.schema.get("properties", {})
    # Which names a pattern allows is not known, so no name is refused beside one.
    if given is True or not isinstance(known, Mapping) or "patternProperties" in at.schema:
        return []
    held = cast("Mapping[object, object]", at.value)
    return at.all((name, part, given) for name, part in held.items() if name not in known)


def _prefix(at: _At, given: object) -> list[_Broken]:
    if not isinstance(given, list | tuple):
        return []
    rows = zip(cast("Sequence[object]", at.value), cast("Sequence[object]", given), strict=False)
    return at.all((n, part, schema) for n, (part, schema) in enumerate(rows))


def _items(at: _At, given: object) -> list[_Broken]:
    if isinstance(given, list | tuple):
        return _prefix(at, cast("Sequence[object]", given))
    before = at.schema.get("prefixItems")
    begin = len(cast("Sequence[object]", before)) if isinstance(before, list | tuple) else 0
    parts = cast("Sequence[object]", at.value)
    return at.all((n, parts[n], given) for n in range(begin, len(parts)))


def _enum(at: _At, given: object) -> list[_Broken]:
    if not isinstance(given, list | tuple):
        return []
    listed = cast("Sequence[object]", given)
    if not listed or any(_same(at.value, one) for one in listed):
        return []
    names = ", ".join(_told(one) for one in listed[:8]) + (", ..." if len(listed) > 8 else "")
    return [_Broken("", f"one of {names}", _told(at.value))]


def _const(at: _At, given: object) -> list[_Broken]:
    return [] if _same(at.value, given) else [_Broken("", _told(given), _told(at.value))]


def _any_of(at: _At, given: object) -> list[_Broken]:
    """Nothing where one branch fits; else what the branches want, or what the nearest one finds inside the value."""
    if not isinstance(given, list | tuple) or not given:
        return []
    tried: list[list[_Broken]] = []
    for branch in cast("Sequence[object]", given):
        broken = at.check.of(at.value, branch, at.depth + 1)
        if not broken:
            return []
        tried.append(broken)
    inside = [broken for broken in tried if broken[0].path]
    if inside:
        return min(inside, key=len)
    wanted = dict.fromkeys(broken[0].expected for broken in tried if broken[0].expected)
    if not wanted:
        return tried[0]
    found = next(broken[0].found for broken in tried if broken[0].expected)
    return [_Broken("", " or ".join(wanted), found)]


def _all_of(at: _At, given: object) -> list[_Broken]:
    if not isinstance(given, list | tuple):
        return []
    return [one for b in cast("Sequence[object]", given) for one in at.check.of(at.value, b, at.depth + 1)]


def _ref(at: _At, given: object) -> list[_Broken]:
    if not isinstance(given, str):
        return []
    under_way = (given, id(at.value))
    target = _resolved(at.check.root, given)
    if target is None or under_way in at.check.open:
        return []
    at.check.open.add(under_way)
    broken = at.check.of(at.value, target, at.depth + 1)
    at.check.open.discard(under_way)
    return broken


def _resolved(root: object, ref: str) -> object:
    """What a reference into the same schema points at; None where it points elsewhere or nowhere."""
    if ref == "#":
        return root
    if not ref.startswith("#/"):
        return None
    found = root
    for part in ref[2:].split("/"):
        if not isinstance(found, Mapping):
            return None
        found = cast("Mapping[object, object]", found).get(part.replace("~1", "/").replace("~0", "~"))
    return found


def _bound(unit: str, size: Callable[[object], float], *, least: bool, open_: bool = False) -> _Rule:
    """The rule that a number, or the size of a value, has a bound; `open_` excludes the bound itself."""
    words = ("more than" if open_ else "at least") if least else ("less than" if open_ else "at most")

    def rule(at: _At, given: object) -> list[_Broken]:
        if not isinstance(given, int | float) or isinstance(given, bool) or (unit and not math.isfinite(given)):
            return []
        held = size(at.value)
        broken = held < given if least else held > given
        if broken or (open_ and held == given):
            return [_Broken("", f"{words} {_told(given)}{unit}", _told(held))]
        return []

    return rule


def _number(value: object) -> float:
    return cast("float", value)


def _size(value: object) -> float:
    return len(cast("Sequence[object]", value))


_RULES: Mapping[object, tuple[str, _Rule]] = {
    "properties": ("object", _properties),
    "required": ("object", _required),
    "additionalProperties": ("object", _additional),
    "prefixItems": ("array", _prefix),
    "items": ("array", _items),
    "enum": ("", _enum),
    "const": ("", _const),
    "anyOf": ("", _any_of),
    "oneOf": ("", _any_of),
    "allOf": ("", _all_of),
    "$ref": ("", _ref),
    "minItems": ("array", _bound(" items", _size, least=True)),
    "maxItems": ("array", _bound(" items", _size, least=False)),
    "minLength": ("string", _bound(" characters", _size, least=True)),
    "maxLength": ("string", _bound(" characters", _size, least=False)),
    "minimum": ("number", _bound("", _number, least=True)),
    "maximum": ("number", _bound("", _number, least=False)),
    "exclusiveMinimum": ("number", _bound("", _number, least=True, open_=True)),
    "exclusiveMaximum": ("number", _bound("", _number, least=False, open_=True)),
}
"""For each keyword the kind of value that it is about (empty: any) and its rule."""
_KEYWORDS = frozenset(_RULES)
