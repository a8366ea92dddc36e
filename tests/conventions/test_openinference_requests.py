"""What OpenInference's models asked for and were told, read the short way: the same as in the whole, or nothing."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from spanwise.conventions import openinference
from spanwise.model.content import Memo
from spanwise.model.raw import RawSpan
from tests.recordings_io import FOLDER, made
from tests.recordings_io import spans as recorded

KIND = "openinference.span.kind"


def _agree(span: RawSpan) -> int:
    """Whether requests, and ids, read the short way are those in the whole answer; 1 if there was a short way."""
    short = openinference.requests(span, Memo())
    ids = openinference.call_ids(span)
    assert ids is None or (short is not None and list(ids) == [part.id for part in short])
    if short is None:
        return 0
    whole = [part for message in openinference.output(span, Memo()) or () for part in message.parts]
    assert [part for part in whole if part.type == "tool_call" and part.name] == list(short)
    return 1


def test_requests_are_those_of_the_answer() -> None:
    """On every recorded span the requested calls are the same, read alone or with the whole answer."""
    names = [
        path.name.removesuffix(".json") for path in FOLDER.glob("*openinference*.json") if path.name.count(".") == 1
    ]
    assert sum(_agree(span) for name in names for span in recorded(name) if KIND in span.attributes) > 20


_LEAVES = (
    "0.message.role 0.message.content 0.message.tool_calls.0.tool_call.id "
    "0.message.tool_calls.0.tool_call.function.name "
    "0.message.tool_calls.1.tool_call.function.name 0.message.tool_calls.0.tool_call.function.arguments "
    "0.message.tool_calls.1.tool_call.id 0.message.contents.0.message_content.text 1.message.content"
).split()


@given(
    st.dictionaries(st.sampled_from(_LEAVES), st.sampled_from(["assistant", "user", "a", "{}", '{"x":1}', "", None, 1]))
)
def test_any_requests_are_those_of_the_answer(leaves: dict[str, object]) -> None:
    """Whatever is flattened, the requested calls are the same, read alone or with the whole answer."""
    attributes = {f"llm.output_messages.{leaf}": value for leaf, value in leaves.items()}
    _agree(made(attributes={KIND: "LLM", **attributes}))


def _told_agree(span: RawSpan) -> int:
    """Whether the results told in the input, read the short way, are those in all of it; 1 if there was a short way."""
    short = openinference.told(span, Memo())
    if short is None:
        return 0
    whole = openinference.messages(span, Memo()).input or ()
    assert [one.role for one in whole] == [one.role for one in short]
    assert [[part for part in one.parts if part.type == "tool_result"] for one in whole] == [
        list(one.parts) for one in short
    ]
    of_tools = any(part.type in {"tool_call", "tool_result"} for one in whole for part in one.parts)
    assert any(one.parts for one in short) is of_tools
    return 1


def test_results_are_those_of_the_input() -> None:
    """On every recorded span the results in the input are the same, read alone or with all messages."""
    names = [
        path.name.removesuffix(".json") for path in FOLDER.glob("*openinference*.json") if path.name.count(".") == 1
    ]
    assert sum(_told_agree(span) for name in names for span in recorded(name) if KIND in span.attributes) > 20


_RESULT = "Call id: c1\nObservation:\nError: no network"
_TOLD = "0.message.role 0.message.content 1.message.role 1.message.content 2.message.role 2.message.content".split()
_ODD = "01.message.content 1.message.tool_call_id x.message.role 1.message.contents.0.message_content.text".split()


@given(
    st.dictionaries(
        st.sampled_from(_TOLD),
        st.sampled_from(
            ["user", "system", "assistant", "tool", "tool-call", "tool-response", "", _RESULT, None, 1, ["x"]]
        ),
        min_size=2,
    ),
    st.dictionaries(st.sampled_from(_ODD), st.just("x"), max_size=1),
    st.sampled_from([{}, {"llm.input_messages": "[]"}, {"gen_ai.input.messages": "[]"}]),
    st.sampled_from(["", '{"is_error": true}', '{"messages": [{"role": "user", "content": "x"}]}']),
    st.sampled_from(["LLM", "AGENT"]),
)
def test_any_results_are_those_of_the_input(
    plain: dict[str, object], odd: dict[str, object], more: dict[str, object], request: str, kind: str
) -> None:
    """Whatever is flattened, the results in the input are the same, read alone or with all messages."""
    leaves = {f"llm.input_messages.{leaf}": value for leaf, value in {**plain, **odd}.items()}
    _told_agree(made(attributes={KIND: kind, "input.value": request, **leaves, **more}))


def test_only_results_are_decoded() -> None:
    """A conversation with tools is read the short way, and all but its results is left empty."""
    said = ["system", "You help.", "user", "How high?", "tool-call", "Calling tools:\n[]", "tool-response", _RESULT]
    leaves = {
        f"llm.input_messages.{at // 2}.message.{('role', 'content')[at % 2]}": text for at, text in enumerate(said)
    }
    found = openinference.told(made(attributes={KIND: "LLM", **leaves}), Memo())
    assert found is not None
    assert [0, 0, 0, 1] == [len(message.parts) for message in found]
    assert (True, "c1", "Error: no network") == (
        found[3].parts[0].error, found[3].parts[0].id, found[3].parts[0].value
    )  # fmt: skip


def test_conversations_without_results_are_read_whole() -> None:
    """Where calls stand without results, or results without ids, all messages are read."""
    for role, text in (("tool-call", "Calling tools:\n[]"), ("tool-response", "It is 12."), ("system", "You help.")):
        leaves = {"llm.input_messages.0.message.role": role, "llm.input_messages.0.message.content": text}
        assert openinference.told(made(attributes={KIND: "LLM", **leaves}), Memo()) is None


def test_calls_that_langchain_refused() -> None:
    """A call whose arguments are no JSON stands in LangChain's response only: it is read from there."""
    valid = {"name": "add", "args": {"a": 1}, "id": "c2", "type": "tool_call"}
    refused = {"type": "invalid_tool_call", "id": "c1", "name": "add", "args": '{"a": 1, "b": ', "error": "no JSON"}
    message = {"content": "", "type": "ai", "tool_calls": [valid], "invalid_tool_calls": [refused]}
    lc = {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": message}
    leaf = "llm.output_messages.0.message.tool_calls.0.tool_call"
    attributes = {
        KIND: "LLM",
        "llm.output_messages.0.message.role": "assistant",
        f"{leaf}.id": "c2",
        f"{leaf}.function.name": "add",
        f"{leaf}.function.arguments": '{"a": 1}',
        "output.value": json.dumps({"generations": [[{"text": "", "message": lc}]]}),
    }
    span = made(scope="openinference.instrumentation.langchain", attributes=attributes)
    assert openinference.call_ids(span) is None
    assert openinference.requests(span, Memo()) is None
    said = [part for message in openinference.output(span, Memo()) or () for part in message.parts]
    assert [("c2", {"a": 1}), ("c1", '{"a": 1, "b": ')] == [(part.id, part.value) for part in said]


def test_calls_that_portkeys_answer_leaves_out() -> None:
    """What Portkey's client was asked for stands in the response alone; the words beside it stand flattened, too."""
    function = {"name": "search", "arguments": '{"q": "a"}'}
    message = {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "c1", "function": function}]}
    attributes = {
        KIND: "LLM",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "I look.",
        "output.value": json.dumps({"choices": [{"message": message}]}),
        "output.mime_type": "application/json",
    }
    one = made(scope="openinference.instrumentation.portkey", attributes=attributes)
    assert (None, None) == (openinference.requests(one, Memo()), openinference.call_ids(one))
    (said,) = openinference.output(one, Memo()) or ()
    assert [("text", None), ("tool_call", "c1")] == [(part.type, part.id) for part in said.parts]


def test_results_without_text() -> None:
    """OpenAI's, Groq's and Portkey's clients leave out a content that is empty; elsewhere it may be of another kind."""
    attributes = {
        KIND: "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "?",
        "llm.input_messages.1.message.role": "tool",
        "llm.input_messages.1.message.tool_call_id": "c1",
    }
    for name, value in (("openai", ""), ("groq", ""), ("portkey", ""), ("anthropic", None)):
        one = made(scope=f"openinference.instrumentation.{name}", attributes=attributes)
        sent = openinference.messages(one, Memo()).input or ()
        assert [value] == [part.value for part in sent[-1].parts]
        _told_agree(one)
