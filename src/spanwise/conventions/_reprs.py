"""Python text of values and of message objects, read without running it.

Instrumentations that do not know a framework's classes write `repr()` or `str()` of them: a tool's arguments as
`{'query': 'x'}`, a message as `ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='hi')])`. Such
text is Python, so its syntax tree is walked and only literals, containers and constructor calls with keywords are
accepted; nothing is evaluated. Text that was cut, or holds an object without a literal form, is not read at all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from spanwise.conventions._values import mapping_of

LIMIT = 200_000
_STARTS = re.compile(r"[\[({'\"]|[A-Za-z_][\w.]*\(")
_ENUM = re.compile(r"<[A-Za-z_][\w.]*: ('[^'\n]*'|-?\d+)>")
_ODD_ESCAPE = re.compile(r"\\(?:[^'\"nrtxuU]|(?:u|U0000)[dD][89a-fA-F])")
OBJECT = re.compile(r"<[\w.<> ]+?(?: object)?(?: at 0x[0-9a-fA-F]+)?>")
DUMP = re.compile(r"<[\w.]+ (?:object|at 0x)|[A-Z]\w*\(\)$|[A-Z]\w*\([a-z_]\w*=|(?:content|id|role)=['\"<]")
_TYPES: Mapping[str, str] = {
    "TextContent": "text",
    "TextBlock": "text",
    "ReasoningContent": "reasoning",
    "ThinkingBlock": "reasoning",
    "ToolCall": "tool_call",
    "ToolCallBlock": "tool_call",
    "ToolCallResult": "tool_result",
}


class _UnreadableError(Exception):
    """The text holds something that is not a literal."""


def is_dump(text: str) -> bool:
    """The text is the printed form of an object, not words that somebody wrote."""
    return DUMP.match(text) is not None


def is_object(value: object) -> bool:
    """The value is the printed form of an object that has no value of its own: `<app.Context object at 0x7f...>`."""
    return (
        isinstance(value, str)
        and value.startswith("<")
        and (" object" in value or " at 0x" in value)
        and OBJECT.fullmatch(value) is not None
    )


def read_repr(text: str) -> object:
    """The value that Python text stands for; the text itself where it stands for none.

    >>> read_repr("{'query': 'x', 'n': (1, None)}")
    {'query': 'x', 'n': [1, None]}
    """
    if len(text) > LIMIT or _STARTS.match(text) is None:
        return text
    if "\\" in text and _ODD_ESCAPE.search(
        text.replace("\\\\", "")
    ):  # what no repr writes, of which the parser warns, and half of a character
        return text
    try:
        return _value(ast.parse(_ENUM.sub(r"\1", text) if "<" in text else text, mode="eval").body, 0)
    except (_UnreadableError, SyntaxError, ValueError, MemoryError, RecursionError):
        return text


def _value(node: ast.expr, depth: int) -> object:
    if depth > 64:
        raise _UnreadableError
    match node:
        case ast.Constant(value=str() | int() | float() | bool() | None as value):
            return value
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return [_value(element, depth + 1) for element in elements]
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _value(value, depth + 1) for key, value in zip(keys, values, strict=True)}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[], keywords=keywords):
            fields = {word.arg.lstrip("_"): _value(word.value, depth + 1) for word in keywords if word.arg}
            return _typed(name, fields)
        case _:
            raise _UnreadableError


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
        return str(node.value)
    raise _UnreadableError


def _typed(name: str, fields: dict[str, object]) -> dict[str, object]:
    """The fields of an object, with the type that its class stands for; a result has its call's id and name."""
    kind = _TYPES.get(name)
    if kind is not None:
        fields.setdefault("type", kind)
    if kind == "tool_result":
        origin = mapping_of(fields.get("origin")) or {}
        fields["id"], fields["name"] = origin.get("id"), origin.get("tool_name")
        fields["is_error"] = fields.get("error")
    return fields
