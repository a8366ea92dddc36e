"""CrewAI under OpenInference before 1.1: what the use of a tool was given and what the model was told."""

from __future__ import annotations

import json

from spanwise.conventions import openinference
from spanwise.model.content import Memo, ToolFields
from spanwise.model.raw import RawSpan
from tests.making import run_of, span
from tests.recordings_io import made

SCOPE = "openinference.instrumentation.crewai"
REMINDER = (
    "\n\n\nYou ONLY have access to the following tools, and should NEVER make up tools that are not listed here:\n\nadd"
)


def used(returned: object, name: str = "ToolUsage._use", **given: str) -> RawSpan:
    """The use of the tool `add`."""
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "add", "input.value": json.dumps(given)}
    return made(name, scope=SCOPE, attributes={**attributes, "output.value": returned})


def test_the_call_is_the_one_that_was_read_from_the_models_words() -> None:
    """The arguments stand in the printed call, not in the model's words around it."""
    words = 'Thought: sum\nAction: add\nAction Input: {"a": 1}'
    call = "tool_name='add' arguments={'a': 1}"
    assert ToolFields("add", {"a": 1}, 2) == openinference.tool(used("2", tool_string=words, calling=call), Memo())
    named = used("2", "add._use", tool_string=words, tool="CrewStructuredTool(name='add')", calling=call)
    assert ToolFields("add", {"a": 1}, 2) == openinference.tool(named, Memo())
    assert ToolFields("add", None, 2) == openinference.tool(used("2", tool_string=words), Memo())
    assert ToolFields("add", None, 2) == openinference.tool(used("2", calling="tool_name='add' arguments=None"), Memo())


def test_a_reminder_of_the_tools_is_no_result() -> None:
    """What CrewAI tells the model of its tools behind a result, the tool did not return."""
    assert [{"id": 1}] == openinference.tool(used('[{"id": 1}]' + REMINDER), Memo()).result
    assert None is openinference.tool(made("ToolUsage._use", scope=SCOPE), Memo()).result


def test_a_failure_is_told_in_crewais_words() -> None:
    """The span ends well: that the tool raised is what the model was told."""
    told = "\nI encountered an error while trying to use the tool. This was the error: no number.\n Tool add accepts a"
    found = openinference.tool(used(told), Memo())
    assert (told, True, told.strip()) == (found.result, found.failed, found.message)


def test_the_agent_is_the_one_that_worked_on_the_task() -> None:
    """The span of a task has the class in its name; the agent's role is printed into its input."""
    given = {"agent": "id=UUID('1') role='research_agent' goal='Answer' backstory='role' config=None"}
    attributes: dict[str, object] = {"openinference.span.kind": "AGENT", "input.value": json.dumps(given)}
    assert "research_agent" == openinference.agent_name(made("Task._execute_core", scope=SCOPE, attributes=attributes))
    assert None is openinference.agent_name(made("Task._execute_core", scope=SCOPE))
    found = run_of(span(1, name="Task._execute_core", attributes=attributes, end=9))
    assert ["research_agent"] == [agent.name for agent in found.agents]
