"""Plain spans: the compiled reader of facts and the readers in Python give the same calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import MappingProxyType
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import pricing
from spanwise.assembly import llms, plain, spanned
from spanwise.model.calls import ToolCall
from spanwise.model.content import Memo
from spanwise.model.raw import RawEvent, RawSpan, Scope
from spanwise.model.span import Span
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
        name=draw(st.sampled_from([name, "ToolUsage._use", "ToolInvoker.run", "invoke_workflow"])),
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


def tools_in_both(run: Run) -> list[ToolCall]:
    """The calls of a run's tools, which come out alike by either way; what was decoded is equal, too."""
    either = spanned.span_calls(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "READER", None)
        slow = spanned.span_calls(run)
    assert [(_typed(call), call) for call in slow] == [(_typed(call), call) for call in either]
    return either


def _typed(call: ToolCall) -> list[type]:
    return [type(getattr(call, name)) for name in call.__struct_fields__]


def models_in_both(run: Run) -> None:
    """The calls of a run's models come out alike by either way."""
    either = llms._calls(run, run.llm_groups)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "READER", None)
        assert llms._calls(run, run.llm_groups) == either


@compiled
@pytest.mark.parametrize("name", RECORDINGS)
def test_recordings(name: str) -> None:
    """The calls of every recording are the same by either way."""
    spans = with_logs(name) if (FOLDER / f"{name}.logs.json").exists() else recorded(name)
    for run in trace_of(*spans).runs:
        tools_in_both(run)
        models_in_both(run)


@compiled
@given(st.data())
def test_any_tools(data: st.DataObject) -> None:
    """Tools' spans of any damage, inside one another or not, give the same calls by either way."""
    made = [data.draw(tool_span(number)) for number in range(1, data.draw(st.integers(1, 5)) + 1)]
    for run in trace_of(span(0, end=2000, attributes={"gen_ai.operation.name": "invoke_agent"}), *made).runs:
        tools_in_both(run)


@compiled
@given(st.data())
def test_any_models(data: st.DataObject) -> None:
    """Models' spans of any damage give the same calls by either way."""
    made = [data.draw(model_span(number)) for number in range(1, data.draw(st.integers(1, 4)) + 1)]
    for run in trace_of(span(0, end=2000, attributes={"gen_ai.operation.name": "invoke_agent"}), *made).runs:
        models_in_both(run)


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


@compiled
def test_plain_spans_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No look is taken at a plain span in Python, and at each other one there is."""
    looked: list[int] = []
    monkeypatch.setattr(spanned._Found, "add", lambda found, one: looked.append(one.index))
    run = run_of(tool(1), tool(2, **{"gen_ai.tool.status": "error"}), tool(3), tool(4, parent=3))
    assert ["c1", "c3"] == [call.call_id for call in spanned.span_calls(run)]
    assert [1, 3] == looked


@pytest.mark.parametrize("name", ["gpt-4o-mini", "gemini-1.5-pro"])
def test_costs(name: str) -> None:
    """A call costs what its tokens cost, also where the price of a token depends on how many there are."""
    fields = {"gen_ai.operation.name": "chat", "gen_ai.response.model": name, "gen_ai.usage.input_tokens": 200_000}
    spans = [span(number, attributes=fields) for number in range(1, 4)]
    found = llms._calls(run := run_of(*spans), run.llm_groups)
    assert {pricing.estimate(name, None, 200_000, 0)} == {call.cost_usd for call in found}


@compiled
def test_others_get_their_turn() -> None:
    """There are pauses while many spans are read."""
    run = run_of(*(tool(number) for number in range(200)))
    told: list[int] = []
    run.trace.pause = lambda: told.append(1)
    assert 200 == len(spanned.span_calls(run))
    assert len(told) >= 3


def reader() -> FactReader:
    """The compiled reader."""
    assert plain.READER is not None
    return plain.READER


@compiled
def test_lists_that_change_meanwhile() -> None:
    """A list that grows or shrinks while it is read is an error and no crash."""
    run = run_of(*(tool(number, **{"gen_ai.tool.status": "error"}) for number in range(3)))
    tools = list(run.by_kind["tool"])
    spans = run.trace.spans
    with pytest.raises(RuntimeError, match="the list changed"):
        reader().tool_calls(tools, spans, Memo(), [], {}, lambda one: tools.clear(), None)
    groups = [[one, one] for one in spans]
    with pytest.raises(RuntimeError, match="the list changed"):
        reader().llm_calls(groups, groups.append, None)


def broken(*args: object) -> None:
    """Something of the caller's that fails."""
    raise LookupError("broken")


@compiled
def test_what_is_raised_comes_out() -> None:
    """An error in what is called for a span, or for a pause, is the caller's."""
    odd = run_of(tool(1, **{"gen_ai.tool.status": "error"}))
    spans = odd.trace.spans
    for slow, pause in ((broken, None), (lambda one: None, broken)):
        with pytest.raises(LookupError, match="broken"):
            reader().tool_calls(list(spans), spans, Memo(), [], {}, cast("Callable[[Span], None]", slow), pause)
        with pytest.raises(LookupError, match="broken"):
            reader().llm_calls([[*spans, *spans]], cast("Callable[[list[Span]], object]", slow), pause)


class BrokenMemo(Memo):
    """A memo that does not decode."""

    __slots__ = ()

    def json(self, value: object) -> object:
        """Raises."""
        raise LookupError("broken")


@compiled
def test_a_memo_that_fails() -> None:
    """What the memo raises comes out."""
    fields = {"openinference.span.kind": "TOOL", "tool.name": "search", "tool_call.id": "c", "output.value": "x"}
    run = run_of(span(1, attributes={**fields, "input.value": "{}"}))
    spans = run.trace.spans
    with pytest.raises(LookupError, match="broken"):
        reader().tool_calls(list(spans), spans, BrokenMemo(), [], {}, lambda one: None, None)


@compiled
def test_what_is_no_span_is_left_to_python() -> None:
    """Whatever stands among the spans, each is handed over that is none."""
    given_back: list[object] = []
    odd = [None, "span", Span(cast("RawSpan", None), "tool", 0, 0, -1)]
    reader().tool_calls(cast("list[Span]", odd), [], Memo(), [], {}, given_back.append, None)
    assert odd == given_back
    assert [1, 1] == reader().llm_calls(cast("list[list[Span]]", [None, [None]]), lambda group: 1, None)
    with pytest.raises(TypeError):
        reader().tool_calls(cast("list[Span]", 7), [], Memo(), [], {}, given_back.append, None)


TOOL_RULE = ((), frozenset[str](), frozenset[str](), frozenset[str](), (), (), None, None, None, False)
NO_FIELDS = ((4, (), None),) * 4


@compiled
@pytest.mark.parametrize(
    ("tools", "models", "error"),
    [
        ((None,), (), ValueError),
        ((TOOL_RULE,), (None,), ValueError),
        (((NO_FIELDS, *TOOL_RULE[1:5], ("é",), *TOOL_RULE[6:]),), (None,), ValueError),
        (((NO_FIELDS, *TOOL_RULE[1:8], ["x"], False),), (None,), ValueError),
        (((((99, (), None),) * 4, *TOOL_RULE[1:]),), (None,), ValueError),
        (((NO_FIELDS, *TOOL_RULE[1:4]),), (None,), TypeError),
        ((None,), ((NO_FIELDS, frozenset[str](), (), False),), ValueError),
        ((None,), ((NO_FIELDS, (), (), False),), TypeError),
    ],
)
def test_impossible_rules_are_refused(
    tools: tuple[object, ...], models: tuple[object, ...], error: type[Exception]
) -> None:
    """A reader of spans by rules that there are none of is an error when it is made."""
    with pytest.raises(error):
        plain.reader_of(tools, models)


def test_json_is_decoded_once() -> None:
    """Arguments that are looked at by the compiled part are decoded by the trace's memo, like all others."""
    fields = {"openinference.span.kind": "TOOL", "tool.name": "search", "tool_call.id": "c", "output.value": "x"}
    given_ = json.dumps({"q": "x"})
    run = run_of(span(1, attributes={**fields, "input.value": given_}))
    (call,) = tools_in_both(run)
    assert {"q": "x"} == call.raw_arguments == run.trace.memo.json(given_)


def test_without_the_compiled_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is compiled there is no reader of plain spans."""
    monkeypatch.setattr(plain, "core", None)
    assert plain.reader_of((), ()) is None
