"""Quarkus LangChain4j: spans of AI services, of the model calls that it names `completion`, and of tools.

A prompt is recorded as the texts of all its messages, joined by line breaks: which of them the user said, nobody can
tell. What the model asked for is not recorded, only that it asked for something.
"""

from __future__ import annotations

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._returned import text_within
from spanwise.conventions._values import text_of
from spanwise.model.content import LLMFields, Memo, Message, Messages, Part, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

SCOPE = "io.quarkus.opentelemetry"
_SERVICE = "langchain4j.aiservices."
_COMPLETION = "completion "
_COST = "gen_ai.client.estimated_cost"


def kind(span: RawSpan) -> Kind | None:
    """By name: the scope is that of all spans of the app."""
    if span.name.startswith(_SERVICE):
        return "workflow"
    if span.name.startswith(_COMPLETION) and "gen_ai.request.model" in span.attributes:
        return "llm"
    return _genai.kind(span)


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """What the GenAI attributes say; a tool that raised has the exception, and no status."""
    said = _genai.tool(span, memo)
    said.result = text_within(said.result, memo)
    raised = next((event for event in span.events if event.name == "exception"), None)
    if raised is not None:
        said.failed = True
        said.message = text_of(raised.attributes.get("exception.message")) or ""
    return said


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model and tokens, and what Quarkus reckons that the call costs."""
    said = _genai.llm(span, memo)
    cost = text_of(span.attributes.get(_COST))
    if said.cost_usd is None and cost is not None and cost.endswith("USD"):
        said.cost_usd = _number(cost[:-3])
    return said


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def messages(span: RawSpan, memo: Memo) -> Messages:
    """A prompt that is a single line has nothing but the question in it."""
    prompt = text_of(span.attributes.get("gen_ai.prompt"))
    asked = None if prompt is None or "\n" in prompt else (Message("user", (Part("text", prompt),)),)
    return Messages(asked, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered in words."""
    said = text_of(span.attributes.get("gen_ai.completion"))
    return None if said is None else (Message("assistant", (Part("text", said),)),)


def is_strung(span: RawSpan) -> bool:
    """The prompt is recorded, the question not to be told from the instructions in it."""
    return span.scope.name == SCOPE and "\n" in (text_of(span.attributes.get("gen_ai.prompt")) or "")


CONVENTION = Convention(
    name="quarkus",
    title="Quarkus LangChain4j",
    scopes=(SCOPE,),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    content_switch="Set quarkus.langchain4j.tracing.include-prompt, include-completion, include-tool-arguments and "
    "include-tool-result to true.",
)
