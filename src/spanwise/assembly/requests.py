"""What the model asked for, laid against the calls that left spans.

By call id; without ids by name, arguments and order; by arguments alone where a span bears the name of the decorated
function. What meets no span is given back: calls that are known from messages only.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from spanwise import conventions
from spanwise.assembly.results import Talks, result_parts, since_asked
from spanwise.conventions._genai_scopes import LANGCHAIN_JS
from spanwise.conventions._langchain import TOOL_CLASSES
from spanwise.model.calls import ToolCall
from spanwise.model.canonical import canonical
from spanwise.model.content import Message, Part
from spanwise.model.effects import is_control, passes_control
from spanwise.model.raw import STATUS_ERROR
from spanwise.model.span import Span
from spanwise.model.trace import Run

_HOPS = 16
_LANGCHAIN = frozenset({"opentelemetry.instrumentation.langchain", "opentelemetry.instrumentation.genai.langchain"})
_REFUSED = re.compile(r"Tool call (\S+) with id (\S+) could not be executed - arguments were malformed or truncated")


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
    apart, silent = _asked_apart(run), set[int]()
    for number, group in enumerate(run.trace.paced(run.llm_groups)):
        heard = False
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
            span, spoken = talks.span(number), talks.turn(number)
            asked = [part for message in spoken for part in _calls_in(message)]
            out += [Request(part, span.start_ns, span.agent, number) for part in asked]
    return _with_silent(run, out, silent) if silent else out


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
        for name, call_id in _REFUSED.findall(_sent_to_langchain(span)):
            if call_id not in known and span.agent in before:
                at, asking = before[span.agent]
                found.append(Request(Part("tool_call", "", call_id, name), asking.end_ns, span.agent, at))
            known.add(call_id)
        before[span.agent] = (number, span)
    return sorted([*requests, *found], key=lambda request: request.group) if found else requests


def tells_refusals(run: Run) -> bool:
    """Whether some model was told of a call that was refused, in a run of LangChain's that leaves those out."""
    if not run.llm_groups or run.llm_groups[0][0].raw.scope.name not in _LANGCHAIN:
        return False
    return any(_sent_to_langchain(group[0]) for group in run.llm_groups)


def _sent_to_langchain(span: Span) -> str:
    text = span.attributes.get("gen_ai.input.messages") if span.raw.scope.name in _LANGCHAIN else None
    return text if isinstance(text, str) and "could not be executed" in text else ""


def _asked_apart(run: Run) -> dict[int, list[Part]]:
    """Requests that have spans of their own, by the model's span above them."""
    found: dict[int, list[Part]] = {}
    for span in run.by_kind.get("other", ()):
        part = conventions.asked(span.raw, run.trace.memo, span.dialect)
        if part is not None:
            found.setdefault(span.parent, []).append(part)
    return found


def join(calls: list[ToolCall], requests: Sequence[Request]) -> list[Request]:
    """Lay requests against the calls of spans; those that meet none are returned."""
    by_id: dict[str, list[ToolCall]] = {}
    for call in calls:
        if call.call_id is not None:
            by_id.setdefault(call.call_id, []).append(call)
    left: list[Request] = []
    taken: set[int] = set()
    for request in requests:
        same = by_id.get(request.part.id or "")
        if same:
            # Agents may use the same ids: the call of the agent that asked comes first.
            call = same.pop(next((at for at, one in enumerate(same) if one.agent == request.agent), 0))
            taken.add(id(call))
            _adopt(call, request.part)
        else:
            left.append(request)
    return _join_by_name([call for call in calls if id(call) not in taken], requests, left) if left else left


def _join_by_name(calls: list[ToolCall], requests: Sequence[Request], left: list[Request]) -> list[Request]:
    """Lay the requests that are left against the calls that are; one that was recorded before is no other."""
    waiting: dict[str, list[ToolCall]] = {}
    for call in calls:
        waiting.setdefault(call.name, []).append(call)
    open_ = {id(request) for request in left}
    met = {_signature(request) for request in requests if id(request) not in open_}
    loose: list[Request] = []
    for request in left:
        call = _take(waiting.get(request.part.name or ""), request)
        if call is not None:
            _adopt(call, request.part)
        elif request.part.id is None or _signature(request) not in met:
            loose.append(request)
        met.add(_signature(request))
    return _join_renamed([call for line in waiting.values() for call in line], requests, loose) if loose else loose


def _join_renamed(calls: list[ToolCall], requests: Sequence[Request], loose: list[Request]) -> list[Request]:
    """Lay requests against calls that bear the name of the decorated function (`add_tool`) and have their arguments."""
    asked = {request.part.name for request in requests}
    renamed = [call for call in calls if call.name not in asked and call.call_id is None]
    left: list[Request] = []
    for request in loose:
        call = next((one for one in renamed if _is_renamed(one, request)), None)
        if call is None:
            left.append(request)
            continue
        renamed.remove(call)
        call.name = request.part.name or call.name
        call.control = is_control(call.name)
        _adopt(call, request.part)
    return left


def _is_renamed(call: ToolCall, request: Request) -> bool:
    """One name is part of the other, or that of a class, and the call was made with what was asked for, after that."""
    name, given = (request.part.name or "").lower(), request.part.value
    akin = name in call.name.lower() or call.name.lower() in name or call.name in TOOL_CLASSES
    return akin and call.start_ns >= request.at_ns and isinstance(given, Mapping) and call.arguments == given


def _signature(request: Request) -> tuple[str | None, str | None, bytes]:
    return request.part.id, request.part.name, canonical(request.part.value)


def with_handoff_spans(run: Run, calls: list[ToolCall], loose: list[Request]) -> list[Request]:
    """Give each request to pass control the hand-off span that it led to; what is left is returned."""
    spans = deque(run.by_kind.get("handoff", ()))
    left: list[Request] = []
    for request in loose:
        name = request.part.name or ""
        if spans and passes_control(name):
            span = spans.popleft()
            calls.append(
                ToolCall(
                    name,
                    "error" if span.raw.status_code == STATUS_ERROR else "ok",
                    span.index,
                    span.agent,
                    span.start_ns,
                    span.end_ns,
                    request.part.id,
                    True,  # noqa: FBT003  (built positionally, like every Struct that exists per span)
                    "span",
                    request.part.value,
                    None,
                    run.trace.memo,
                    span.raw.span_id,
                )
            )
        else:
            left.append(request)
    if len(left) != len(loose):
        calls.sort(key=lambda call: call.start_ns)
    return left


def _take(waiting: list[ToolCall] | None, request: Request) -> ToolCall | None:
    """The first waiting call whose arguments fit the request, taken out of the line."""
    if not waiting:
        return None
    for at, call in enumerate(waiting[:_HOPS]):
        if _fits(call, request.part):
            return waiting.pop(at)
    return None


def _fits(call: ToolCall, part: Part) -> bool:
    """The span's arguments are the requested ones, or the only value among them, or one of the two does not tell.

    Two ids that differ may still name one call (a framework's and the provider's), but only where the arguments say so.
    """
    asked = call.memo.json(part.value) if call.memo is not None else part.value
    untold = asked is None or asked == ""  # of a streamed request Agno keeps what came first
    if (call.call_id is None or part.id is None) and (untold or call.arguments_state != "present"):
        return True
    if call.arguments is not None and _alike(call.arguments, asked):
        return True
    return bare_of(asked) is not None and _alike(call.arguments, bare_of(asked))


def bare_of(asked: object) -> object:
    """The only value of a one-argument mapping."""
    if isinstance(asked, Mapping) and len(cast("Mapping[str, object]", asked)) == 1:
        return next(iter(cast("Mapping[str, object]", asked).values()))
    return None


def adopt_earlier(run: Run, calls: Sequence[ToolCall]) -> None:
    """Lay bare values against requests of an earlier run, which a run that goes on with it finds in its messages."""
    # Most arguments are objects: they are not decoded for this.
    told = [one for one in calls if (raw := one.raw_arguments) is not None and (type(raw) is not str or raw[:1] != "{")]
    bare = [one for one in told if one.span >= 0 and one.call_id and _is_bare(one)]
    if not bare:
        return
    talks = Talks(run)
    for call in bare:
        at = talks.next_of(call.agent, call.start_ns)
        if at is not None:
            asked = (part for message in talks.heard(at) for part in message.parts if part.type == "tool_call")
            part = next((part for part in asked if part.id == call.call_id), None)
            if part is not None:
                _adopt(call, part)


def fill_arguments(talks: Talks, requests: Sequence[Request]) -> None:
    """Give requests that are recorded without arguments those with which the conversation repeats them.

    OpenLLMetry writes `{}` for whatever a model of Bedrock's asks for in a stream. An id that stands for several
    calls of the conversation tells nothing.
    """
    empty = [one for one in requests if one.part.id is not None and not one.part.value]
    if not empty:
        return
    repeated: dict[tuple[int, str | None, str | None], list[object]] = {}
    for agent, at in talks.last_heard().items():
        for part in (part for message in talks.heard(at) for part in message.parts if part.type == "tool_call"):
            repeated.setdefault((agent, part.id, part.name), []).append(part.value)
    for request in empty:
        found = repeated.get((request.agent, request.part.id, request.part.name), ())
        if len(found) == 1 and found[0]:
            request.part = msgspec.structs.replace(request.part, value=found[0])


def _is_bare(call: ToolCall) -> bool:
    return call.arguments is not None and not isinstance(call.arguments, Mapping)


def _alike(one: object, other: object) -> bool:
    """Equal, or one is the other as Python prints it."""
    return one == other or str(one) == str(other)


def _adopt(call: ToolCall, part: Part) -> None:
    """Take from a request the model's id and what the span does not say; a bare value gets its argument's name back."""
    call.call_id = part.id or call.call_id
    held = call.raw_arguments
    asked = part.value
    if asked is None or is_whole(held):
        return
    if held is None or call.arguments_state != "present":
        call.raw_arguments = asked
    elif not isinstance(call.arguments, Mapping):
        asked = call.memo.json(asked) if call.memo else asked
        bare = bare_of(asked)
        if (bare is not None and _alike(call.arguments, bare)) or _alike(call.arguments, asked):
            call.raw_arguments = asked


def is_whole(arguments: object) -> bool:
    """The arguments are an object, as far as can be seen without decoding them."""
    if type(arguments) is str:
        return arguments[:1] == "{" and arguments[-1:] == "}"
    return type(arguments) is dict or isinstance(arguments, Mapping)
