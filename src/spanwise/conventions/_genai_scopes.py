"""What single instrumentations write otherwise than the GenAI conventions that they follow."""

from __future__ import annotations

from spanwise.conventions._values import first_text, mapping_of
from spanwise.model.content import LLMFields, Memo, Message
from spanwise.model.raw import RawSpan

GOOGLE = frozenset(f"opentelemetry.instrumentation.google_{name}" for name in ("generativeai", "genai"))
"""Google's client, whose API wants every function's response as a mapping."""
OPENLLMETRY_GOOGLE = "opentelemetry.instrumentation.google_generativeai"
BEDROCK = frozenset(f"opentelemetry.instrumentation.{name}" for name in ("bedrock", "botocore.bedrock-runtime"))
"""Of Bedrock's API they write `inputTokens` as it is: without what a cache took part in."""
NODES = frozenset({"agent", "call_agent", "agent_node", "run_agent"})
"""What LangGraph and its users call the node, or its function, in which an agent runs."""
LANGCHAIN = "opentelemetry.instrumentation.genai.langchain"


def is_plumbing(span: RawSpan) -> bool:
    """LangChain's pieces around an agent (`RunnableAssign<...>`, a parser, a node's function) are said to be agents."""
    name = span.attributes.get("gen_ai.agent.name")
    return isinstance(name, str) and (
        name in NODES or name.startswith(("Runnable", "ToolsAgent", "ReActSingleInput", "route_to_"))
    )


def input_of(text: str, memo: Memo) -> str | None:
    """The question in the mapping that LangChain's executor was called with, written as if the user had said it.

    None for a mapping of nothing: so a chain is said to have begun whose answer is streamed.
    """
    fields = mapping_of(memo.json(text))
    if fields is not None and not any(fields.values()):
        return None
    return text if fields is None else first_text(fields, "input", "question", "query") or text


def with_answer_apart(got: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """The text behind calls as a message of its own: of a stream in which Google's client ran the tools all is one."""
    if not got or not got[-1].parts or got[-1].parts[-1].type != "text":
        return got
    last = got[-1]
    calls = [at for at, part in enumerate(last.parts) if part.type == "tool_call"]
    if not calls:
        return got
    cut = calls[-1] + 1
    return (*got[:-1], Message(last.role, last.parts[:cut]), Message(last.role, last.parts[cut:]))


def with_cached(used: LLMFields, span: RawSpan) -> LLMFields:
    """What a model call used, cached tokens inside the input also where Bedrock counted them beside it."""
    if span.scope.name in BEDROCK and used.input_tokens is not None:
        used.input_tokens += (used.cache_read_tokens or 0) + (used.cache_write_tokens or 0)
    return used
