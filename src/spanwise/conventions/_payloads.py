"""What agents, models and retrievers were given and gave back, as frameworks serialise it.

Traceloop, Langfuse, MLflow and Vercel record what a function was called with and what it returned, whatever that is:
text, messages, a graph's state, a call's `{"args": [...], "kwargs": {...}}`, a provider's response object, documents.
The question and the answer are taken where they stand plainly. State, search results, requests for tools and printed
objects are neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from spanwise.conventions._genai import first_user_text, last_answer_text
from spanwise.conventions._langchain import last_word
from spanwise.conventions._messages import CALL_TYPES, REASONING_TYPES, RESULT_TYPES, ROLES, items, messages_of
from spanwise.conventions._reprs import is_dump, is_object, read_repr
from spanwise.conventions._values import first_number, first_text, mapping_of, names_of, number_of, text_of
from spanwise.model.content import Document, Memo, Message, Part, ToolFields, is_redacted

Fields: TypeAlias = Mapping[str, object]

_CONVERSATIONS = ("messages", "input_messages", "chat_history")
_QUESTIONS = (
    "question", "query", "user_input", "user_query", "user_message", "user_msg", "input", "inputs", "prompt", "task",
    "request", "message", "text",
)  # fmt: skip
_ANSWERS = (
    "answer", "final_answer", "final_output", "output", "outputs", "result", "response", "return_values", "reply",
    "output_text", "raw", "text",
)  # fmt: skip
_MESSAGE_TYPES = (frozenset({*ROLES, "user", "assistant", "system", "tool", "message"}) - {"function"}) | (
    CALL_TYPES | RESULT_TYPES | REASONING_TYPES
)
_ERRORS = frozenset({"error", "error_code", "error_message"})
_ENDS = frozenset({"__end__", "__start__"})
"""Where LangGraph goes next: a step that returns one of these says nothing."""
_DEPTH = 5


def asked(value: object, memo: Memo, *, depth: int = 0) -> str | None:
    """The question in what an agent or a workflow was called with."""
    decoded = memo.json(value)
    fields = mapping_of(decoded)
    if fields is None and items(decoded) is None:
        return _said(decoded if isinstance(decoded, str) else value)
    spoken = conversation(decoded, memo)
    if spoken is not None:
        return first_user_text(spoken)
    if fields is None or depth > _DEPTH:
        return None
    if is_call(fields):
        return _asked_of_call(fields, memo, depth)
    for key in _QUESTIONS:
        found = asked(fields[key], memo, depth=depth + 1) if fields.get(key) is not None else None
        if found is not None:
            return found
    return _only_text(fields)


def answered(value: object, memo: Memo, *, depth: int = 0) -> str | None:
    """The final text in what an agent or a workflow returned."""
    decoded = memo.json(value)
    fields = mapping_of(decoded)
    if fields is None and items(decoded) is None:
        return _said(decoded if isinstance(decoded, str) else value)
    spoken = conversation(decoded, memo)
    if spoken is not None:
        return last_word(last_answer_text(spoken), fields)
    if fields is None or depth > _DEPTH or not _ERRORS.isdisjoint(fields):
        return None
    inner = mapping_of(fields.get("kwargs")) if "lc" in fields else None
    if inner is not None:  # a serialised LangChain object that is no message, such as AgentFinish
        return answered(inner, memo, depth=depth + 1)
    for key in _ANSWERS:
        found = answered(fields[key], memo, depth=depth + 1) if fields.get(key) is not None else None
        if found is not None:
            return found
    return _only_text(fields)


def _said(value: object) -> str | None:
    """The text, unless nobody said it."""
    text = text_of(value)
    if text is None or text in _ENDS or is_redacted(text) or is_dump(text):
        return None
    # A list or mapping in Python's notation is a tool's result or a state.
    return None if text[0] in "[{" and read_repr(text) is not text else text.strip() or None


def _only_text(fields: Fields) -> str | None:
    """The text of a mapping with a single value: whatever its name, nothing else was passed."""
    return _said(next(iter(fields.values()))) if len(fields) == 1 else None


def conversation(value: object, memo: Memo) -> tuple[Message, ...] | None:
    """The messages in a state, a list or alone; None for anything that does not show to be messages."""
    fields = mapping_of(value)
    if fields is not None:
        found = [items(memo.json(fields.get(key))) for key in _CONVERSATIONS]
        listed = next((held for held in found if held), None)
        if listed is None:
            return messages_of(fields, memo) if _is_message(fields) else None
    else:
        listed = items(value)
    if listed and len(listed) == 1:  # LangChain batches of one
        listed = items(listed[0]) or listed
    if not listed or not all(_is_message(mapping_of(memo.json(item))) for item in listed):
        return None
    return messages_of(listed, memo)


def _is_message(fields: Fields | None) -> bool:
    if fields is None:
        return False
    if "lc" in fields:
        return str((items(fields.get("id")) or ("",))[-1]) in ROLES
    return isinstance(fields.get("role"), str) or text_of(fields.get("type")) in _MESSAGE_TYPES


def is_call(fields: Fields) -> bool:
    """The mapping records how a function was called."""
    return bool(fields) and fields.keys() <= {"args", "kwargs"}


def _asked_of_call(fields: Fields, memo: Memo, depth: int) -> str | None:
    """The question among the arguments of a call: by its name, else the only text."""
    named = asked(fields["kwargs"], memo, depth=depth + 1) if fields.get("kwargs") else None
    if named is not None:
        return named
    texts = [asked(item, memo, depth=depth + 1) for item in items(fields.get("args")) or ()]
    found = [text for text in texts if text is not None]
    return found[0] if len(found) == 1 else None


def call_arguments(value: object, memo: Memo) -> object:
    """What a tool was given, taken out of a recorded call: named arguments, a lone bare value, or the list of them."""
    decoded = memo.json(value)
    if isinstance(decoded, str) and decoded[:1] in "{[":
        decoded = read_repr(decoded)
    fields = mapping_of(decoded)
    if fields is None or not is_call(fields):
        return decoded
    positional = [item for item in items(fields.get("args")) or () if not is_object(item)]
    named = {name: item for name, item in (mapping_of(fields.get("kwargs")) or {}).items() if not is_object(item)}
    if not positional:
        return named
    if named:
        return {"args": positional, **named}
    return positional[0] if len(positional) == 1 else positional


def invoked(sent: Iterable[Message] | None, got: Iterable[Message] | None) -> tuple[ToolFields, ...]:
    """The calls requested in the messages that a tool invoker was sent, with their results by id, else by order."""
    results = [part for message in got or () for part in message.parts if part.type == "tool_result"]
    out: list[ToolFields] = []
    for call in (part for message in sent or () for part in message.parts if part.type == "tool_call"):
        at = next((n for n, part in enumerate(results) if part.id == call.id and part.name in (call.name, None)), None)
        result = results.pop(at) if at is not None else None
        said = result.value if result is not None else None
        failed = result is not None and result.error
        message = said if failed and isinstance(said, str) else ""
        out.append(ToolFields(call.name, call.value, said, call.id, failed, message=message, uncertain=result is None))
    return tuple(out)


def reply(value: object, memo: Memo) -> tuple[Message, ...] | None:
    """The messages in a model's response: text, messages, or the response object of a provider or of LangChain."""
    decoded = memo.json(value)
    fields = mapping_of(decoded)
    if fields is None:
        listed = items(decoded)
        if listed is not None:
            return messages_of(listed, memo) if any(_is_message(mapping_of(item)) for item in listed) else None
        text = text_of(decoded if isinstance(decoded, str) else value)
        return (Message("assistant", (Part("text", text),)),) if text else None
    for key, within in (("choices", "message"), ("candidates", "content")):
        choices = items(fields.get(key))
        if choices:
            found = [mapping_of((mapping_of(choice) or {}).get(within)) for choice in choices]
            return messages_of([{"role": "assistant", **one} for one in found if one], memo)
    generations = items(fields.get("generations"))
    if generations:
        return _generated(generations, memo)
    if isinstance(fields.get("output"), list | tuple):  # OpenAI's Responses
        return messages_of(fields["output"], memo)
    inner = mapping_of(fields.get("message")) or mapping_of(fields.get("response"))
    return messages_of({"role": "assistant", **(inner or fields)}, memo) if inner or _speaks(fields) else None


def _speaks(fields: Fields) -> bool:
    return _is_message(fields) or not {"content", "tool_calls", "text", "parts", "blocks"}.isdisjoint(fields)


def _generated(generations: Sequence[object], memo: Memo) -> tuple[Message, ...] | None:
    """The messages of LangChain's `LLMResult`: a list of candidates for each prompt."""
    found: list[object] = []
    for candidates in generations:
        for item in items(candidates) or (candidates,):
            fields = mapping_of(item)
            if fields is not None:
                found.append(fields.get("message") or {"role": "assistant", "content": fields.get("text")})
    return messages_of(found, memo)


def searched(value: object, memo: Memo, *, depth: int = 0) -> str | None:
    """The query of a retrieval."""
    decoded = memo.json(value)
    fields = mapping_of(decoded)
    if fields is not None and is_call(fields):
        decoded = call_arguments(fields, memo)
        fields = mapping_of(decoded)
    if fields is None:
        listed = items(decoded)
        if listed and depth < _DEPTH:
            return searched(listed[0], memo, depth=depth + 1)
        return text_of(decoded if isinstance(decoded, str) else value)
    for key in ("query", "query_str", "str_or_query_bundle", "query_bundle", "question", "input", "q", "text"):
        inner = fields.get(key)
        found = first_text(mapping_of(inner) or {}, "query_str", "query", "text") or text_of(inner)
        if found is not None:
            return found
    return _only_text(fields)


def documents(value: object, memo: Memo) -> tuple[Document, ...] | None:
    """The documents that a retriever returned: LangChain's, LlamaIndex's nodes, or plain mappings and texts."""
    decoded = memo.json(value)
    fields = mapping_of(decoded)
    if fields is not None:
        held = next((fields[key] for key in ("documents", "docs", "nodes", "results") if key in fields), None)
        decoded = memo.json(held)
    listed = items(decoded)
    if listed is None:
        return None
    out: list[Document] = []
    for item in listed:
        decoded = memo.json(item)
        pair = items(decoded)
        found = _document(pair[0] if pair else decoded)
        if found is not None:
            if pair is not None and len(pair) == 2 and found.score is None:  # similarity_search_with_score
                found.score = number_of(pair[1])
            out.append(found)
    return tuple(out)


def _document(value: object) -> Document | None:
    fields = mapping_of(value)
    if fields is None:
        text = text_of(value)
        return Document(content=text) if text else None
    if "lc" in fields:
        fields = mapping_of(fields.get("kwargs")) or fields
    node = mapping_of(fields.get("node")) or fields
    metadata = mapping_of(node.get("metadata")) or {}
    resource = mapping_of(node.get("text_resource")) or {}
    score = first_number(fields, "score", "relevance_score")
    return Document(
        first_text(node, "id", "id_", "node_id", "doc_id", "document_id")
        or first_text(metadata, "id", "doc_id", "document_id", "_id"),
        first_number(metadata, "score", "relevance_score", "similarity_score") if score is None else score,
        first_text(node, "page_content", "pageContent", "text", "content") or first_text(resource, "text"),
        names_of(node, metadata),
    )
