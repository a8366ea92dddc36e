"""Monocle's spans (`monocle_apptrace`): `span.type` says what one is, its content stands in span events.

`data.input` and `data.output` hold texts, or each message as `{role: content}`; what an agent and its model are called
stands among numbered entities. Of what LangChain's model asks for the first call is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import items, messages_of
from spanwise.conventions._payloads import answered, asked, conversation
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._usages import provided
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    RetrievalFields,
    ToolFields,
)
from spanwise.model.raw import EMPTY, RawSpan
from spanwise.model.span import Kind

Fields: TypeAlias = Mapping[str, object]

_KINDS: Mapping[str, Kind] = {
    "workflow": "workflow",
    "agentic.turn": "workflow",
    "agentic.invocation": "agent",
    "agentic.tool.invocation": "tool",
    "agentic.mcp.invocation": "tool",
    "inference": "llm",
    "inference.framework": "llm",
    "retrieval": "retrieval",
    "embedding": "embedding",
}
"""What `inference.modelapi` names is told by the span of the framework around it."""
_ROLES: Mapping[str, str] = {"human": "user", "ai": "assistant", "tools": "assistant", "developer": "system"}
_INPUT, _OUTPUT, _METADATA = ("data.input", "input"), ("data.output", "response"), "metadata"
_TASKS = "crewai.task."
"""Whose spans are said to be an agent's, which works on the task below."""
_PAIR = re.compile(r"(\w+): (.*)", re.DOTALL)
_UNKNOWN = Message("tool", (Part("tool_result"),))
"""Stands for a result that one of several calls had."""
_RESPONSE_ITEM = "fc_"
"""How ids begin that OpenAI's Responses API gives to items of a response; those of calls are others."""


def kind(span: RawSpan) -> Kind | None:
    """What the span's type says; HTTP and what the app traces by itself is nothing that is scored."""
    said = span.attributes.get("span.type")
    if said == "agentic.invocation" and span.name.startswith(_TASKS):
        return "workflow"
    return _KINDS.get(said, "other") if isinstance(said, str) else None


def _event(span: RawSpan, name: str) -> Fields:
    return next((event.attributes for event in span.events if event.name == name), EMPTY)


def _held(span: RawSpan, place: tuple[str, str]) -> object:
    name, key = place
    return _event(span, name).get(key)


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """The tool, what it was given as Python or JSON prints it, and the text that it returned."""
    name, returned = first_text(span.attributes, "entity.1.name"), _held(span, _OUTPUT)
    return ToolFields(
        name,
        _arguments(_held(span, _INPUT), memo),
        memo.json(read_repr(returned)) if isinstance(returned, str) else None,
    )


def _arguments(given: object, memo: Memo) -> object:
    """Of CrewAI each argument is a line with its name; a text may be one as well as what the text says."""
    listed = items(given)
    pairs = [_PAIR.fullmatch(one) if isinstance(one, str) else None for one in listed or ()]
    if pairs and all(pairs):
        return {pair[1]: memo.json(pair[2]) for pair in pairs if pair is not None}
    decoded = memo.json(listed[0] if listed and len(listed) == 1 else given)
    return read_repr(decoded) if isinstance(decoded, str) else decoded


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model, provider and use, which is written as texts."""
    told = _event(span, _METADATA).items()
    said = provided({key: memo.json(value) if str(value).isdecimal() else value for key, value in told})
    attributes = span.attributes
    said.model = first_text(attributes, "entity.2.name")
    said.provider = (first_text(attributes, "entity.1.type") or "").removeprefix("inference.") or None
    return said


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What a model was sent and answered."""
    return Messages(_spoken(_held(span, _INPUT), "user", memo), output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What a model answered."""
    return _spoken(_held(span, _OUTPUT), "assistant", memo) if kind(span) == "llm" else None


def _spoken(value: object, role: str, memo: Memo) -> tuple[Message, ...] | None:
    listed = items(value) or ((value,) if value else ())
    found = [message for item in listed for message in _messages(memo.json(item), item, role, memo)]
    told = messages_of(found, memo) or ()
    return tuple(_UNKNOWN if _is_one_of_some(told, at) else one for at, one in enumerate(told)) or None


def _is_one_of_some(spoken: Sequence[Message], at: int) -> bool:
    """A result beside another, both without an id: LlamaIndex tells first what returned first, whoever asked first."""
    return _is_nameless(spoken[at]) and sum(map(_is_nameless, spoken[max(at - 1, 0) : at + 2])) > 1


def _is_nameless(message: Message) -> bool:
    return message.role == "tool" and all(part.id is None for part in message.parts)


def _messages(value: object, whole: object, role: str, memo: Memo) -> Iterable[Fields]:
    """A text as such, a call, a result, or what the only key of a mapping says."""
    fields = mapping_of(value)
    if fields is None:
        return ({"role": role, "content": whole},)
    if "tool_function" in fields:
        return ({"role": "assistant", "tool_calls": [_call(fields)]},)
    if set(fields) == {"call_id", "output"}:
        return ({"role": "tool", "tool_call_id": fields["call_id"], "content": fields["output"]},)
    return [_message(_ROLES.get(key, key), said, memo) for key, said in fields.items()]


def _message(role: str, said: object, memo: Memo) -> Fields:
    lone = mapping_of(said)
    listed = items(said) or (() if lone is None else (lone,))
    calls = [_call(fields) for one in listed if (fields := mapping_of(memo.json(one))) is not None and _is_call(fields)]
    return {"role": role, "tool_calls": calls} if calls else {"role": role, "content": said}


def _is_call(fields: Fields) -> bool:
    return "tool_name" in fields or "tool_function" in fields or fields.get("type") == "tool_call"


def _call(fields: Fields) -> Fields:
    """A call as Monocle writes it, or as LangChain has it; a stream's arguments may be missing."""
    call_id = first_text(fields, "tool_id", "call_id", "id")
    given = next((fields[key] for key in ("tool_arguments", "args") if key in fields), None)
    name = first_text(fields, "tool_name", "tool_function", "name")
    of_item = call_id is not None and call_id.startswith(_RESPONSE_ITEM)
    return {
        "type": "tool_call",
        "id": None if of_item else call_id,
        "name": name,
        "arguments": None if given == "" else given,
    }


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """The agent by its entity's name, with question and answer; LangGraph's messages may be pairs."""
    given = _held(span, _INPUT)
    listed = items(given)
    given = listed[0] if listed and len(listed) == 1 else given
    name = first_text(span.attributes, "entity.1.name") if kind(span) == "agent" else None
    return AgentFields(name, _question(given, memo), answered(_held(span, _OUTPUT), memo))


def _question(given: object, memo: Memo) -> str | None:
    fields = mapping_of(memo.json(given)) or {}
    pairs = [items(one) or () for one in items(fields.get("messages")) or ()]
    texts = [text_of(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] in {"user", "human"}]
    return texts[-1] if texts else asked(given, memo)


def record(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """An agent's span has no more than its question and its answer."""
    return conversation(memo.json(_held(span, _OUTPUT)), memo)


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """The query; of the documents only the beginning of their texts is recorded."""
    return RetrievalFields(text_of(_held(span, _INPUT)))


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The session, a scope that the app opens or that its framework has; where none has, Monocle counts."""
    session = first_text(span.attributes, "scope.agentic.session")
    return ContextFields(None if session is None or session.startswith("0x") else session)


CONVENTION = Convention(
    name="monocle",
    title="Monocle",
    scopes=("monocle_apptrace",),
    keys=("monocle_apptrace.version",),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    tells_requests=False,
    record=record,
    agent=agent,
    retrieval=retrieval,
    context=context,
)
