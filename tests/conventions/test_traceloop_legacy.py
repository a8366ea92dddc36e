"""Traceloop's flattened attributes of releases up to 0.4x."""

from __future__ import annotations

from hypothesis import given

from spanwise import conventions
from spanwise.conventions import traceloop_legacy
from spanwise.model.content import LLMFields, Memo, Message, Messages, Part, ToolDefinition
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

SYSTEM = "You are a careful research assistant. Use the tools."
QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."


def chat(at: int) -> RawSpan:
    """A model call of the recording, by order."""
    return [span for span in recorded("openai-client__traceloop-0.47") if span.name == "openai.chat"][at]


def test_kinds_of_a_recording() -> None:
    """Model calls are model calls; the app's own spans say nothing."""
    kinds = {span.name: conventions.classify(span)[1] for span in recorded("openai-client__traceloop-0.47")}
    assert {"my_agent": "other", "openai.chat": "llm", "tool": "other"} == kinds


def test_names_of_outputs_are_no_answer() -> None:
    """Of what Haystack's generators return the instrumentation writes the names, which nobody said."""
    attributes = {
        "llm.request.type": "completion",
        "gen_ai.prompt.0.user": "hi",
        "gen_ai.completion.0.content": "replies",
    }
    attributes["gen_ai.completion.1.content"] = "meta"
    span = made(scope="opentelemetry.instrumentation.haystack", attributes=attributes)
    assert Messages((Message("user", (Part("text", "hi"),)),)) == traceloop_legacy.messages(span, Memo())


def test_kinds_by_type_or_by_answer() -> None:
    """The type of the request tells the kind; without it a message does, unless the span says what it is."""
    found = [
        traceloop_legacy.kind(made(attributes=attributes))
        for attributes in (
            {"llm.request.type": "completion"},
            {"llm.request.type": "response", "gen_ai.operation.name": "response"},
            {"llm.request.type": "embedding"},
            {"llm.request.type": "rerank"},
            {"llm.request.type": "of the app's own"},
            {"gen_ai.completion.0.role": "assistant"},
            {"gen_ai.prompt.0.role": "user"},
            {"gen_ai.prompt.0.role": "user", "traceloop.span.kind": "agent"},
            {},
        )
    ]
    assert ["llm", "llm", "embedding", "rerank", None, "llm", "llm", None, None] == found


def test_answer_tells_the_dialect_where_the_limit_dropped_the_rest() -> None:
    """A span that lost its oldest attributes is still a model call."""
    attributes = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": ANSWER}
    dialect, kind = conventions.classify(made("openai.chat", attributes=attributes))
    assert ("traceloop_legacy", "llm") == (conventions.CONVENTIONS[dialect].name, kind)


def test_messages() -> None:
    """Calls have their ids and arguments, results the id of their call; text that begins with `Error` is a failure."""
    found = traceloop_legacy.messages(chat(2), Memo())
    sent = found.input or ()
    assert (
        Message("system", (Part("text", SYSTEM),)),
        Message("user", (Part("text", QUESTION),)),
        Message(
            "assistant", (Part("tool_call", "", "call_000002", "search_docs", {"query": "population of France 2024"}),)
        ),
    ) == sent[:3]
    assert (
        Message(
            "assistant", (Part("tool_call", "", "call_000004", "calculator", {"expression": "68.4 million * 0.1"}),)
        ),
        Message(
            "tool",
            (
                Part(
                    "tool_result",
                    id="call_000004",
                    value="Error: cannot parse expression: '68.4 million * 0.1'",
                    error=True,
                ),
            ),
        ),
    ) == sent[4:]
    assert (
        Message("assistant", (Part("tool_call", "", "call_000006", "calculator", {"expression": "68400000 * 0.1"}),)),
    ) == found.output


def test_answer() -> None:
    """The last call's completion is text."""
    assert (Message("assistant", (Part("text", ANSWER),)),) == traceloop_legacy.output(chat(4), Memo())


def test_gaps_and_huge_numbers() -> None:
    """Messages come in the order of their numbers, whatever is missing; a number of many digits is none."""
    attributes = {
        "gen_ai.prompt.999999999.content": "last",
        "gen_ai.prompt.7.content": "middle",
        "gen_ai.prompt.10000000000000000000.content": "nowhere",
        "gen_ai.prompt.2.user": "first",
        "gen_ai.prompt.3.role": "user",
        "gen_ai.prompt.x.content": "nowhere",
        "gen_ai.completion.tool.name": "nowhere",
    }
    expected = Messages(tuple(Message("user", (Part("text", text),)) for text in ("first", "middle", "last")), None)
    assert expected == traceloop_legacy.messages(made(attributes=attributes), Memo())


def test_silent_messages() -> None:
    """That the model spoke parts the results of two steps, also where its words are not recorded; no answer is made."""
    attributes = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.1.role": "tool",
        "gen_ai.prompt.1.content": "one",
        "gen_ai.prompt.2.role": "assistant",
        "gen_ai.prompt.3.role": "tool",
        "gen_ai.prompt.3.content": "two",
        "gen_ai.completion.0.role": "assistant",
    }
    one, two = (Message("tool", (Part("tool_result", value=value),)) for value in ("one", "two"))
    expected = Messages((one, Message("assistant", ()), two), None)
    assert expected == traceloop_legacy.messages(made(attributes=attributes), Memo())


def test_results_without_text() -> None:
    """A tool's message without content is an empty text, where any content is recorded."""
    attributes = {"gen_ai.prompt.0.role": "tool", "gen_ai.prompt.1.role": "user"}
    assert None is traceloop_legacy.messages(made(attributes=attributes), Memo()).input
    sent = traceloop_legacy.messages(made(attributes={**attributes, "gen_ai.prompt.1.content": "?"}), Memo()).input
    assert (Part("tool_result", value=""),) == (sent or (Message("", ()),))[0].parts


def test_content_that_was_written_as_json() -> None:
    """Blocks are read; LangChain's empty content, written as a quoted empty text, is none; other text stays."""
    attributes = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": '[{"type": "text", "text": "What is this?"}, {"type": "image_url"}]',
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": '[{"no": "block"}]',
        "gen_ai.prompt.2.role": "user",
        "gen_ai.prompt.2.content": 7,
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": '""',
        "gen_ai.completion.0.tool_calls.1.name": "second",
        "gen_ai.completion.0.tool_calls.0.name": "first",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"a": 1}',
    }
    expected = Messages(
        (
            Message("user", (Part("text", "What is this?"), Part("other"))),
            Message("user", (Part("text", '[{"no": "block"}]'),)),
            Message("user", ()),
        ),
        (
            Message(
                "assistant",
                (Part("tool_call", name="first", value={"a": 1}), Part("tool_call", name="second")),
            ),
        ),
    )
    assert expected == traceloop_legacy.messages(made(attributes=attributes), Memo())


def test_calls_in_the_place_of_words() -> None:
    """Netra writes each call that was asked for as a message of its own: its name and arguments, the id beside them."""
    call = '{"name": "search_docs", "arguments": "{\\"top_k\\": 3}"}'
    attributes = {
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "assistant",
        "gen_ai.prompt.0.content": call,
        "gen_ai.prompt.0.tool_call_id": "call_1",
        "gen_ai.prompt.1.role": "tool",
        "gen_ai.prompt.1.content": "found",
        "gen_ai.prompt.1.tool_call_id": "call_1",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": call,
        "gen_ai.completion.0.tool_call_id": "call_2",
        "gen_ai.completion.1.role": "assistant",
        "gen_ai.completion.1.content": call,
        "gen_ai.completion.2.finish_reason": "tool_calls",
    }
    got = traceloop_legacy.messages(made(attributes=attributes), Memo())
    sent, said = got.input or (), got.output or ()
    assert [("tool_call", "call_1"), ("tool_result", "call_1")] == [(p.type, p.id) for m in sent for p in m.parts]
    assert [Part("tool_call", id="call_2", name="search_docs", value={"top_k": 3})] == list(said[0].parts)
    assert [Part("text", call)] == list(said[1].parts)


def test_usage() -> None:
    """Tokens have names of their own; the rest is GenAI's."""
    assert LLMFields(input_tokens=323, output_tokens=15, reasoning_tokens=0) == traceloop_legacy.llm(chat(1), Memo())
    dialect, _ = conventions.classify(chat(1))
    expected = LLMFields("gpt-4o-mini-2024-07-18", "openai", 323, 15, 64, None, 0)
    assert expected == conventions.llm(chat(1), Memo(), dialect)


def test_definitions() -> None:
    """Functions have names, descriptions and schemas, Anthropic's under a name of its own."""
    expected = (
        ToolDefinition(
            "search_docs",
            "Search the document index and return scored passages.",
            {"type": "object", "properties": {"query": {"type": "string"}}},
        ),
        ToolDefinition(
            "calculator",
            "Evaluate an arithmetic expression.",
            {"type": "object", "properties": {"expression": {"type": "string"}}},
        ),
    )
    assert expected == traceloop_legacy.definitions(chat(0), Memo())
    attributes = {
        "llm.request.functions.0.name": "add",
        "llm.request.functions.0.input_schema": '{"type": "object"}',
        "llm.request.functions.1.description": "nameless",
    }
    found = traceloop_legacy.definitions(made(attributes=attributes), Memo())
    assert (ToolDefinition("add", "", {"type": "object"}),) == found
    renamed = {key.replace("llm.", "gen_ai."): value for key, value in attributes.items()}
    assert found == traceloop_legacy.definitions(made(attributes=renamed), Memo())
    assert None is traceloop_legacy.definitions(made(), Memo())


@given(
    spans(
        traceloop_legacy.CONVENTION,
        keys=(
            "llm.request.type", "gen_ai.prompt.0.role", "gen_ai.prompt.0.content", "gen_ai.prompt.0.tool_call_id",
            "gen_ai.prompt.999999999.content", "gen_ai.prompt.1.tool_calls.0.arguments", "gen_ai.completion.0.role",
            "gen_ai.completion.0.content", "gen_ai.completion.0.tool_calls.0.id", "llm.request.functions.0.name",
            "llm.request.functions.0.parameters", "gen_ai.usage.prompt_tokens", "llm.usage.reasoning_tokens",
        ),
        words=("type", "text", "tool", "assistant"),
    )
)  # fmt: skip
def test_no_reader_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader answers."""
    assert 4 == read_all(traceloop_legacy.CONVENTION, span)
