"""What the result of a tool says of itself."""

from __future__ import annotations

import pytest

from spanwise.assembly.verdicts import reads_like_error, says_error, says_no_such_tool


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"isError": True}, True),
        ({"error": {"message": "no"}}, True),
        ({"error": {"404": 3, "500": 1}}, False),
        ({"error": "none"}, False),
        ({"error": True, "message": "no", "validationErrors": {}}, True),
        ({"error": False, "rows": []}, False),
        ({"result": {"error": "no"}}, True),
        ({"output": {"status": "error"}}, True),
        ({"result": {"value": 1}}, False),
        ({"result": {"error": "no"}, "more": 1}, False),
        ('{"status": "error"}', True),
        ('{"error": "cut in the mid', False),
        ("{'error': 'no such city', 'status': None}", True),
        ("{'error': <object>}", False),
        ("[" * 5000 + "error", False),
        ('{"error":' + '{"a":' * 5000, False),
        (["error"], False),
        (None, False),
        (3, False),
    ],
)
def test_says_error(result: object, said: bool) -> None:
    """Values and JSON text are understood, whatever else comes is no failure."""
    assert said == says_error(result)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("cannot parse '68.4 million'", True),
        ("An error occurred while running the tool.", True),
        ("Unable to reach the server", True),
        ("Activity input JSON validation error: Missing key: expression", True),
        ("Input validation error: 'query' is a required property", True),
        ("2 validation errors for search_docs\nquery\n  Missing required argument", True),
        ("2 validation errors were found in 1990.", False),
        ("Best input validation loss and schema error: -0.31", False),
        ("Mean squared error: low", False),
        ("Paris is the capital of France.", False),
        ("The failed states index lists 179 countries.", False),
        ({"value": 1}, False),
        (None, False),
    ],
)
def test_reads_like_error(result: object, said: bool) -> None:
    """Prose that opens with words of failure reads like an error, prose that only holds such words does not."""
    assert said == reads_like_error(result)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("Tool 'web_search' not found. Available tools: search_docs", True),
        ("web_search is not a valid tool, try one of [search_docs].", True),
        ('Error: Requested function "web_search" not found.', True),
        ("Tool not found", True),
        ({"error": "Unknown tool: web_search"}, True),
        ({"error": 3}, False),
        ("Model tried to call unavailable tool 'web_search'. Available tools: search.", True),
        ("Action 'web_search' don't exist, these are the only available Actions: search", True),
        ("No tool named web_search is registered.", True),
        ("Invoking `web_search()` failed as no tool with that name is available.", True),
        ("Error: The requested tool does not exist or is not available.", True),
        ("The page was not found.", False),
        ("web_search: function parse not found", False),
        ("web_search failed: unknown tool: curl", False),
        (["web_search"], False),
    ],
)
def test_says_no_such_tool(result: object, said: bool) -> None:
    """A result says that there is no such tool only in the words that frameworks have for it."""
    assert said == says_no_such_tool("web_search", result)
