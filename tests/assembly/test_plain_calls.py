"""Calls of which it is plain that the model asked for them: no message is read, and nothing is different."""

from __future__ import annotations

import json

import pytest

from spanwise.assembly import calls as module
from spanwise.model.calls import ToolCall
from spanwise.model.raw import RawSpan
from spanwise.model.trace import Run
from tests.making import span, trace_of
from tests.recordings_io import FOLDER, with_logs
from tests.recordings_io import spans as recorded

KIND = "openinference.span.kind"
ANSWER = "llm.output_messages.0.message."
RECORDINGS = sorted(path.name.removesuffix(".json") for path in FOLDER.glob("*.json") if path.name.count(".") == 1)


def model(number: int, *asked: tuple[str, str], **more: object) -> RawSpan:
    """A model call of OpenInference that asks for calls: the id and the name of each."""
    fields: dict[str, object] = {KIND: "LLM", f"{ANSWER}role": "assistant", **more}
    for at, (call_id, name) in enumerate(asked):
        fields[f"{ANSWER}tool_calls.{at}.tool_call.id"] = call_id
        fields[f"{ANSWER}tool_calls.{at}.tool_call.function.name"] = name
        fields[f"{ANSWER}tool_calls.{at}.tool_call.function.arguments"] = '{"q": "asked"}'
    return span(number, parent=1, attributes=fields)


def ran(number: int, call_id: str, name: str, given: object = '{"q": "asked"}', got: object = "found") -> RawSpan:
    """A tool's span of OpenInference."""
    fields = {KIND: "TOOL", "tool.name": name, "tool_call.id": call_id, "input.value": given, "output.value": got}
    return span(number, parent=1, attributes={key: value for key, value in fields.items() if value is not None})


def run_of(*spans: RawSpan) -> Run:
    """The run of an agent with these spans below it."""
    (run,) = trace_of(span(1, end=1000, attributes={KIND: "AGENT", "agent.name": "helper"}), *spans).runs
    return run


def outcome(found: tuple[ToolCall, ...]) -> list[object]:
    """All that calls tell, as values."""
    return [
        (one.name, one.status, one.span, one.agent, one.start_ns, one.call_id, one.origin, one.arguments, one.result)
        for one in found
    ]


def is_plain(run: Run) -> bool:
    """Whether the calls were taken as they are."""
    return module._all_have_spans(run, module.span_calls(run))


PLAIN = (model(2, ("c1", "search"), ("c2", "fetch")), ran(3, "c1", "search"), ran(4, "c2", "fetch"), model(5))


def test_openinference_calls_whose_ids_were_asked_for_are_plain() -> None:
    """All calls that were asked for have spans that tell everything; the answer asks for none."""
    assert is_plain(run_of(*PLAIN))


@pytest.mark.parametrize(
    "spans",
    [
        (*PLAIN[:2], PLAIN[3]),  # one was asked for and left no span
        (*PLAIN, ran(6, "c3", "search")),  # one more ran than was asked for
        (PLAIN[0], ran(3, "c1", "search"), ran(4, "c9", "fetch"), PLAIN[3]),  # another id
        (PLAIN[0], ran(3, "c2", "fetch"), ran(4, "c1", "search"), PLAIN[3]),  # another order
        (PLAIN[0], ran(3, "c1", "search", got=None), *PLAIN[2:]),  # the result stands elsewhere
        (PLAIN[0], ran(3, "c1", "search", given="bare"), *PLAIN[2:]),  # its arguments stand in the request
        (model(2, ("c1", "search"), ("c1", "fetch")), *PLAIN[1:]),  # one id for two
        (*PLAIN[:3], model(5, **{f"{ANSWER}role": "user"})),  # an answer in another form
        (*PLAIN[:3], model(5, **{f"{ANSWER}content": 7})),
        (*PLAIN[:3], model(5, **{"llm.output_messages.1.message.role": "assistant"})),
        (*PLAIN[:3], model(5, **{f"{ANSWER}tool_calls.0.tool_call.function.name": "search"})),  # a call without an id
        (*PLAIN[:3], model(5, **{f"{ANSWER}tool_calls.0.tool_call.id": "c4"})),  # an id without a call
        (*PLAIN[:3], model(5, **{"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": []}])})),
    ],
)
def test_openinference_calls_that_take_a_closer_look(spans: tuple[RawSpan, ...]) -> None:
    """Whatever does not fit is laid against the messages."""
    assert not is_plain(run_of(*spans))


@pytest.mark.parametrize("name", RECORDINGS)
def test_plain_calls_are_those_of_the_messages(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every recording the calls are the same where the short way is not taken."""
    spans = with_logs(name) if (FOLDER / f"{name}.logs.json").exists() else recorded(name)
    short = [outcome(run.tool_calls) for run in trace_of(*spans).runs]
    monkeypatch.setattr(module, "_all_have_spans", lambda run, found: False)
    assert short == [outcome(run.tool_calls) for run in trace_of(*spans).runs]
