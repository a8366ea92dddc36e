"""Names, questions and answers of OpenInference's agents and chains."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions import openinference
from spanwise.conventions._openinference_runs import bare_name
from spanwise.model.content import AgentFields, Memo
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

KIND = "openinference.span.kind"
OI = "openinference.instrumentation."
QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
HI = {"role": "user", "content": "hi"}
HELLO = {"role": "assistant", "content": "hello"}
RETURNS = {"role": "assistant", "content": 'Returning structured response: {"a":1}'}


def read(
    name: str = "span", *, scope: str = "", kind: str = "CHAIN", status: int = 0, **attributes: object
) -> AgentFields:
    """What a span made by hand says; a double underscore stands for a dot."""
    dotted = {key.replace("__", "."): value for key, value in attributes.items()}
    span = made(name, scope=scope and OI + scope, status=status, attributes={KIND: kind, **dotted})
    return openinference.agent(span, Memo())


@pytest.mark.parametrize(
    ("recording", "name", "expected"),
    [
        ("langgraph__openinference", "research_agent", AgentFields("research_agent", QUESTION, ANSWER)),
        ("smolagents__openinference", "research_agent.run", AgentFields("research_agent", QUESTION, ANSWER)),
        ("smolagents__openinference", "Step 1", AgentFields()),
        ("crewai__openinference", "population_crew.kickoff", AgentFields(None, QUESTION, ANSWER)),
        ("crewai__openinference", "research_agent._execute_core", AgentFields("research_agent", QUESTION, ANSWER)),
        ("llama-index__openinference", "FunctionAgent.run", AgentFields()),
        ("llama-index__openinference", "BaseWorkflowAgent.run_agent_step", AgentFields("research_agent")),
        ("openai-agents__openinference", "population workflow", AgentFields("population workflow")),
        ("openai-agents__openinference", "research_agent", AgentFields("research_agent")),
        ("strands__openinference", "invoke_agent research_agent", AgentFields(None, QUESTION, ANSWER)),
    ],
)
def test_recordings(recording: str, name: str, expected: AgentFields) -> None:
    """Each framework's entry point gives its question and its answer; states and printed objects give nothing."""
    span = next(span for span in recorded(recording) if span.name == name)
    assert expected == openinference.agent(span, Memo())


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("span", {"agent.name": "a", "graph.node.name": "b"}, "a"),
        ("span", {"graph.node.name": "b", "graph.node.id": "c"}, "b"),
        ("span", {"graph.node.id": "Researcher\n"}, "Researcher"),
        ("helper.run", {"graph.node.id": "agent_5362615050157808207"}, "helper"),
        ("ClaudeAgentSDK.ClaudeSDKClient.receive_response", {}, None),
        ("helper.run", {"graph.node.id": "0f5dd7ac-6b77-4e53-8a4f-0ad5b94f3e11"}, "helper"),
        ("helper.run", {"graph.node.id": "d16ab3856afb9201", "gen_ai.agent.name": "other"}, None),
        ("invoke_agent helper", {"graph.node.id": "strands_agent"}, "helper"),
        ("invoke_swarm", {"graph.node.id": "strands_agent"}, None),
        ("ClaudeAgent.query", {}, None),
        ("", {}, None),
    ],
)
def test_names(name: str, attributes: dict[str, object], expected: str | None) -> None:
    """An agent's name is the most telling there is; ids are none, and what another dialect names is left to it."""
    assert expected == openinference.agent(made(name, attributes={KIND: "agent", **attributes}), Memo()).name


def test_names_of_spans() -> None:
    """The method or the words around an agent's name are taken off."""
    names = {
        "research_agent.run": "research_agent",
        "writer._execute_core": "writer",
        "writer.kickoff": "writer",
        "a.on_messages_stream": "a",
        "ClaudeAgentSDK.query": "ClaudeAgentSDK",
        "agent_run [triage]": "triage",
        "agent_collaborator[Billing]": "Billing",
        "invoke_agent helper": "helper",
        ".run": ".run",
        "helper": "helper",
    }
    assert names == {name: bare_name(name) for name in names}


def test_documents_that_are_split() -> None:
    """What LlamaIndex splits or enriches is no question, and what comes of it no answer."""
    split = read("SentenceSplitter.__call__", input__value='{"nodes": [{"text": "68 million."}]}', output__value="a")
    assert AgentFields() == split
    for method in ("split_text", "split_text_metadata_aware", "_parse_nodes"):
        assert AgentFields() == read(f"SentenceSplitter.{method}", input__value='{"text": "68 million.", "meta": ""}')


def test_chains_have_no_name() -> None:
    """A chain is named only where it carries an agent's name; LlamaIndex's step without an event has none."""
    assert [None, "a", None] == [
        read("model").name,
        read("model", agent__name="a").name,
        read("Agent.run_agent_step", input__value='{"ev": "AgentSetup()"}').name,
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("hi\n", "hi"),
        ({"messages": [HELLO, HI]}, "hi"),
        ({"input": "hi", "chat_history": [{"role": "user", "content": "before"}]}, "hi"),
        ({"task": "hi", "stream": False}, "hi"),
        ({"input_args": {"question": "hi", "context": ["x"]}}, "hi"),
        ({"kwargs": {"claim": "hi"}}, "hi"),
        ({"topic": "hi"}, "hi"),
        ({"new_message": {"parts": [{"text": "hi"}], "role": "user"}, "session_id": "s"}, "hi"),
        ({"new_message": '{"parts": [{"thought": null, "text": "hi"}], "role": "user"}', "session_id": "s"}, "hi"),
        ({"new_message": '{"parts": [{"thought": null, "text": "h', "session_id": "s"}, None),
        ({"data": {"retriever": {"top_k": 3}, "limit": 3, "builder": {"question": "hi"}}}, "hi"),
        ({"data": {"limit": 3, "a": "x", "b": {"c": 1}}}, None),
        ([HELLO, HI], "hi"),
        ({"inputs": [{"type": "text", "text": "hi"}, {"type": "text", "text": "there"}]}, "hi\nthere"),
        ({"inputs": ["hi", 1]}, None),
        ({"messages": ["id='1' source='user' content='hi'"]}, None),
        ({"messages": []}, None),
        ({"init_state": {"is_running": False}, "start_event": "AgentWorkflowStartEvent()"}, None),
        ({"a": "x", "b": "y"}, None),
        ({"count": 3}, None),
        ({"input": {"input": {"input": {"input": {"input": {"input": {"input": "hi"}}}}}}}, None),
        ("__REDACTED__", None),
        ("<Agent object at 0x7f>", None),
        ("42", None),
        ([], None),
        (None, None),
    ],
)
def test_questions(value: object, expected: str | None) -> None:
    """The question is taken out of whatever the entry point was called with; what is no question gives none."""
    assert expected == read(input__value=json.dumps(value) if isinstance(value, dict | list) else value).query


def test_question_among_flattened_messages() -> None:
    """Without an input the user's message is the question, but not the first message of a graph's state."""
    flat = {"llm__input_messages__0__message__role": "user", "llm__input_messages__0__message__content": "hi"}
    assert ["hi", None] == [read(**flat).query, read(scope="langchain", **flat).query]


def test_crews() -> None:
    """A crew is asked by its first task, the inputs put into it; an agent by the task in its attributes or result."""
    tasks = json.dumps([{"description": "Tell of {topic} in {year}.\n"}, {"description": "Write."}])
    inputs = json.dumps({"topic": "France", "year": 2024})
    asked = [
        read(crew_tasks=tasks, crew_inputs=inputs, input__value=inputs).query,
        read(crew_tasks=tasks, input__value=inputs).query,
        read(crew_tasks=tasks, crew_inputs="").query,
        read(crew_tasks="[1]", input__value="hi").query,
        read(task_description="hi", input__value="Current Task: hi").query,
        read(task_key="k", input__value='{"agent": {}, "tools": []}', output__value='{"description": "hi"}').query,
        read(task_key="k", output__value="hello").query,
        read(crew_tasks='[{"description": "__REDACTED__"}]').query,
    ]
    told = "Tell of France in 2024."
    assert [told, told, "Tell of {topic} in {year}.", "hi", "hi", "hi", None, None] == asked


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("hello\n", "hello"),
        (42, "42"),
        ({"messages": [HI, HELLO]}, "hello"),
        ({"messages": [HI, {"role": "assistant", "tool_calls": [{"name": "add", "args": {}}]}]}, None),
        ({"messages": [HI], "structured_response": {"a": 1}}, '{"a":1}'),
        ({"messages": [HI], "structured_response": "hello"}, "hello"),
        ({"messages": [HI, RETURNS], "structuredResponse": {"a": 1}}, '{"a":1}'),
        ({"messages": [HI, RETURNS]}, '{"a":1}'),
        ({"messages": [HI, HELLO], "structuredResponse": {"a": 1}}, '{"a":1}'),
        ({"messages": [HI, HELLO], "structured_response": None}, "hello"),
        ({"messages": [HI, {**HELLO, "content": '{ "a": 1 }'}], "structured_response": {"a": 1}}, '{ "a": 1 }'),
        ([{"update": {"messages": [HELLO]}, "goto": []}], "hello"),
        ({"input": "hi", "chat_history": [HI, {**HELLO, "content": "before"}], "output": "hello"}, "hello"),
        ({"trajectory": {"thought_0": "x"}, "reasoning": "x", "answer": "hello"}, "hello"),
        ({"reasoning": "x", "summary": "hello"}, "hello"),
        ({"return_values": {"output": "hello"}, "log": "x"}, "hello"),
        ({"raw": "hello", "tasks_output": []}, "hello"),
        ({"answer": 42}, "42"),
        ({"answer": True, "note": None}, None),
        ({"content": {"parts": [{"text": "hello"}], "role": "model"}, "id": "x"}, "hello"),
        ({"content": {"parts": [{"function_call": {"name": "add", "args": {}}}], "role": "model"}}, None),
        ({"error_code": "500", "error_message": "broken", "text": "x"}, None),
        ({"answer": "hello", "error": None}, "hello"),
        ({"builder": {"answers": [{"data": "hello", "query": "hi"}]}, "other": 1}, "hello"),
        ({"llm": {"replies": ["hello"]}, "meta": [1]}, "hello"),
        ({"llm": {"replies": [None]}, "meta": [1]}, None),
        ({"topic": "x", "draft": "y"}, None),
        ([{"id": "doc-1", "score": 0.9}], None),
        ("[{'id': 'doc-1', 'score': 0.9}]", None),
        ("[1] says hello", "[1] says hello"),
        ("StopEvent(result=AgentOutput(response=Chat...", None),
        ("None", None),
        ("__REDACTED__", None),
        (b"x", None),
        ({"output": {"output": {"output": {"a": {"b": {"c": {"d": 1}}}}}}}, None),
    ],
)
def test_answers(value: object, expected: str | None) -> None:
    """The answer is taken out of whatever the entry point returned; state, results, requests and errors are none."""
    assert expected == read(output__value=json.dumps(value) if isinstance(value, dict | list) else value).answer


def test_answers_that_are_none() -> None:
    """What a failed run returned is its error, and JSON that was cut is no answer."""
    cut = {"output__value": '{"messages": [', "output__mime_type": "application/json"}
    assert [None, None] == [read(status=2, output__value="hello").answer, read(**cut).answer]


def test_typed_answers() -> None:
    """An agent's typed result is its answer as recorded, as is Instructor's; a graph's output may be anything."""
    value = '{"population": 1, "tenth": 2}'
    answers = [
        read(kind="AGENT", scope="agno", output__value=value).answer,
        read(scope="instructor", output__value=value).answer,
        read(kind="AGENT", scope="langchain", output__value=value).answer,
        read(output__value=value).answer,
        read(kind="AGENT", scope="agno", output__value='{"state": {}, "tenth": 2}').answer,
        read(kind="AGENT", scope="agno", output__value='{"error": "x", "tenth": 2}').answer,
    ]
    assert [value, value, None, None, None, None] == answers


def test_answer_among_flattened_messages() -> None:
    """Without an output the model's last message is the answer."""
    flat = {"llm__output_messages__0__message__role": "model", "llm__output_messages__0__message__content": "hello"}
    assert "hello" == read(**flat).answer


def test_structured_response_of_any_type() -> None:
    """A typed answer that has no JSON form is none."""
    value = {"messages": [HI], "structured_response": {"a": object()}}
    assert None is read(output__value=value).answer


def test_printed_answer_of_llama_index() -> None:
    """The event that ends a run is printed; an answer that was cut in it is not read, nor anybody else's."""
    message = "ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, additional_kwargs={}, blocks=[TextBlock("
    ended = f"StopEvent(result=AgentOutput(response={message}block_type='text', text='It\\'s 7')]), structured..."
    cut = f"StopEvent(result=AgentOutput(response={message}block_type='text', text='It..."
    llama = f"{OI}llama_index"
    for value, scope, answer in ((ended, llama, "It's 7"), (cut, llama, None), (ended, "other", None)):
        attributes = {"openinference.span.kind": "CHAIN", "output.value": value}
        assert answer == openinference.agent(made("ReActAgent.run", scope=scope, attributes=attributes), Memo()).answer


def test_a_class_names_no_agent() -> None:
    """Where nothing but the name of a framework's class is recorded, the agent has no name."""
    span = made("AgentExecutor", scope=f"{OI}langchain", attributes={KIND: "AGENT"})
    assert openinference.agent_name(span) is None


def test_a_run_that_ended_to_ask_for_approvals() -> None:
    """Pydantic AI returns the calls that wait for somebody: that is no answer, a typed result is one."""
    waiting = json.dumps({"calls": [], "approvals": [{"tool_name": "add"}], "metadata": {}})
    assert None is read(kind="AGENT", output__value=waiting, output__mime_type="application/json").answer
    typed = json.dumps({"calls": 3, "town": "Paris"})
    assert typed == read(kind="AGENT", output__value=typed, output__mime_type="application/json").answer


def test_crews_whose_tasks_or_inputs_are_not_told() -> None:
    """Inputs alone ask for nothing where the tasks were cut, nor does a task whose inputs are masked."""
    inputs = '{"country": "France"}'
    asking = json.dumps([{"description": "Tell of {country}."}])
    assert None is read(crew_tasks='[{"description": "Tell of {coun', input__value=inputs).query
    assert None is read(crew_tasks=asking, input__value="__REDACTED__").query
    assert "Tell of France." == read(crew_tasks=asking, input__value=inputs).query
