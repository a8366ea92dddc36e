"""Whether models asked for the calls that left spans: told alike by the compiled reader and in Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import MappingProxyType
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from spanwise.assembly import asked, calls, llms, plain, spanned
from spanwise.model.calls import ToolCall
from spanwise.model.raw import Scope
from spanwise.model.span import Span
from spanwise.model.trace import Run
from tests.assembly.plain_spans import (
    RECORDINGS,
    Text,
    answering_span,
    broken,
    compiled,
    reader,
    run_of,
    runs_of,
)
from tests.making import span, trace_of


def asked_in_both(run: Run, found: list[ToolCall]) -> bool:
    """Whether a run's models asked for these calls, which is told alike by either way.

    The models' own calls, where they were read on the way, are those that are read by themselves.
    """
    either = calls._all_have_spans(run, found)
    assert llms._calls(run) == llms._calls(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "READER", None)
        assert calls._all_have_spans(run, found) == either
    return either


def one_by_one(found: list[ToolCall]) -> list[ToolCall]:
    """The calls, each started behind the one before; some of them at once."""
    for at, call in enumerate(found):
        call.start_ns += 2 * at
    return found


CALLS = st.lists(
    st.builds(
        ToolCall,
        name=st.just("search"),
        start_ns=st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2]),
        call_id=st.sampled_from(["c1", "c1", "c2", "c2", "", None, Text("c1")]),
        raw_arguments=st.sampled_from(["{}", "{}", "{", "", {}, None, MappingProxyType({}), Text("{}")]),
        raw_result=st.sampled_from(["found", "found", "found", None, 7]),
    ),
    max_size=3,
).map(one_by_one)


@compiled
@given(st.data())
def test_any_answers(data: st.DataObject) -> None:
    """Whether the models asked for some calls is told alike by either way, whatever they answered."""
    made = [data.draw(answering_span(number)) for number in range(1, data.draw(st.integers(1, 3)) + 1)]
    found = data.draw(CALLS)
    for run in trace_of(span(0, end=2000, attributes={"gen_ai.operation.name": "invoke_agent"}), *made).runs:
        asked_in_both(run, found)


@compiled
@pytest.mark.parametrize("name", RECORDINGS)
def test_answers_of_recordings(name: str) -> None:
    """Whether a recording's models asked for its calls is told alike by either way."""
    for run in runs_of(name):
        asked_in_both(run, spanned.span_calls(run))


@pytest.mark.parametrize(("number", "is_plain"), [(1, True), (2, True), (15, True), (17, True), (40, True)])
def test_many_calls_of_one_answer(number: int, *, is_plain: bool) -> None:
    """An answer may ask for any number of calls in either dialect."""
    ids = [f"c{at}" for at in range(number)]
    found = one_by_one([ToolCall("search", call_id=one, raw_arguments="{}", raw_result="found") for one in ids])
    text = json.dumps([{"type": "tool_call", "id": one} for one in ids])
    flat = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant"}
    for at, one in enumerate(ids):
        begin = f"llm.output_messages.0.message.tool_calls.{at}.tool_call."
        flat |= {f"{begin}id": one, f"{begin}function.name": "search", f"{begin}function.arguments": "{}"}
    for fields in ({"gen_ai.operation.name": "chat", "gen_ai.output.messages": text}, flat):
        run = run_of(span(1, attributes=fields))
        assert is_plain == asked_in_both(run, found)
        assert not asked_in_both(run, found[1:])
        assert not asked_in_both(run, [*found, found[0]])


LANGCHAIN = Scope("opentelemetry.instrumentation.langchain", "1", {})
SENT = (
    "none",
    "it could not be executed",
    "could not be executex",
    "could not be execute",
    "é could not be executed",
    "x" * 99,
)


@compiled
@given(
    st.lists(
        st.tuples(
            st.sampled_from([LANGCHAIN, LANGCHAIN, Scope("other", "1", {})]),
            st.sampled_from([*SENT, *(f"{text}\u20ac" for text in SENT), 7, None, Text(SENT[1]), Text("none")]),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_any_refusals(sent: list[tuple[Scope, object, int]], late: bool) -> None:
    """Whether a model was told of a refused call is found alike by either way, whoever was told what."""
    agents = [span(at, end=2000, attributes={"gen_ai.operation.name": "invoke_agent"}, parent=0) for at in (1, 2)]
    made = [span(0, end=2000, attributes={"gen_ai.operation.name": "invoke_agent"}), *agents]
    for number, (scope, text, agent) in enumerate(sent, start=3):
        fields = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": "[]", "gen_ai.input.messages": text}
        known = {key: value for key, value in fields.items() if value is not None}
        held = MappingProxyType(known) if late else known
        made.append(replace(span(number, start=number, end=number, parent=agent, scope=scope), attributes=held))
    for run in trace_of(*made).runs:
        assert not (asked_in_both(run, []) and asked.tells_refusals(run))


@compiled
@pytest.mark.parametrize("dialect", ["genai", "openinference"])
def test_model_calls_are_read_on_the_way(dialect: str) -> None:
    """Where all that models answered was looked at, their calls need not be read again, odd ones among them."""
    sent, kind = ("gen_ai.usage.input_tokens", "gen_ai.operation.name")
    fields: dict[str, object] = {kind: "chat", "gen_ai.output.messages": "[]", sent: 7}
    if dialect == "openinference":
        fields = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant"}
    run = run_of(span(1, attributes=fields), span(2, attributes=fields, status=2))
    assert calls._all_have_spans(run, [])
    made, odd = run.read_calls or ((), ())
    assert (2, [run.llm_groups[1]]) == (len(made), odd[-1:])
    assert tuple(made) == run.llm_calls
    assert run.read_calls is None


@compiled
def test_odd_answers() -> None:
    """What is no group, and what Python says in another form than its own, is left to it; what it raises comes out."""

    def ask(*given_: object) -> bool | None:
        return cast("Callable[..., bool | None]", reader().all_have_spans)(*given_, lambda group: group, [])

    run = run_of(span(1, attributes={"openinference.span.kind": "LLM"}))
    groups = [list(run.spans)]
    assert ask(cast("list[list[Span]]", [None]), [], lambda one: (), bool, None) is None
    for said in (("c1",), 7, Text("x")):
        assert ask(groups, [], lambda one, said=said: said, bool, None) is None
    assert ask(groups, [cast("ToolCall", None)], lambda one: ["c1"], bool, None) is None
    assert not ask(groups, [], lambda one: None, bool, None)
    call = ToolCall("search", call_id="c1", raw_arguments=7, raw_result="found")
    later = ToolCall("search", call_id="c1", raw_arguments=7, raw_result="found", start_ns=1)
    assert ask(groups, [call], lambda one: ["c1"], bool, None)
    assert ask(groups, [call], lambda one: [7], bool, None) is None
    for slow, whole, pause in ((broken, bool, None), (lambda one: ["c1"], broken, None), (broken, bool, broken)):
        with pytest.raises(LookupError, match="broken"):
            ask(groups, [call], slow, cast("Callable[[object], bool]", whole), pause)
    changing = groups * 2
    with pytest.raises(RuntimeError, match="the list changed"):
        ask(changing, [call, later], lambda one: changing.clear() or ["c1"], bool, None)
