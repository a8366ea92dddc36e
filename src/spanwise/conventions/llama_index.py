"""LlamaIndex, by its own spans (`llama-index-observability-otel`).

A span is named `Class.method` and has almost no attributes: the name tells the kind, content stands in span events.
Inside a workflow step the step's input event is summarised on every span as text that looks like Python and may be cut
(strings after 50 characters, lists and mappings after three entries, the whole after 200), so only fields that are
surely whole are taken from it. The name of an agent is nowhere: spans carry the name of its class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definitions_of, items, message_of, messages_of
from spanwise.conventions._react import reacting
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._values import first_int, first_number, first_text, mapping_of, names_of, text_of
from spanwise.model.content import (
    AgentFields,
    Document,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import EMPTY, Attributes, RawSpan
from spanwise.model.span import Kind

SCOPE = "llamaindex.opentelemetry.tracer"
SUMMARY = "llamaindex.step.input_summary"
_STEP = "llamaindex.step.input_event"
_ID = re.compile(r"-[0-9a-f]{8}-[0-9a-f-]{27}\Z")
_CUT = 53
"""Length of a string that was cut: 50 characters and three dots."""
_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|['"]|[\[({]|[\])}]|,|[^'"\[\](){},]+""", re.DOTALL)
_CLASS = re.compile(r"<class '(?:.*\.)?(\w+)'>")
_FIELD = re.compile(r"\s*([A-Za-z_]\w*)=")


def _runner(owner: str, span: RawSpan) -> Kind | None:
    return "agent" if "Agent" in owner else None if owner.endswith("Pipeline") else "workflow"


def _speaker(owner: str, span: RawSpan) -> Kind | None:
    """Model, chat engine and agent share the names of their methods."""
    return "agent" if "Agent" in owner else "workflow" if "Engine" in owner else "llm"


def _called(owner: str, span: RawSpan) -> Kind | None:
    step = span.attributes.get(_STEP)
    in_step = step == "ToolCall" and not owner.endswith(("Program", "Adapter"))
    # An agent's output is made into a type by a program, whose only call is the schema: no tool of the agent's.
    return "tool" if in_step or (owner.endswith("Tool") and step != "AgentOutput") else None


def _processor(owner: str, span: RawSpan) -> Kind | None:
    return "rerank" if "rerank" in owner.lower() else None


def _always(kind: Kind) -> Callable[[str, RawSpan], Kind | None]:
    return lambda owner, span: kind


def _with_async(*names: str) -> tuple[str, ...]:
    return (*names, *(f"a{name}" for name in names))


_METHODS: Mapping[str, Callable[[str, RawSpan], Kind | None]] = {
    **dict.fromkeys(_with_async("run"), _runner),
    **dict.fromkeys(_with_async("chat", "stream_chat"), _speaker),
    **dict.fromkeys(
        _with_async("complete", "stream_complete", "chat_with_tools", "stream_chat_with_tools"), _always("llm")
    ),
    **dict.fromkeys(_with_async("call"), _called),
    **dict.fromkeys(_with_async("query"), _always("workflow")),
    **dict.fromkeys(_with_async("retrieve"), _always("retrieval")),
    **dict.fromkeys(
        _with_async("get_query_embedding", "get_text_embedding", "get_text_embedding_batch"), _always("embedding")
    ),
    **dict.fromkeys(_with_async("_postprocess_nodes", "postprocess_nodes"), _processor),
}
"""By method; what is called inside these (`_retrieve`, `_prepare_chat_with_tools`, `predict`) is no step of its own."""


def kind(span: RawSpan) -> Kind | None:
    """What the method's name says, and the class's where classes of several kinds have such a method.

    The first releases put an id behind the name, and nothing tells which tool was called: of a class no call is made.
    """
    owner, _, method = span.name.rpartition(".")
    judge = _METHODS.get(method)
    if judge is not None:
        return judge(owner, span)
    judge = _METHODS.get(_ID.sub("", method))
    found = judge(owner, span) if judge is not None else None
    return None if found == "tool" else found


def fields_of(text: str) -> dict[str, str]:
    """The fields of a printed object, each as its own text; the one in which the text was cut ends in "…".

    >>> fields_of("ToolCall(tool_name='add', tool_kwargs={'a': (1, 2)}, tool_id='c")
    {'tool_name': "'add'", 'tool_kwargs': "{'a': (1, 2)}", 'tool_id': "'c…"}
    """
    found: dict[str, str] = {}
    at = text.find("(") + 1
    while at and (name := _FIELD.match(text, at)):
        start, depth, at = name.end(), 0, name.end()
        end = None
        while end is None and (token := _TOKEN.match(text, at)):
            sign = token.group()
            if depth == 0 and sign in {",", ")"}:
                end = at
            depth += (sign in {"[", "(", "{"}) - (sign in {"]", ")", "}"})
            at = len(text) if sign in {"'", '"'} else token.end()  # a quote that is never closed: the cut
        found[name.group(1)] = text[start:end] if end is not None else text[start:] + "…"
    return found


def _whole(text: str | None) -> object:
    """The value of a field's text; None where it was cut or stands for an object."""
    value = read_repr(text) if text and text[-1] != "…" else None
    if isinstance(value, str) and (value == text or (len(value) == _CUT and value.endswith("..."))):
        return None
    return value


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments and id of the tool call that the step was given. The result is in the next model call's input."""
    if span.attributes.get(_STEP) == "ToolCall":
        said = fields_of(str(span.attributes.get(SUMMARY)))
        return ToolFields(
            text_of(_whole(said.get("tool_name"))),
            mapping_of(_whole(said.get("tool_kwargs"))),
            call_id=text_of(_whole(said.get("tool_id"))),
        )
    called = _event(span, "AgentToolCallEvent")
    return ToolFields(first_text(called, "tool.name"), called.get("arguments"))


def _event(span: RawSpan, *names: str) -> Attributes:
    """The attributes of the last event with one of these names."""
    return next((event.attributes for event in reversed(span.events) if event.name in names), EMPTY)


def _started(span: RawSpan) -> Attributes:
    return _event(span, "LLMChatStartEvent", "LLMCompletionStartEvent")


def _ended(span: RawSpan) -> Attributes:
    return _event(span, "LLMChatEndEvent", "LLMCompletionEndEvent")


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model and usage, from the provider's own response as far as LlamaIndex kept it."""
    began, ended = _started(span), _ended(span)
    usage = {key.removeprefix("response.raw."): value for key, value in ended.items() if "usage" in key}
    read = first_int(
        usage,
        "usage.prompt_tokens_details.cached_tokens",
        "usage.input_tokens_details.cached_tokens",
        "usage.cache_read_input_tokens",
        "usage_metadata.cached_content_token_count",
    )
    written = first_int(usage, "usage.cache_creation_input_tokens", "usage.prompt_tokens_details.cache_write_tokens")
    asked = first_int(
        usage, "usage.prompt_tokens", "usage.input_tokens", "usage_metadata.prompt_token_count"
    ) or first_int(ended, "response.additional_kwargs.prompt_tokens")
    if asked is not None and "usage.cache_read_input_tokens" in usage:  # Anthropic counts these beside the input
        asked += (read or 0) + (written or 0)
    answered = first_int(
        usage, "usage.completion_tokens", "usage.output_tokens", "usage_metadata.candidates_token_count"
    ) or first_int(ended, "response.additional_kwargs.completion_tokens")
    model = first_text(ended, "response.raw.model") or first_text(began, "model_dict.model_name", "model_dict.model")
    return LLMFields(
        None if model == "unknown" else model,
        None,
        asked,
        answered,
        read,
        written,
        first_int(
            usage,
            "usage.completion_tokens_details.reasoning_tokens",
            "usage.output_tokens_details.reasoning_tokens",
            "usage_metadata.thoughts_token_count",
        ),
    )


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What the model was sent and what it answered."""
    began = _started(span)
    sent = messages_of(began.get("messages"), memo)
    prompt = text_of(began.get("prompt"))
    if sent is None and prompt is not None:
        sent = (Message("user", (Part("text", prompt),)),)
    return Messages(sent, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered; a streamed answer is not recorded, for its span ends before it does."""
    ended = _ended(span)
    text = text_of(ended.get("response.text"))
    if text is not None:
        return (reacting(Message("assistant", (Part("text", text),))),)
    fields: dict[str, object] = {
        "role": ended.get("response.message.role") or "assistant",
        "blocks": memo.json(ended.get("response.message.blocks")),
        "content": ended.get("response.message.content"),
        "tool_calls": memo.json(ended.get("response.message.additional_kwargs.tool_calls")),
    }
    message = message_of(fields, memo)
    return (reacting(message),) if message.parts else None


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Question and answer of a query engine; the answer of an agent or workflow if its summary holds all of it."""
    asked, answered = _event(span, "QueryStartEvent"), _event(span, "QueryEndEvent")
    answer = first_text(answered, "response.response")
    if answer is None:
        answer = _result(str(_event(span, "workflow.output").get("output", "")))
    return AgentFields(None, first_text(asked, "query", "query.query_str"), answer)


def _result(summary: str) -> str | None:
    """The text in `StopEvent(result='...')`, or in the message of an agent's output there."""
    result = fields_of(summary).get("result", "") if summary.startswith("StopEvent(") else ""
    if not result.startswith("AgentOutput("):
        return text_of(_whole(result))
    blocks = _whole(fields_of(fields_of(result).get("response", "")).get("blocks"))
    texts = [first_text(block, "text") for item in items(blocks) or () if (block := mapping_of(item))]
    return "\n".join(text for text in texts if text) or None


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents with their scores."""
    asked = _event(span, "RetrievalStartEvent", "RetrievalEndEvent")
    found = items(memo.json(_event(span, "RetrievalEndEvent").get("nodes")))
    documents = None if found is None else tuple(_document(fields) for fields in map(mapping_of, found) if fields)
    return RetrievalFields(first_text(asked, "str_or_query_bundle", "str_or_query_bundle.query_str"), documents)


def _document(fields: Mapping[str, object]) -> Document:
    node = mapping_of(fields.get("node")) or {}
    text = first_text(node, "text") or first_text(mapping_of(node.get("text_resource")) or {}, "text")
    names = names_of(node, mapping_of(node.get("metadata")) or {})
    return Document(first_text(node, "id_"), first_number(fields, "score"), text, names)


def typed_as(span: RawSpan) -> str | None:
    """The type in which a model's last answer is put, which it is offered as a tool."""
    if span.scope.name != SCOPE or not span.name.endswith("structured_predict"):
        return None
    found = _CLASS.search(str(_event(span, "LLMStructuredPredictStartEvent").get("output_cls")))
    return found.group(1) if found is not None else None


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that the model was offered."""
    return definitions_of(_started(span).get("additional_kwargs.tools"), memo)


CONVENTION = Convention(
    name="llama_index",
    title="LlamaIndex",
    scopes=(SCOPE,),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    agent=agent,
    retrieval=retrieval,
    definitions=definitions,
    content_switch="Use openinference-instrumentation-llama-index: it records what LlamaIndex's own spans cut.",
)
