"""Spans that the compiled part reads by itself: of what each dialect says is plain about its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from spanwise import conventions, pricing
from spanwise.assembly.verdicts import may_say_no_such_tool, says_error
from spanwise.conventions import CONVENTIONS
from spanwise.conventions._convention import Convention
from spanwise.conventions._genai_scopes import GOOGLE, REFUSED, REFUSED_IN, REFUSING
from spanwise.conventions._langgraph import hands_over
from spanwise.model.calls import LLMCall, ToolCall
from spanwise.model.content import DECODE, LLMFields
from spanwise.model.effects import is_control
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.span import Span, SpanError
from spanwise.native import FactReader, core

STAND_INS = frozenset({"invalid_tool", "_Exception"})
"""What LangChain calls the spans that may stand for no call of a tool."""
DESCRIPTION = "gen_ai.tool.description"


def _tools(one: Convention) -> object:
    """How the spans of a dialect's tools are read, where it says so: the last dialect has no other to ask."""
    rule = one.plain_tools
    if rule is None:
        return None
    names = rule.names | STAND_INS
    whole = one is not CONVENTIONS[-1]
    return (
        *(rule.fields, rule.scopes, names, rule.ids, rule.titles, rule.beginnings, rule.result),
        *(None if rule.odd_failure is None else partial(_failure, rule.odd_failure), rule.keys, whole),
    )


def _failure(is_odd: Callable[[RawSpan], bool], span: RawSpan, result: object) -> SpanError | None:
    """What a failed tool's span says of its failure; None for one that takes a closer look."""
    said = None if is_odd(span) or hands_over(span) else conventions.error(span) or SpanError()
    if said is None:
        return None
    for text in (said.message, said.type, result, span.attributes.get(DESCRIPTION)):
        if text and isinstance(text, str) and may_say_no_such_tool(text):
            return None
    return said


def _models(one: Convention) -> object:
    """The same of the spans of models: none that may hold several calls, or sums of them, is plain."""
    rule = one.plain_models
    if rule is None or one.sums:
        return None
    return rule.fields, rule.scopes | GOOGLE, rule.absent, one is not CONVENTIONS[-1]


def _answers(one: Convention) -> object:
    """The same of models' answers."""
    rule = one.plain_answers
    return None if rule is None else (rule.text, rule.scopes, rule.absent, rule.leaves)


def _prices(model: str, provider: str | None, hour: int) -> object:
    return pricing.unit_prices(model, provider, hour)


def reader_of(tools: tuple[object, ...], models: tuple[object, ...], answers: tuple[object, ...]) -> FactReader | None:
    """A reader by these rules, which stand in the order of the dialects; None where nothing is compiled."""
    if core is None:
        return None
    return core.FactReader(
        raw=RawSpan,
        span=Span,
        scope=Scope,
        tool_call=ToolCall,
        llm_call=LLMCall,
        llm_fields=LLMFields,
        tools=tools,
        models=models,
        answers=answers,
        refusals=(REFUSING, REFUSED_IN, REFUSED),
        control=is_control,
        failure=says_error,
        prices=_prices,
        decode=DECODE,
    )


READER = reader_of(*(tuple(map(read, CONVENTIONS)) for read in (_tools, _models, _answers)))
"""What reads the spans that are plain by what their dialects say."""
