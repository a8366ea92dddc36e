"""What the models of a run said, and what one of them was told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spanwise.model.calls import Said, Told
from spanwise.model.raw import Attributes, RawSpan
from spanwise.model.trace import Run
from tests.making import agent, asks, chat, returns, run_of, says, span_id, tool, user


def texts(run: Run) -> list[str | None]:
    """What was said, call by call."""
    return [said.text for said in run.said]


def told(*sent: object) -> Told | None:
    """What a model was told by these messages."""
    run = run_of(agent(1), chat(2, parent=1, sent=list(sent)))
    return run.told(run.llm_groups[0])


def holding(kind: str, **fields: object) -> dict[str, object]:
    """A user's message with one more part."""
    return {"role": "user", "parts": [{"type": "text", "content": "Look."}, {"type": kind, **fields}]}


def test_said_in_each_call() -> None:
    """Each model call has its words, with its span, its agent and its times."""
    run = run_of(agent(1), chat(5, parent=1, got=[says("first")]), chat(20, parent=1, got=[says("second")]))
    first = run.said[0]
    assert ["first", "second"] == texts(run)
    assert Said("first", 1, 0, 5, 15, first.span_key) == first
    assert span_id(5) == first.span_id


def test_thoughts_are_said_and_requests_are_not() -> None:
    """Thoughts and texts are words; what is asked of tools is none, nor is a result that the answer holds."""
    thought = {"type": "reasoning", "content": "hm"}
    both = {"role": "assistant", "parts": [thought, {"type": "text", "content": "well"}]}
    request = asks(("c", "search", {"text": "a content"}))
    run = run_of(
        agent(1),
        chat(5, parent=1, got=[both]),
        chat(20, parent=1, got=[request]),
        chat(40, parent=1, got=[asks(("d", "search", {"q": 1}))]),
        chat(60, parent=1, got=[user("not the model"), returns(("c", "r")), says("done")]),
    )
    assert ["hm\nwell", "", "", "done"] == texts(run)


@pytest.mark.parametrize("parts", [[{"type": "text", "content": "a"}], ["a"], [{"content": "a"}], [{"text": "a"}]])
def test_words_in_any_form(parts: list[Any]) -> None:
    """No form of a message is taken for one without words."""
    for indent in (None, 1):
        one = chat(5, parent=1)
        text = json.dumps([{"role": "assistant", "parts": parts}], indent=indent)
        one.attributes = {**one.attributes, "gen_ai.output.messages": text}
        assert ["a"] == texts(run_of(agent(1), one))


def test_not_recorded() -> None:
    """An answer that is not recorded is not known; a call that failed gave none."""
    failed = chat(20, parent=1)
    failed.status_code = 2
    assert [None, ""] == texts(run_of(agent(1), chat(5, parent=1), failed))


def test_the_innermost_span_says_it() -> None:
    """A wrapper and its provider are one call, told by the inner one."""
    outer, inner = chat(5, parent=1, got=[says("outer")]), chat(6, parent=5, got=[says("inner")])
    assert ["inner"] == texts(run_of(agent(1), outer, inner))
    assert ["outer"] == texts(run_of(agent(1), outer, chat(6, parent=5)))


def test_agents_speak_where_no_model_does() -> None:
    """Without spans of models the agents' own records are what was said; agents that record nothing said nothing."""
    got = {"gen_ai.output.messages": json.dumps([says("there is a storm")])}
    run = run_of(agent(1), agent(5, parent=1, name="b", **got), tool(6, parent=5, name="t"))
    assert [("there is a storm", 1)] == [(said.text, said.span) for said in run.said]


class Reads(dict[str, object]):
    """Attributes that note which of them were read."""

    def __init__(self, held: Attributes) -> None:
        super().__init__(held)
        self.read: list[str] = []

    def get(self, key: str, default: object = None) -> Any:
        self.read.append(key)
        return super().get(key, default)


def test_inputs_are_not_read() -> None:
    """What was said is read from outputs alone, and once."""
    spans: list[RawSpan] = [chat(5 * n, parent=1, sent=[user("q")], got=[says("a")]) for n in range(1, 4)]
    kept = [Reads(one.attributes) for one in spans]
    for one, held in zip(spans, kept, strict=True):
        one.attributes = held
    run = run_of(agent(1), *spans)
    for held in kept:
        held.read.clear()
    assert ["a", "a", "a"] == texts(run) == texts(run)
    assert [{"gen_ai.output.messages"}] * 3 == [set(held.read) for held in kept]
    assert all(len(held.read) <= 2 for held in kept)


def test_told() -> None:
    """All that a model was told is one text, its calls and their results among it; the latest user is named."""
    sent = [
        {"role": "system", "parts": [{"type": "text", "content": "Be good."}]},
        user("One."),
        asks(("c", "search", {"q": "x"}), ("d", "ping", None)),
        returns(("c", {"a": 1})),
        user("Two."),
    ]
    assert Told('Be good.\nOne.\n{"q":"x"}\n{"a":1}\nTwo.', "Two.") == told(*sent)


def test_told_by_nobody() -> None:
    """Where no user speaks, or nothing is recorded, nobody knows what a model was told."""
    assert None is told(returns(("c", "r")))
    assert None is told()


@pytest.mark.parametrize(
    "part",
    [
        {"kind": "image", "uri": "x.png"},
        {"kind": "text", "content": "[REDACTED]"},
        {"kind": "text", "content": "it goes on [truncated]"},
        {"kind": "tool_call_response", "id": "c", "response": "[REDACTED]"},
    ],
)
def test_told_in_part(part: dict[str, Any]) -> None:
    """What is no text, or removed or cut, leaves the whole unknown."""
    assert None is told(user("One."), holding(**part))
