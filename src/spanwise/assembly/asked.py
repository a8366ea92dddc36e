"""What the models asked for: every tool call that is requested in a run, in order.

Mostly each model's answer tells it. Where that is not recorded, what the next model call was sent does, or what the
agents' own spans hold of their runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from spanwise import conventions
from spanwise.assembly.results import Talks, own_output, result_parts, since_asked
from spanwise.conventions._genai_scopes import LANGCHAIN_JS, OPENLLMETRY_GOOGLE, REFUSED, REFUSED_IN, REFUSING
from spanwise.model.content import Message, Part
from spanwise.model.effects import passes_control
from spanwise.model.raw import STATUS_ERROR
from spanwise.model.span import Span
from spanwise.model.trace import Run

_REFUSAL = re.compile(rf"Tool call (\S+) with id (\S+) {REFUSED} - arguments were malformed or truncated")


class Request(msgspec.Struct):
    """A tool call that a model asked for."""

    part: Part
    at_ns: int
    agent: int
    group: int


def requests_of(run: Run) -> list[Request]:
    """Every tool call that the models of a run asked for, in order."""
    out: list[Request] = []
    memo = run.trace.memo
    apart, silent, cut = asked_apart(run), set[int](), set[int]()
    for number, group in enumerate(run.trace.paced(run.llm_groups)):
        heard = False
        if group[0].raw.scope.name == OPENLLMETRY_GOOGLE:
            cut.add(number)
        for span in reversed(group):
            asked = conventions.requests(span.raw, memo, span.dialect)
            failed = span.raw.status_code == STATUS_ERROR
            heard = heard or failed or (asked is not None and conventions.tells_requests(span.raw, span.dialect))
            asked = asked or apart.get(span.index)
            if asked:
                out += [Request(part, span.end_ns, span.agent, number) for part in asked]
                heard = True
                break
        if not heard:
            silent.add(number)
    if not run.llm_groups:
        talks = Talks(run)
        for number in range(len(talks)):
            span, asked = talks.span(number), _asked_in(talks, number)
            out += [Request(part, span.start_ns, span.agent, number) for part in asked]
    if cut and out:
        out = _with_whole(run, out, cut)
    return _with_silent(run, out, silent) if silent else out


def _asked_in(talks: Talks, at: int) -> list[Part]:
    """What an agent's own record of a turn asks for; of what it answered in the end only what was not asked before.

    OpenInference's ADK writes all model calls onto the agent's span, over one another: the answer is a mixture.
    """
    said = talks.said(at)
    sent, got = (
        [part for message in spoken for part in _calls_in(message)]
        for spoken in (since_asked(said.input or ()), own_output(said))
    )
    known, told = ({part.id or id(part) for part in parts} for parts in (sent, got))
    if known <= told:  # a crew's answers are those of all its tasks, its last question is that of the last task
        return got
    return [*sent, *(part for part in got if (part.id or id(part)) not in known)]


def _with_whole(run: Run, out: list[Request], cut: set[int]) -> list[Request]:
    """The requests, those of model calls of which only a stream's last piece is recorded as they were told later."""
    whole = [one for one in _told_later(run) if one.group in cut]
    told = {one.group for one in whole}
    return sorted([*(one for one in out if one.group not in told), *whole], key=lambda request: request.group)


def _with_silent(run: Run, out: list[Request], silent: set[int]) -> list[Request]:
    """The requests with those of model calls whose answers do not tell them; all that was told later if none does."""
    later = _told_later(run)
    if not out:
        return later or _recorded(run) or _in_states(run)
    known = {request.part.id for request in out}
    out += [one for one in later if one.group in silent and one.part.id is not None and one.part.id not in known]
    return sorted(out, key=lambda request: request.group)


def _in_states(run: Run) -> list[Request]:
    """What the steps of LangChain in JavaScript were given of the conversation, beside model calls that do not tell it.

    A call that its own arguments answer gave the agent's output. That an agent passes control back nobody asks: a
    supervisor's messages only say so.
    """
    memo = run.trace.memo
    out: dict[str, Request] = {}
    for span in run.trace.paced(run.by_kind.get("other", ())):
        if span.raw.scope.name != LANGCHAIN_JS:
            continue
        spoken = conventions.messages(span.raw, memo, span.dialect).input or ()
        since = since_asked(spoken)
        told = {part.id: memo.json(part.value) for part in result_parts(since)}
        for part in (part for message in since for part in _calls_in(message) if since is not spoken):
            steering = str(part.name).startswith("transfer_back_to_") or told.get(part.id) == memo.json(part.value)
            if part.id is not None and not steering:
                out.setdefault(part.id, Request(part, span.start_ns, span.agent, 0))
    return list(out.values())


def _recorded(run: Run) -> list[Request]:
    """What was asked for where no model's span tells it, from what the agents' own spans hold of their runs."""
    talks = Talks(run)
    numbers: dict[int, list[int]] = {}
    for number in range(len(talks)):
        numbers.setdefault(talks.span(number).agent, []).append(number)
    out: list[Request] = []
    for agent, own in numbers.items():
        asked = [found for message in since_asked(talks.record(agent)) if (found := _calls_in(message))]
        for at, parts in enumerate(asked):  # parallel requests may be a message each
            number = own[min(at, len(own) - 1)]
            out += [Request(part, talks.span(number).end_ns, agent, number) for part in parts]
    return sorted(out, key=lambda request: request.group)


def _told_later(run: Run) -> list[Request]:
    """What was asked for where no model's answer is recorded, from what each agent's last model call was sent.

    What one call asked for stands in front of the next. A message more than the agent made calls is an earlier run's,
    or that of the agent that passed control to it.
    """
    talks = Talks(run)
    numbers: dict[int, list[int]] = {}
    for number in range(len(talks)):
        numbers.setdefault(talks.span(number).agent, []).append(number)
    out: list[Request] = []
    for agent, at in talks.last_heard().items():
        before = [number for number in numbers[agent] if number < at]
        asked = [found for message in since_asked(talks.heard(at)) if (found := _calls_in(message))]
        own, passed = _shared_out(talks, before, asked)  # an agent that was handed the conversation reads it, too
        for number, parts in own:
            out += [Request(part, talks.span(number).end_ns, agent, number) for part in parts]
        for number, parts in zip(reversed(range(numbers[agent][0])), reversed(passed), strict=False):
            span = talks.span(number)
            passing = [part for part in parts if passes_control(part.name or "")]
            out += [Request(part, span.end_ns, span.agent, number) for part in passing]
    return sorted(out, key=lambda request: request.group)


def _shared_out(
    talks: Talks, before: Sequence[int], asked: Sequence[list[Part]]
) -> tuple[list[tuple[int, list[Part]]], Sequence[list[Part]]]:
    """What each model call asked for, the last first, and what had been asked before the first of them.

    Where there are more messages than calls, each of several parallel requests may be a message: then it was asked by
    the last call that had not been told of it.
    """
    extra = max(len(asked) - len(before), 0)
    known = [{part.id for message in talks.heard(n) for part in _calls_in(message)} for n in before] if extra else []
    if (
        not extra
        or not all(talks.heard(n) for n in before)
        or any(part.id is None for parts in asked for part in parts)
    ):
        return list(zip(reversed(before), reversed(asked), strict=False)), asked[:extra]
    own: list[tuple[int, list[Part]]] = []
    passed: list[list[Part]] = []
    for parts in asked:
        new = [n for n, ids in zip(before, known, strict=True) if ids.isdisjoint({part.id for part in parts})]
        if new:
            own.append((new[-1], parts))
        else:
            passed.append(parts)
    return own, passed


def _calls_in(message: Message) -> list[Part]:
    return [part for part in message.parts if part.type == "tool_call" and part.name]


def with_refused(run: Run, requests: list[Request]) -> list[Request]:
    """The requests, and those that LangChain refused because their arguments are no JSON.

    Two of its instrumentations leave them out of the model's answer; what the model was told of them is recorded. What
    it was told before its first call belongs to an earlier turn.
    """
    known = {request.part.id for request in requests}
    before: dict[int, tuple[int, Span]] = {}
    found: list[Request] = []
    for number, group in enumerate(run.llm_groups):
        span = group[0]
        for name, call_id in _REFUSAL.findall(_sent_to_langchain(span)):
            if call_id not in known and span.agent in before:
                at, asking = before[span.agent]
                found.append(Request(Part("tool_call", "", call_id, name), asking.end_ns, span.agent, at))
            known.add(call_id)
        before[span.agent] = (number, span)
    return sorted([*requests, *found], key=lambda request: request.group) if found else requests


def tells_refusals(run: Run) -> bool:
    """Whether some model was told of a call that was refused, in a run of LangChain's that leaves those out.

    What an agent's model is sent last repeats what it was told before.
    """
    if not run.llm_groups or run.llm_groups[0][0].raw.scope.name not in REFUSING:
        return False
    last = {group[0].agent: group[0] for group in run.llm_groups}
    return any(map(_sent_to_langchain, last.values()))


def _sent_to_langchain(span: Span) -> str:
    text = span.raw.attributes.get(REFUSED_IN) if span.raw.scope.name in REFUSING else None
    # Looked for from the end: of long text without it CPython skips more that way, which takes a third of the time.
    return text if isinstance(text, str) and text.rfind(REFUSED) >= 0 else ""


def asked_apart(run: Run) -> dict[int, list[Part]]:
    """Requests that have spans of their own, by the model's span above them."""
    found: dict[int, list[Part]] = {}
    for span in run.by_kind.get("other", ()):
        part = conventions.asked(span.raw, run.trace.memo, span.dialect)
        if part is not None:
            found.setdefault(span.parent, []).append(part)
    return found
