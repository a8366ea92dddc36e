"""CrewAI as Traceloop records it: no span for a tool or a model call, the crew's conversation printed on its span."""

from __future__ import annotations

import json

from spanwise.conventions import _traceloop_crewai as crewai
from spanwise.conventions import openinference, traceloop
from spanwise.model.content import AgentFields, LLMFields, Memo, Messages, Part, ToolDefinition
from spanwise.model.raw import RawSpan, Scope
from tests.making import run_of, span
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."


def named(name: str) -> RawSpan:
    """The span of that name in the recording."""
    return next(span for span in recorded("crewai__traceloop") if span.name == name)


def crew(**attributes: object) -> RawSpan:
    """A crew's span."""
    return made("crewai.workflow", attributes={f"crewai.crew.{key}": value for key, value in attributes.items()})


def test_tokens_of_the_crew() -> None:
    """The totals are printed as a line of names and numbers."""
    expected = LLMFields(None, None, 2433, 86, 256, 0, 0)
    assert expected == traceloop.llm(named("crewai.workflow"), Memo())
    assert LLMFields() == crewai.llm(crew(token_usage=["prompt_tokens=1"]), Memo())


def test_messages_are_read_from_the_printed_tasks() -> None:
    """Every requested call and every result is there, by id; a failed one begins as CrewAI says that."""
    found = traceloop.messages(named("crewai.workflow"), Memo())
    parts = [part for message in found.input or () for part in message.parts]
    calls = [(part.id, part.name, part.value) for part in parts if part.type == "tool_call"]
    results = [(part.id, part.error) for part in parts if part.type == "tool_result"]
    assert [
        ("call_000002", "search_docs", {"query": "population of France 2024"}),
        ("call_000004", "calculator", {"expression": "68.4 million * 0.1"}),
        ("call_000006", "calculator", {"expression": "68400000 * 0.1"}),
        ("call_000008", "search_docs", {"query": "population of France 2024"}),
    ] == calls
    assert [("call_000002", False), ("call_000004", True), ("call_000006", False), ("call_000008", False)] == results
    assert Part("text", ANSWER) == (found.output or ())[-1].parts[0]
    assert found.output == traceloop.output(named("crewai.workflow"), Memo())


def test_tools_that_the_model_asked_for_in_words() -> None:
    """Without tool calls of the model's own the words ask, in front of what CrewAI puts behind them; in all tasks."""

    def asks(name: str, given: str, told: str) -> dict[str, str]:
        words = f"Thought: go\nAction: {name}\nAction Input: {given}\nObservation: {told}"
        return {"role": "assistant", "content": words}

    failed = "\nI encountered an error while trying to use the tool. This was the error: no number."
    reminder = (
        "\n\n\nYou ONLY have access to the following tools, and should NEVER make up tools that are not listed here:"
    )
    said = {"role": "assistant", "content": "Thought: I now know the final answer\nFinal Answer: 3"}
    tasks = [
        [{"role": "user", "content": "1+2?"}, asks("add", '{"a": 1}', failed), asks("add", "{}", f"3{reminder}"), said],
        [{"role": "user", "content": "So?"}, asks("look", '{"at": "it"}', "[1]")],
    ]
    printed = ", ".join(f"TaskOutput(description='x', messages={messages!r})" for messages in tasks)
    run = run_of(
        span(
            1,
            name="crewai.workflow",
            attributes={"crewai.crew.tasks_output": f"[{printed}]", "crewai.crew.id": "c", "crewai.crew.result": "3"},
            scope=Scope("opentelemetry.instrumentation.crewai.instrumentation", "0.48", {}),
        )
    )
    assert [
        ("add", {"a": 1}, failed.strip(), "error", None),
        ("add", {}, 3, "ok", None),
        ("look", {"at": "it"}, [1], "ok", None),
    ] == [(call.name, call.arguments, call.result, call.status, call.call_id) for call in run.tool_calls]


def test_messages_that_cannot_be_read_are_not_said() -> None:
    """A printed object without a literal form, or none at all, gives no messages."""
    assert Messages() == crewai.messages(crew(tasks_output="[TaskOutput(pydantic=<Thing object at 0x7f>)]"), Memo())
    assert Messages() == crewai.messages(crew(tasks_output="[None, TaskOutput(messages=[])]"), Memo())
    assert Messages() == crewai.messages(crew(tasks_output=7), Memo())


def test_crew_and_task_are_asked_and_answer() -> None:
    """A crew is asked what its tasks are to do, and answers with its result; neither it nor a task is an agent."""
    assert AgentFields(None, QUESTION, ANSWER) == traceloop.agent(named("crewai.workflow"), Memo())
    assert AgentFields(None, QUESTION, ANSWER) == traceloop.agent(named(f"{QUESTION}.task"), Memo())
    tasks = json.dumps([{"description": "Find it."}, {"agent": "x"}, {"description": "Write it down."}])
    assert AgentFields(None, "Find it.") == crewai.agent(crew(tasks=tasks), Memo())


def test_agent_of_a_crew() -> None:
    """An agent is its role."""
    assert AgentFields("research_agent") == traceloop.agent(named("research_agent.agent"), Memo())


def test_definitions_of_agents_and_tasks() -> None:
    """The tools of an agent, of a task, or of all of a crew, each once."""
    tools = (
        ToolDefinition("search_docs", "Search the document index and return scored passages."),
        ToolDefinition("calculator", "Evaluate an arithmetic expression."),
    )
    for name in ("crewai.workflow", f"{QUESTION}.task", "research_agent.agent"):
        assert tools == traceloop.definitions(named(name), Memo())
    assert () == crewai.definitions(crew(agents='[{"tools": []}, 7]'), Memo())
    assert None is crewai.definitions(crew(agents='[{"role": "x"}]'), Memo())


def test_spans_of_older_releases() -> None:
    """Up to 0.5x a crew and a model call say nothing of themselves but what they are made of; an agent has its role."""
    scope = "opentelemetry.instrumentation.crewai.instrumentation"
    model = made("gpt-4o-mini.llm", scope=scope, attributes={"crewai.llm.model": "gpt-4o-mini"})
    kinds = [traceloop.kind(one) for one in (crew(id="1"), model, made("x", scope=scope))]
    assert ["workflow", "llm", None] == kinds
    assert LLMFields(model="gpt-4o-mini") == traceloop.llm(model, Memo())
    working = {"traceloop.span.kind": "agent", "crewai.agent.role": "research_agent"}
    assert "research_agent" == traceloop.agent(made("research_agent.agent", attributes=working), Memo()).name


def test_a_typed_answer() -> None:
    """Of an object that the last task made, the text stands that the model wrote, not the printed object."""
    text = '{"tenth": 6.8}'
    typed = f"[TaskOutput(raw='x', pydantic=None), TaskOutput(raw='{text}', pydantic=Out(tenth=6.8), json_dict=None)]"
    assert text == crewai.agent(crew(result="tenth=6.8", tasks_output=typed), Memo()).answer
    plain = "[TaskOutput(raw='6.8', pydantic=None, json_dict=None)]"
    assert "6.8 M" == crewai.agent(crew(result="6.8 M", tasks_output=plain), Memo()).answer
    assert "6.8 M" == crewai.agent(crew(result="6.8 M", tasks_output="[]"), Memo()).answer


def test_the_tools_by_which_agents_delegate() -> None:
    """CrewAI offers tools of its own to agents that may delegate to others, and to the manager of unassigned tasks."""
    names = ["delegate_work_to_coworker", "ask_question_to_coworker"]
    agents = [{"allow_delegation": True, "tools": []}, {"allow_delegation": False, "tools": [{"name": "add"}]}]
    assigned, open_ = [{"agent": "a", "tools": []}], [{"agent": None, "tools": []}]

    def offered(agents: list[dict[str, object]], tasks: list[dict[str, object]]) -> list[str]:
        found = crewai.definitions(crew(agents=json.dumps(agents), tasks=json.dumps(tasks)), Memo())
        return [tool.name for tool in found or ()]

    assert ["add", *names] == offered(agents, assigned)
    assert ["add", *names] == offered(agents[1:], open_)
    assert [["add"], []] == [offered(agents[1:], assigned), offered(agents[:1], assigned)]


def test_the_same_tools_under_openinference() -> None:
    """OpenInference says the same of a crew in other words."""
    agents = [{"delegation_enabled": True, "tools_names": []}, {"delegation_enabled": False, "tools_names": ["add"]}]
    attributes = {"crew_agents": json.dumps(agents), "crew_tasks": json.dumps([{"agent_role": "a"}])}
    found = openinference.definitions(made("crew.kickoff", attributes=attributes), Memo())
    assert ["add", "delegate_work_to_coworker", "ask_question_to_coworker"] == [tool.name for tool in found or ()]
