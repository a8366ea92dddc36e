"""Do arguments fit a tool's JSON schema?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.schema import violations

TREE = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
            },
            "required": ["value"],
        }
    },
}


def of(value: object, **schema: object) -> tuple[str, ...]:
    """What breaks the schema of the one argument `x`."""
    return violations({"x": value}, {"type": "object", "properties": {"x": schema}})


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("integer", "3", "string"),
        ("integer", 1.5, "number"),
        ("integer", True, "boolean"),
        ("number", False, "boolean"),
        ("string", 3, "integer"),
        ("boolean", 1, "integer"),
        ("array", {}, "object"),
        ("object", [], "array"),
        ("null", "", "string"),
        ("string", None, "null"),
    ],
)
def test_another_type(kind: str, value: object, found: str) -> None:
    """A value of another type is named with the type that was expected."""
    assert (f"arguments.x: expected {kind}, found {found}",) == of(value, type=kind)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("integer", 1),
        ("integer", 1.0),
        ("number", 1),
        ("number", 1.5),
        ("number", float("inf")),
        ("string", ""),
        ("boolean", False),
        ("array", ()),
        ("object", {}),
        ("null", None),
        ("STRING", "x"),
        ("integer", object()),
        (["string", "null"], None),
        (["string", "number"], 3),
    ],
)
def test_the_type(kind: object, value: object) -> None:
    """A whole number is an integer, capitals (Gemini's) make no difference, what JSON does not know is no violation."""
    assert () == of(value, type=kind)


def test_one_of_several_types() -> None:
    """Where several types are allowed, all are named."""
    assert ("arguments.x: expected string or null, found integer",) == of(3, type=["string", "null"])


def test_nullable() -> None:
    """OpenAPI's `nullable` lets null through, and nothing else."""
    assert () == of(None, type="string", nullable=True)
    assert ("arguments.x: expected string, found integer",) == of(1, type="string", nullable=True)


def test_required() -> None:
    """Each argument that is required and not given is named once, null counts as given."""
    schema = {"type": "object", "required": ["a", "b", "c", "b"]}
    assert ("arguments.b: required, not given",) == violations({"a": 1, "c": None}, schema)


def test_unknown_arguments() -> None:
    """An argument that the tool does not know is named only where the schema refuses such."""
    known = {"properties": {"a": {}}}
    assert () == violations({"a": 1, "z": 2}, known)
    assert () == violations({"a": 1, "z": 2}, {**known, "additionalProperties": True})
    assert ("arguments.z: not allowed",) == violations({"a": 1, "z": 2}, {**known, "additionalProperties": False})
    assert ("arguments.z: not allowed",) == violations({"z": 2}, {"additionalProperties": False})
    more = {**known, "additionalProperties": {"type": "string"}}
    assert ("arguments.z: expected string, found integer",) == violations({"a": 1, "y": "", "z": 2}, more)


def test_names_by_pattern() -> None:
    """Beside a pattern for names no name is refused, for patterns are not read."""
    schema = {"patternProperties": {"^x-": {}}, "additionalProperties": False}
    assert () == violations({"x-a": 1, "other": 2}, schema)


def test_enum_and_const() -> None:
    """A value outside the list is shown beside the list; numbers are compared by value, text to the letter."""
    assert ('arguments.x: expected one of "c", "f", found "k"',) == of("k", enum=["c", "f"])
    assert () == of(1.0, enum=[1])
    assert () == of([1, {"a": 2}], enum=[[1.0, {"a": 2}]])
    assert ("arguments.x: expected one of 1, found true",) == of(True, enum=[1])
    assert ('arguments.x: expected one of "c", found " c"',) == of(" c", enum=["c"])
    assert ('arguments.x: expected "a", found "b"',) == of("b", const="a")
    assert () == of("a", const="a")
    listed = ("arguments.x: expected one of 0, 1, 2, 3, 4, 5, 6, 7, ..., found 99",)
    assert listed == of(99, enum=list(range(20)))


def test_long_values_are_cut() -> None:
    """A violation is one line, whatever was passed."""
    (said,) = of("y" * 1000, const="x" * 1000)
    assert len(said) < 200
    (said,) = of(10**6000, maximum=3)
    assert "arguments.x: expected at most 3, found a value that cannot be shown" == said
    assert () == of([10**6000], enum=[[10**6001]])


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"minimum": 1}, 0, "expected at least 1, found 0"),
        ({"maximum": 10}, 10.5, "expected at most 10, found 10.5"),
        ({"exclusiveMinimum": 0}, 0, "expected more than 0, found 0"),
        ({"exclusiveMaximum": 1}, 2, "expected less than 1, found 2"),
        ({"minItems": 1}, [], "expected at least 1 items, found 0"),
        ({"maxItems": 1}, [1, 2], "expected at most 1 items, found 2"),
        ({"minLength": 2}, "a", "expected at least 2 characters, found 1"),
        ({"maxLength": 2}, "abc", "expected at most 2 characters, found 3"),
    ],
)
def test_bounds(schema: dict[str, object], value: object, said: str) -> None:
    """Numbers, lists and text that are too small or too large are named with the bound."""
    assert (f"arguments.x: {said}",) == of(value, **schema)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"minimum": 1, "maximum": 1}, 1),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 2}, 1),
        ({"minimum": 0, "exclusiveMinimum": True}, 0),
        ({"minimum": 1}, float("nan")),
        ({"minItems": float("nan"), "maxLength": "3"}, [1]),
        ({"minItems": 3}, "ab"),
        ({"minLength": 3}, [1]),
        ({"minimum": 3}, "a"),
    ],
)
def test_inside_the_bounds(schema: dict[str, object], value: object) -> None:
    """A bound says nothing of values of other types, and a malformed one nothing at all."""
    assert () == of(value, **schema)


def test_lists() -> None:
    """Items are checked one by one, the first ones by place where the schema says so, in the old way too."""
    assert ("arguments.x[1]: expected integer, found string",) == of([1, "a"], items={"type": "integer"})
    pair = [{"type": "string"}, {"type": "integer"}]
    for word in ("prefixItems", "items"):
        assert ("arguments.x[1]: expected integer, found string",) == of(["a", "b", "c"], **{word: pair})
    assert ("arguments.x[2]: not allowed",) == of(["a", 1, "c"], prefixItems=pair, items=False)
    assert () == of(["a"], prefixItems=pair, items=False)


def test_deep_inside() -> None:
    """The place leads through objects and lists."""
    schema = {"items": {"properties": {"day": {"type": "string"}}}}
    assert ("arguments.x[1].day: expected string, found integer",) == of([{"day": "mo"}, {"day": 2}], **schema)


def test_any_of() -> None:
    """One branch that fits is enough; where none does, what they expect is listed."""
    optional = [{"type": "integer", "minimum": 1}, {"type": "null"}]
    for word in ("anyOf", "oneOf"):
        assert () == of(None, **{word: optional})
        assert () == of(3, **{word: optional})
        assert ("arguments.x: expected integer or null, found string",) == of("a", **{word: optional})
    assert () == of(3, oneOf=[{"type": "integer"}, {"type": "number"}])


def test_the_nearest_branch() -> None:
    """Where a branch fits from outside, what is wrong inside is told."""
    branches = [{"type": "string"}, {"type": "object", "properties": {"a": {"type": "string"}}}]
    assert ("arguments.x.a: expected string, found integer",) == of({"a": 1}, anyOf=branches)
    assert ("arguments.x: not allowed",) == of({"a": 1}, anyOf=[False])


def test_all_of() -> None:
    """All branches have to fit."""
    both = [{"type": "integer"}, {"minimum": 3}]
    assert () == of(3, allOf=both)
    assert ("arguments.x: expected at least 3, found 2",) == of(2, allOf=both)


def test_references() -> None:
    """References into the schema are followed, as deep as the value goes."""
    assert () == violations({"value": 1, "next": {"value": 2, "next": None}}, TREE)
    broken = ("arguments.next.next.value: expected integer, found string",)
    assert broken == violations({"value": 1, "next": {"value": 2, "next": {"value": "a"}}}, TREE)
    self_ref = {"properties": {"in": {"$ref": "#"}, "n": {"type": "integer"}}}
    assert ("arguments.in.n: expected integer, found string",) == violations({"in": {"n": "a"}}, self_ref)
    escaped = {"$ref": "#/$defs/a~1b~0c", "$defs": {"a/b~c": {"required": ["q"]}}}
    assert ("arguments.q: required, not given",) == violations({}, escaped)


@pytest.mark.parametrize("ref", ["#/$defs/Nothing", "#/$defs/Node/type/x", "http://example.com/x", "#anchor", "", 3])
def test_references_elsewhere(ref: object) -> None:
    """A reference that leads nowhere in this schema says nothing."""
    assert () == violations({"a": 1}, {**TREE, "$ref": ref})


def test_circles_end() -> None:
    """References in a circle, and ones that branch without end, are left in time."""
    assert () == violations({}, {"$ref": "#/a", "a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}})
    levels = {f"d{n}": {"anyOf": [False, {"allOf": [{"$ref": f"#/d{n + 1}"}] * 2}]} for n in range(40)}
    assert () == violations({}, {"$ref": "#/d0", **levels, "d40": {}})
    doubling = {"allOf": [{"$ref": "#/d0"}], **{f"d{n}": {"allOf": [{"$ref": f"#/d{n + 1}"}] * 2} for n in range(30)}}
    assert () == violations({}, doubling)


def test_bounded_depth() -> None:
    """Below 64 levels nothing is judged."""
    schema: dict[str, object] = {"type": "integer"}
    value: object = "a"
    for _ in range(60):
        schema, value = {"items": schema}, [value]
    assert ("arguments" + "[0]" * 60 + ": expected integer, found string",) == violations(value, schema)
    for _ in range(2000):
        schema, value = {"items": schema}, [value]
    assert () == violations(value, schema)


def test_bounded_work() -> None:
    """At most 20 violations are told, and what lies behind 20,000 sub-schemas is not looked at."""
    assert 20 == len(of(["a"] * 100, items={"type": "integer"}))
    assert 20 == len(of({f"a{n}": 1 for n in range(100)}, additionalProperties=False))
    assert 20 == len(of("a", allOf=[{"type": "integer"}] * 100, minLength=2))
    assert () == of([1] * 30_000 + ["a"], items={"type": "integer"})


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        "object",
        {},
        {"type": 3},
        {"type": []},
        {"type": ["integer", 3]},
        {"type": "dict"},
        {"type": {"type": "string"}},
        {"properties": []},
        {"properties": {}, "required": {"x": True}},
        {"properties": {"x": "string"}},
        {"properties": {"x": None}},
        {"properties": [], "additionalProperties": False},
        {"required": "x"},
        {"required": [3]},
        {"required": True},
        {"enum": []},
        {"enum": "abc"},
        {"anyOf": []},
        {"anyOf": "x"},
        {"allOf": "x"},
        {"items": 3},
        {"prefixItems": 3},
        {"pattern": "^a$", "format": "date", "not": {}, "if": {}, "then": False},
        {"x": {"type": "string"}, "title": "of a framework that lists arguments without more"},
    ],
)
def test_malformed_schemas(schema: Any) -> None:
    """What is no schema refuses nothing."""
    assert () == violations({"x": [1]}, schema)


def test_malformed_lists() -> None:
    """Neither do malformed schemas of items."""
    assert () == of([1], prefixItems=3)
    assert () == of([1], items=3)


def test_properties_without_a_type() -> None:
    """A schema that lists properties only says nothing of a value that has none."""
    assert () == violations("text", {"properties": {"x": {"type": "string"}}, "required": ["x"]})
    assert ("arguments: expected object, found string",) == violations("text", {"type": "object"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)
KEYWORDS = st.sampled_from(
    """type properties required additionalProperties enum const items prefixItems minItems maxItems minimum maximum
    exclusiveMinimum exclusiveMaximum minLength maxLength anyOf oneOf allOf $ref $defs nullable
    patternProperties""".split()
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null", "#", "#/$defs/a"])
SCHEMAS = st.recursive(
    JSON | TYPES | st.lists(TYPES, max_size=2),
    lambda inner: st.dictionaries(KEYWORDS | st.sampled_from("ab"), inner | st.lists(inner, max_size=2), max_size=4),
    max_leaves=8,
)


@given(JSON, SCHEMAS)
def test_never_raises(value: object, schema: Any) -> None:
    """Whatever the value and the schema, there are only sentences about places in the arguments."""
    for said in violations(value, schema):
        assert said.startswith("arguments")


@given(JSON)
def test_a_schema_of_the_value_itself(value: object) -> None:
    """A value is allowed by the list that holds it, unless it equals nothing at all."""
    assert () == violations({"x": value}, {"properties": {"x": {"enum": [value]}}}) or "nan" in repr(value)


def test_what_was_removed_on_purpose_breaks_nothing() -> None:
    """A scrubbed value stands for one of any type; the rest of the arguments is judged."""
    schema = {
        "properties": {
            "pin": {"type": "integer"},
            "key": {"enum": ["a", "b"]},
            "limit": {"type": "integer"},
        }
    }
    arguments = {"pin": "[Scrubbed due to 'pin']", "key": "[REDACTED]", "limit": "3"}
    assert ("arguments.limit: expected integer, found string",) == violations(arguments, schema)
    assert () == violations("[Scrubbed due to 'auth']", {"type": "object"})
