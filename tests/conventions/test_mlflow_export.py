"""MLflow's export with GenAI's attributes: types without an operation, quoted texts, LangChain's messages."""

from __future__ import annotations

import json

import pytest

from spanwise import conventions
from spanwise.conventions import mlflow
from spanwise.model.content import AgentFields, LLMFields, Memo, RetrievalFields, ToolFields
from tests.recordings_io import made

OPERATION = "gen_ai.operation.name"
AGENT = json.dumps({"lc_agent_name": "helper"})
NODE = json.dumps({"lc_agent_name": "helper", "langgraph_node": "model"})


@pytest.mark.parametrize(
    ("attributes", "dialect", "kind"),
    [
        ({OPERATION: "RETRIEVER"}, "mlflow", "retrieval"),
        ({OPERATION: "CHAIN"}, "mlflow", "workflow"),
        ({OPERATION: "CHAIN", "metadata": AGENT}, "mlflow", "agent"),
        ({OPERATION: "CHAIN", "metadata": NODE}, "mlflow", "workflow"),
        ({OPERATION: "execute_tool"}, "mlflow", "tool"),
        ({OPERATION: "invoke_agent"}, "genai", "agent"),
        ({OPERATION: "chat"}, "genai", "llm"),
    ],
)
def test_kinds(attributes: dict[str, object], dialect: str, kind: str) -> None:
    """MLflow's own types are known beside GenAI's operations."""
    index, found = conventions.classify(made(scope=mlflow.SCOPE, attributes=attributes))
    assert (dialect, kind) == (conventions.CONVENTIONS[index].name, found)


def test_only_mlflows() -> None:
    """A type's name is an operation in MLflow's export only."""
    assert mlflow.kind(made(scope="other", attributes={OPERATION: "CHAIN"})) is None


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ('"2"', ToolFields("add", {"a": 1}, 2, "c1")),
        (
            json.dumps({"content": "no number", "type": "tool", "tool_call_id": "c1", "status": "error"}),
            ToolFields("add", {"a": 1}, "no number", "c1", failed=True),
        ),
    ],
)
def test_tools(result: str, expected: ToolFields) -> None:
    """Texts stay in their quotes, and LangChain's messages whole."""
    attributes = {
        OPERATION: "execute_tool",
        "gen_ai.tool.name": "add",
        "tool_call_id": '"c1"',
        "gen_ai.tool.call.arguments": '{"a": 1}',
        "gen_ai.tool.call.result": result,
    }
    assert expected == mlflow.tool(made("execute_tool add", scope=mlflow.SCOPE, attributes=attributes), Memo())


def test_agents_and_retrievers() -> None:
    """LangChain's metadata names the agent; of a retriever the export keeps nothing."""
    span = made("CHAIN", scope=mlflow.SCOPE, attributes={OPERATION: "CHAIN", "metadata": AGENT})
    assert AgentFields("helper") == mlflow.agent(span, Memo())
    found = made("RETRIEVER", scope=mlflow.SCOPE, attributes={OPERATION: "RETRIEVER"})
    assert RetrievalFields() == mlflow.retrieval(found, Memo())


def test_models_are_genais() -> None:
    """The response's model stands above the quoted setting of the request."""
    attributes = {OPERATION: "chat", "model": '"m"', "gen_ai.response.model": "m-1"}
    span = made(scope=mlflow.SCOPE, attributes=attributes)
    assert LLMFields("m-1") == conventions.llm(span, Memo(), conventions.classify(span)[0])
