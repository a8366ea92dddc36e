"""Logical tool calls: what the spans show, joined with what the messages say.

One call may have left several spans (a wrapper, a client, a server), one span, or none: an instrumentation may not
know tools, the model may have invented a name, the provider may have run the tool itself. So calls are taken from the
spans first, nested doubles merged, and then the requests in the model's messages are laid against them: by call id;
without ids by name, arguments and order. A request that meets no span becomes a call that is known from messages
only. Messages are read only as far as needed: outputs of every model call (they are short), inputs (they repeat the
conversation so far) only while a result is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spanwise import conventions
from spanwise.assembly import llms, plain
from spanwise.assembly.asked import Request, requests_of, tells_refusals, with_refused
from spanwise.assembly.outputs import judge_outputs
from spanwise.assembly.requests import adopt_earlier, fill_arguments, is_whole, join, with_handoff_spans
from spanwise.assembly.results import (
    Talks,
    named_result,
    pop_result,
    recover_by_step,
    results_by_step,
    results_of,
    take_result,
)
from spanwise.assembly.spanned import span_calls
from spanwise.assembly.verdicts import says_no_such_tool, says_not_executed
from spanwise.model.calls import ToolCall
from spanwise.model.content import Part
from spanwise.model.effects import is_control, says_output_taken
from spanwise.model.offers import by_name
from spanwise.model.span import Span
from spanwise.model.trace import Run


def tool_calls(run: Run) -> tuple[ToolCall, ...]:
    """The logical tool calls of a run, by start."""
    found = span_calls(run)
    if not _all_have_spans(run, found):
        refusals, together = tells_refusals(run), _start_together(found)
        requests = with_refused(run, requests_of(run)) if refusals else requests_of(run)
        talks = Talks(run)
        loose = with_handoff_spans(run, found, join(found, requests, talks)) if requests else []
        unsaid = -1 if plain.READER is None else plain.READER.unsaid(found)
        if loose or (unsaid & 1 and any(call.raw_result is None for call in found)):
            _recover(run, found, loose, talks)
            unsaid = -1
        if unsaid & 2:
            adopt_earlier(run, found)
        if requests or together:  # spans are by start as they are
            _order(run, found, requests)
    return tuple(found)


def _place(found: Sequence[ToolCall], rank: Mapping[str, int]) -> None:
    """Where an agent's record says what was asked, but not when: a call without a span goes to the one before it."""
    at_ns = 0
    asked = [(rank[call.call_id], call) for call in found if call.call_id is not None and call.call_id in rank]
    for _, call in sorted(asked, key=lambda one: one[0]):
        if call.span < 0:
            call.start_ns = call.end_ns = max(at_ns, call.start_ns)
        at_ns = max(at_ns, call.start_ns)


def _place_among(found: Sequence[ToolCall], requests: Sequence[Request]) -> set[str | None]:
    """While an answer is streamed tools may run: a call without a span goes to the next one asked for with it.

    The ids of those that did.
    """
    ran = {call.call_id: call.start_ns for call in found if call.span >= 0 and call.call_id is not None}
    silent = {call.call_id: call for call in found if call.span < 0 and call.call_id is not None}
    following: dict[int, int] = {}
    placed = set[str | None]()
    for request in reversed(requests):
        if request.part.id in ran:
            following[request.group] = ran[request.part.id]
        elif request.part.id in silent and request.group in following:
            call = silent[request.part.id]
            if following[request.group] <= call.start_ns:
                call.start_ns = call.end_ns = following[request.group]
                placed.add(request.part.id)
    return placed


def _order(run: Run, found: list[ToolCall], requests: Sequence[Request]) -> None:
    """By start; calls that start together in the order in which the model asked for them, else in that of their ends.

    By a clock of whole milliseconds parallel calls start at once: those that take as long as each other end in order.
    """
    rank = {request.part.id: at for at, request in enumerate(requests) if request.part.id}
    placed = set[str | None]()
    if not run.llm_groups:
        _place(found, rank)
    elif any(call.span < 0 for call in found):
        placed = _place_among(found, requests)

    def place(call: ToolCall) -> tuple[int, bool, int]:
        told = call.span < 0 and call.call_id not in placed  # these stand in order, whatever else has their ids
        return call.start_ns, told, 0 if told else rank.get(call.call_id or "", len(rank))

    found.sort(key=place)
    if not requests:
        found.sort(key=lambda call: (call.start_ns, sum(1 for _ in run.trace.ancestors(call.span)), call.end_ns))


def _start_together(found: Sequence[ToolCall]) -> bool:
    """Some calls start at once."""
    return len({call.start_ns for call in found}) < len(found)


def _all_have_spans(run: Run, found: list[ToolCall]) -> bool:
    """Whether it is plain, without decoding a message, that the model asked for these calls and for no others.

    Each answer's text, or the ids beside it, names as many calls as it requests, in the order in which they ran; every
    one must be whole, none may start when another does, or have been refused. Where this fails (agents at work side by
    side, calls without ids, tools of the provider), the messages are read.
    """
    if not run.llm_groups:
        return False
    told = llms.have_spans(run, found, _asking, is_whole)
    if told is None:
        return not _start_together(found) and not tells_refusals(run) and _are_asked_for(run, found)
    return told


def _are_asked_for(run: Run, found: list[ToolCall]) -> bool:
    at = 0
    for group in run.trace.paced(run.llm_groups):
        asking = None
        for span in reversed(group) if len(group) > 1 else group:
            said = _asking(span)
            if said is None:
                return False
            if asking is None and ("tool_call" in said if type(said) is str else said):
                asking = said
        if asking is None:
            continue
        if isinstance(asking, str):
            asked = asking.count('"type":"tool_call"') or asking.count('"type": "tool_call"')
            fits = asked > 0 and _are_named(found[at : at + asked], asked, asking)
        else:
            asked = len(asking)
            fits = _have_ids(found[at : at + asked], asking)
        if not fits:
            return False
        at += asked
    return at == len(found)


def _asking(span: Span) -> str | Sequence[str] | None:
    """The text in which a model asks for calls, or the ids of those calls; None where neither is plain to see."""
    said = conventions.answer_text(span.raw, span.dialect)
    return conventions.call_ids(span.raw, span.dialect) if said is None else said


def _are_named(calls: list[ToolCall], asked: int, text: str) -> bool:
    """Whether an answer's text asks for exactly these calls, and they need nothing that it says."""
    if len(calls) < asked or "server_tool_call" in text:
        return False
    if asked > 1 and len({call.call_id for call in calls}) < asked:
        return False
    for call in calls:
        call_id = call.call_id
        if call_id is None or call.raw_result is None or not is_whole(call.raw_arguments):
            return False
        if f'"id":"{call_id}"' not in text and f'"id": "{call_id}"' not in text:
            return False
    return True


def _have_ids(calls: list[ToolCall], ids: Sequence[str]) -> bool:
    """Whether these are the calls with these ids, in their order, and they need nothing that was said with them."""
    if [call.call_id for call in calls] != ids:
        return False
    return all(call.raw_result is not None and is_whole(call.raw_arguments) for call in calls)


def _recover(run: Run, calls: list[ToolCall], loose: Sequence[Request], talks: Talks) -> None:
    """Fill missing results from the messages that later model calls were given, and add the calls that left no span."""
    fill_arguments(talks, loose)
    wanted = [(call.call_id, call.agent, call.start_ns) for call in calls if call.call_id and call.raw_result is None]
    wanted += [(request.part.id, request.agent, request.at_ns) for request in loose if request.part.id]
    results, listening = results_of(talks, wanted)
    for call in calls:
        if call.raw_result is None and call.call_id is not None:
            part = pop_result(results, call.call_id, call.agent)
            if part is not None:
                take_result(call, part)
    if any(call.raw_result is None for call in calls):
        recover_by_step(talks, calls)
    told = _told_by_step(talks, loose, results) if loose and not calls else {}
    spanned = {call.name for call in calls if call.span >= 0} if run.completeness.complete else set[str]()
    for request in loose:
        part = pop_result(results, request.part.id, request.agent) if request.part.id else _told_behind(request.part)
        renamed = told.get(id(request))
        if part is None and renamed is None:
            part = named_result(talks, (request.part, request.agent, request.at_ns, request.group))
        call = _message_call(run, request, part or renamed, listening)
        call.call_id = renamed.id or call.call_id if renamed is not None else call.call_id
        if part is None and request.part.id is not None and call.name in spanned:
            call.status = "not_run"  # all spans are here, and those who ran this tool left one
        calls.append(call)
    judge_outputs(run, [call for call in calls if call.span < 0])


def _told_behind(asked: Part) -> Part | None:
    """The result that the message itself tells."""
    return Part("tool_result", value=asked.text, error=asked.error) if asked.text else None


def _told_by_step(talks: Talks, loose: Sequence[Request], results: Mapping[str, Sequence[object]]) -> dict[int, Part]:
    """For the requests that no result answers by its id, by their place in memory, the result by order."""
    silent = [one for one in loose if not one.part.id or one.part.id not in results]
    known = {one.part.id for one in loose}
    found = results_by_step(talks, [(one.part, one.agent, one.at_ns, one.group) for one in silent], known)
    return {id(silent[place]): part for place, part in found.items()}


def _message_call(run: Run, request: Request, part: Part | None, listening: Mapping[int, int]) -> ToolCall:
    name = request.part.name or ""
    call = ToolCall(
        name=name,
        raw_arguments=request.part.value,
        call_id=request.part.id,
        control=is_control(name),
        origin="message",
        memo=run.trace.memo,
        agent=request.agent,
        start_ns=request.at_ns,
        end_ns=request.at_ns,
    )
    if part is not None:
        take_result(call, part)
        call.control = call.control or says_output_taken(call.raw_result)
    unanswered = part is None and request.part.id is not None
    refused = part is not None and (says_no_such_tool(name, part.value) or says_not_executed(call))
    told_later = unanswered and listening.get(request.agent, -1) > request.group
    if refused or told_later or (call.status != "ok" and _is_invented(run, name)):
        call.status, call.error = "not_run", None
    return call


def _is_invented(run: Run, name: str) -> bool:
    """The model was offered no such tool. What it was offered stands in long texts, so few calls are asked about."""
    offered = () if is_control(name) else run.tool_definitions or ()
    return bool(offered) and name not in by_name(offered, (), (name,))
