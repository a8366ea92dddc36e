"""What the model was told that its calls had returned, for calls whose spans do not record it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from spanwise import conventions
from spanwise.assembly import llms
from spanwise.assembly.verdicts import asks_again, reads_like_error, says_error, says_no_such_tool
from spanwise.model.calls import ToolCall
from spanwise.model.content import Message, Messages, Part, is_blank
from spanwise.model.span import RUN_KINDS, Span, SpanError
from spanwise.model.trace import Run

_USERS = frozenset({"user", "human"})
TICK_NS = 1_000_000
"""Spans of JavaScript start at whole milliseconds, and end at a finer clock."""
_RESULT_MARKS = ("result", "response", "Response", "output", '"tool"')
Result: TypeAlias = tuple[int, Part]  # the agent that was told it, and what it was told


class Talks:
    """What each model call was sent and answered; where no model call left a span, what agents record of theirs.

    Inputs repeat the conversation so far, so each is read when it is needed, and once.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._groups: Sequence[Sequence[Span]] = run.llm_groups
        self.by_models = bool(self._groups)
        if not self.by_models:
            self._groups = [(span,) for span in run.spans if span.kind in RUN_KINDS]
        self._said: dict[int, Messages] = {}
        self._told: dict[int, tuple[Message, ...]] = {}
        self._records: dict[int, tuple[Message, ...]] = {}
        self._starts: dict[int, list[tuple[int, int]]] | None = None

    def __len__(self) -> int:
        return len(self._groups)

    def span(self, at: int) -> Span:
        """The span of a call."""
        return self._groups[at][0]

    def said(self, at: int) -> Messages:
        """The messages of a call."""
        found = self._said.get(at)
        if found is None:
            found = self._said[at] = llms.messages(self._run, self._groups[at])
        return found

    def provided(self, at: int) -> tuple[Message, ...]:
        """What was answered to a call, where it may hold results: the provider ran tools itself."""
        if all(_tells_no_results(span) for span in self._groups[at]):
            return ()
        return llms.output(self._run, self._groups[at])

    def next_of(self, agent: int, start_ns: int) -> int | None:
        """The agent's first call that starts no earlier than a time."""
        own = self._starts_of(agent)
        at = bisect_left(own, (start_ns, -1))
        return own[at][1] if at < len(own) else None

    def answer_to(self, agent: int, end_ns: int, number: int) -> int | None:
        """The agent's first call after another one, by a clock that may have told its start in whole milliseconds."""
        own = self._starts_of(agent)
        at = bisect_left(own, (end_ns - TICK_NS, -1))
        return next((later for _, later in own[at:] if later > number), None)

    def _starts_of(self, agent: int) -> Sequence[tuple[int, int]]:
        if self._starts is None:
            self._starts = {}
            for number in range(len(self)):
                span = self.span(number)
                self._starts.setdefault(span.agent, []).append((span.start_ns, number))
        return self._starts.get(agent, ())

    def last_heard(self) -> dict[int, int]:
        """For each agent its last call whose input is recorded."""
        found: dict[int, int] = {}
        for at in range(len(self) - 1, -1, -1):
            agent = self.span(at).agent
            if agent not in found and self.told(at):
                found[agent] = at
        return found

    def record(self, agent: int) -> tuple[Message, ...]:
        """What the agent's own span, or else that of the run, records as said."""
        at = agent if agent >= 0 else self._run.root
        if at < 0 or not self.by_models:
            return ()
        found = self._records.get(at)
        if found is None:
            found = self._records[at] = self._recorded(at)
        return found

    def _recorded(self, at: int) -> tuple[Message, ...]:
        """What a span records, or else the workflow right below it: one agent may leave a span around another."""
        trace = self._run.trace
        inner = (span for span in self._run.by_kind.get("workflow", ()) if span.parent == at)
        readings = (conventions.record(one.raw, trace.memo, one.dialect) for one in (trace.spans[at], *inner))
        return next((found for found in readings if found), ())

    def heard(self, at: int) -> tuple[Message, ...]:
        """What a model had been told by the time of a call; an agent's own record holds both sides."""
        said = self.said(at)
        return said.input or () if self.by_models else (*(said.input or ()), *(said.output or ()))

    def told(self, at: int) -> tuple[Message, ...]:
        """The same where only results matter: messages without any may be empty."""
        found = self._told.get(at)
        if found is None:
            group = self._groups[at]
            span = group[0]
            easy = self.by_models and len(group) == 1 and at not in self._said
            found = conventions.told(span.raw, self._run.trace.memo, span.dialect) if easy else None
            self._told[at] = found = self.heard(at) if found is None else found
        return found

    def without(self, parts: list[Part], made: Sequence[ToolCall]) -> list[Part]:
        """The results that are not those which the spans of calls tell; all of them where one of those is not there."""
        read, left = self._run.trace.memo.json, list(parts)
        for call in made:
            if call.raw_result is not None:
                told = read(call.raw_result)
                at = next((at for at, part in enumerate(left) if read(part.value) == told), None)
                if at is None:
                    return parts
                left.pop(at)
        return left


def _tells_no_results(span: Span) -> bool:
    """Without decoding it: the answer holds no results, for it is marked by none or plain, which only requests are."""
    text = conventions.answer_text(span.raw, span.dialect)
    if text is not None:
        return not any(mark in text for mark in _RESULT_MARKS)
    return conventions.call_ids(span.raw, span.dialect) is not None


def since_asked(sent: Sequence[Message]) -> Sequence[Message]:
    """What was said after the last question: what stands before it belongs to earlier turns."""
    for at in range(len(sent) - 1, -1, -1):
        if sent[at].role in _USERS and sent[at].text:
            return sent[at + 1 :]
    return sent


def own_output(said: Messages) -> Sequence[Message]:
    """What was said in this turn, of an output that repeats the conversation which was sent: Haystack's agents do."""
    got = said.output or ()
    repeated = _questions(got)
    asked = len(repeated) if said.input is None else len(_questions(said.input))
    return got[repeated[asked - 1] + 1 :] if 0 < asked <= len(repeated) else got


def _questions(spoken: Sequence[Message]) -> list[int]:
    """Where a user says something."""
    return [at for at, message in enumerate(spoken) if message.role in _USERS and message.text]


Asked: TypeAlias = tuple[Part, int, int, int]
"""The request for a call, the agent, the time from which its result may be told, and the number of the asking call."""
Wanted: TypeAlias = tuple[str, int, int]
"""A call id, the agent, and the time from which its result may be told."""


def results_of(talks: Talks, wanted: Sequence[Wanted]) -> tuple[dict[str, list[Result]], dict[int, int]]:
    """Tool results by call id, and for each agent the number of its last model call whose input holds calls or results.

    The last input of an agent holds the whole conversation, unless that was trimmed: then a result stands in the input
    that follows its call. What the provider ran itself is in the answer.
    """
    results: dict[str, list[Result]] = {}
    seen: set[tuple[int, str]] = set()

    def note(at: int, messages: Iterable[Message]) -> None:
        agent = talks.span(at).agent
        # One id may stand for several results of one conversation: some begin anew to count in every step.
        fresh = [(part.id, part) for part in result_parts(messages) if part.id and (agent, part.id) not in seen]
        for call_id, part in fresh:
            seen.add((agent, call_id))
            results.setdefault(call_id, []).append((agent, part))

    listening = talks.last_heard()
    for at in sorted(listening.values(), reverse=True):
        note(at, talks.told(at))
    open_ = [one for one in wanted if one[0] not in results]
    if open_:
        for at in range(len(talks)):
            note(at, talks.provided(at))
    for call_id, agent, start_ns in open_:
        if call_id not in results:
            at = talks.next_of(agent, start_ns)
            if at is not None:
                note(at, talks.told(at))
    _add_recorded(talks, [(call_id, agent) for call_id, agent, _ in open_ if call_id not in results], results)
    told = {agent: at for agent, at in listening.items() if any(_is_of_tool(message) for message in talks.told(at))}
    return results, told


def _is_of_tool(message: Message) -> bool:
    """Calls and results are recorded, so that one that is not there was not made."""
    return any(part.type in {"tool_call", "tool_result"} for part in message.parts)


def _add_recorded(talks: Talks, wanted: Iterable[tuple[str, int]], results: dict[str, list[Result]]) -> None:
    """Add results that no model was told any more, from the agent's own record of its run."""
    for call_id, agent in wanted:
        found = next((part for part in result_parts(talks.record(agent)) if part.id == call_id), None)
        if found is not None:
            results[call_id] = [(agent, found)]


def recover_by_step(talks: Talks, calls: list[ToolCall]) -> None:
    """Fill results that carry no id: those at the end of a model call's input answer the calls made just before it."""
    if not talks.by_models:
        return
    steps: dict[int, list[ToolCall]] = {}
    for call in calls:
        at = talks.next_of(call.agent, call.start_ns) if call.span >= 0 else None
        if at is not None:
            steps.setdefault(at, []).append(call)
    for at, made in steps.items():
        silent = [call for call in made if call.raw_result is None]
        parts = [part for part in _trailing_results(talks.told(at)) if part.id is None] if silent else []
        if len(parts) == len(made) > len(silent):
            parts = talks.without(parts, made)
        answered = made if len(parts) == len(made) else silent  # all of the step's, or those that others do not tell
        if len(parts) == len(answered):
            for call, part in zip(answered, parts, strict=True):
                if call.raw_result is None and part.name in (None, call.name):
                    take_result(call, part)


def results_by_step(talks: Talks, asked: Sequence[Asked], known: AbstractSet[str | None]) -> dict[int, Part]:
    """Results that were told under other ids than the calls were asked under, by the place of the calls.

    Traceloop records an OpenAI response's call under the id of the item, its result under that of the call; Google's
    client asks without ids. As many results of unknown calls as there are calls without a result, told right after
    they were asked, answer them in order; `known` are the ids of all calls. Only for runs whose tools left no span:
    else a result may be theirs.
    """
    if not talks.by_models:
        return {}
    steps: dict[int, list[int]] = {}
    for place, (_, *asking) in enumerate(asked):
        at = talks.answer_to(*asking)
        if at is not None:
            steps.setdefault(at, []).append(place)
    found: dict[int, Part] = {}
    for at, places in steps.items():
        told = _trailing_results(talks.told(at))
        if len(told) == len(places) and all(
            (part.id is None or part.id not in known) and part.name in (None, asked[place][0].name)
            for part, place in zip(told, places, strict=True)
        ):
            found.update(zip(places, told, strict=True))
    return found


def named_result(talks: Talks, asked: Asked) -> Part | None:
    """The result without an id that names the tool which was asked for, told right after that: what became of it."""
    part, *asking = asked
    at = talks.answer_to(*asking) if talks.by_models else None
    told = () if at is None else _trailing_results(talks.told(at))
    return next((one for one in reversed(told) if one.id is None and one.name == part.name), None)


def _trailing_results(sent: Sequence[Message]) -> list[Part]:
    """The tool results behind the last thing that the model or the user said."""
    out: list[Part] = []
    for message in reversed(sent):
        found = [part for part in message.parts if part.type == "tool_result"]
        if not found:
            break
        out[:0] = found
    return out


def result_parts(sent: Iterable[Message]) -> Iterable[Part]:
    """The tool results in some messages."""
    for message in sent:
        for part in message.parts:
            if part.type == "tool_result":
                yield part


def pop_result(results: dict[str, list[Result]], call_id: str, agent: int) -> Part | None:
    """The next result with that id: the agent's own, else what another agent was told."""
    waiting = results.get(call_id)
    if not waiting:
        return None
    return waiting.pop(next((at for at, (owner, _) in enumerate(waiting) if owner == agent), 0))[1]


def take_result(call: ToolCall, part: Part) -> None:
    """Give a call the result that the model was told, and judge by it whether the call failed."""
    call.raw_result = part.value
    if call.span >= 0 and call.status != "ok" and says_no_such_tool(call.name, part.value):
        call.status, call.error = "not_run", None
        return
    if asks_again(part.value) and (call.span < 0 or call.status in {"ok", "unknown"}):
        call.status = "retry"
        call.error = SpanError(message=str(part.value))
        return
    failed = (
        part.error
        or says_error(part.value)
        or ((call.span < 0 or call.status == "unknown") and reads_like_error(part.value))
    )
    if failed and call.status in {"ok", "unknown"}:
        call.status = "error"
        call.error = SpanError(message=part.value if isinstance(part.value, str) else "")
    elif call.status == "unknown" and part.value is not None and not is_blank(part.value):
        call.status = "ok"
