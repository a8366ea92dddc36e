"""What single instrumentations write otherwise than the GenAI conventions that they follow."""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions._messages import messages_of
from spanwise.conventions._returned import without_google_envelopes
from spanwise.conventions._values import first_text, mapping_of
from spanwise.model.content import LLMFields, Memo, Message
from spanwise.model.raw import RawSpan

GOOGLE = frozenset(f"opentelemetry.instrumentation.google_{name}" for name in ("generativeai", "genai"))
"""Google's client, whose API wants every function's response as a mapping."""
OPENLLMETRY_GOOGLE = "opentelemetry.instrumentation.google_generativeai"
BEDROCK = frozenset(f"opentelemetry.instrumentation.{name}" for name in ("bedrock", "botocore.bedrock-runtime"))
"""Of Bedrock's API they write `inputTokens` as it is: without what a cache took part in."""
APART = BEDROCK | {"@traceloop/instrumentation-anthropic"}
"""They count the tokens of a cache beside the input, as the provider does."""
OPENAI_JS = "@traceloop/instrumentation-openai"
"""Of the Responses API it prints the list that was sent as if a user had said it, and leaves out what is no text."""
_UNSAID = '"parts":[{"type":"text","content":""}]'
NODES = frozenset({"agent", "call_agent", "agent_node", "run_agent"})
"""What LangGraph and its users call the node, or its function, in which an agent runs."""
LANGCHAIN = "opentelemetry.instrumentation.genai.langchain"
_SEMANTIC_KERNEL = "Set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true."
CONTENT_SWITCHES: Mapping[str, str] = {
    "autogen-core": "Its own spans never carry content: install openinference-instrumentation-autogen-agentchat.",
    "semantic_kernel.utils.telemetry.agent_diagnostics.decorators": (
        f"{_SEMANTIC_KERNEL} Hand the agent its messages as its first argument: those given by name are left out."
    ),
    "semantic_kernel.utils.telemetry.model_diagnostics.decorators": (
        f"{_SEMANTIC_KERNEL} Messages are log records: export those of the logger `semantic_kernel` with "
        "OpenTelemetry's LoggingHandler, at INFO."
    ),
    "semantic_kernel.functions.kernel_function": _SEMANTIC_KERNEL,
}
"""What to do about missing content, for scopes that speak the generic dialect and have a switch of their own."""


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


def mended(
    span: RawSpan, sent: tuple[Message, ...] | None, got: tuple[Message, ...] | None, memo: Memo
) -> tuple[tuple[Message, ...] | None, tuple[Message, ...] | None]:
    """What was sent and answered, without what Google's client and OpenAI's in JavaScript are recorded to add."""
    scope = span.scope.name
    if scope in GOOGLE:
        return without_google_envelopes(sent, memo), with_answer_apart(got)
    return (_unprinted(sent, memo), None if is_unsaid(span) else got) if scope == OPENAI_JS else (sent, got)


def _unprinted(sent: tuple[Message, ...] | None, memo: Memo) -> tuple[Message, ...] | None:
    """What was sent, the list that stands printed in a user's message read as the messages that it holds."""
    if not sent or not sent[-1].text.startswith('[{"'):
        return sent
    return (*sent[:-1], *(messages_of(sent[-1].text, memo) or sent[-1:]))


def is_unsaid(span: RawSpan) -> bool:
    """The answer is recorded as an empty text: what the model asked for was left out."""
    if span.scope.name != OPENAI_JS:
        return False
    text = span.attributes.get("gen_ai.output.messages")
    return isinstance(text, str) and _UNSAID in text and "tool_call" not in text


def with_cached(used: LLMFields, span: RawSpan) -> LLMFields:
    """What a model call used, cached tokens inside the input also where they were counted beside it."""
    if span.scope.name in APART and used.input_tokens is not None:
        used.input_tokens += (used.cache_read_tokens or 0) + (used.cache_write_tokens or 0)
    return used
