"""What frameworks pass in and out: questions, answers, calls, responses, documents."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions import _payloads as payloads
from spanwise.model.content import Document, Memo, Message, Part, ToolFields

USER = {"role": "user", "content": "Why?"}
CALLING = {"type": "ai", "content": "", "tool_calls": [{"name": "add", "args": {}, "id": "c1"}]}
RESULT = {"type": "tool", "content": "2", "tool_call_id": "c1"}
SAYING = {
    "lc": 1,
    "id": ["langchain", "schema", "messages", "AIMessage"],
    "kwargs": {"content": "Because.", "type": "ai"},
}


@pytest.mark.parametrize(
    ("given", "question"),
    [
        ("Why?", "Why?"),
        ('"Why?"', "Why?"),
        ("42", "42"),
        ({"messages": [USER]}, "Why?"),
        ([[USER]], "Why?"),
        ([SAYING, USER, CALLING, RESULT], "Why?"),
        (USER, "Why?"),
        ({"question": "Why?", "language": "en"}, "Why?"),
        ({"inputs": {"input": "Why?"}}, "Why?"),
        ({"topic": "Why?"}, "Why?"),
        ({"args": ["Why?", 3], "kwargs": {}}, "Why?"),
        ({"args": [{"history": []}], "kwargs": {"query": "Why?", "k": "3"}}, "Why?"),
        ({"args": ["Why?", "really"], "kwargs": {}}, None),
        ({"id": "7", "city": "Paris"}, None),
        ({"messages": []}, None),
        ([{"id": "doc-1", "content": "text"}], None),
        ({"input": {"input": {"input": {"input": {"input": {"input": {"input": "Why?"}}}}}}}, None),
        ("<REDACTED>", None),
        ("<app.Context object at 0x7f00>", None),
        ("{'messages': []}", None),
        ("  ", None),
        (7, None),
        (None, None),
    ],
)
def test_asked(given: object, question: str | None) -> None:
    """The question is found in text, messages, states and calls; what is none of a question's places gives none."""
    assert question == payloads.asked(given, Memo())
    assert question == payloads.asked(json.dumps(given) if isinstance(given, dict | list) else given, Memo())


@pytest.mark.parametrize(
    ("returned", "answer"),
    [
        ("Because.", "Because."),
        ('"Because."', "Because."),
        ({"messages": [USER, CALLING, RESULT, SAYING]}, "Because."),
        ({"messages": [USER, CALLING]}, None),
        ({"messages": [USER, CALLING, RESULT]}, None),
        (SAYING, "Because."),
        ({"outputs": {"output": "Because."}}, "Because."),
        (
            {"result": {"response": {"role": "assistant", "blocks": [{"block_type": "text", "text": "Because."}]}}},
            "Because.",
        ),
        (
            {"lc": 1, "id": ["x", "AgentFinish"], "kwargs": {"return_values": {"output": "Because."}, "log": ""}},
            "Because.",
        ),
        ({"answer": "Because.", "error": "cut"}, None),
        ({"summary": "Because."}, "Because."),
        ({"output_type": "str", "n": 1}, None),
        ([{"graph": None, "update": {"messages": [SAYING]}}], None),
        ([{"id": "doc-1", "content": "text", "score": 0.9}], None),
        ("[{'id': 'doc-1'}]", None),
        ({"output": {"output": {"output": {"output": {"output": {"output": {"output": "x"}}}}}}}, None),
        (None, None),
        ({"output": "__end__"}, None),
        ("__start__", None),
    ],
)
def test_answered(returned: object, answer: str | None) -> None:
    """The answer is the final text; a request for a tool, a search result, an error or a state is none."""
    assert answer == payloads.answered(returned, Memo())


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({"args": [], "kwargs": {"a": 1}}, {"a": 1}),
        ({"kwargs": {"a": 1, "ctx": "<app.Context object at 0x7f00>"}}, {"a": 1}),
        ({"args": [1], "kwargs": {}}, 1),
        ({"args": [1, 2]}, [1, 2]),
        ({"args": [1], "kwargs": {"b": 2}}, {"args": [1], "b": 2}),
        ({"args": [], "kwargs": {}}, {}),
        ({"args": 1, "b": 2}, {"args": 1, "b": 2}),
        ("{'a': [1, None]}", {"a": [1, None]}),
        ('{"a": 1}', {"a": 1}),
        ("population of France", "population of France"),
        ({}, {}),
    ],
)
def test_call_arguments(given: object, arguments: object) -> None:
    """A recorded call is unpacked, objects that a framework passed along are left out, anything else stays."""
    assert arguments == payloads.call_arguments(given, Memo())


BECAUSE = (Message("assistant", (Part("text", "Because."),)),)
ADD = (Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),)),)
OPENAI_CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("Because.", BECAUSE),
        ("42", (Message("assistant", (Part("text", "42"),)),)),
        ({"choices": [{"message": {"role": "assistant", "content": "Because."}}, 7]}, BECAUSE),
        ({"choices": [{"message": {"content": None, "tool_calls": [OPENAI_CALL]}}]}, ADD),
        ({"candidates": [{"content": {"parts": [{"text": "Because."}], "role": "model"}}]}, BECAUSE),
        ({"generations": [[{"text": "Because.", "message": SAYING}]]}, BECAUSE),
        ({"generations": [[{"text": "Because."}, 7]]}, BECAUSE),
        ({"output": [{"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}'}]}, ADD),
        ({"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}'}, ADD),
        ([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Because."}]}], BECAUSE),
        ({"content": [{"type": "text", "text": "Because."}]}, BECAUSE),
        ({"message": {"blocks": [{"block_type": "text", "text": "Because."}]}}, BECAUSE),
        ({"usage": {}}, None),
        ([{"id": "doc-1"}], None),
        (None, None),
    ],
)
def test_reply(returned: object, expected: object) -> None:
    """A model's answer is read out of every provider's response object."""
    assert expected == payloads.reply(returned, Memo())


@pytest.mark.parametrize(
    ("given", "query"),
    [
        ("France", "France"),
        ("42", "42"),
        ({"query": "France", "tags": []}, "France"),
        ({"str_or_query_bundle": {"query_str": "France"}}, "France"),
        ({"args": ["France"], "kwargs": {"k": 3}}, None),
        ({"args": ["France"], "kwargs": {}}, "France"),
        ({"kwargs": {"question": "France", "k": 3}}, "France"),
        (["France"], "France"),
        ({"subject": "France"}, "France"),
        ({"k": 3, "n": 2}, None),
        ([[[[[[["France"]]]]]]], None),
        (7, None),
    ],
)
def test_searched(given: object, query: str | None) -> None:
    """A retrieval's query is its text, by whatever name it was passed."""
    assert query == payloads.searched(given, Memo())


@pytest.mark.parametrize(
    ("returned", "documents"),
    [
        ({"documents": [{"page_content": "a", "metadata": {"id": "1", "score": "0.5"}}]}, (Document("1", 0.5, "a"),)),
        ([{"lc": 1, "kwargs": {"id": "1", "page_content": "a"}}], (Document("1", None, "a"),)),
        ([[{"id": "1", "text": "a"}, 0.5]], (Document("1", 0.5, "a"),)),
        ([['{"id": "1"}']], (Document(None, None, '{"id": "1"}'),)),
        (['{"node": {"id_": "1", "text_resource": {"text": "a"}}, "score": 0}'], (Document("1", 0.0, "a"),)),
        (["a", "", 7], (Document(None, None, "a"),)),
        ([{"url": "u", "metadata": {"title": "t"}}], (Document(names=("u", "t")),)),
        ([], ()),
        ({"count": 0}, None),
        ("a", None),
    ],
)
def test_documents(returned: object, documents: object) -> None:
    """Ids and scores are found beside the text or in the metadata; an empty list is no documents, not none recorded."""
    assert documents == payloads.documents(returned, Memo())


def test_invoked() -> None:
    """A requested call has the result of its id and name; without a result how it ended is unknown."""
    sent = [
        Message(
            "assistant", tuple(Part("tool_call", id=f"c{n}", name=name) for n, name in enumerate(("add", "sub", "mul")))
        )
    ]
    got = [
        Message("tool", (Part("tool_result", id="c1", name="sub", value="no b given", error=True),)),
        Message("tool", (Part("tool_result", id="c0", value=2), Part("tool_result", id="c2", name="div", value=3))),
    ]
    expected = (
        ToolFields("add", None, 2, "c0"),
        ToolFields("sub", None, "no b given", "c1", failed=True, message="no b given"),
        ToolFields("mul", None, None, "c2", uncertain=True),
    )
    assert expected == payloads.invoked(sent, got)
    assert () == payloads.invoked(None, None)
