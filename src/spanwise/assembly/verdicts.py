"""What the result of a tool says of itself: that it failed, or that there is no such tool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

import msgspec

from spanwise.conventions._reprs import read_repr
from spanwise.conventions._returned import is_failure
from spanwise.model.calls import ToolCall
from spanwise.model.span import SpanError

_MARKED = re.compile(
    r"(?:error|fatal)\s*[:!]|error (?:executing|calling|running|invoking)|traceback \(|\w*(?:error|exception)[:(]", re.I
)
_WORDED = re.compile(
    r"\d+ validation errors? for \w|"  # Pydantic's
    r"\W*(?:an? )?(?:(?:internal|unexpected|fatal|validation|runtime|server|network|tool|function|request|execution) )?"
    r"(?:(?:error|exception|fail(?:ed|ure)|cannot|can't|could not|couldn't|unable|timed out)\b"
    r"|(?:access|permission) denied\b"
    r"|(?:invalid|unknown) (?:argument|input|value|expression|request|parameter|json|syntax|tool|function|error)\b"
    # A number behind it is what was measured, not what went wrong.
    r"|(?:\w+ ){0,3}(?:validation|parsing|input|schema|connection|timeout|http|api) error: (?!\W*\d))",
    re.I,
)
_FLAGS = ("isError", "is_error", "error")
_ERROR_REPORT = frozenset({"error", "message", "code", "type", "detail", "details", "status", "success", "ok", "hint"})


def says_error(result: object) -> bool:
    """A result that calls itself a failure: `isError`, `error: true`, `status: error`, an error alone, such a text."""
    if isinstance(result, str):
        if result[:1] != "{":
            return _MARKED.match(result) is not None
        if "rror" not in result:
            return False
        try:
            result = msgspec.json.decode(result)
        except (msgspec.DecodeError, RecursionError):
            result = read_repr(result)  # as Python prints a mapping
    if not isinstance(result, Mapping):
        return False
    fields = cast("Mapping[str, object]", result)
    if any(fields.get(key) is True for key in _FLAGS) or fields.get("status") == "error":
        return True
    if len(fields) == 1 and isinstance(inner := fields.get("result", fields.get("output")), Mapping):
        return says_error(cast("Mapping[str, object]", inner))  # Google's function responses, and envelopes like them
    return is_failure(fields.get("error")) is True and _ERROR_REPORT.issuperset(fields)


def reads_like_error(result: object) -> bool:
    """A result known from messages only, where nothing marks failures: prose that opens with words of failure."""
    return isinstance(result, str) and (says_error(result) or _WORDED.match(result) is not None)


_NO_SUCH_TOOL = re.compile(
    r"(?P<before>(?:\bnot (?:a (?:valid|known)|an? (?:available|existing)) tool|\bnot part of the provided"
    r"|\bno tool with th(?:at|is) name|(?:don't|do(?:es)? not) exist, these are the only available))"
    r"|\b(?P<inside>(?:tool|function)\b.{0,80}? (?:is )?(?:not found|not available|does not exist|not registered))"
    r"|\b(?P<behind>(?:unknown|unavailable|non-?existent|unregistered) (?:tool|function)\b"
    r"|no such tool\b|no tool (?:with|named|called)\b)",
    re.I,
)
"""The name stands before, inside or behind what matches: what a tool says of other things names those."""
_NEAR = 24
_NOT_FOUND = re.compile(
    r"\W*(?:error:\s*)?(?:the requested )?(?:tool|function) (?:not found|does not exist(?: or is not available)?)\W*",
    re.I,
)
"""The same of the one that was asked for, without its name."""
_NO_SUCH_TYPE = re.compile(
    r"(?:no_?such|unknown|unavailable|invalid)_?tool|tool_?(?:does_?)?not_?(?:found|exist)", re.I
)


def says_no_such_tool(name: str, result: object) -> bool:
    """What a framework tells a model that invented the tool's name."""
    if isinstance(result, Mapping):  # Google's API wants every answer as a mapping
        result = cast("Mapping[str, object]", result).get("error")
    if not isinstance(result, str):
        return False
    said = result[:200]
    return (
        any(_names(name, said, met) for met in _NO_SUCH_TOOL.finditer(said)) or _NOT_FOUND.fullmatch(said) is not None
    )


def _names(name: str, said: str, met: re.Match[str]) -> bool:
    """Whether a phrase is about the tool of this name."""
    if met["inside"]:
        return name in met.group()
    if met["before"]:
        return name in said[: met.start()]
    return name in said[met.start() : met.end() + len(name) + _NEAR]


def is_no_such_tool(name: str, error: SpanError, described: object) -> bool:
    """Whether a failure is that there is no such tool, by its message, the name of the exception, or the description.

    ADK describes a tool that it does not find as one that is not found, with content or without.
    """
    if says_no_such_tool(name, error.message) or _NO_SUCH_TYPE.search(error.type) is not None:
        return True
    return isinstance(described, str) and _NOT_FOUND.fullmatch(described[:200]) is not None


def may_say_no_such_tool(text: str) -> bool:
    """Whether a text may say so of some tool, whatever its name."""
    said = text[:200]
    return "ool" in said or "unction" in said or "only available" in said


_REFUSALS = ("could not be executed - arguments were malformed", "could not be executed", "arguments are malformed")


def says_not_executed(call: ToolCall) -> bool:
    """What LangChain and Semantic Kernel tell a model whose arguments are no JSON, so that no tool was called."""
    result = call.raw_result
    if not isinstance(result, str) or isinstance(call.arguments, Mapping):
        return False
    marks = _REFUSALS if call.arguments is not None else _REFUSALS[:1]
    return any(mark in result[:200] for mark in marks)


def asks_again(result: object) -> bool:
    """How Pydantic AI, in releases before 2, ends what it tells a model that has to make a call once more."""
    return isinstance(result, str) and result.rstrip().endswith("Fix the errors and try again.")
