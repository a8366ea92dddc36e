"""What a tool returned, without the envelopes of messages."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions import _genai
from spanwise.conventions._messages import messages_of
from spanwise.conventions._returned import of_mcp, plain
from spanwise.model.content import Memo
from tests.recordings_io import made


@pytest.mark.parametrize(
    ("value", "returned"),
    [
        (None, None),
        ("null", "null"),
        ("", ""),
        ([{"text": "null"}], "null"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"json": {"a": 1}}], {"a": 1}),
        ([{"json": {"a": 1}}, {"json": {"b": 2}}], [{"json": {"a": 1}}, {"json": {"b": 2}}]),
        ([{"type": "image"}], [{"type": "image"}]),
        ([{"text": ""}], ""),
        ([{"block_type": "text", "text": ""}], ""),
        ([{"type": "text", "text": None}], [{"type": "text", "text": None}]),
        ([1, 2], [1, 2]),
        ({"result": "[1]"}, [1]),
        ({"result": [1]}, {"result": [1]}),
        ({"type": "text", "text": "[1]", "annotations": None}, [1]),
        ({"type": "text", "text": None}, {"type": "text", "text": None}),
        ({"type": "text", "text": "a", "score": 1}, {"type": "text", "text": "a", "score": 1}),
    ],
)
def test_plain(value: object, returned: object) -> None:
    """Blocks of text, one of JSON and single-field mappings of text are envelopes; nothing returned is a result."""
    assert returned == plain(value, Memo())


def test_googles_function_response() -> None:
    """A part of Google's wire format holds the result in a mapping of its own."""
    part = {"function_response": {"id": "c1", "name": "add", "response": {"result": 3}}}
    ((read,),) = [message.parts for message in messages_of([{"role": "user", "parts": [part]}], Memo()) or ()]
    assert ("tool_result", "c1", "add", 3) == (read.type, read.id, read.name, read.value)


def test_an_empty_result_is_one() -> None:
    """A tool message without text says that the tool returned an empty one."""
    empty = {"role": "tool", "tool_call_id": "c1", "content": ""}
    silent = {"role": "tool", "tool_call_id": "c2", "content": None}
    read = [message.parts[0].value for message in messages_of([empty, silent], Memo()) or ()]
    assert ["", None] == read
    assert "" == plain([{"type": "text", "content": ""}], Memo()) == plain([{"type": "text", "text": ""}], Memo())


def test_only_blocks_are_opened() -> None:
    """MCP's blocks of text are taken off, alone or in a list; what else a tool returned stays as it is."""
    assert ["a", 2] == [of_mcp('{"type":"text","text":"a"}', Memo()), of_mcp('[{"type": "text", "text": "2"}]', Memo())]
    for other in ('{"result": "a"}', {"type": "text", "text": "a"}, None):
        assert other == of_mcp(other, Memo())


def test_a_tool_of_a_server() -> None:
    """A tool's span by GenAI holds the blocks in which an MCP server answered; other lists are what a tool returned."""
    blocks = '[{"type":"text","text":"6840000.0","id":"lc_1"}]'
    pictures = '[{"type": "text", "text": "a"}, {"type": "image", "base64": "x"}]'
    for written, result in (
        (blocks, 6840000.0),
        (blocks.replace(":", ": "), 6840000.0),
        (pictures, json.loads(pictures)),
        ('{"type":"text","text":"Error executing tool add: no"}', "Error executing tool add: no"),
        ('[{"id": 1}]', '[{"id": 1}]'),
        (json.loads(blocks), 6840000.0),
        (tuple(json.loads(pictures)), tuple(json.loads(pictures))),
        ({"type": "text", "text": "a"}, "a"),
        ([{"id": 1}], [{"id": 1}]),
        ([], []),
        ({"content": "2"}, {"content": "2"}),
        (7, 7),
    ):
        attributes = {"gen_ai.tool.name": "add", "gen_ai.tool.call.result": written}
        assert result == _genai.tool(made(attributes=attributes), Memo()).result
