"""How a run ended, as far as its spans tell: what it says of an answer that is not recorded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from spanwise import conventions
from spanwise.assembly import asked, texts
from spanwise.conventions import logfire_openai_agents
from spanwise.conventions._genai_scopes import PRINTING, is_last_piece
from spanwise.conventions._parts import OPENAI_AGENTS
from spanwise.model.content import Message, Part
from spanwise.model.effects import is_output
from spanwise.model.span import Span
from spanwise.model.trace import Run

_WORDS = frozenset({"text", "other"})
_WITH_MODELS = frozenset({*OPENAI_AGENTS, logfire_openai_agents.SCOPE, PRINTING})
"""Instrumentations of the OpenAI Agents SDK under which each model call leaves a span."""
_WITHOUT_MODELS = "opentelemetry.instrumentation.genai.openai_agents"
"""OpenTelemetry's of the same: model calls are the client's, and of a guardrail at the input nothing is told."""
_BARE = _WORDS | {"tool_call"}


def ended_in_failure(run: Run) -> bool:
    """The run's own span failed."""
    root = run.root_span
    return root is not None and run.trace.facts.status(root) in {"error", "timeout"}


def unasked(run: Run) -> str:
    """Why a run has no model call, where its spans tell that it was stopped before."""
    scopes = set[str]() if run.llm_groups else {span.raw.scope.name for span in run.by_kind.get("agent", ())}
    if scopes.isdisjoint(_WITH_MODELS) or run.tool_calls:
        return ""
    if texts.guarded(run):
        return "A guardrail stopped the run before a model was asked"
    # OpenLLMetry writes neither guardrails nor that one was tripped.
    return "No model was asked, as where a guardrail stops the run before" if PRINTING in scopes else ""


def may_be_unasked(run: Run) -> bool:
    """Model calls never leave a span under this instrumentation, so that none tells of a run stopped before them."""
    agents = run.by_kind.get("agent", ())
    silent = bool(agents) and all(span.raw.scope.name == _WITHOUT_MODELS for span in agents)
    return silent and not run.llm_groups and not run.tool_calls


def unanswered(run: Run) -> str:
    """Why there is no answer that a setting would record; empty where there may be one."""
    if why := unasked(run):
        return f"{why}."
    if texts.guarded(run):
        return "A guardrail stopped the run: what the model answered was given to nobody."
    if _failed_last(run):
        return "The last model call failed: no answer followed."
    if run.root < 0 <= run.mark:
        return "The run's own span was lost: it crashed or was killed, or is still to come."
    asked_for = asked_last(run)
    if asked_for and all(is_output(part.name or "") for part in asked_for):
        return ""  # the answer stands in what was asked for
    if asked_for or (run.llm_groups and texts.asks_unsaid(run, run.llm_groups[-1])):
        return "The run ended on a request for tools: no answer followed."
    if run.llm_groups and any(is_last_piece(span.raw, run.trace.memo) for span in run.llm_groups[-1]):
        return "The last model call was streamed, and only the end of its answer is recorded."
    return "The last model call answered without a word." if _answered_nothing(run) else ""


def _failed_last(run: Run) -> bool:
    """The last model call failed, whatever the spans around it say."""
    last = run.llm_groups[-1] if run.llm_groups else ()
    return any(conventions.failed(span.raw, span.dialect) for span in last)


def _answered_nothing(run: Run) -> bool:
    """What the last model call answered is recorded, and it is empty, though content is not switched off."""
    if run.query is None:
        return False
    last = run.llm_groups[-1] if run.llm_groups else ()
    said = [message for span in last for message in conventions.output(span.raw, run.trace.memo, span.dialect) or ()]
    return bool(said) and not any(part.text or part.type not in _WORDS for message in said for part in message.parts)


def asked_last(run: Run) -> list[Part]:
    """The calls that the last model call, or the agent at its end, is recorded to have asked for."""
    root = run.root_span
    if not run.llm_groups and root is not None and root.kind == "agent":
        said = conventions.output(root.raw, run.trace.memo, root.dialect) or ()
        ended = takewhile(lambda calls: calls, (_calls_in(message) for message in reversed(said)))
        return [part for calls in ended for part in calls]
    last = run.llm_groups[-1] if run.llm_groups else ()
    told = [part for span in last for part in conventions.requests(span.raw, run.trace.memo, span.dialect) or ()]
    if told or not last:
        return told
    apart = asked.asked_apart(run)
    return [part for span in last for part in apart.get(span.index, ())]


def _calls_in(message: Message) -> list[Part]:
    return [part for part in message.parts if part.type == "tool_call" and part.name]


def was_left(run: Run, group: Sequence[Span]) -> bool:
    """What a model answered is not recorded, though what others of its dialect did is: content is switched on."""
    known = {span.dialect for one in run.llm_groups for span in one if _is_told(run, span)}
    return not any(_is_told(run, span) for span in group) and any(span.dialect in known for span in group)


def _is_told(run: Run, span: Span) -> bool:
    """What a model said stands on its span: empty texts and bare names of tools stand there without content, too."""
    said = conventions.output(span.raw, run.trace.memo, span.dialect)
    parts = [part for message in said or () for part in message.parts]
    return said is not None and (not parts or any(part.type not in _BARE or part.text or part.value for part in parts))
