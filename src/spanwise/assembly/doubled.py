"""Runs that two instrumentations of LangChain recorded, each with spans of its own: one telling of them is enough.

Both are handlers of LangChain's callbacks, so the spans of one stand beside those of the other, or all below its
outermost one. OpenInference's stay: they hold what the others do, and the documents that were found with their scores.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from spanwise.conventions import UNKNOWN
from spanwise.model.span import Span

_FIRST = "openinference.instrumentation.langchain"
SCOPES = frozenset({"opentelemetry.instrumentation.langchain", "opentelemetry.instrumentation.genai.langchain"})
"""The scopes of the others."""
_CALLS = frozenset({"llm", "tool", "retrieval"})
_SLACK_NS = 2_000_000


def leave_out(spans: list[Span]) -> bool:
    """Take the second telling of all calls for spans that tell nothing; whether there was one."""
    first: dict[str, list[Span]] = {}
    second: list[Span] = []
    for span in spans:
        scope = span.raw.scope.name
        if scope == _FIRST:
            first.setdefault(span.kind, []).append(span)
        elif scope in SCOPES:
            second.append(span)
    told = [span for span in second if span.kind in _CALLS]
    if not told or not all(_is_told(told, first, kind) for kind in _CALLS):
        return False
    for span in second:
        span.kind, span.dialect = "other", UNKNOWN
    return True


def _is_told(told: list[Span], first: dict[str, list[Span]], kind: str) -> bool:
    """Each of these calls of a kind has the middle of its time within a call of the same kind told first."""
    known = first.get(kind, [])
    starts = [span.start_ns - _SLACK_NS for span in known]  # spans are by start
    ends = list(accumulate((span.end_ns + _SLACK_NS for span in known), max))
    for span in told:
        if span.kind == kind:
            middle = (span.start_ns + span.end_ns) // 2
            at = bisect_right(starts, middle) - 1
            if at < 0 or ends[at] < middle:
                return False
    return True
