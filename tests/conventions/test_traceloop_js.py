"""LangChain under OpenLLMetry in JavaScript."""

from __future__ import annotations

import json

from spanwise import conventions
from spanwise.conventions import traceloop
from spanwise.model.content import Memo
from spanwise.model.raw import RawSpan
from tests.recordings_io import made

LANGCHAIN_JS = "@traceloop/instrumentation-langchain"


def of_javascript(**attributes: object) -> RawSpan:
    """A span of LangChain's instrumentation in JavaScript."""
    return made(
        "x", scope=LANGCHAIN_JS, attributes={key.replace("__", "."): value for key, value in attributes.items()}
    )


def test_langchain_in_javascript_holds_nothing() -> None:
    """Its spans never become the current one: a chain or an agent among them is a run of nothing, so it is none."""
    for operation in ("workflow", "invoke_agent"):
        chain = of_javascript(gen_ai__operation__name=operation, traceloop__span__kind="workflow")
        assert "other" == conventions.classify(chain)[1]
    tool = of_javascript(gen_ai__operation__name="execute_tool", traceloop__span__kind="task")
    assert "tool" == conventions.classify(tool)[1]
    assert "llm" == conventions.classify(of_javascript(gen_ai__operation__name="chat", traceloop__span__kind="x"))[1]
    assert "other" == conventions.classify(of_javascript(traceloop__span__kind="workflow"))[1]


def test_tools_of_langchain_in_javascript() -> None:
    """A tool's span is named after its class; the message that it returned bears its name. One that raised has none."""
    message = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"]}
    kwargs = {"status": "success", "content": "4", "tool_call_id": "c1", "name": "add"}
    given = {
        "traceloop__entity__name": "DynamicStructuredTool",
        "traceloop__entity__input": json.dumps({"args": [json.dumps({"x": 2})]}),
    }
    found = traceloop.tool(
        of_javascript(**given, traceloop__entity__output=json.dumps(message | {"kwargs": kwargs})), Memo()
    )
    assert ("add", "c1", 4) == (found.name, found.call_id, found.result)
    assert "DynamicStructuredTool" == traceloop.tool(of_javascript(**given), Memo()).name
