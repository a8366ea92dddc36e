"""What Langfuse's packages for JavaScript write otherwise, as runs of 5.11.1 wrote it."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from spanwise import conventions
from spanwise.conventions import langfuse
from spanwise.model.content import Document, LLMFields, Memo
from spanwise.model.raw import RawSpan, Scope
from tests.making import run_of
from tests.recordings_io import made


def generation(name: str = "ChatOpenAI", **attributes: object) -> RawSpan:
    """A model's observation."""
    written = {f"langfuse.observation.{key}": value for key, value in {"type": "generation", **attributes}.items()}
    return made(name, scope="langfuse-sdk", attributes=written)


def asks(*calls: tuple[str, str]) -> dict[str, object]:
    """An answer of LangChain's that asks for tools: (id, name) each."""
    tools = [{"id": i, "type": "function", "function": {"name": name, "arguments": "{}"}} for i, name in calls]
    return {"content": "", "role": "assistant", "tool_calls": tools}


def test_results_by_the_name_of_the_tool() -> None:
    """LangChain's results have the tool's name as their role, and no id: they answer the calls in their order."""
    spoken = [
        {"content": "?", "role": "user"},
        asks(("c1", "add"), ("c2", "user"), ("c3", "add")),
        {"content": "1", "additional_kwargs": {}, "role": "add"},
        {"content": "3", "additional_kwargs": {}, "role": "add"},
        {"content": "so", "role": "somebody"},
    ]
    expected = [("c1", "add", 1), ("c3", "add", 3)]
    told = langfuse.messages(generation(input=json.dumps({"messages": spoken})), Memo()).input or ()
    kept = langfuse.record(generation(output=json.dumps({"messages": spoken})), Memo()) or ()
    for found in (told, kept):
        results = [part for message in found for part in message.parts if part.type == "tool_result"]
        assert expected == [(part.id, part.name, part.value) for part in results]


def test_an_empty_answer_is_not_what_a_tool_said() -> None:
    """A model that said nothing in the end gave no answer: a tool's result bears the tool's name as its role."""
    spoken = [
        {"content": "?", "role": "user"},
        asks(("c1", "find")),
        {"content": "Found.", "role": "find"},
        {"content": "", "role": "assistant"},
    ]
    found = generation("research_agent", type="span", output=json.dumps({"messages": spoken}))
    assert None is langfuse.agent(found, Memo()).answer
    spoken[-1] = {"content": "It is 4.", "role": "assistant"}
    found = generation("research_agent", type="span", output=json.dumps({"messages": spoken}))
    assert "It is 4." == langfuse.agent(found, Memo()).answer


def test_retrievers() -> None:
    """LangChain's retriever is a mere span: a text went in, LangChain's documents came out."""
    documents = json.dumps([{"pageContent": "a", "metadata": {"score": 0.9}, "id": "d1"}], separators=(",", ":"))
    found = generation("KB", type="span", input="Who?", output=documents)
    assert "retrieval" == langfuse.kind(found)
    fields = langfuse.retrieval(found, Memo())
    assert ("Who?", (Document("d1", 0.9, "a"),)) == (fields.query, fields.documents)
    for given, returned in (('{"input":"Who?"}', documents), ("Who?", "A text."), (None, documents), ("Who?", None)):
        assert "workflow" == langfuse.kind(generation("x", type="span", input=given, output=returned))


def test_parallel_calls_of_a_stream() -> None:
    """The OpenAI wrapper writes them as one, below the last one's name: they are read from the next call's input."""
    strung = [{"function": {"name": "find", "arguments": '{"a":1}{"b":2}'}}]
    streamed = {"model.parameters": '{"stream":true,"response_format":""}', "input": json.dumps({"messages": []})}
    span = generation("OpenAI.chat", **streamed, output=json.dumps({"tool_calls": strung}))
    dialect, _ = conventions.classify(span)
    assert None is conventions.requests(span, Memo(), dialect)
    assert not conventions.tells_requests(span, dialect)
    assert conventions.tells_requests(generation(output="Done."), dialect)
    one = [{"function": {"name": "find", "arguments": '{"a":1}'}}]
    span = generation("OpenAI.chat", **streamed, output=json.dumps({"tool_calls": one}))
    assert ["find"] == [part.name for part in conventions.requests(span, Memo(), dialect) or ()]


def test_text_of_a_response() -> None:
    """Of OpenAI's Responses the wrapper records the text alone, whatever is asked for beside it."""
    said = {"model.parameters": '{"tool_choice":"auto","truncation":"disabled"}'}
    dialect, _ = conventions.classify(generation())
    for output, tells in (("I look.", False), ('{"type":"function_call"}', True), (None, True)):
        span = generation("OpenAI.responses", **said, **({} if output is None else {"output": output}))
        assert tells is conventions.tells_requests(span, dialect)
    assert conventions.tells_requests(generation("x", output="I look.", **{"model.parameters": "{}"}), dialect)


def test_a_typed_answer() -> None:
    """LangChain's agent says last that it returns a typed answer, which the state does not hold: it stands there."""
    said = [
        {"content": "?", "role": "user"},
        {"content": 'Returning structured response: {"a":1}', "role": "assistant"},
    ]
    root = generation("helper", type="agent", output=json.dumps({"messages": said}))
    assert '{"a":1}' == run_of(root).answer


def test_a_typed_answer_of_a_response() -> None:
    """Of OpenAI's Responses API the wrapper records the text alone, be it an object of the app's own."""
    typed, parameters = '{"population":68400000}', '{"store":true,"truncation":"disabled"}'
    for more, text in (({"model.parameters": parameters}, typed), ({}, None)):
        got = langfuse.output(generation("OpenAI.responses", output=typed, **more), Memo())
        assert text == (got[0].text if got else None)
    for untold in ("[1]", 7):
        assert None is langfuse.output(generation(output=untold, **{"model.parameters": parameters}), Memo())


@pytest.mark.parametrize(
    ("usage", "streamed", "language", "read"),
    [
        ({"input": 31, "output": 30, "total": 79, "input_cache_read": 15}, False, "nodejs", (46, 33, 15, None, 3)),
        (
            {"input": 0, "output": 30, "total": 79, "input_cache_read": 105},
            True,
            "nodejs",
            (None, None, None, None, None),
        ),
        ({"input": 313, "output": 12, "total": 484, "input_cache_read": 156}, True, "nodejs", (469, 15, None, None, 3)),
        ({"input": 31, "output": 30, "total": 79, "input_cache_read": 15}, False, "python", (46, 30, 15, None, None)),
    ],
)
def test_what_gemini_used(usage: dict[str, int], streamed: bool, language: str, read: tuple[int | None, ...]) -> None:
    """LangChain leaves Gemini's thoughts out of the output, and adds up what each piece of a stream repeats."""
    told: dict[str, object] = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.usage_details": json.dumps(usage),
        "langfuse.observation.metadata.ls_provider": "google_genai",
    }
    if streamed:
        told["langfuse.observation.completion_start_time"] = "never"
    generation = replace(made(attributes=told), scope=Scope("langfuse-sdk", "", {"telemetry.sdk.language": language}))
    assert LLMFields(None, "google_genai", *read) == langfuse.llm(generation, Memo())
