"""The question of a chain that searches first and then asks a model: its prompt is a template, filled by the app.

Where such a chain's own span does not record what it was called with, the first thing that a user seems to have said is
that prompt, with every document in it. The user's question is what was searched for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from spanwise.model.calls import Retrieval
from spanwise.model.span import Span
from spanwise.model.trace import Run

_SHORT = 20
_LLAMA_INDEX = re.compile(r"Context information is below\.\n-{9,}\n.*\nQuery: (.+?)\nAnswer:\s*\Z", re.S)
"""LlamaIndex's own prompt for a query engine, where no retriever's span stands in the same run."""


def searched_before(run: Run, first: Span) -> Sequence[Retrieval]:
    """What the run searched for before its first model call: by nobody's wish but the app's."""
    return [one for one in run.retrievals if 0 < one.end_ns <= first.start_ns]


def question_in(asked: str, searched: Sequence[Retrieval]) -> str | None:
    """What the user asked: the recorded message, unless it is a filled template; None where the template hides it.

    A template holds a retrieved document; where no document's text is recorded, a line of it ends in what was
    searched for.
    """
    filled = _LLAMA_INDEX.match(asked)
    if filled is not None:
        return filled.group(1)
    queries = sorted({one.query for one in searched if one.query}, key=len, reverse=True)
    if asked in queries:
        return asked
    if any(_holds_document(asked, one) for one in searched):
        return next((query for query in queries if query in asked), None)
    if any(document.content for one in searched for document in one.documents or ()):
        return asked
    lines = asked.split("\n")
    return next((query for query in queries if len(lines) > 1 and _closes(lines, query)), asked)


def _closes(lines: Sequence[str], query: str) -> bool:
    return len(query) >= _SHORT and any(line.rstrip().endswith(query) for line in lines)


def _holds_document(asked: str, retrieval: Retrieval) -> bool:
    texts = (document.content for document in retrieval.documents or ())
    return any(text is not None and len(text) >= _SHORT and text in asked for text in texts)
