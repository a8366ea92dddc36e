"""What LangChain's steps are called under every instrumentation of it, and where each records what a step was given.

`model.with_structured_output(Schema)` by function calling offers the schema as a tool, forces the model to call it, and
gives the answer to a parser: no tool runs. The parsers of `with_structured_output` are classes of their own; agents
parse their calls by others, or by none.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from spanwise.conventions._values import first_text
from spanwise.model.raw import RawSpan

TOOL_CLASSES = frozenset({"DynamicStructuredTool", "DynamicTool", "StructuredTool"})
"""What OpenLLMetry in JavaScript calls a tool that raised: the name of its class."""
_PARSERS = frozenset(
    {"PydanticToolsParser", "JsonOutputKeyToolsParser"}
    | {f"{provider}ToolsOutputParser" for provider in ("Anthropic", "GoogleGenerativeAI")}
)
_TAKEN = "Returning structured response: "
_QUESTIONS = tuple(f"gen_ai.prompt.variable.{name}" for name in ("question", "query", "user_query", "user_input"))
_RETURNED = (
    *("output.value", "gen_ai.completion", "traceloop.entity.output", "langfuse.observation.output"),
    "mlflow.spanOutputs",
)
_GIVEN = ("input.value", "gen_ai.prompt", "traceloop.entity.input", "langfuse.observation.input", "mlflow.spanInputs")


def parsed(span: RawSpan) -> str | None:
    """What was given to a parser that takes tool calls as the model's output; None for any other span."""
    name = span.name.removeprefix("execute_task ").removesuffix(".task")
    return first_text(span.attributes, *_GIVEN) if name in _PARSERS else None


def returned(span: RawSpan) -> str | None:
    """What a step gave back, as it is recorded."""
    return first_text(span.attributes, *_RETURNED)


def asked_in(span: RawSpan, prompt: str) -> str | None:
    """The question that was put into a prompt's template, where the model call records the template's variables."""
    found = first_text(span.attributes, *_QUESTIONS)
    return found if found is not None and found in prompt else None


def last_word(text: str | None, state: Mapping[str, object] | None) -> str | None:
    """The text of a run's last message, or the typed answer where the state holds one: the caller asked for that.

    The message may only say that it is returned, be the same in the model's own words, or be what was said before.
    """
    typed = None if state is None else structured_response(state)
    if typed is None or _is_same(text, typed):
        return text.removeprefix(_TAKEN) if text and state is not None else text
    return typed


def _is_same(text: str | None, typed: str) -> bool:
    try:
        return text is not None and msgspec.json.decode(text) == msgspec.json.decode(typed)
    except (msgspec.DecodeError, RecursionError):
        return False


def structured_response(state: Mapping[str, object]) -> str | None:
    """The typed answer in an agent's state."""
    response = state.get("structured_response", state.get("structuredResponse"))
    return response if response is None or isinstance(response, str) else as_json(response)


def as_json(value: object) -> str | None:
    """The value as JSON text; None for what has no such form."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return None
