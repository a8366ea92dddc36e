"""OpenInference's messages: one span attribute for each leaf of each message, put together again.

`llm.input_messages.3.message.tool_calls.0.tool_call.function.name` is one leaf. Indices may have gaps (a span keeps the
newest 128 attributes) and any size, so drafts are kept by index and sorted at the end: one pass over the attributes.
Where an instrumentation flattens nothing, the messages stand as JSON in `input.value` and `output.value`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from spanwise.conventions._dspy import asking, told
from spanwise.conventions._fields import below
from spanwise.conventions._messages import REASONING_TYPES, ROLES, items, message_of, messages_of, told_in
from spanwise.conventions._openinference_envelopes import (
    asked_messages,
    complete,
    filled,
    held_messages,
    refuses,
    said_messages,
    with_refused,
)
from spanwise.conventions._react import reacting
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._returned import plain, without_google_envelopes
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import Memo, Message, Messages, Part
from spanwise.model.raw import STATUS_ERROR, Attributes, RawSpan

INPUT = "llm.input_messages."
OUTPUT = "llm.output_messages."
LANGCHAIN_JS = "@arizeai/openinference-instrumentation-langchain"
"""It flattens texts and the calls of OpenAI's chat, neither blocks nor others' calls; the recorded value has all."""
LANGCHAIN = frozenset({"openinference.instrumentation.langchain", LANGCHAIN_JS})
DSPY = "openinference.instrumentation.dspy"
LLAMA_INDEX = "openinference.instrumentation.llama_index"
GOOGLE_GENAI = "openinference.instrumentation.google_genai"
HAYSTACK = "openinference.instrumentation.haystack"
OPENAI_JS = "@arizeai/openinference-instrumentation-openai"
BEEAI = "openinference.instrumentation.beeai"
STRINGING = frozenset({BEEAI, OPENAI_JS})
"""They string the parallel calls of a stream together; BeeAI with the name and the id of the first only."""
PORTKEY = "openinference.instrumentation.portkey"
RESPONDING = frozenset({LANGCHAIN_JS, PORTKEY})
"""They leave out what a model asked for, which the recorded response holds."""
OWN_ANSWERS = STRINGING | RESPONDING | {DSPY, GOOGLE_GENAI}
"""Scopes that write what the model asked for in a way of their own."""
_SPARING = frozenset({"openinference.instrumentation.openai", "openinference.instrumentation.groq", PORTKEY})
_DIGITS = 9
_DEPTH = 8
_CONTENTS = frozenset({"content", "message.content"})
_BLOCKS = ('{"image": {"format": "', '{"document": {"format": "', '{"video": {"format": "')
"""What else than text a user of Bedrock's messages gives, printed."""
_VALUES = ("arguments", "metadata", "schema")
_RAN = re.compile(r"Error executing (?:tool|request to team member) '([^']+)'")


def entries(attributes: Attributes, prefix: str, memo: Memo) -> Iterator[tuple[int, str, object]]:
    """Index, rest of the key and value of each attribute below a prefix, or of each leaf of one structured value."""
    size = len(prefix)
    for key in below(attributes, prefix):
        at, _, rest = key[size:].partition(".")
        if at.isdecimal() and len(at) <= _DIGITS:
            yield int(at), rest, attributes[key]
    whole = attributes.get(prefix[:-1])
    if whole is not None:
        for at, item in enumerate(items(memo.json(whole)) or ()):
            for rest, value in _leaves(memo.json(item), 0):
                yield at, rest, value


def _leaves(value: object, depth: int) -> Iterator[tuple[str, object]]:
    """The dotted keys and values of a nested value; contents, arguments, metadata and schemas are values, not nests."""
    pairs: Iterable[tuple[str, object]] = ()
    fields = mapping_of(value)
    listed = items(value)
    if fields is not None:
        pairs = fields.items()
    elif listed is not None:
        pairs = ((str(at), item) for at, item in enumerate(listed))
    for key, item in pairs:
        nests = isinstance(item, Mapping | list | tuple) and depth < _DEPTH
        if nests and key not in _CONTENTS and not key.endswith(_VALUES):
            for rest, leaf in _leaves(cast("object", item), depth + 1):
                yield f"{key}.{rest}", leaf
        else:
            yield key, item


class _Draft:
    """A message while its leaves are collected."""

    __slots__ = ("calls", "contents", "fields", "functions")

    def __init__(self) -> None:
        self.fields: dict[str, object] = {}
        self.contents: dict[int, dict[str, object]] = {}
        self.calls: dict[int, dict[str, object]] = {}
        self.functions: dict[int, object] = {}

    def put(self, rest: str, value: object) -> None:
        """Take one leaf."""
        head, _, tail = rest.removeprefix("message.").partition(".")
        if not tail:
            self.fields[head] = value
            return
        at, _, leaf = tail.partition(".")
        if not at.isdecimal() or len(at) > _DIGITS:
            return
        if head == "function":
            self.functions[int(at)] = value
        elif head == "contents" and leaf:
            self.contents.setdefault(int(at), {})[leaf.removeprefix("message_content.")] = value
        elif head == "tool_calls" and leaf:
            self.calls.setdefault(int(at), {})[leaf.removeprefix("tool_call.")] = value


def flattened(attributes: Attributes, prefix: str, memo: Memo) -> tuple[Message, ...] | None:
    """The messages below a prefix, by index; None where there are none."""
    drafts: dict[int, _Draft] = {}
    for at, rest, value in entries(attributes, prefix, memo):
        draft = drafts.get(at)
        if draft is None:
            draft = drafts[at] = _Draft()
        draft.put(rest, value)
    if not drafts:
        return None
    out: list[Message] = []
    for at in sorted(drafts):
        message = _built(drafts[at], memo)
        if message.role == "tool" and out:
            _answer_only_call(message, out[-1])
        out.append(message)
    return tuple(out)


def _built(draft: _Draft, memo: Memo) -> Message:
    fields = draft.fields
    written = text_of(fields.get("role")) or ""
    call_id = first_text(fields, "tool_call_id")
    # Bedrock's results are messages of the user that answer a call.
    role = "tool" if call_id and written in {"", "user"} else ROLES.get(written, written) or "assistant"
    parts = list(_texts(draft, memo))
    if written == "tool-call":
        return Message(role, tuple(_smolagents_calls(parts, memo)))
    if role == "tool":
        return Message(role, tuple(_results(draft, parts, call_id, memo)))
    seen: set[str] = set()
    for held in (*by_index(draft.calls), *by_index(draft.contents)):  # some write a call in both places
        call = asked_call(held, memo)
        if call is not None and (call.id is None or call.id not in seen):
            seen.add(call.id or "")
            parts.append(call)
    name = text_of(fields.get("function_call_name"))
    if name is not None:
        parts.append(Part("tool_call", "", None, name, memo.json(fields.get("function_call_arguments_json"))))
    return Message(role, tuple(parts))


def with_empty(sent: Iterable[Message], span: RawSpan) -> None:
    """Give results the empty text that some leave out, where they record the text of what was said."""
    if span.scope.name in _SPARING and f"{INPUT}0.message.content" in span.attributes:
        for part in (part for message in sent for part in message.parts):
            if part.type == "tool_result" and part.value is None:
                part.value = ""


def result_of(fields: Mapping[str, object], memo: Memo) -> Message:
    """The message of these fields, which is a tool's."""
    draft = _Draft()
    draft.fields.update(fields)
    return _built(draft, memo)


def by_index(held: Mapping[int, dict[str, object]]) -> Iterator[dict[str, object]]:
    """What is held, in the order of the indices."""
    return (held[at] for at in sorted(held))


def _texts(draft: _Draft, memo: Memo) -> Iterator[Part]:
    content = draft.fields.get("content")
    if isinstance(content, str):
        if content and all(block.get("text") != content for block in draft.contents.values()):  # some write it twice
            yield Part("text", content)
    elif content is not None:
        yield from message_of({"content": content}, memo).parts
    for block in by_index(draft.contents):
        kind = block.get("type")
        text = text_of(block.get("text"))
        if isinstance(kind, str) and kind in REASONING_TYPES:
            yield Part("reasoning", text or "")
        elif text is not None:
            yield Part("other") if text.startswith(_BLOCKS) else Part("text", text)
        elif kind != "tool_use" and "tool_call.function.name" not in block:
            yield Part("other")


def asked_call(held: Mapping[str, object], memo: Memo) -> Part | None:
    """The call that the leaves below one index stand for; None where it has no name."""
    name = first_text(held, "function.name", "tool_call.function.name", "name")
    if name is None:
        return None
    arguments = held.get("function.arguments", held.get("tool_call.function.arguments"))
    if name[0] == "'" == name[-1] and len(name) > 2:  # in a request the listener to CrewAI's events prints texts
        name, arguments = name[1:-1], read_repr(arguments) if isinstance(arguments, str) else arguments
    # A call without arguments is written without the attribute.
    value: object = cast("object", {}) if arguments is None or arguments == "" else memo.json(arguments)
    return Part("tool_call", "", first_text(held, "id", "tool_call.id"), name, value)


def _results(draft: _Draft, texts: Sequence[Part], call_id: str | None, memo: Memo) -> Iterator[Part]:
    for at in sorted(draft.functions):  # AutoGen: the results of one turn in one message
        held = mapping_of(memo.json(draft.functions[at]))
        if held is not None:
            name, result = text_of(held.get("name")), plain(held.get("content"), memo)
            yield Part("tool_result", "", first_text(held, "call_id"), name, result, held.get("is_error") is True)
    if draft.functions:
        return
    name = text_of(draft.fields.get("name"))
    text = "\n".join(part.text for part in texts if part.text)
    failed = False
    if draft.fields.get("role") == "tool-response":  # smolagents
        if text.startswith("Call id: "):
            call_id, _, text = text[len("Call id: ") :].partition("\n")
        text = text.removeprefix("Observation:\n")
        failed = text.startswith("Error:")
        ran = _RAN.search(text[:300]) if failed else None
        name = name or (ran.group(1) if ran else None)
    recorded = bool(texts) or draft.fields.get("content") is not None
    value, failed = told_in(plain(text, memo), failed=failed) if recorded else (None, failed)
    yield Part("tool_result", "", call_id, name, value, failed)


def _smolagents_calls(texts: Sequence[Part], memo: Memo) -> Iterator[Part]:
    for part in texts:
        called = items(read_repr(part.text.removeprefix("Calling tools:\n")))
        if called is None:
            yield part
        for item in called or ():
            fields = mapping_of(item)
            if fields is not None:
                yield from message_of({"role": "assistant", "tool_calls": [fields]}, memo).parts


def _answer_only_call(message: Message, before: Message) -> None:
    """A result without an id answers the call before it, if that was the only one."""
    calls = [part for part in before.parts if part.type == "tool_call"]
    if len(calls) == 1 and len(message.parts) == 1 and message.parts[0].id is None:
        message.parts[0].id = calls[0].id
        message.parts[0].name = message.parts[0].name or calls[0].name


def is_model(attributes: Attributes) -> bool:
    """The span is a model call's, also where an instrumentation calls it something else."""
    kind = attributes.get("openinference.span.kind")
    if kind is None or "llm.invocation_parameters" in attributes:
        return True
    return isinstance(kind, str) and kind.upper() in {"LLM", "DECISION"}


def trusts_flattened(span: RawSpan) -> bool:
    """LangChain's instrumentation writes the first message of a graph's state on its nodes as if it were all."""
    return span.scope.name not in LANGCHAIN or is_model(span.attributes)


def messages(span: RawSpan, memo: Memo) -> Messages:
    """The messages of a model span, and of an agent span that carries a transcript.

    A framework's own `gen_ai.*.messages` are better than what a bridge made of them, which loses all but one of the
    results of parallel calls; where they stand on the span, this dialect says nothing.
    """
    sent = _input(span, memo)
    if span.scope.name == GOOGLE_GENAI:
        sent = without_google_envelopes(sent, memo)
    if span.scope.name == DSPY and sent is not None:
        sent = told(sent)
    return Messages(sent, output(span, memo))


def _input(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    attributes = span.attributes
    if "gen_ai.input.messages" in attributes:
        return None
    sent = flattened(attributes, INPUT, memo) if trusts_flattened(span) else None
    with_empty(sent or (), span)
    if not is_model(attributes):
        return sent
    if sent is None:
        prompts = _prompts(attributes, memo)
        # LlamaIndex prints its messages on the wrapper of a call and flattens them on the call itself.
        return prompts if prompts or span.scope.name == LLAMA_INDEX else asked_messages(attributes, memo)
    if span.scope.name in {HAYSTACK, LANGCHAIN_JS}:  # requests or results are left out, which the recorded input holds
        return asked_messages(attributes, memo) or sent
    if all(message.role == "system" for message in sent):  # a plain text input is left out of the flattened ones
        asked = asked_messages(attributes, memo)
        if asked is not None and not any(message.role == "system" for message in asked):
            sent = (*sent, *asked)
    return filled(sent, attributes, memo)


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered, or the transcript that an agent's result carries."""
    attributes = span.attributes
    if "gen_ai.output.messages" in attributes:
        return None
    got = flattened(attributes, OUTPUT, memo) if trusts_flattened(span) else None
    if got is None:
        if is_model(attributes):  # what a failed call returned is the text of its error
            got = (
                None
                if span.status_code == STATUS_ERROR
                else _choices(attributes, memo) or said_messages(attributes, memo)
            )
        elif span.scope.name not in LANGCHAIN:  # a graph's state repeats earlier turns; its model spans tell the same
            got = held_messages(attributes.get("output.value"), memo)
    elif span.scope.name in RESPONDING:
        got = said_messages(attributes, memo) or got
    if span.scope.name == GOOGLE_GENAI:
        return (*_automatic_calls(attributes, memo), *(got or ())) or None
    if got is None:
        return None
    complete(got, attributes, memo)
    if span.scope.name in LANGCHAIN and refuses(attributes):
        return with_refused(got, attributes, memo)
    if span.scope.name == LLAMA_INDEX:
        return tuple(reacting(_unlabelled(message)) for message in got)
    return asking(got, memo) if span.scope.name == DSPY else got


def _unlabelled(message: Message) -> Message:
    """The message without its role, which LlamaIndex prints in front of the text."""
    for part in message.parts:
        part.text = part.text.removeprefix("assistant: ") if part.type == "text" else part.text
    return message


def record(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What an agent's span holds of what was said in its run: of LangChain's the state that it returned."""
    if span.scope.name in LANGCHAIN:
        return held_messages(span.attributes.get("output.value"), memo)
    return output(span, memo)


def _automatic_calls(attributes: Attributes, memo: Memo) -> Iterator[Message]:
    """What Google's client did by itself between the model calls which it writes as one span: calls, and results."""
    history = _automatic_history(attributes, memo)
    if history:
        yield from _answering(messages_of(history, memo) or ())
        return
    held: dict[int, dict[str, object]] = {}
    for at, rest, value in entries(attributes, "message.tool_calls.", memo):
        held.setdefault(at, {})[rest.removeprefix("tool_call.")] = value
    calls = tuple(call for fields in by_index(held) if (call := asked_call(fields, memo)) is not None)
    if calls:
        yield Message("assistant", calls)


def _automatic_history(attributes: Attributes, memo: Memo) -> Sequence[object]:
    """The part of the recorded history that came after the request."""
    response = mapping_of(memo.json(attributes.get("output.value"))) or {}
    request = mapping_of(memo.json(attributes.get("input.value"))) or {}
    asked = items(request.get("contents"))
    return (items(response.get("automatic_function_calling_history")) or ())[1 if asked is None else len(asked) :]


def _answering(spoken: Iterable[Message]) -> Iterator[Message]:
    """The messages, each result with the id of the call that it answers: the next one with that name."""
    waiting: list[Part] = []
    for message in spoken:
        for part in message.parts:
            if part.type == "tool_call":
                waiting.append(part)
            elif part.type == "tool_result" and part.id is None:
                at = next((n for n, call in enumerate(waiting) if call.name == part.name), None)
                part.id = waiting.pop(at).id if at is not None else None
        yield message


def _prompts(attributes: Attributes, memo: Memo) -> tuple[Message, ...] | None:
    texts = _completions(attributes, "llm.prompts.", "prompt.text", memo)
    return tuple(Message("user", (Part("text", text),)) for text in texts) or None


def _choices(attributes: Attributes, memo: Memo) -> tuple[Message, ...] | None:
    texts = _completions(attributes, "llm.choices.", "completion.text", memo)
    return tuple(Message("assistant", (Part("text", text),)) for text in texts) or None


def _completions(attributes: Attributes, prefix: str, leaf: str, memo: Memo) -> list[str]:
    """The texts below a prefix by index; older instrumentations write them as one list."""
    whole = items(attributes.get(prefix[:-1])) or ()
    listed = [item for item in whole if isinstance(item, str) and item]
    found = sorted(entries(attributes, prefix, memo), key=lambda entry: entry[0])
    return listed or [value for _, rest, value in found if rest == leaf and isinstance(value, str) and value]
