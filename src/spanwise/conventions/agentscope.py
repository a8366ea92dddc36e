"""AgentScope's own spans: the GenAI conventions, but a tool's result is the printed form of AgentScope's object.

That object tells whether the tool failed; the span's status never does. In release 1 it does not, either: there the
error of a tool that raised is the text of its result, and what a model was sent stands in the call of the function.
"""

from __future__ import annotations

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import items, messages_of
from spanwise.conventions._reprs import is_dump, read_repr
from spanwise.conventions._returned import plain
from spanwise.conventions._values import first_int, int_of, mapping_of, text_of
from spanwise.model.content import ContextFields, LLMFields, Memo, Messages, ToolFields
from spanwise.model.raw import RawSpan

JAVA = "io.agentscope"
_STATE = "state=<ToolResultState."
_FAILURES = tuple(f"{_STATE}{state}:" for state in ("ERROR", "DENIED", "INTERRUPTED"))
_TOLD = (
    "Error: ",
    "Error during async execution: ",
    "Error occurred when calling MCP tool: ",
    "FunctionNotFoundError: ",
    "FunctionInactiveError: ",
)
"""How release 1 begins the text that it gives the model in the place of a result."""


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """What the GenAI attributes say, the result taken out of its object."""
    said = _genai.tool(span, memo)
    printed = memo.json(said.result)
    if not isinstance(printed, str) or not is_dump(printed):
        return said
    fields = mapping_of(read_repr(printed)) or {}
    said.result = plain(fields["content"], memo) if "content" in fields else None
    told = isinstance(said.result, str) and _STATE not in printed and said.result.startswith(_TOLD)
    said.failed = said.failed or told or any(failure in printed for failure in _FAILURES)
    return said


def several(span: RawSpan, memo: Memo) -> tuple[ToolFields, ...] | None:
    """The calls of one step, which are one span in Java: their names in one text, their ids in any order."""
    names = text_of(span.attributes.get("gen_ai.tool.name"))
    count = int_of(span.attributes.get("gen_ai.tool.call.count"))
    found = names.split(", ") if names is not None else []
    return tuple(ToolFields(name, uncertain=True) for name in found) if count == len(found) > 1 else None


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """What GenAI's attributes say, and what a cache took part in, which Anthropic counts beside the input."""
    said = _genai.llm(span, memo)
    attributes = span.attributes
    said.cache_read_tokens = first_int(attributes, "agentscope.usage.cache_input_tokens")
    said.cache_write_tokens = first_int(attributes, "agentscope.usage.cache_creation_input_tokens")
    if said.provider == "anthropic" and said.input_tokens is not None:
        said.input_tokens += (said.cache_read_tokens or 0) + (said.cache_write_tokens or 0)
    return said


def messages(span: RawSpan, memo: Memo) -> Messages:
    """GenAI's messages; what a model was sent in release 1 is the first argument that it was called with."""
    found = _genai.messages(span, memo)
    if found.input is None:
        called = mapping_of(memo.json(span.attributes.get("agentscope.function.input"))) or {}
        given = items(called.get("args"))
        found.input = messages_of(given[0] if given else None, memo)
    return found


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The session, which release 1 writes in quotes."""
    return ContextFields(text_of(memo.json(span.attributes.get("gen_ai.conversation.id"))))


CONVENTION = Convention(
    name="agentscope",
    title="AgentScope",
    scopes=("agentscope", JAVA),
    kind=_genai.kind,
    tool=tool,
    several=several,
    llm=llm,
    messages=messages,
    output=_genai.output,
    requests=_genai.requests,
    context=context,
    content_switch="Let no span processor take messages off AgentScope's spans.",
)
