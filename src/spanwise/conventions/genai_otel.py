"""genai-otel-instrument: GenAI's operations and tokens, with what was said in events of its own.

Each message that was sent is an event `gen_ai.prompt.N`, each text that was answered `gen_ai.completion.N`; the calls
that the model asked for stand under OpenInference's names, without any other mark of that dialect. Its processors put
OpenInference's kinds onto spans of other scopes, which are OpenInference's then. Texts are cut at 200 characters unless
it is told otherwise, and nothing says so of one that was.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import ROLES, definitions_of, messages_of
from spanwise.conventions._openinference_messages import OUTPUT, flattened
from spanwise.conventions._values import first_number, text_of
from spanwise.model.content import TRUNCATED, LLMFields, Memo, Message, Messages, Part, ToolDefinition
from spanwise.model.raw import RawSpan

_PROMPT = "gen_ai.prompt"
_COMPLETION = "gen_ai.completion"
_CUT = 200
"""The length at which texts are cut by default: one of that length is not known to be whole."""


def _spoken(span: RawSpan, side: str) -> list[Message]:
    """The messages that one side's events tell, in the order in which they were recorded."""
    out: list[Message] = []
    for event in span.events:
        if event.name.startswith(f"{side}."):
            role = text_of(event.attributes.get(f"{side}.role")) or "assistant"
            out.append(_message(ROLES.get(role, role), text_of(event.attributes.get(f"{side}.content")) or ""))
    return out


def _message(role: str, said: str) -> Message:
    cut = len(said) == _CUT
    if role in {"tool", "function"}:
        return Message("tool", (Part("tool_result", "", None, None, said + TRUNCATED if cut else said),))
    return Message(role, (Part("text", said),) if said and not cut else ())


def messages(span: RawSpan, memo: Memo) -> Messages:
    """The conversation as events tell it, else the first message alone; and what the model answered."""
    sent = _spoken(span, _PROMPT)
    if not sent:
        found = messages_of(span.attributes.get("gen_ai.request.first_message"), memo)
        return Messages(found, output(span, memo))
    return Messages(tuple(sent), output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model said, and the calls that it asked for; those alone are recorded without content, too."""
    if not any(event.name.startswith((_PROMPT, _COMPLETION)) for event in span.events):
        return None
    said = [message for message in _spoken(span, _COMPLETION) if message.parts]
    return (*said, *(flattened(span.attributes, OUTPUT, memo) or ()))


def requests(span: RawSpan, memo: Memo) -> Sequence[Part] | None:
    """The calls that the model asked for: none where it gave another reason for its end."""
    asked = flattened(span.attributes, OUTPUT, memo) or ()
    if not asked and not span.attributes.get("gen_ai.response.finish_reasons"):
        return None
    return [part for message in asked for part in message.parts if part.type == "tool_call" and part.name]


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that the model was offered."""
    return definitions_of(span.attributes.get("llm.tools"), memo)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Usage as GenAI's attributes tell it, and the cost, a part of which stands beside the sum."""
    said = _genai.llm(span, memo)
    cost = first_number(span.attributes, "gen_ai.usage.cost.total")
    return said if cost is None or cost <= 0 else replace(said, cost_usd=float(cost))


CONVENTION = Convention(
    name="genai_otel",
    title="genai-otel-instrument",
    scopes=("genai_otel.instrumentors.base", "genai_otel.instrumentors.openai_instrumentor"),
    kind=_genai.kind,
    llm=llm,
    messages=messages,
    output=output,
    requests=requests,
    definitions=definitions,
    content_switch=(
        "Set GENAI_ENABLE_CONTENT_CAPTURE=true and GENAI_CONTENT_MAX_LENGTH=0: "
        "texts are cut at 200 characters otherwise."
    ),
)
