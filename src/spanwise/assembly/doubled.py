"""Runs that two instrumentations of a framework recorded, each with spans of its own: one telling of them is enough.

Both are handlers of the framework's callbacks, so the spans of one stand beside those of the other, or all below its
outermost one. OpenInference's stay: they hold what the others do, and the documents that were found with their scores.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from spanwise.conventions import UNKNOWN
from spanwise.model.span import Span

_LANGCHAIN = "openinference.instrumentation.langchain"
_LLAMA_INDEX = "openinference.instrumentation.llama_index"
_FIRST = {
    "opentelemetry.instrumentation.langchain": _LANGCHAIN,
    "opentelemetry.instrumentation.genai.langchain": _LANGCHAIN,
    "opentelemetry.instrumentation.llamaindex": _LLAMA_INDEX,
    "opentelemetry.instrumentation.openai_agents": "openinference.instrumentation.openai_agents",
}
"""The scopes of others, and for each OpenInference's of the same framework."""
_FRAMEWORKS = tuple(dict.fromkeys(_FIRST.values()))
TELLERS = {
    **{scope: 2 << at for at, scope in enumerate(_FRAMEWORKS)},
    **{scope: 2 << _FRAMEWORKS.index(first) + len(_FRAMEWORKS) for scope, first in _FIRST.items()},
}
"""A bit for each framework's first teller, and one for all others of it."""
SCOPES = frozenset({*_FIRST, _LLAMA_INDEX, "traceloop.tracer"})
"""The known scopes of the outermost spans of such runs; an app may have put one of its own around them."""
_BOTH = (2 << len(_FRAMEWORKS)) - 2
_CALLS = frozenset({"llm", "tool", "retrieval"})
_SLACK_NS = 2_000_000


def may_be(heard: int) -> bool:
    """Whether a framework has both tellers, by the bits of all that are heard."""
    return bool(heard & heard >> len(_FRAMEWORKS) & _BOTH)


def leave_out(spans: list[Span]) -> bool:
    """Take the second telling of all calls for spans that tell nothing; whether there was one."""
    by_scope: dict[str, list[Span]] = {}
    for span in spans:
        by_scope.setdefault(span.raw.scope.name, []).append(span)
    found = False
    for scope in by_scope.keys() & _FIRST.keys():
        second, first = by_scope[scope], by_scope.get(_FIRST[scope], [])
        told = [span for span in second if span.kind in _CALLS]
        if first and told and all(_is_told(told, first, kind) for kind in _CALLS):
            found = True
            for span in second:
                span.kind, span.dialect = "other", UNKNOWN
    return found


def _is_told(told: list[Span], first: list[Span], kind: str) -> bool:
    """Each of these calls of a kind has the middle of its time within a call of the same kind told first."""
    known = [span for span in first if span.kind == kind]
    starts = [span.start_ns - _SLACK_NS for span in known]  # spans are by start
    ends = list(accumulate((span.end_ns + _SLACK_NS for span in known), max))
    for span in told:
        if span.kind == kind:
            middle = (span.start_ns + span.end_ns) // 2
            at = bisect_right(starts, middle) - 1
            if at < 0 or ends[at] < middle:
                return False
    return True
