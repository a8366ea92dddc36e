"""OpenInference's flattened messages, and those that stand elsewhere on a model's span."""

from __future__ import annotations

import json

import pytest

from spanwise import conventions
from spanwise.conventions import openinference
from spanwise.conventions._openinference_messages import INPUT, flattened
from spanwise.model.content import Memo, Message, Messages, Part
from spanwise.model.raw import RawSpan
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

KIND = "openinference.span.kind"
OI = "openinference.instrumentation."
QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
SYSTEM = Message("system", (Part("text", "You are a careful research assistant. Use the tools."),))
ASKED = Message("user", (Part("text", QUESTION),))
SAID = Message("assistant", (Part("text", ANSWER),))


def llm(recording: str, name: str, *, at: int) -> RawSpan:
    """A model span of that name in a recording."""
    return [span for span in recorded(recording) if span.name == name][at]


def call(call_id: str | None, name: str, arguments: object) -> Message:
    """A message of the model that only requests a tool."""
    return Message("assistant", (Part("tool_call", "", call_id, name, arguments),))


def read(*, scope: str = "", status: int = 0, kind: str | None = "LLM", **attributes: object) -> Messages:
    """The messages of a span made by hand; a double underscore stands for a dot."""
    dotted = {key.replace("__", "."): value for key, value in attributes.items()}
    named = {KIND: kind} if kind is not None else {}
    return openinference.messages(
        made(scope=scope and OI + scope, status=status, attributes={**named, **dotted}), Memo()
    )


def messages(leaves: dict[str, object]) -> tuple[Message, ...] | None:
    """The input messages of these leaves."""
    return flattened({f"{INPUT}{key}": value for key, value in leaves.items()}, INPUT, Memo())


def test_langgraph_last_call() -> None:
    """A whole conversation is put together again, calls and results with their ids."""
    found = openinference.messages(llm("langgraph__openinference", "ChatOpenAI", at=-1), Memo())
    texts = {
        "doc-fr-1": ("INSEE estimates that 68.4 million people lived in France on 1 January 2024.", 0.91),
        "doc-fr-2": ("Paris, the capital of France, has about 2.1 million inhabitants.", 0.64),
        "doc-fr-3": ("France produces more than 1,000 kinds of cheese.", 0.22),
    }
    docs = [{"id": name, "content": text, "score": score} for name, (text, score) in texts.items()]
    failure = "Error: ValueError(\"cannot parse expression: '68.4 million * 0.1'\")"
    search = {"query": "population of France 2024"}
    expected = Messages(
        (
            SYSTEM,
            ASKED,
            call("call_000002", "search_docs", search),
            Message("tool", (Part("tool_result", "", "call_000002", "search_docs", docs),)),
            call("call_000004", "calculator", {"expression": "68.4 million * 0.1"}),
            Message("tool", (Part("tool_result", "", "call_000004", None, failure, error=True),)),
            call("call_000006", "calculator", {"expression": "68400000 * 0.1"}),
            Message("tool", (Part("tool_result", "", "call_000006", "calculator", 6840000.0),)),
            call("call_000008", "search_docs", search),
            Message("tool", (Part("tool_result", "", "call_000008", "search_docs", docs),)),
        ),
        (SAID,),
    )
    assert expected == found


def test_smolagents_third_call() -> None:
    """Calls and observations in the text of smolagents' messages are calls and results; an error names its tool."""
    sent = openinference.messages(llm("smolagents__openinference", "OpenAIModel.generate", at=2), Memo()).input or ()
    search = {"query": "population of France 2024"}
    told = sent[4].parts[0]
    assert [
        Message("user", (Part("text", f"New task:\n{QUESTION}"),)),
        call("call_000002", "search_docs", search),
        ("tool", "call_000002", "search_docs"),
        ("tool_result", None, "calculator", True),
    ] == [
        *sent[1:3],
        (sent[3].role, sent[3].parts[0].id, sent[3].parts[0].name),
        (told.type, told.id, told.name, told.error),
    ]


def test_openai_agents_plain_question() -> None:
    """A question that was asked as plain text is left out of the flattened messages, and taken from the input."""
    sent = openinference.messages(llm("openai-agents__openinference", "response", at=0), Memo()).input
    assert (SYSTEM, ASKED) == sent
    flat = {"llm__input_messages__0__message__role": "system", "llm__input_messages__0__message__content": "Be brief."}
    system = Message("system", (Part("text", "Be brief."),))
    assert (system, ASKED) == read(**flat, input__value=QUESTION).input
    whole = json.dumps([{"role": "system", "content": "Be brief."}])
    assert (system,) == read(**flat, input__value=whole).input
    assert (system,) == read(**flat).input


def test_gaps_and_large_indices() -> None:
    """Indices may have gaps, be large or be no numbers; the order is that of the indices."""
    leaves = {
        "999999999.message.role": "assistant",
        "7.message.role": "user",
        "7.message.content": "hi",
        "9999999999999.message.role": "user",
        "x.message.role": "user",
        "8.message.contents.x.message_content.text": "lost",
        "8.message.contents.0": "lost",
        "8.message.tool_calls.99999999999.tool_call.id": "lost",
    }
    expected = (Message("user", (Part("text", "hi"),)), Message("assistant", ()), Message("assistant", ()))
    assert expected == messages(leaves)
    assert None is messages({})


def test_contents() -> None:
    """Blocks of text, reasoning and images keep their order; text and calls written twice are read once."""
    leaves = {
        "0.message.role": "assistant",
        "0.message.content": "first",
        "0.message.contents.0.message_content.type": "text",
        "0.message.contents.0.message_content.text": "first",
        "0.message.contents.1.message_content.type": "reasoning",
        "0.message.contents.1.message_content.text": "because",
        "0.message.contents.2.message_content.type": "image",
        "0.message.contents.3.message_content.type": "tool_use",
        "0.message.contents.3.tool_call.id": "call_1",
        "0.message.contents.3.tool_call.function.name": "add",
        "0.message.contents.4.tool_call.function.name": "divide",
        "0.message.tool_calls.0.tool_call.id": "call_1",
        "0.message.tool_calls.0.tool_call.function.name": "add",
        "0.message.tool_calls.1.tool_call.id": "call_2",
        "0.message.function_call_name": "old",
        "0.message.function_call_arguments_json": '{"a": 1}',
    }
    parts = (
        Part("text", "first"),
        Part("reasoning", "because"),
        Part("other"),
        Part("tool_call", "", "call_1", "add", {}),
        Part("tool_call", "", None, "divide", {}),
        Part("tool_call", "", None, "old", {"a": 1}),
    )
    assert (Message("assistant", parts),) == messages(leaves)


def test_structured_messages() -> None:
    """A whole list in one attribute is read like its leaves."""
    tool_call = {"tool_call": {"id": "call_1", "function": {"name": "add", "arguments": {"a": 1}}}}
    value = [
        {"message": {"role": "user", "content": [{"type": "text", "text": "hi"}]}},
        {"message": {"role": "assistant", "tool_calls": [tool_call]}},
        {"message.role": "tool", "message.tool_call_id": "call_1", "message.content": "3"},
        "nothing",
    ]
    expected = (
        Message("user", (Part("text", "hi"),)),
        call("call_1", "add", {"a": 1}),
        Message("tool", (Part("tool_result", "", "call_1", None, 3),)),
    )
    assert expected == flattened({"llm.input_messages": json.dumps(value)}, INPUT, Memo())


def test_tool_results() -> None:
    """Results without a role, without content, without an id, of a whole turn, and with smolagents' own id line."""
    leaves = {
        "0.message.tool_call_id": "call_0",
        "1.message.role": "assistant",
        "1.message.tool_calls.0.tool_call.id": "call_1",
        "1.message.tool_calls.0.tool_call.function.name": "add",
        "2.message.role": "tool",
        "2.message.contents.0.message_content.text": "[1,",
        "2.message.contents.1.message_content.text": "2]",
        "3.message.role": "function",
        "3.function.0": '{"name": "add", "content": "x", "call_id": "call_2", "is_error": true}',
        "3.function.1": "cut",
        "4.message.role": "tool-response",
        "4.message.content": "Call id: call_3\nError:\nno such tool",
        "5.message.role": "tool",
        "5.message.content": "",
    }
    expected = (
        Message("tool", (Part("tool_result", "", "call_0"),)),
        call("call_1", "add", {}),
        Message("tool", (Part("tool_result", "", "call_1", "add", [1, 2]),)),
        Message("tool", (Part("tool_result", "", "call_2", "add", "x", error=True),)),
        Message("tool", (Part("tool_result", "", "call_3", None, "Error:\nno such tool", error=True),)),
        Message("tool", (Part("tool_result", "", None, None, ""),)),
    )
    assert expected == messages(leaves)


def test_smolagents_text_that_calls_nothing() -> None:
    """A tool-call message that holds no list is text; what is no call in the list is left out."""
    leaves = {"0.message.role": "tool-call", "0.message.content": "print(1)"}
    assert (Message("assistant", (Part("text", "print(1)"),)),) == messages(leaves)
    leaves = {"0.message.role": "tool-call", "0.message.content": "Calling tools:\n[1]"}
    assert (Message("assistant", ()),) == messages(leaves)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"input__value": "hi", "output__value": "hello"}, ("hi", "hello")),
        ({"llm__prompts": ["hi", ""], "llm__choices__0__completion__text": "hello"}, ("hi", "hello")),
        (
            {
                "llm__prompts__1__prompt__text": "b",
                "llm__prompts__0__prompt__text": "a",
                "llm__prompts__0__prompt__id": "x",
                "output__value": '["hello"]',
            },
            ("a", "b", "hello"),
        ),
        ({"output__value": "assistant: None"}, ()),
        ({"input__value": "__REDACTED__", "output__value": "__REDACTED__"}, ()),
    ],
)
def test_prompts_and_plain_texts(attributes: dict[str, object], expected: tuple[str, ...]) -> None:
    """Where nothing is flattened, prompts, choices and plain texts are the messages; what nobody said is none."""
    found = read(**attributes)
    assert expected == tuple(message.text for message in (*(found.input or ()), *(found.output or ())))


def test_failed_calls_say_nothing() -> None:
    """What stands in the output of a failed model call is the text of its error."""
    assert None is read(status=2, output__value="Rate limit reached").output


def test_framework_messages_go_first() -> None:
    """Beside a framework's own messages, those that a bridge made of them are not read."""
    flat = {"llm__input_messages__0__message__role": "user", "llm__output_messages__0__message__role": "assistant"}
    assert Messages() == read(**flat, gen_ai__input__messages="[]", gen_ai__output__messages="[]")


def test_agents_and_chains() -> None:
    """A transcript in an agent's result is read, a graph's state is not, nor the first message that stands for it."""
    transcript = json.dumps({"messages": [{"role": "assistant", "content": "hello"}]})
    said = Message("assistant", (Part("text", "hello"),))
    assert Messages(None, (said,)) == read(kind="AGENT", scope="crewai", output__value=transcript)
    state = {"llm__input_messages__0__message__role": "user", "output__value": transcript}
    assert Messages() == read(kind="AGENT", scope="langchain", **state)
    assert Messages((Message("user", ()),), (said,)) == read(kind="chain", scope="agno", **state)
    assert Messages(None, (said,)) == read(kind=None, output__value=transcript)


def test_llama_index_wrapper() -> None:
    """The wrapper of a LlamaIndex call tells what was answered; what was asked is told by the call itself."""
    inner = llm("llama-index__openinference", "OpenAILike.achat", at=1)
    outer = llm("llama-index__openinference", "OpenAILike.achat", at=0)
    request = call("call_000002", "search_docs", {"query": "population of France 2024"})
    assert Messages((SYSTEM, ASKED), (request,)) == openinference.messages(inner, Memo())
    wrapped = Message("assistant", (Part("other"), *request.parts))
    assert Messages(None, (wrapped,)) == openinference.messages(outer, Memo())


def test_google_automatic_calls() -> None:
    """Calls that Google's client made between the model calls of one span stand before the answer."""
    attributes = {
        "message__tool_calls__1__tool_call__function__name": "add",
        "message__tool_calls__1__tool_call__function__arguments": '{"a": 1}',
        "message__tool_calls__0__tool_call__id": "nameless",
        "output__value": "hello",
    }
    answer = Message("assistant", (Part("text", "hello"),))
    assert (call(None, "add", {"a": 1}), answer) == read(scope="google_genai", **attributes).output
    assert (answer,) == read(scope="google_genai", output__value="hello").output
    assert None is read(scope="google_genai").output


def test_google_genai_says_something_between_its_calls() -> None:
    """In the history of automatic calls words may stand beside a call, and a result names the call before it."""
    history = [
        {"role": "user", "parts": [{"text": "1 + 1?"}]},
        {
            "role": "model",
            "parts": [{"text": "adding"}, {"function_call": {"name": "add", "args": {"a": 1}, "id": "x"}}],
        },
        {"role": "user", "parts": [{"function_response": {"name": "add", "response": {"result": 2}}}]},
    ]
    found = read(
        scope="google_genai",
        input__value=json.dumps({"contents": ["1 + 1?"]}),
        output__value=json.dumps({"automatic_function_calling_history": history}),
    ).output
    assert found is not None
    parts = [(part.type, part.text, part.id) for message in found for part in message.parts]
    assert [("text", "adding", None), ("tool_call", "", "x"), ("tool_result", "", "x")] == parts[:3]


def test_haystacks_input_is_read_as_it_was_printed() -> None:
    """Haystack's flattened messages lack what was requested and returned; the recorded input holds all."""
    result = "ToolCallResult(result='7', origin=ToolCall(tool_name='add', arguments={}, id='c1'), error=False)"
    printed = [f"ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[{result}], _name=None, _meta={{}})"]
    flat: dict[str, object] = {"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "ChatRole.TOOL"}
    for given, types in (({"input.value": json.dumps({"messages": printed})}, ["tool_result"]), ({}, [])):
        span = made(scope="openinference.instrumentation.haystack", attributes={**flat, **given})
        read = openinference.messages(span, Memo()).input or ()
        assert types == [part.type for message in read for part in message.parts]


def test_results_of_googles_client() -> None:
    """Google's API wants a mapping for every function's response; the tool returned what stands in it."""
    head = "llm.input_messages.0.message."
    flat = {f"{head}role": "tool", f"{head}tool_call_id": "c1", f"{head}content": '{"result": [1]}'}
    span = made(
        scope="openinference.instrumentation.google_genai", attributes={"openinference.span.kind": "LLM", **flat}
    )
    ((message),) = openinference.messages(span, Memo()).input or ()
    assert [[1]] == [part.value for part in message.parts]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Thought: I know.\nAnswer: It is 7.", [("reasoning", " I know."), ("text", "It is 7.")]),
        (
            "Thought: Look.\nAction: search\nAction Input: {}",
            [("other", "Thought: Look.\nAction: search\nAction Input: {}")],
        ),
        ("It is 7.", [("text", "It is 7.")]),
    ],
)
def test_reacting_in_text(text: str, parts: list[tuple[str, str]]) -> None:
    """LlamaIndex's ReAct agent writes thought, request and answer into one text."""
    said = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": text}
    span = made(
        scope="openinference.instrumentation.llama_index", attributes={"openinference.span.kind": "LLM", **said}
    )
    (message,) = openinference.output(span, Memo()) or ()
    assert parts == [(part.type, part.text) for part in message.parts]


def test_langchain_in_javascript() -> None:
    """It flattens neither blocks nor calls of Anthropic's or of OpenAI's Responses; what was recorded has them."""
    asked = {"lc": 1, "id": ["langchain_core", "messages", "HumanMessage"], "kwargs": {"content": "Add."}}
    wanted = {"name": "add", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    said = {"content": [{"type": "text", "text": "Well."}], "tool_calls": [wanted]}
    answer = {"lc": 1, "id": ["langchain_core", "messages", "AIMessage"], "kwargs": said}
    attributes: dict[str, object] = {
        KIND: "LLM",
        "input.value": json.dumps({"messages": [[asked]]}),
        "output.value": json.dumps({"generations": [[{"text": "", "message": answer}]]}),
        "llm.input_messages.0.message.role": "user",
        "llm.output_messages.0.message.role": "assistant",
    }
    span = made(scope="@arizeai/openinference-instrumentation-langchain", attributes=attributes)
    call_part = Part("tool_call", "", "c1", "add", {"a": 1})
    expected = Messages(
        (Message("user", (Part("text", "Add."),)),), (Message("assistant", (Part("text", "Well."), call_part)),)
    )
    assert expected == openinference.messages(span, Memo())
    assert [call_part] == conventions.requests(span, Memo(), conventions.classify(span)[0])
    masked = {"input.value": "__REDACTED__", "output.value": "__REDACTED__"}
    flat = {"llm.input_messages.0.message.content": "Add.", "llm.output_messages.0.message.content": "Two."}
    hidden = made(scope=span.scope.name, attributes={**attributes, **masked, **flat})
    found = openinference.messages(hidden, Memo())
    assert ("Add.", "Two.") == (found.input[0].text, found.output[0].text)


def test_what_is_printed_around_names_and_texts() -> None:
    """CrewAI's listener prints names and arguments, LlamaIndex puts the role before text, Vercel types its results."""
    typed = '{"type": "error-text", "value": "no"}'
    sent = messages(
        {
            "1.message.role": "assistant",
            "1.message.tool_calls.0.tool_call.function.name": "'search'",
            "1.message.tool_calls.0.tool_call.function.arguments": repr('{"a": "b"}'),
            "2.message.role": "tool",
            "2.message.tool_call_id": "c",
            "2.message.content": typed,
        }
    )
    assert sent is not None
    assert [("search", {"a": "b"})] == [(part.name, part.value) for part in sent[0].parts]
    assert [("no", True)] == [(part.value, part.error) for part in sent[1].parts]
    said = made(
        scope="openinference.instrumentation.llama_index", attributes={KIND: "LLM", "output.value": "assistant: A"}
    )
    assert ["A"] == [message.text for message in openinference.output(said, Memo()) or ()]


def test_pictures_of_bedrock() -> None:
    """What else than text a user gives in Bedrock's form is printed as a text, which nobody said."""
    leaves = {
        "0.message.role": "user",
        "0.message.contents.0.message_content.text": "What is this?",
        "0.message.contents.1.message_content.text": '{"image": {"format": "png", "source": {"bytes": "<replaced>"}}}',
    }
    assert (Message("user", (Part("text", "What is this?"), Part("other"))),) == messages(leaves)
