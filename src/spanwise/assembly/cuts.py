"""What the SDK's limits took from a run: whole attributes, or the ends of long texts."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise import conventions
from spanwise.assembly import llms
from spanwise.assembly.links import ATTRIBUTE_LIMIT, lost_some
from spanwise.conventions import first_user_text, last_answer_text
from spanwise.model.content import is_cut
from spanwise.model.span import RUN_KINDS, Span
from spanwise.model.trace import Run

COUNT_SWITCH = "Raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT (128 by default): spans lost attributes."
LENGTH_SWITCH = (
    "Raise or unset OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT and OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT, or the limit of the "
    "Collector's processor: they cut values."
)


def limit_of(run: Run) -> int:
    """At how many characters the values of the trace were cut; 0 where they were not, as far as can be seen."""
    return run.trace.memo.look_for_limit(run.trace.paced(run.trace.spans))


def lost_attributes(group: Sequence[Span]) -> bool:
    """Attributes of these spans were dropped, as far as the SDK says so or they are at its limit."""
    return any(lost_some(span.raw) or len(span.attributes) == ATTRIBUTE_LIMIT for span in group)


def cut_ones(run: Run) -> tuple[bool, bool]:
    """Whether what records the question was cut, and whether what records the answer was."""
    memo = run.trace.memo
    said = [conventions.agent(span.raw, memo, span.dialect) for span in run.spans if span.kind in RUN_KINDS]
    asked = [one.query or "" for one in said]
    answered = [one.answer or "" for one in said]
    for group in (*run.llm_groups[:1], *run.llm_groups[-1:]):
        messages = llms.messages(run, group)
        asked.append(first_user_text(messages.input) or "")
        answered.append(last_answer_text(messages.output) or "")
    return any(map(is_cut, asked)), any(map(is_cut, answered))
