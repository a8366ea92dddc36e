"""Spans made for the readers of plain spans: mostly plain, with any damage."""

from __future__ import annotations

from types import MappingProxyType

import pytest
from hypothesis import strategies as st

from spanwise.assembly import plain
from spanwise.model.raw import RawEvent, RawSpan, Scope
from spanwise.model.trace import Run
from spanwise.native import FactReader
from tests.making import span, trace_of
from tests.recordings_io import FOLDER, with_logs
from tests.recordings_io import spans as recorded

RECORDINGS = sorted(path.name.removesuffix(".json") for path in FOLDER.glob("*.json") if path.name.count(".") == 1)
SCOPES = (
    "tests",
    "opentelemetry.instrumentation.genai.langchain",
    "opentelemetry.instrumentation.bedrock",
    "openinference.instrumentation.langchain",
    "openinference.instrumentation.google_genai",
    "openinference.instrumentation.openai_agents",
    "openinference.instrumentation.haystack",
    "openinference.instrumentation.beeai",
)

compiled = pytest.mark.skipif(plain.READER is None, reason="the compiled part was not built here")


class Text(str):
    """Text of a type of the caller's own."""

    __slots__ = ()


ARGUMENTS = (
    *('{"q": "x"}', '{"q": "<b>"}', '{"q": "<a.B object at 0x7f>"}', '{"args": [1], "kwargs": {}}', "{}", "{'q': 1}"),
    *('{"tool_call_id": "c1", "q": 1}', '{"state": {"messages": []}, "q": 1}', '{"q": {"state": 1}}', "{1: 2}", "{"),
    *('{"input": {"q": 1}, "options": {}}', "bare", '"x"', "", 7, None, Text('{"q": 1}'), {"q": 1}),
)
RESULTS = (
    *("found", "", "error: no", "ValueError: no", "errors: none", "Überfehler: x", "fatal !", "42", "42 degrees"),
    *("traceback (most", "Error: tool 'search' not found", "Tool not found", '{"error": "no"}', '{"terror": 1}'),
    *('{"content": "x", "tool_call_id": "c9"}', '{"a": 1}', "[1, 2]", "[<a.B object at 0x7f>]", "true", "trueish"),
    *("content='x' name='search' tool_call_id='c9'", '{"graph": null, "update": {}}', "null", '"said"', "exception("),
    *(" said", " 42", "\n{}", "  ", " content='x'", " true", "\u00a0{}"),
    *(None, 7, True, ["x"], Text("found"), Text("error: no"), "ToolMessage(content='x', tool_call_id='c')", "\ud800"),
)
NAMES = ("search", "fetch", "handoff_to_x", "final_answer", "invalid_tool", "_Exception", "Tool", "", None, Text("own"))
IDS = ("c1", "c2", "unknown", "", None, 7, Text("c3"))
EVENTS = (
    RawEvent("exception", 1, {"exception.type": "TimeoutError", "exception.message": "late"}),
    RawEvent("exception", 1, {"exception.type": "langgraph.errors.GraphInterrupt"}),
    RawEvent("told", 1, {"gen_ai.tool.call.result": "from an event", "gen_ai.tool.call.arguments": "{}"}),
)
MORE = (
    "spanwise.unended",
    "gen_ai.tool.status",
    "error.type",
    "langfuse.observation.type",
    "tool.id",
    "mcp.method.name",
)
MODELS = ("gpt-4o-mini", "gpt-4o", "no-such-model", "gemini-1.5-pro", "", None, 7, Text("gpt-4o"))
PROVIDERS = ("openai", "OpenAI", "É", "", None, Text("OpenAI"))
COUNTS = (0, 10, 10_000_000, -1, 2**53, 2**53 + 1, 10**400, "12", 7.5, True, None)
COUNTED = (
    *("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens"),
    *("gen_ai.usage.cache_write.input_tokens", "llm.token_count.prompt", "llm.token_count.completion"),
    *("llm.token_count.prompt_details.cache_read", "llm.cost.total", "llm.cost.prompt", "llm.cost.completion"),
    *("gen_ai.response.time_to_first_chunk", "gen_ai.usage.cost"),
)


def picked(draw: st.DrawFn, values: tuple[object, ...]) -> object:
    """The first of some values half of the time, else any."""
    return values[0] if draw(st.booleans()) else draw(st.sampled_from(values))


@st.composite
def tool_span(draw: st.DrawFn, number: int) -> RawSpan:
    """A tool's span in either dialect, mostly plain."""
    if draw(st.booleans()):
        keys = ("gen_ai.tool.name", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.tool.call.id")
        fields: dict[str, object] = {"gen_ai.operation.name": "execute_tool"}
    else:
        keys = ("tool.name", "input.value", "output.value", "tool_call.id")
        fields = {"openinference.span.kind": "TOOL"}
    fields |= dict(zip(keys, (picked(draw, values) for values in (NAMES, ARGUMENTS, RESULTS, IDS)), strict=True))
    if draw(st.sampled_from([True, False, False, False])):
        fields[draw(st.sampled_from(MORE))] = draw(st.sampled_from([True, "error", "TOOL", "GraphInterrupt", "7"]))
    return _in_place(draw, number, {key: value for key, value in fields.items() if value is not None}, "tool")


@st.composite
def model_span(draw: st.DrawFn, number: int) -> RawSpan:
    """A model's span in either dialect, mostly plain."""
    if draw(st.booleans()):
        fields: dict[str, object] = {"gen_ai.operation.name": "chat"}
        keys = ("gen_ai.response.model", "gen_ai.provider.name")
    else:
        fields = {"openinference.span.kind": "LLM"}
        keys = ("llm.model_name", "llm.provider")
    fields |= dict(zip(keys, (picked(draw, values) for values in (MODELS, PROVIDERS)), strict=True))
    fields |= draw(st.dictionaries(st.sampled_from(COUNTED), st.sampled_from(COUNTS), max_size=6))
    if draw(st.sampled_from([True, False, False, False])):
        fields[draw(st.sampled_from(["gen_ai.provider.name", "gen_ai.request.model", "crew_id"]))] = "other"
    return _in_place(draw, number, {key: value for key, value in fields.items() if value is not None}, "chat")


def _in_place(draw: st.DrawFn, number: int, fields: dict[str, object], name: str) -> RawSpan:
    made = span(
        number,
        parent=draw(st.one_of(st.just(0), st.integers(0, max(number - 1, 0)))),
        name=draw(st.sampled_from([name, "ToolUsage._use", "add._use", "ToolInvoker.run", "invoke_workflow"])),
        end=draw(st.sampled_from([1000, 1000, 0, -1, 2**70])),
        status=draw(st.sampled_from([0, 0, 1, 2, 2**70])),
        message=draw(st.sampled_from(["", "Error running tool (non-fatal)"])),
        attributes=fields,
        events=draw(st.lists(st.sampled_from(EVENTS), max_size=1)),
        scope=Scope(draw(st.sampled_from(SCOPES)), "1", {}),
    )
    if draw(st.sampled_from([True, False, False, False])):
        made.attributes = MappingProxyType(fields)
    return made


TEXTS = (
    "none",
    "[]",
    '[{"role":"assistant","parts":[{"type":"text","content":"tool_calls"}]}]',
    '[{"type":"tool_call","id":"c1","name":"x"}]',
    '[{"type": "tool_call", "id": "c1"}]',
    '[{"type":"tool_call","id":"c1"},{"type":"tool_call","id":"c2"}]',
    '[{"type":"tool_call","id":"c2"},{"type":"tool_call","id":"c2"}]',
    '[{"type":"tool_call","id":"c1"},{"type": "tool_call","id":"c2"}]',
    '[{"type":"tool_call","id":"c11"}]',
    '[{"type":"tool_call","id":"xc1","call":"c1"}]',
    '[{"type":"tool_call","id":"c1"},{"type":"server_tool_call","id":"c2"}]',
    '"tool_call"',
    Text('[{"type":"tool_call","id":"c1"}]'),
    7,
    None,
)
LEAVES = (
    *("0.message.role", "0.message.content", "0.message.tool_calls.0.tool_call.id", "1.message.role", "0.message.name"),
    *("0.message.tool_calls.0.tool_call.function.name", "0.message.tool_calls.0.tool_call.function.arguments"),
    *("0.message.tool_calls.1.tool_call.id", "0.message.tool_calls.1.tool_call.function.name", "0.message.rolex"),
    *("0.message.tool_calls.00.tool_call.id", "0.message.tool_calls.17.tool_call.id", "0.message.tool_calls.x", ""),
    *("0.message.tool_calls.0.tool_call.idx", "0.message.tool_calls.0.tool_call.function.namex", "0.message.contents"),
)
LEAF_VALUES = ("assistant", "c1", "c2", "user", "", None, 7, Text("c1"))


@st.composite
def answering_span(draw: st.DrawFn, number: int) -> RawSpan:
    """A model's span in either dialect with an answer of any damage."""
    if draw(st.booleans()):
        text = draw(st.sampled_from(TEXTS))
        fields: dict[str, object] = {"gen_ai.operation.name": "chat"}
        fields |= {} if text == "none" else {"gen_ai.output.messages": text}
    else:
        fields = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant"}
        for at in range(draw(st.integers(0, 2))):
            begin = f"llm.output_messages.0.message.tool_calls.{at}.tool_call."
            fields |= {f"{begin}id": f"c{at + 1}", f"{begin}function.name": "search"}
        more = draw(st.dictionaries(st.sampled_from(LEAVES), st.sampled_from(LEAF_VALUES), max_size=2))
        fields |= {f"llm.output_messages.{leaf}": value for leaf, value in more.items()}
        fields |= draw(st.sampled_from([{}, {}, {"gen_ai.output.messages": "[]"}, {"llm.output_messagesé": 1}]))
    return _in_place(draw, number, fields, "chat")


def tool(number: int, *, parent: int | None = None, **more: object) -> RawSpan:
    """A plain span of a tool."""
    fields = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.id": f"c{number}",
        "gen_ai.tool.call.arguments": '{"q": "x"}',
        "gen_ai.tool.call.result": "found",
    }
    return span(number, parent=parent, attributes=fields | more)


def run_of(*spans: RawSpan) -> Run:
    """The run that these spans are."""
    (run,) = trace_of(*spans).runs
    return run


def reader() -> FactReader:
    """The compiled reader."""
    assert plain.READER is not None
    return plain.READER


def broken(*args: object) -> None:
    """Something of the caller's that fails."""
    raise LookupError("broken")


def runs_of(name: str) -> tuple[Run, ...]:
    """The runs of a recording."""
    return trace_of(*(with_logs(name) if (FOLDER / f"{name}.logs.json").exists() else recorded(name))).runs
