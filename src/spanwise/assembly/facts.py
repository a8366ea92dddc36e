"""The facts of a run, each read when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from spanwise import conventions
from spanwise.assembly import agents, calls, llms, missing, talk, texts
from spanwise.model.calls import Who
from spanwise.model.content import ContextFields, ToolDefinition, is_cut
from spanwise.model.raw import STATUS_OK
from spanwise.model.span import Span, SpanError, SpanStatus
from spanwise.model.trace import Run

_TIMEOUTS = ("timeout", "deadline", "timed out")
_WHO_SPANS = 64
_OFFERING = frozenset({"llm", "generation", "agent", "workflow", "setup"})
# Some record a tool's schema only where it runs; asked only if the offers lack it.
_RUNNING = frozenset({"tool"})


def definitions(run: Run) -> tuple[ToolDefinition, ...] | None:
    """The tools that the spans offer, each name once, a definition with a schema before one without."""
    memo = run.trace.memo
    offered: dict[str, ToolDefinition] = {}
    known = False
    for kinds in (_OFFERING, _RUNNING):
        for span in run.trace.paced(run.of_kinds(kinds)):
            found = conventions.definitions(span.raw, memo, span.dialect)
            if found is None and _is_cut(span.attributes.get("gen_ai.tool.definitions")):
                return None  # a tool left out would pass for one that does not exist
            if found is not None:
                known = True
                for item in found:
                    held = offered.get(item.name)
                    if held is None or (held.schema is None and item.schema is not None):
                        offered[item.name] = item
        if all(item.schema is not None for item in offered.values()):
            break
    return tuple(offered.values()) if known else None


def _is_cut(offered: object) -> bool:
    return isinstance(offered, str) and is_cut(offered)


class SpanFacts:
    """Reads a run's facts out of its spans by the conventions they speak. Holds no state: all memory is the trace's."""

    query = staticmethod(texts.query)
    answer = staticmethod(texts.answer)
    given = staticmethod(texts.given)
    said = staticmethod(talk.said)
    told = staticmethod(talk.told)
    tool_calls = staticmethod(calls.tool_calls)
    tool_definitions = staticmethod(definitions)
    llm_calls = staticmethod(llms.llm_calls)
    tokens = staticmethod(llms.tokens)
    stated_usd = staticmethod(llms.stated_usd)
    models = staticmethod(llms.models)
    handoffs = staticmethod(agents.handoffs)
    retrievals = staticmethod(agents.retrievals)
    agents = staticmethod(agents.agents)
    lacking = staticmethod(missing.lacking)
    content_switch = staticmethod(missing.content_switch)
    missing = staticmethod(missing.missing)

    def who(self, run: Run, /) -> Who:
        """Session, user and request: what the app said, then what the run's own spans name, then the spans around it.

        The app's words may stand above a run whose own spans bear an id that a framework made up.
        """
        around = tuple(run.trace.ancestors(run.root)) if run.root >= 0 else ()
        spans = run.spans[:_WHO_SPANS]
        memo = run.trace.memo
        found = _whose(conventions.context(span.raw, memo) for span in chain(spans, around))
        root = (run.trace.spans[run.root],) if run.root >= 0 else ()
        stated = [said for span in chain(root, around, spans) if (said := conventions.stated(span.raw, memo))]
        if not stated:
            return found
        said = _whose(stated)
        return Who(
            session_id=said.session_id or found.session_id,
            user_id=said.user_id or found.user_id,
            request_id=said.request_id or found.request_id,
            tags=tuple(dict.fromkeys((*said.tags, *found.tags))),
            metadata={**(found.metadata or {}), **(said.metadata or {})} or None,
        )

    def span_error(self, span: Span, /) -> SpanError | None:
        """What a failed span says of its failure; None for a span that did not fail."""
        return conventions.error(span.raw) if conventions.failed(span.raw, span.dialect) else None

    def status(self, span: Span, /) -> SpanStatus:
        """The span's status; a failure that names a deadline is a timeout."""
        if conventions.failed(span.raw, span.dialect):
            said = conventions.error(span.raw)
            words = f"{said.type} {said.message[:200]}".lower() if said else ""
            return "timeout" if any(mark in words for mark in _TIMEOUTS) else "error"
        return "ok" if span.raw.status_code == STATUS_OK else "unset"


def _whose(fields: Iterable[ContextFields]) -> Who:
    """What is said first of each."""
    found = Who()
    for said in fields:
        found = Who(
            session_id=found.session_id or said.session_id,
            user_id=found.user_id or said.user_id,
            request_id=found.request_id or said.request_id,
            tags=found.tags or said.tags,
            metadata=found.metadata or said.metadata,
        )
        if found.session_id and found.user_id and found.request_id:
            break
    return found
