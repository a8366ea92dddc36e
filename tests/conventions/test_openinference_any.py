"""OpenInference spans with values of any type: no reader ever raises."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spanwise.conventions import openinference
from spanwise.model.raw import EMPTY, RawSpan, Scope
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import remade

KIND = "openinference.span.kind"
KEYS = """
openinference.span.kind input.value input.mime_type output.value output.mime_type tool.name tool.id tool.parameters
metadata tag.tags agent.name graph.node.id graph.node.name llm.model_name llm.invocation_parameters
llm.token_count.prompt llm.token_count.prompt_details.cache_read llm.cost.total llm.input_messages llm.prompts
llm.input_messages.0.message.role llm.input_messages.0.message.content llm.input_messages.1.message.tool_call_id
llm.input_messages.999999999999.message.role llm.input_messages.2.function.0 llm.input_messages.x.message.role
llm.input_messages.0.message.contents.0.message_content.type llm.input_messages.0.message.contents.x.y
llm.output_messages.3.message.tool_calls.0.tool_call.function.name llm.prompts.0.prompt.text
llm.output_messages.3.message.tool_calls.0.tool_call.function.arguments llm.choices.0.completion.text
llm.output_messages.3.message.function_call_name retrieval.documents retrieval.documents.0.document.metadata
retrieval.documents.0.document.score reranker.query llm.tools llm.tools.0.tool.json_schema smolagents.tools_names
crew_tasks crew_inputs crew_id task_key exception.type message.tool_calls.0.tool_call.function.name
""".split()
WORDS = """
messages role content type data kwargs args lc id tool tool_call_id status error update goto output input options
answer query question task documents score name response tool_name raw_output blocks isError text user assistant
tool-call tool-response source generations choices message tools_names description arguments function AGENT LLM TOOL
CHAIN RETRIEVER state replies token_usage structured_response parts {'a':1} content='x' Message(role='user')
""".split()
NAMES = (
    "handoff to x",
    "ToolInvoker.run",
    "Step 1",
    "a.run_agent_step",
    "agent",
    "a.run",
    "agent_run [a]",
    "x.__call__",
)
SCOPES = "langchain beeai haystack instructor openai_agents dspy google_genai llama_index other".split()


@given(
    spans(openinference.CONVENTION, keys=KEYS, words=WORDS, names=NAMES),
    st.sampled_from(SCOPES),
    st.sampled_from(("AGENT", "CHAIN", "LLM", "TOOL", "RETRIEVER", None)),
)
def test_any_span_can_be_read(span: RawSpan, scope: str, kind: str | None) -> None:
    """Whatever the attributes hold, every reader gives an answer."""
    named = {KIND: kind} if kind is not None else {}
    by = Scope(f"openinference.instrumentation.{scope}", "1", EMPTY)
    assert 10 == read_all(openinference.CONVENTION, remade(span, scope=by, attributes={**span.attributes, **named}))
