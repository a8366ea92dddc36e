"""OpenInference's ordinary spans of tools and models, and what is odd about the others."""

from __future__ import annotations

from spanwise.conventions import _openinference_crewai as crewai
from spanwise.conventions._convention import PlainAnswers, PlainModels, PlainTools
from spanwise.conventions._fields import amount, any_of, count, lowered, text, written
from spanwise.conventions._langgraph import is_paused
from spanwise.conventions._openinference_messages import (
    GOOGLE_GENAI,
    HAYSTACK,
    LANGCHAIN,
    LANGCHAIN_JS,
    OUTPUT,
    OWN_ANSWERS,
)
from spanwise.conventions._openinference_tools import CALL_KEYS, CONTEXTS, outcome
from spanwise.conventions._usages import with_thoughts
from spanwise.model.content import MASKED, LLMFields, Memo, is_blank
from spanwise.model.raw import Attributes

BEEAI = "openinference.instrumentation.beeai"
# What frameworks call every tool: names of classes, not of tools.
TOOL_CLASSES = frozenset(
    """SimpleTool FunctionTool BaseTool AsyncBaseTool Tool StructuredTool QueryEngineTool RetrieverTool""".split()
)
ANSWERED = "llm.response.model_name"
ASKED = (
    "llm.model_name",
    "llm.request.model_name",
    "decision.response.model_name",
    "decision.model_name",
    "embedding.model_name",
    "reranker.model_name",
)
"""The attributes that name the model that was asked."""
PROVIDERS = ("llm.provider", "llm.system", "decision.provider", "decision.system")
_DETAILS = "llm.token_count.prompt_details"
USED = (
    count("llm.token_count.prompt", "decision.token_count.input"),
    count("llm.token_count.completion", "decision.token_count.output"),
    count(f"{_DETAILS}.cache_read", f"{_DETAILS}.cache_input"),
    count(f"{_DETAILS}.cache_write"),
    count("llm.token_count.completion_details.reasoning"),
    amount("llm.cost.total"),
)
"""The tokens of a model call, by kind, and its cost."""
CALL_IDS = ("tool_call.id", "tool.id", "tool.call_id")


def not_found(name: str | None, result: object) -> bool:
    """AutoGen and CrewAI: a tool that does not exist has a span without an error."""
    if not isinstance(result, str):
        return False
    return result == "Tool not found" or (
        result[:7] == "Error: " and result.startswith(f"Error: tool '{name}' not found")
    )


def _result(recorded: str, memo: Memo) -> object:
    """What a tool returned, out of JSON or of what may be an envelope; None for what says more than that."""
    got = outcome(recorded, memo)
    said = got.value
    odd = (
        got.failed
        or got.uncertain
        or is_blank(said)
        or got.call_id is not None
        or got.control
        or (isinstance(said, str) and said.startswith(("Tool not", "Error: ", "None")))
    )
    return None if odd else said


def put_right(used: LLMFields, attributes: Attributes) -> None:
    """What LangChain in JavaScript counts of Gemini; its answer bears the name of a stream's class."""
    metadata = attributes.get("metadata")
    if isinstance(metadata, str) and '"ls_provider":"google' in metadata:
        answer = attributes.get("output.value")
        streamed = isinstance(answer, str) and '"AIMessageChunk"' in answer
        with_thoughts(used, attributes.get("llm.token_count.total"), streamed=streamed)


TOOLS = PlainTools(
    fields=(text("tool.name"), any_of("input.value"), any_of("output.value"), written(*CALL_IDS)),
    scopes=frozenset({*LANGCHAIN, HAYSTACK, BEEAI}),
    names=TOOL_CLASSES,
    titles=(crewai.USE,),
    beginnings=(
        *'{["-0123456789',
        *MASKED,
        "true",
        "false",
        "null",
        "content=",
        "ToolM",
        "Comm",
        "Tool not",
        "Error: ",
        "None",
    ),
    result=_result,
    odd_failure=is_paused,
    keys=CALL_KEYS | CONTEXTS | {"tool_call_id"},
)
MODELS = PlainModels(
    fields=(text(ANSWERED, *ASKED), lowered(*PROVIDERS), *USED),
    scopes=frozenset({GOOGLE_GENAI, LANGCHAIN_JS}),
    absent=("gen_ai.response.model", "gen_ai.provider.name", "llm.cost.prompt"),
)
ANSWERS = PlainAnswers(
    leaves=(
        *(OUTPUT, "0.message.role", "assistant", "0.message.content"),
        *("0.message.tool_calls.", ".tool_call.", "id", "function.name", "function.arguments"),
    ),
    scopes=OWN_ANSWERS | LANGCHAIN,
    absent=("gen_ai.output.messages",),
)
