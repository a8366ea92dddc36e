"""What the stand-in model says next, decided from the conversation alone.

The model is a pure function of one request: the tools it is offered, the tools whose results are already in the
conversation, and the variant of the scenario. No state is kept between requests, so sub-agents, retries and parallel
runs need no bookkeeping: each conversation carries its own position in the script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import scenario

VARIANTS = ("standard", "handoff", "subagent", "parallel", "hallucinated", "streaming", "plain")

_DELEGATING = ("handoff", "subagent")
_CONTROL_PREFIXES = ("transfer_to", "handoff", "delegate")
_FINAL_TOOL = "final_answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The model asks for this tool with these arguments."""

    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One reply of the model: tool calls, or text when there are none."""

    calls: tuple[Call, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What one request shows of the run so far.

    `results` holds the tool name of every result seen, `tools` the parameter names of every tool offered.
    """

    variant: str
    results: Sequence[str] = ()
    tools: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])


_SEARCH = Call(name="search_docs", arguments={"query": scenario.SEARCH_QUERY})
_BAD = Call(name="calculator", arguments={"expression": scenario.BAD_EXPRESSION})
_GOOD = Call(name="calculator", arguments={"expression": scenario.GOOD_EXPRESSION})
_UNKNOWN = Call(name="lookup_population", arguments={"country": "France", "year": 2024})

_STANDARD = ((_SEARCH,), (_BAD,), (_GOOD,), (_SEARCH,))
_SCRIPTS: Mapping[str, tuple[tuple[Call, ...], ...]] = {
    "parallel": ((_SEARCH, _BAD), (_GOOD, _SEARCH)),
    "hallucinated": ((_UNKNOWN,), (_SEARCH,), (_GOOD,)),
    "plain": (),
}

_ARGUMENTS: Mapping[str, object] = {
    "agent_name": scenario.RESEARCH_AGENT,
    "to_agent": scenario.RESEARCH_AGENT,
    "reason": "The question needs research.",
    "context": "The question needs research.",
    "coworker": scenario.RESEARCH_AGENT,
}


def next_turn(conversation: Conversation, /) -> Turn:
    """The reply that continues the scenario.

    An agent that is offered a hand-off or delegation tool but no search uses that tool first and answers afterwards.
    An agent that has both uses it first in the variants `handoff` and `subagent`, and never in the others.
    """
    control = _control_tool(conversation)
    delegated = any(_is_control(name) for name in conversation.results)
    if control and not delegated:
        return Turn(calls=(Call(name=control, arguments=_fill(conversation.tools[control])),))
    if control and _SEARCH.name not in conversation.tools:
        return _answer(conversation)
    answered = [name for name in conversation.results if not _is_control(name)]
    for calls in _SCRIPTS.get(conversation.variant, _STANDARD):
        open_calls = tuple(call for call in calls if not _take(answered, call.name))
        if open_calls:
            return Turn(calls=open_calls)
    return _answer(conversation)


def _take(names: list[str], name: str) -> bool:
    """Whether the name was there to be taken off the list."""
    if name not in names:
        return False
    names.remove(name)
    return True


def _answer(conversation: Conversation) -> Turn:
    text = scenario.PLAIN_ANSWER if conversation.variant == "plain" else scenario.ANSWER
    if _FINAL_TOOL in conversation.tools:
        return Turn(calls=(Call(name=_FINAL_TOOL, arguments={"answer": text}),))
    return Turn(text=text)


def _is_control(name: str) -> bool:
    return name.startswith(_CONTROL_PREFIXES)


def _control_tool(conversation: Conversation) -> str | None:
    if _SEARCH.name in conversation.tools and conversation.variant not in _DELEGATING:
        return None
    return next((name for name in conversation.tools if _is_control(name)), None)


def _fill(names: Sequence[str]) -> dict[str, object]:
    """Every declared parameter gets a plausible value, since delegation tools differ in their parameter names."""
    return {name: _ARGUMENTS.get(name, scenario.QUERY) for name in names}
