"""What single instrumentations write otherwise than the GenAI conventions that they follow."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from spanwise.conventions._fields import below
from spanwise.conventions._langgraph import is_paused
from spanwise.conventions._messages import items, messages_of, part_of
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._returned import without_google_envelopes
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import LLMFields, Memo, Message, Part, ToolFields
from spanwise.model.raw import RawSpan

GOOGLE = frozenset(f"opentelemetry.instrumentation.google_{name}" for name in ("generativeai", "genai"))
"""Google's client, whose API wants every function's response as a mapping."""
SPARING = frozenset(f"opentelemetry.instrumentation.{name}" for name in ("botocore.bedrock-runtime", "openai_v2"))
"""They leave out what is empty: arguments, and results of tools."""
OPENLLMETRY_GOOGLE = "opentelemetry.instrumentation.google_generativeai"
GOOGLE_JS = "@traceloop/instrumentation-google-generativeai"
OPENLLMETRY_BEDROCK = "opentelemetry.instrumentation.bedrock"
BEDROCK = frozenset(
    f"opentelemetry.instrumentation.{name}" for name in ("bedrock", "botocore.bedrock-runtime", "genai.bedrock")
)
"""Of Bedrock's API they write `inputTokens` as it is: without what a cache took part in."""
REFUSING = frozenset({"opentelemetry.instrumentation.langchain", "opentelemetry.instrumentation.genai.langchain"})
"""They leave out of LangChain's answers calls whose arguments are no JSON; the model is told of them in these words."""
REFUSED_IN = "gen_ai.input.messages"
REFUSED = "could not be executed"
OPENAI_JS = "@traceloop/instrumentation-openai"
"""Of the Responses API it prints the list that was sent as if a user had said it, and leaves out what is no text."""
LANGCHAIN_JS = "@traceloop/instrumentation-langchain"
"""It leaves out what a model asked for, in answers and in what the next call was sent."""
_THOUGHTLESS = frozenset({OPENLLMETRY_GOOGLE, GOOGLE_JS, LANGCHAIN_JS})
"""Of the output they write what Google's API counts without the model's thoughts, which the total holds."""
LLAMA_INDEX_JS = "@traceloop/instrumentation-llamaindex"
"""It leaves out what a model asked for, and what tools returned stands in the next call as if a user had said it."""
WITHOUT_REQUESTS = frozenset({LANGCHAIN_JS, LLAMA_INDEX_JS})
"""Of frameworks whose model's client, instrumented as well, tells the requests."""
LEAVING_OUT = WITHOUT_REQUESTS | {OPENAI_JS}
"""Where a recorded answer may lack the requests for tools that stood in it."""
PRINTING = "opentelemetry.instrumentation.openai_agents"
"""OpenTelemetry's first one of OpenAI's agents: what a model asked for stands printed among the words that it said."""
PRINTED = "ResponseFunctionToolCall("
UNTOLD = LEAVING_OUT | {PRINTING}
"""Where the text of an answer does not show what was asked for."""
ANTHROPIC_JS = "@traceloop/instrumentation-anthropic"
"""Of a stream it records a request as it began: without the arguments, and without a reason for its end."""
APART = BEDROCK | {ANTHROPIC_JS}
"""They count the tokens of a cache beside the input, as the provider does."""
RECKONED = APART | _THOUGHTLESS
"""What they count of a model call does not stand as it is."""
OPENLIT = frozenset(f"openlit.instrumentation.{name}" for name in ("bedrock", "groq", "ollama"))
"""OpenLIT's of clients whose answers it records without what was asked for."""
SPLUNK = "opentelemetry.util.genai.handler"
"""Splunk's fork of OpenTelemetry's util, through which its instrumentations of all frameworks write."""
_EMPTY = '"parts":[{"type":"text","content":""}]'
_UNSAID = {
    **dict.fromkeys(LEAVING_OUT, _EMPTY),
    **dict.fromkeys(OPENLIT, '"parts": []'),
    SPLUNK: '"parts": ["ToolCall"]',
}
"""What stands in the place of an answer whose requests for tools were left out."""
LANGTRACE = "langtrace_python_sdk.instrumentation.openai.instrumentation"
NODES = frozenset({"agent", "call_agent", "agent_node", "run_agent"})
"""What LangGraph and its users call the node, or its function, in which an agent runs."""
KERNEL_FUNCTION = "semantic_kernel.functions.kernel_function"
COMPLETIONS = ("chat.completions", "chat.streaming_completions", "text.completions", "text.streaming_completions")
"""What Semantic Kernel called a model's operations at first."""
LANGCHAIN = "opentelemetry.instrumentation.genai.langchain"
AZURE_LANGCHAIN = (
    "Set AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED=true, or give the tracer enable_content_recording=True."
)
_SEMANTIC_KERNEL = "Set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true."
_KERNEL_LOGS = (
    f"{_SEMANTIC_KERNEL} Messages are log records: export those of the logger `semantic_kernel` with "
    "OpenTelemetry's LoggingHandler, at INFO."
)
TRANSCRIPT = "spanwise.chat"
"""The spans that are made of a chat transcript, which no instrumentation recorded."""
_OPENLLMETRY_JS = (
    *(OPENAI_JS, ANTHROPIC_JS, GOOGLE_JS),
    *(f"@traceloop/instrumentation-{name}" for name in ("bedrock", "cohere", "together")),
)
"""OpenLLMetry's of clients in JavaScript, which speak the generic dialect alone: content is recorded, or all is not."""
_OPENLLMETRY = tuple(
    f"opentelemetry.instrumentation.{name}"
    for name in (
        *("alephalpha", "bedrock", "cohere", "google_generativeai", "groq", "mistralai", "ollama", "replicate"),
        *("sagemaker", "together", "transformers", "watsonx", "writer"),
    )
)
"""The same in Python, where no other instrumentation has these names."""
CONTENT_SWITCHES: Mapping[str, str] = {
    TRANSCRIPT: "Keep every message of the conversation in the transcript, with the results of its tools.",
    "AzureAIOpenTelemetryTracer": AZURE_LANGCHAIN,
    "azure.core.tracing.ext.opentelemetry_span": (
        "Set AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED=true; for azure-ai-projects 2 "
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true."
    ),
    "opentelemetry.instrumentation.genai.openai_agents": (
        "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY, and install "
        "opentelemetry-instrumentation-genai-openai as well: messages stand on model calls, of which the "
        "instrumentation of the agents records none."
    ),
    "io.agentscope": "AgentScope's own spans never carry content in Java: instrument the model's client as well.",
    "weave.conversation": "Leave include_content of Weave's conversation on.",
    "autogen-core": "Its own spans never carry content: install openinference-instrumentation-autogen-agentchat.",
    "semantic_kernel.utils.telemetry.agent_diagnostics.decorators": (
        f"{_SEMANTIC_KERNEL} Hand the agent its messages as its first argument: those given by name are left out."
    ),
    "semantic_kernel.utils.telemetry.model_diagnostics.decorators": _KERNEL_LOGS,
    KERNEL_FUNCTION: _KERNEL_LOGS,
    "@opentelemetry/instrumentation-openai": (
        "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, and export the log events of the instrumentation."
    ),
    **dict.fromkeys(_OPENLLMETRY_JS, "Set TRACELOOP_TRACE_CONTENT=true, or traceContent of the instrumentation."),
    **dict.fromkeys(_OPENLLMETRY, "Set TRACELOOP_TRACE_CONTENT=true."),
}
"""What to do about missing content, for scopes that speak the generic dialect and have a switch of their own."""
_CONTENT_SWITCHES_OF: Mapping[tuple[str, str | None], str] = {
    ("gcp.vertex.agent", "go"): (
        "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true and export the log events of ADK for Go, set up "
        "by its package `telemetry`."
    ),
    ("gcp.vertex.agent", "nodejs"): "Set ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true.",
}
"""The same for one scope name in one language."""


def content_switch(span: RawSpan, *, some: bool) -> str | None:
    """The switch of the span's own scope, empty where it is on as some content shows; None: its dialect's is right."""
    scope = span.scope
    if some and (scope.name in _OPENLLMETRY_JS or scope.name in _OPENLLMETRY):
        return ""
    if scope.name == "langfuse-sdk" and below(span.attributes, "langfuse.observation.metadata.haystack."):
        return "Set HAYSTACK_CONTENT_TRACING_ENABLED=true."
    by_language = _CONTENT_SWITCHES_OF.get((scope.name, text_of(scope.resource.get("telemetry.sdk.language"))))
    return by_language or CONTENT_SWITCHES.get(scope.name)


_CLIENT_SWITCHES: Mapping[str, str] = {
    "opentelemetry.instrumentation.openai_agents": "Install opentelemetry-instrumentation-openai as well: of chat "
    "completions the instrumentation of the agents records neither answers nor tokens.",
}


def is_function(span: RawSpan) -> bool:
    """Semantic Kernel writes whatever function runs as a tool, prompts too: those without an id the app called."""
    return span.scope.name == KERNEL_FUNCTION and "gen_ai.tool.call.id" not in span.attributes


def client_switch(span: RawSpan) -> str:
    """What to add where an instrumentation records a model call without answer and tokens, whatever is switched on."""
    return _CLIENT_SWITCHES.get(span.scope.name, "")


def is_plumbing(span: RawSpan) -> bool:
    """LangChain's pieces around an agent (`RunnableAssign<...>`, a parser, a node's function) are said to be agents."""
    name = span.attributes.get("gen_ai.agent.name")
    if type(name) is not str:
        return False
    if name.startswith("Runnable") or name.endswith(("PromptTemplate", "OutputParser")):
        return True
    return span.scope.name == LANGCHAIN and (
        name in NODES or name.startswith(("ToolsAgent", "ReActSingleInput", "route_to_"))
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
    """What was sent and answered, without what some instrumentations add or put in the place of what was said."""
    scope = span.scope.name
    if scope in GOOGLE:
        sent = without_google_envelopes(sent, memo)
    elif scope in SPARING:
        sent = _with_empty(span, sent)
    got = answered(span, got, memo)
    if is_unsaid(span) or (scope == LANGTRACE and is_swallowed(span, got)) or is_last_piece(span, memo):
        got = None
    if scope == LLAMA_INDEX_JS:
        sent = _without_results(sent)
    return _unprinted(sent, memo) if scope == OPENAI_JS else sent, got


def answered(span: RawSpan, got: tuple[Message, ...] | None, memo: Memo) -> tuple[Message, ...] | None:
    """What a model answered, as far as one instrumentation or another tells it in a way of its own."""
    scope = span.scope.name
    if scope in GOOGLE:
        return with_answer_apart(got)
    if scope == PRINTING and got:
        return tuple(replace(one, parts=tuple(_unprinted_call(part, memo) for part in one.parts)) for one in got)
    return _with_empty(span, got) if scope in SPARING else got


def _unprinted_call(part: Part, memo: Memo) -> Part:
    fields = mapping_of(read_repr(part.text)) if part.text.startswith(PRINTED) else None
    return part if fields is None else part_of(fields, memo)


def _with_empty(span: RawSpan, said: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """What was said in events, with what was left out of them because it is empty."""
    if not said or not any("content" in (mapping_of(event.body) or ()) for event in span.events):
        return said
    return tuple(replace(message, parts=tuple(map(_with_empty_value, message.parts))) for message in said)


def _with_empty_value(part: Part) -> Part:
    if part.value is not None or part.type not in {"tool_call", "tool_result"}:
        return part
    return replace(part, value={} if part.type == "tool_call" else "")


def _without_results(sent: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """What was sent, a tool's what no user said: several messages behind an answer, or any behind a wordless one."""
    out: list[Message] = []
    asked = False
    for at, message in enumerate(sent or (), 1):
        if message.role == "user" and out and out[-1].role == "assistant":
            asked = not out[-1].text or any(following.role == "user" for following in (sent or ())[at : at + 1])
        elif message.role != "user":
            asked = False
        out.append(replace(message, role="tool") if asked else message)
    return tuple(out) if sent is not None else None


def _unprinted(sent: tuple[Message, ...] | None, memo: Memo) -> tuple[Message, ...] | None:
    """What was sent, the list that stands printed in a user's message read as the messages that it holds."""
    if not sent or not sent[-1].text.startswith('[{"'):
        return sent
    return (*sent[:-1], *(messages_of(sent[-1].text, memo) or sent[-1:]))


def is_swallowed(span: RawSpan, got: tuple[Message, ...] | None) -> bool:
    """Langtrace records no calls of a stream, but the pieces of their arguments as text, and none of a response."""
    attributes = span.attributes
    if attributes.get("gen_ai.request.stream") is True and "gen_ai.request.tools" in attributes:
        return True
    return not any(part.text or part.type == "tool_call" for message in got or () for part in message.parts)


def is_last_piece(span: RawSpan, memo: Memo) -> bool:
    """Google's client streamed, OpenLLMetry recorded the last piece: with fewer bytes than the answer had tokens."""
    counted = span.attributes.get("gen_ai.usage.output_tokens")
    if span.scope.name != OPENLLMETRY_GOOGLE or not isinstance(counted, int):
        return False
    said = messages_of(span.attributes.get("gen_ai.output.messages"), memo) or ()
    parts = [part for message in said for part in message.parts]
    words = "".join(part.text for part in parts)
    return bool(parts) and all(part.type in {"text", "reasoning"} for part in parts) and len(words.encode()) < counted


def is_unsaid(span: RawSpan) -> bool:
    """The answer is recorded as an empty text or a bare word: what the model asked for was left out."""
    unsaid = _UNSAID.get(span.scope.name)
    if unsaid is None:
        return False
    text = span.attributes.get("gen_ai.output.messages")
    return isinstance(text, str) and unsaid in text and '"type":"tool_call"' not in text.replace(": ", ":")


def leaves_requests_out(span: RawSpan) -> bool:
    """An answer of which only the text is recorded, whatever it asks for: the Responses API's, all of LangChain's."""
    scope = span.scope.name
    if scope == LANGCHAIN_JS or scope in OPENLIT or may_have_asked(span):
        return True
    answered = span.attributes.get("gen_ai.response.id") if scope == OPENAI_JS else None
    return isinstance(answered, str) and answered.startswith("resp_")


def may_have_asked(span: RawSpan) -> bool:
    """LlamaIndex's answer without the reason for its end: what was asked for beside its text is not recorded."""
    return span.scope.name == LLAMA_INDEX_JS and "gen_ai.response.finish_reasons" not in span.attributes


def without_lost_arguments(span: RawSpan, asked: list[Part]) -> list[Part]:
    """The requests of a stream whose arguments were not put together: they are not told, not empty."""
    if span.scope.name == OPENLLMETRY_BEDROCK:  # which writes `{}` for whatever was asked for in a stream
        return [replace(part, value=part.value or None) for part in asked]
    if span.scope.name == ANTHROPIC_JS and '"finish_reason":""' in str(span.attributes.get("gen_ai.output.messages")):
        return [replace(part, value=part.value or None) for part in asked]
    return asked


_REQUESTING = frozenset({"function_call", "tool_call", "tool_calls", "tool_use", "TOOL_EXECUTION"})
_ITEMS = "gen_ai.completion.types"
"""OpenLLMetry's first one of OpenAI's agents: of what types the items of an answer are."""
_REASONS = ("gen_ai.completion.0.finish_reason", "langfuse.observation.metadata.finish_reason", "llm.finish_reason")
"""Where other dialects have it."""


def asks_for_tools(span: RawSpan, memo: Memo) -> bool:
    """A model ended its answer to have tools called, by its finish reason."""
    given = memo.json(span.attributes.get("gen_ai.response.finish_reasons", span.attributes.get(_ITEMS)))
    reasons = [span.attributes.get(key) for key in _REASONS] if given is None else items(given) or (given,)
    return any(isinstance(reason, str) and reason in _REQUESTING for reason in reasons)


def with_cached(used: LLMFields, span: RawSpan) -> LLMFields:
    """What a model call used, cached tokens inside the input also where they were counted beside it."""
    if span.scope.name in APART and used.input_tokens is not None:
        used.input_tokens += (used.cache_read_tokens or 0) + (used.cache_write_tokens or 0)
    if span.scope.name in _THOUGHTLESS and used.input_tokens is not None and used.output_tokens is not None:
        total = span.attributes.get("gen_ai.usage.total_tokens")
        thoughts = total - used.input_tokens - used.output_tokens if isinstance(total, int) else 0
        if thoughts > 0:
            used.reasoning_tokens = thoughts
            used.output_tokens += thoughts
    return used


def borrowed(span: RawSpan) -> bool:
    """ADOT's error on an OpenAI agent's workflow: that of a tool of which the model was told, and the run went on."""
    return span.name.startswith("invoke_workflow") and span.status_message.startswith("Error running tool (non-fatal)")


def is_odd_failure(span: RawSpan) -> bool:
    """The error status of a tool's span is no failure of the tool, or not its own."""
    return is_paused(span) or borrowed(span)


_TOLD = ("gen_ai.tool.status", "gen_ai.task.status", "mcp.method.name")
_RUNNING = "execute_tool "
_UNFINISHED: tuple[object, object] = ("{}", {})


def complete(said: ToolFields, span: RawSpan) -> None:
    """The tool's name from that of its span where no attribute has it, and what stands under OpenInference's names.

    Koog, which wrote those before 0.6, has an empty object for the result of a tool that failed or does not exist.
    """
    if said.name is None and span.name.startswith(_RUNNING):
        said.name = span.name[len(_RUNNING) :].strip() or None
    attributes = span.attributes
    if said.arguments is None and said.result is None and "openinference.span.kind" not in attributes:
        said.arguments, said.result = attributes.get("input.value"), attributes.get("output.value")
    if said.result in _UNFINISHED and "koog.event.id" in attributes:
        said.result = None


_NAMED = (
    "gen_ai.tool.name",
    "gen_ai.operation.name",
    "openinference.span.kind",
    "traceloop.span.kind",
    "lmnr.span.type",
    "langwatch.span.type",
    "agentops.span.kind",
)
"""What spans of tools bear whose dialects have no word of their own for a tool's failure."""
_TELLING = frozenset({"autogen-core", "spanwise.record"})
"""Scopes whose status tells all: AutoGen's tools fail by raising only, and `spanwise.record` was told by the app."""


def is_untold(span: RawSpan) -> bool:
    """Nothing says whether a call failed of which no content is recorded: an error that a tool returns is its result.

    A status that is unset or OK tells no more than that the tool did not raise; MCP marks both failures.
    """
    attributes = span.attributes
    return (
        any(key in attributes for key in _NAMED)
        and span.scope.name not in _TELLING
        and not any(key in attributes for key in _TOLD)
    )
