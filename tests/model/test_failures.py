"""Failures that pass by themselves, and those that stay."""

from __future__ import annotations

import pytest

from spanwise.model.calls import ToolCall
from spanwise.model.failures import failure_of, kind_of
from spanwise.model.span import SpanError


@pytest.mark.parametrize(
    ("type_", "message", "kind"),
    [
        ("TimeoutError", "", "transient"),
        ("asyncio.exceptions.TimeoutError", "", "transient"),
        ("httpx.ConnectError", "", "transient"),
        ("openai.RateLimitError", "", "transient"),
        ("google.api_core.exceptions.ServiceUnavailable", "", "transient"),
        ("InternalServerError", "bad value", "transient"),
        ("ValueError", "", "permanent"),
        ("pydantic_core._pydantic_core.ValidationError", "", "permanent"),
        ("FileNotFoundError", "", "permanent"),
        ("PermissionDeniedError", "", "permanent"),
        ("AuthenticationError", "", "permanent"),
        ("429", "", "transient"),
        ("503", "", "transient"),
        ("404", "", "permanent"),
        ("200", "", "unknown"),
        ("40", "", "unknown"),
        ("RuntimeError", "database is down", "unknown"),
        ("RuntimeError", "HTTP 503", "transient"),
        ("", "Error code: 429 - slow down", "transient"),
        ("", "HTTP/1.1 502", "transient"),
        ("", "HTTP/1.1 404", "permanent"),
        ("", "status: 400", "permanent"),
        ("", '{"status_code": 408}', "transient"),
        ("", "found 404 documents about 500 things", "unknown"),
        ("", "error 4x4", "unknown"),
        ("", "Request timed out.", "transient"),
        ("", "Connection refused", "transient"),
        ("", "Rate limit reached, please try again later", "transient"),
        ("", "An error occurred. Please try again.", "unknown"),
        ("", "No such file", "permanent"),
        ("", "cannot parse '68.4 million * 0.1'", "permanent"),
        ("", "The key doesn't exist", "permanent"),
        ("", "ValueError('x')", "permanent"),
        ("", "Invalid request: rate limit exceeded", "transient"),
        ("", "", "unknown"),
        ("", "4 400", "unknown"),
        ("", "500", "unknown"),
    ],
)
def test_kinds(type_: str, message: str, kind: str) -> None:
    """The type decides, then a number that is called a status code, then words; what tells nothing is unknown."""
    assert kind == kind_of(type_, message)


def test_where_a_failure_is_told() -> None:
    """What the error says comes first; if that tells nothing, what the call returned, as text or as a value."""
    told = SpanError(type="Error", message="it broke")
    assert [
        "permanent",
        "transient",
        "transient",
        "unknown",
        "unknown",
    ] == [
        failure_of(ToolCall("t", "error", error=SpanError(type="ValueError"), raw_result="timed out")),
        failure_of(ToolCall("t", "error", error=told, raw_result="timed out")),
        failure_of(ToolCall("t", "error", raw_result={"error": {"code": 503}})),
        failure_of(ToolCall("t", "error", error=told)),
        failure_of(ToolCall("t", "error", raw_result=7)),
    ]


def test_how_much_is_read() -> None:
    """Of a long text the beginning and the end are read, nothing in between."""
    dots = ". " * 2000
    assert ["transient", "permanent", "unknown"] == [
        failure_of(ToolCall("t", "error", raw_result=text))
        for text in (f"timed out{dots}", f"{dots}ValueError: no", f"{dots}timed out{dots}")
    ]
