"""The question, the tools and the texts that every recording shares.

Runs inside each framework's own environment, so it needs nothing but the standard library.
"""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Mapping

QUERY = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
PLAIN_QUERY = "What is the capital of France?"
PLAIN_ANSWER = "The capital of France is Paris."
# How a script's last line begins when the framework ends the run by design, without an answer.
RUN_ENDED = "run ended: "

MODEL = "gpt-4o-mini"
RESEARCH_AGENT = "research_agent"
MANAGER_AGENT = "manager_agent"
TRIAGE_AGENT = "triage_agent"
RESEARCH_PROMPT = "You are a careful research assistant. Use the tools."
MANAGER_PROMPT = "Delegate research questions."
TRIAGE_PROMPT = "Hand off research questions."
SESSION_ID = "sess-42"
USER_ID = "user-7"

SEARCH_QUERY = "population of France 2024"
BAD_EXPRESSION = "68.4 million * 0.1"
GOOD_EXPRESSION = "68400000 * 0.1"

SEARCH_DESCRIPTION = "Search the document index and return scored passages."
CALCULATOR_DESCRIPTION = "Evaluate an arithmetic expression."

DOCUMENTS: tuple[Mapping[str, object], ...] = (
    {
        "id": "doc-fr-1",
        "title": "France demographics",
        "content": "INSEE estimates that 68.4 million people lived in France on 1 January 2024.",
        "score": 0.91,
    },
    {
        "id": "doc-fr-2",
        "title": "Paris",
        "content": "Paris, the capital of France, has about 2.1 million inhabitants.",
        "score": 0.64,
    },
    {
        "id": "doc-fr-3",
        "title": "French cheese",
        "content": "France produces more than 1,000 kinds of cheese.",
        "score": 0.22,
    },
)


def query_for(variant: str) -> str:
    """The user's question in a variant of the scenario."""
    return PLAIN_QUERY if variant == "plain" else QUERY


def search(query: str) -> list[dict[str, object]]:
    """The same three scored documents come back, whatever the query."""
    del query
    time.sleep(0.02)
    return [dict(document) for document in DOCUMENTS]


def search_text(query: str) -> str:
    """The search result as JSON text, for frameworks whose tools return strings."""
    return json.dumps(search(query))


def calculate(expression: str) -> float:
    """The value of a plain arithmetic expression; words in it raise ValueError."""
    time.sleep(0.005)
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError:
        raise ValueError(f"cannot parse expression: {expression!r}") from None
    return _value(tree)


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left) + _value(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _value(left) - _value(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _value(left) * _value(right)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _value(left) / _value(right)
        case _:
            raise ValueError(f"cannot evaluate expression: {ast.unparse(node)!r}")
