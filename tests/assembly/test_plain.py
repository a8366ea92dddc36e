"""Plain spans: the compiled reader of facts and the readers in Python give the same calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import pricing
from spanwise.assembly import llms, plain, spanned
from spanwise.conventions import CONVENTIONS, SUMMING
from spanwise.conventions._genai_scopes import GOOGLE
from spanwise.model.calls import LLMCall, ToolCall
from spanwise.model.content import LLMFields, Memo
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.span import Span
from spanwise.model.trace import Run
from tests.assembly.plain_spans import (
    COUNTS,
    RECORDINGS,
    Text,
    broken,
    compiled,
    model_span,
    reader,
    run_of,
    runs_of,
    tool,
    tool_span,
)
from tests.making import span, trace_of


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
    either = llms.llm_calls(run), llms._calls(run)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "READER", None)
        assert (llms.llm_calls(run), llms._calls(run)[0]) == either


@compiled
@pytest.mark.parametrize("name", RECORDINGS)
def test_recordings(name: str) -> None:
    """The calls of every recording are the same by either way."""
    for run in runs_of(name):
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
    found, _ = llms._calls(run_of(*spans))
    assert {pricing.estimate(name, None, 200_000, 0)} == {call.cost_usd for call in found}


@compiled
def test_what_sums_of_calls_and_several_calls_are() -> None:
    """What may hold several calls, or sums of them, is never plain: it is left to the readers in Python."""
    for scope in GOOGLE:
        fields = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 1}
        _, odd = llms._calls(
            run_of(span(1, attributes=fields, scope=Scope(scope, "1", {})), span(2, attributes=fields))
        )
        assert [[0]] == [[one.index for one in group] for group in odd]
    assert all(plain._models(CONVENTIONS[dialect]) is None for dialect in SUMMING)


@compiled
def test_others_get_their_turn() -> None:
    """There are pauses while many spans are read."""
    run = run_of(*(tool(number) for number in range(200)))
    told: list[int] = []
    run.trace.pause = lambda: told.append(1)
    assert 200 == len(spanned.span_calls(run))
    assert len(told) >= 3


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
    """What the memo raises comes out; it is asked about what does not parse."""
    fields = {"openinference.span.kind": "TOOL", "tool.name": "search", "tool_call.id": "c", "output.value": "x"}
    run = run_of(span(1, attributes={**fields, "input.value": "{un"}))
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


NO_FIELDS = ((4, (), None),) * 4
NONE = frozenset[str]()
TOOL = (NO_FIELDS, NONE, NONE, NONE, (), (), None, None, None, False)
RULES = ((TOOL,), ((NO_FIELDS * 2, NONE, (), False),), (("text", NONE, (), ()),))


@compiled
@pytest.mark.parametrize(
    ("at", "rule", "error"),
    [
        (0, ((), *TOOL[1:]), ValueError),
        (0, (*TOOL[:5], ("é",), *TOOL[6:]), ValueError),
        (0, (*TOOL[:8], ["x"], False), ValueError),
        (0, (((99, (), None),) * 4, *TOOL[1:]), ValueError),
        (0, TOOL[:4], TypeError),
        (1, (NO_FIELDS, NONE, (), False), ValueError),
        (1, (NO_FIELDS * 2, (), (), False), TypeError),
        (2, ("", NONE, (), ()), ValueError),
        (2, ("text", NONE, (), ("x",) * 9), ValueError),
        (2, ("", NONE, (), ("é",) * 9), ValueError),
        (2, ("text", (), (), ()), TypeError),
    ],
)
def test_impossible_rules_are_refused(at: int, rule: tuple[object, ...], error: type[Exception]) -> None:
    """A reader of spans by rules that there are none of is an error when it is made."""
    assert plain.reader_of(*RULES) is not None
    with pytest.raises(error):
        plain.reader_of(*RULES[:at], (rule,), *RULES[at + 1 :])
    with pytest.raises(ValueError, match="as many dialects"):
        plain.reader_of(*RULES[:at], (), *RULES[at + 1 :])


def test_arguments_stay_as_they_were_recorded() -> None:
    """Arguments of which nothing is left out are those that were recorded, and no text is made of them anew."""
    fields = {"openinference.span.kind": "TOOL", "tool.name": "search", "tool_call.id": "c", "output.value": "x"}
    for given_, expected in (('{"q": "x"}', {"q": "x"}), ('{"q": {"r": [1]}}', {"q": {"r": [1]}})):
        run = run_of(span(1, attributes={**fields, "input.value": given_}))
        (call,) = tools_in_both(run)
        assert (given_, expected) == (call.raw_arguments, call.arguments)


@st.composite
def damaged_text(draw: st.DrawFn) -> str:
    """JSON text of an object, often with a character more, less or other than it should be."""
    values = st.one_of(
        st.text(max_size=4),
        st.integers(-(10**17), 10**17),
        st.floats(allow_nan=False),
        st.sampled_from(["<x>", "\u00e9", True, False, None, [1], {"a": 1}, {}]),
    )
    names = st.one_of(st.text(max_size=3), st.sampled_from(["state", "args", "kwargs", "tool_call_id", "ctx", "q"]))
    held = draw(st.dictionaries(names, values, max_size=3))
    text = json.dumps(
        held,
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([(",", ":"), (", ", " : "), (" ,\n", ":")])),
    )
    at = draw(st.integers(0, len(text) - 1))
    more = draw(
        st.sampled_from(["", "", "0", "-", ".", "e", ",", '"', "'", "\\", "}", "{", " ", "\t", "<", "é", "\x01"])
    )
    return text[:at] + more + text[at + draw(st.integers(0, 1)) :]


@compiled
@given(damaged_text())
def test_any_arguments(text: str) -> None:
    """Whatever text a tool's arguments are, whole or damaged, they are taken alike by either way."""
    fields = {"openinference.span.kind": "TOOL", "tool.name": "search", "tool_call.id": "c", "output.value": "x"}
    tools_in_both(run_of(span(1, attributes={**fields, "input.value": text})))


def test_without_the_compiled_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is compiled there is no reader of plain spans."""
    monkeypatch.setattr(plain, "core", None)
    assert plain.reader_of((), (), ()) is None


@compiled
@given(st.lists(st.tuples(st.sampled_from(COUNTS), st.sampled_from(COUNTS), st.sampled_from([0, 1, None]))))
def test_tokens(counts: list[tuple[object, object, int | None]]) -> None:
    """The tokens of a run's calls are summed up alike by either way, whatever they count."""
    fields = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.reasoning_tokens")
    made = [
        span(at, attributes={"gen_ai.operation.name": "chat", **dict(zip(fields, one, strict=True))})
        for at, one in enumerate(counts)
    ]
    for run in trace_of(*made).runs:
        either = llms.tokens(run)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plain, "READER", None)
            assert llms.tokens(run) == either


@compiled
def test_tokens_that_take_a_closer_look() -> None:
    """What is no call, counts more than its own, or nothing, is left to Python."""
    count = reader().tokens
    assert (3, None, None, None, 4) == count((LLMCall(LLMFields(input_tokens=3, reasoning_tokens=4)),))
    overcounted = LLMCall(LLMFields(input_tokens=3, overcounted=True))
    odd = LLMCall(LLMFields(input_tokens=cast("int", 3.0)))
    nothing = LLMCall(LLMFields(reasoning_tokens=4))
    for calls in ((), (None,), (overcounted,), (odd,), (nothing,), (LLMCall(cast("LLMFields", None)),)):
        assert count(cast("list[object]", calls)) is None
    with pytest.raises(TypeError):
        count(cast("list[object]", 7))


@compiled
@pytest.mark.parametrize(
    ("given_", "got", "expected"),
    [("{}", "x", 0), (None, "x", 0), ("", "x", 2), ({}, "x", 2), ("{}", None, 1), ("[]", None, 3), (Text("{"), 1, 2)],
)
def test_what_calls_do_not_tell(given_: object, got: object, expected: int) -> None:
    """Whether any call lacks its result, and whether any was passed what is no JSON object's text."""
    whole = ToolCall("x", raw_arguments="{}", raw_result="x")
    assert expected == reader().unsaid([whole, ToolCall("x", raw_arguments=given_, raw_result=got), whole])
    assert -1 == reader().unsaid([whole, None])
    with pytest.raises(TypeError):
        reader().unsaid(cast("list[object]", ()))
