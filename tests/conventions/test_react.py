"""The texts of LlamaIndex's ReAct agent."""

from __future__ import annotations

from spanwise.conventions._react import reacting
from spanwise.model.content import Message, Part


def test_a_thought_is_no_answer() -> None:
    """Of a text with a thought only what follows it is the answer; one that asks for a tool holds none."""
    answered = Message("assistant", (Part("text", "Thought: I know.\nAnswer: Paris"),))
    asked = Message("assistant", (Part("text", "Thought: I look.\nAction: search\nAction Input: {}"),))
    plain = Message("assistant", (Part("text", "Paris"), Part("tool_call", name="search")))
    assert (Part("reasoning", " I know."), Part("text", "Paris")) == reacting(answered).parts
    assert ["other"] == [part.type for part in reacting(asked).parts]
    assert plain == reacting(plain)
