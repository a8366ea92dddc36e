"""Context that did not come with the control: what an agent was told, against what was known before.

The agent that control came to is told something in its first model call. Context was lost if nothing in it is of the
user's question, nor of what tools had been asked for and had returned until then. That is held against a hand-off only
if all of it is recorded, and the tools of the agent that handed over had returned something telling (a number of three
digits, a word of six letters). Words are compared by their first letters, so that `orders` and `order` are the same,
and names of three letters count: what is alike in any way came with the control.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from spanwise.model.abstention import has_arguments
from spanwise.model.calls import Handoff, Told, ToolCall
from spanwise.model.searches import searches_of
from spanwise.model.span import Span
from spanwise.model.trace import Run
from spanwise.model.wordforms import READ, Forms, has_unspaced, is_telling, rounded
from spanwise.text import words

_AGENTS = 16
_STEM = 4
_SHORT = 3
_COMMON = frozenset(
    """all and any are ask but can did for get had has her him his how its let may new not now one our out put say see
    set she the too two use was way who yes you""".split()
)


@lru_cache(maxsize=4096)
def agent_key(name: str) -> str:
    """An agent's name as its tool's name spells it too: words in lower case."""
    return "_".join(words(name)) or name.strip()


def agent_of(run: Run, agent: int, names: Mapping[int, str]) -> str | None:
    """The name of the nearest agent that has one, from an agent's span upwards; `names` holds those of agent spans."""
    spans, at = run.trace.spans, agent
    while at >= 0:
        if at in names:
            return names[at]
        above = spans[at].parent
        at = spans[above].agent if above >= 0 else -1
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A hand-off of whose context the agent was told nothing in a model call; `call` had returned something telling."""

    handoff: Handoff
    told: Told
    span_id: str
    call: ToolCall


def losses_of(run: Run, passed: Sequence[Handoff], moments: Sequence[int]) -> tuple[Loss, ...]:
    """The hand-offs in which context was lost, `moments` being their times.

    Looked at is the first hand-off to each agent, unless it had called a model before: it knows what it was told then.
    Of many agents the first are looked at, for each may have been told the whole conversation.
    """
    if not run.completeness.complete:
        return ()
    look = _Look(run)
    met: set[str] = set()
    out: list[Loss] = []
    for item, at_ns in zip(passed, moments, strict=True):
        target = None if item.target is None else agent_key(item.target)
        if item.source is None or target is None or target in met or len(met) == _AGENTS:
            continue
        met.add(target)
        loss = look.loss(item, agent_key(item.source), target, at_ns)
        if loss is not None:
            out.append(loss)
    return tuple(out)


class _Look:
    """What the agents of a run had found and were told, each text gone through once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._forms = Forms()
        self._known: dict[int, frozenset[str]] = {}
        self._names = {index: agent_key(agent.name) for agent in run.agents for index in agent.spans}
        self._first: dict[str | None, Sequence[Span]] = {}
        for group in run.llm_groups:
            self._first.setdefault(agent_of(run, group[0].agent, self._names), group)

    def loss(self, item: Handoff, source: str, target: str, at_ns: int) -> Loss | None:
        """The loss in a hand-off, if there is one and all is recorded that tells."""
        group = self._first.get(target)
        if group is None or group[0].start_ns < at_ns:
            return None
        made = [call for call in self._run.work if call.end_ns <= at_ns]
        found = [call for call in made if not call.failed and self._maker(call) == source]
        if (
            not found
            or not all(map(_is_whole, made))
            or any(one.start_ns < at_ns for one in self._run.once(searches_of))
        ):
            return None
        question = self._run.query or ""
        asked = self._forms.of(question)
        told = self._run.told(group) if asked and not has_unspaced(question) else None
        if told is None or has_unspaced(told.text):
            return None
        heard = self._marks(told.text)
        if not heard.isdisjoint(self._marks(question)):
            return None
        telling = [call for call in found if self._tells(call, asked)]
        if not telling or any(not heard.isdisjoint(self._known_by(call)) for call in made):
            return None
        return Loss(handoff=item, told=told, span_id=group[0].span_id, call=telling[0])

    def _maker(self, call: ToolCall) -> str | None:
        return agent_of(self._run, call.agent, self._names)

    def _tells(self, call: ToolCall, asked: Collection[str]) -> bool:
        """The call returned something telling that the user had not said."""
        found = self._forms.of(_values(call.result)[:READ])
        return any(word not in asked and is_telling(word, asked) for word in found)

    def _known_by(self, call: ToolCall) -> frozenset[str]:
        """The marks of what a call passed and returned, numbers rounded as well."""
        known = self._known.get(id(call))
        if known is None:
            marks = self._marks(f"{_values(call.arguments)} {_values(call.result)}")
            digits = [mark for mark in marks if mark.isdecimal() and len(mark) > 2]
            known = self._known[id(call)] = marks.union(one for mark in digits for one in rounded(mark))
        return known

    def _marks(self, text: str) -> frozenset[str]:
        """What a text is compared by: numbers, the beginnings of words, and names of three letters."""
        stems = [form[:_STEM] if form.isalpha() else form for form in self._forms.of(text)]
        short = [word for word in words(text) if len(word) == _SHORT and word.isalpha() and word not in _COMMON]
        return frozenset((*stems, *short))


def _is_whole(call: ToolCall) -> bool:
    """What was passed and returned is recorded whole; a call that failed may have returned nothing."""
    returned = call.result_state == "present" or (call.failed and call.raw_result is None)
    return returned and has_arguments(call)


def _values(value: object) -> str:
    """The texts and numbers in a value, without the names of fields."""
    out: list[str] = []
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            left.extend(cast("Mapping[object, object]", one).values())
        elif isinstance(one, list | tuple):
            left.extend(cast("Sequence[object]", one))
        elif one is not None and not isinstance(one, bool):
            out.append(str(one))
    return " ".join(reversed(out))
