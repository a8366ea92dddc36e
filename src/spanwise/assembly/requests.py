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

from spanwise.assembly.asked import Request
from spanwise.assembly.results import Talks, result_parts
from spanwise.conventions._langchain import TOOL_CLASSES
from spanwise.model.calls import ToolCall
from spanwise.model.canonical import canonical
from spanwise.model.content import Part, state_of
from spanwise.model.effects import is_control, passes_control
from spanwise.model.raw import STATUS_ERROR
from spanwise.model.trace import Run

_HOPS = 16
_CLASSES = TOOL_CLASSES | {"FunctionTool"}
"""What tools are called that returned nothing which bears their name; OpenLLMetry writes LlamaIndex's so."""
_UNSPOKEN = re.compile(r"[^a-z0-9_-]+")


def join(calls: list[ToolCall], requests: Sequence[Request], talks: Talks) -> list[Request]:
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
    return _join_by_name([call for call in calls if id(call) not in taken], requests, left, talks) if left else left


def _join_by_name(
    calls: list[ToolCall], requests: Sequence[Request], left: list[Request], talks: Talks
) -> list[Request]:
    """Lay the requests that are left against the calls that are; one that was recorded before is no other."""
    waiting: dict[str, list[ToolCall]] = {}
    for call in calls:
        waiting.setdefault(call.name, []).append(call)
    open_ = {id(request) for request in left}
    met = {_signature(request): request for request in requests if id(request) not in open_}
    loose: list[Request] = []
    for request in left:
        call = _take(waiting.get(request.part.name or ""), request, talks)
        if call is not None:
            _adopt(call, request.part)
        elif request.part.id is None or _is_new(request, met.get(_signature(request)), talks):
            loose.append(request)
        met[_signature(request)] = request
    loose = _join_changed(waiting, loose) if loose else loose
    return _join_renamed([call for line in waiting.values() for call in line], requests, loose) if loose else loose


def _is_new(request: Request, before: Request | None, talks: Talks) -> bool:
    """No request like it was recorded before; or the agent's model was told of that call, and asked once more.

    Some ids begin anew to count in every step, so that a repeated call has the id of the first.
    """
    if before is None:
        return True
    if not talks.by_models or before.agent != request.agent or before.group >= request.group:
        return False
    first, again = (
        sum(part.id == request.part.id for part in result_parts(talks.told(one.group))) for one in (before, request)
    )
    return again > first


def _join_changed(waiting: Mapping[str, list[ToolCall]], loose: Sequence[Request]) -> list[Request]:
    """Lay requests against calls without an id for which nobody asked, if they give values to the same arguments.

    Agno makes values out of words: `"none"` becomes None, `"true"` True.
    """
    left: list[Request] = []
    for request in loose:
        line = waiting.get(request.part.name or "", [])
        call = next((one for one in line if _is_changed(one, request)), None)
        if call is None:
            left.append(request)
        else:
            line.remove(call)
            call.call_id = request.part.id
    return left


def _is_changed(call: ToolCall, request: Request) -> bool:
    given, asked = call.arguments, call.memo.json(request.part.value) if call.memo else request.part.value
    if call.call_id is not None or call.agent != request.agent or call.start_ns < request.at_ns:
        return False
    return _names(given) != () and _names(given) == _names(asked)


def _names(arguments: object) -> tuple[object, ...]:
    """The names of the arguments, whatever their order."""
    return tuple(sorted(cast("Mapping[str, object]", arguments))) if isinstance(arguments, Mapping) else ()


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
    """The call was made after the request, and bears its name in other words; or a name like it, with its arguments.

    CrewAI offers "Search the web" to the model as `search_the_web`.
    """
    name, given = (request.part.name or "").lower(), request.part.value
    own = _UNSPOKEN.sub("_", call.name.lower())
    if call.start_ns < request.at_ns:
        return False
    akin = name in own or own in name or call.name.partition(".")[0] in _CLASSES
    return own == name or (akin and isinstance(given, Mapping) and call.arguments == given)


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


def _take(waiting: list[ToolCall] | None, request: Request, talks: Talks) -> ToolCall | None:
    """The first waiting call whose arguments fit the request, taken out of the line."""
    if not waiting:
        return None
    for at, call in enumerate(waiting[:_HOPS]):
        if _fits(call, request, talks):
            return waiting.pop(at)
    return None


def _fits(call: ToolCall, request: Request, talks: Talks) -> bool:
    """The span's arguments are the requested ones, or the only value among them, or one of the two does not tell.

    Two ids that differ may still name one call (a framework's and the provider's), but only where the arguments say so.
    """
    part = request.part
    asked = call.memo.json(part.value) if call.memo is not None else part.value
    # Of a streamed request Agno keeps what came first; others mask what was asked, or cut it.
    untold = asked is None or asked == "" or (isinstance(asked, str) and state_of(asked, asked) != "present")
    if (call.call_id is None or part.id is None) and (untold or call.arguments_state != "present"):
        return not (untold and _was_asked_again(call, request, talks))
    if call.arguments is not None and _alike(call.arguments, asked):
        return True
    bare = bare_of(asked)
    return bare is not None and (_alike(call.arguments, bare) or _is_decoded(call, bare))


def _was_asked_again(call: ToolCall, request: Request, talks: Talks) -> bool:
    """The model was told what became of the request before the call began: it was refused, as broken JSON is."""
    at = talks.answer_to(request.agent, request.at_ns, request.group) if talks.by_models else None
    return at is not None and talks.span(at).end_ns <= call.start_ns and _is_told(talks, at, request.part.id)


def _is_told(talks: Talks, at: int, call_id: str | None) -> bool:
    """What a model was sent holds a result of that call, or one that does not say of which."""
    return any(part.id in (None, call_id) for part in result_parts(talks.told(at)))


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
        if len(found) == 1 and found[0] is not None:
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
    if asked is None or (is_whole(held) and not _may_be_bare(asked)):
        return
    if held is None or call.arguments_state != "present":
        call.raw_arguments = asked
        return
    asked = call.memo.json(asked) if call.memo else asked
    bare = bare_of(asked)
    fits = bare is not None and (_alike(call.arguments, bare) or _is_decoded(call, bare))
    if fits or (not isinstance(call.arguments, Mapping) and _alike(call.arguments, asked)):
        call.raw_arguments = asked


def _may_be_bare(asked: object) -> bool:
    """Whether, as far as can be seen without decoding it, an argument is JSON text, which looks like the arguments."""
    if isinstance(asked, str):
        return '"{' in asked
    bare = bare_of(asked)
    return isinstance(bare, str) and bare[:1] == "{"


def _is_decoded(call: ToolCall, bare: object) -> bool:
    """The call's arguments are what the text of the only one says."""
    return isinstance(bare, str) and call.memo is not None and call.memo.json(bare) == call.arguments != bare


def is_whole(arguments: object) -> bool:
    """The arguments are an object, as far as can be seen without decoding them."""
    if type(arguments) is str:
        return arguments[:1] == "{" and arguments[-1:] == "}"
    return type(arguments) is dict or isinstance(arguments, Mapping)
