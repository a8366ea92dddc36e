"""Agents, hand-offs and retrievals of a run, each counted once however many spans carry it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from spanwise import conventions
from spanwise.conventions._genai_scopes import LANGCHAIN_JS
from spanwise.conventions._langgraph import NAMELESS, asker_in
from spanwise.conventions._traceloop_llama_index import LLAMA_INDEX
from spanwise.model.calls import Agent, Handoff, Retrieval, ToolCall
from spanwise.model.content import RetrievalFields, is_cut
from spanwise.model.effects import passes_control
from spanwise.model.span import Span
from spanwise.model.trace import Run

_STATE = "traceloop.entity.output"
_TARGET_KEYS = (
    *("agent_name", "agent", "to_agent", "target", "target_agent", "next_agent"),
    *("agentName", "toAgent", "targetAgent", "nextAgent"),
)
_UNDONE = frozenset({"not_run", "error", "retry"})
_TRANSFERS = ("transfer_to_", "handoff_to_", "transfer_back_to_")


def agents(run: Run) -> tuple[Agent, ...]:
    """The agents by first appearance; a wrapper of the same name is the same agent, a nameless one is none."""
    spans: dict[str, list[int]] = {}
    kinds, memo = run.by_kind, run.trace.memo
    for span in kinds.get("agent", ()):
        name = conventions.agent_name(span.raw, memo, span.dialect)
        if name in spans:
            spans[name].append(span.index)
        elif name:
            spans[name] = [span.index]
    if not spans:
        _add_named_in_passing(run, spans)
    if "workflow" not in kinds or not (passing := _passing(run)):
        return tuple([Agent(name=name, spans=tuple(indices)) for name, indices in spans.items()])
    for span in kinds["workflow"]:
        if span.raw.name in passing:
            spans.setdefault(span.raw.name, []).append(span.index)
    found = [Agent(name=name, spans=tuple(sorted(indices))) for name, indices in spans.items()]
    return tuple(sorted(found, key=lambda agent: agent.spans[0]))


def _add_named_in_passing(run: Run, spans: dict[str, list[int]]) -> None:
    """Adds the agents that only spans of other kinds name."""
    for span in run.spans:
        name = span.attributes.get("gen_ai.agent.name")
        node = span.kind == "workflow" and span.attributes.get("gen_ai.operation.name") == "invoke_agent"
        if name is None and span.raw.scope.name == LLAMA_INDEX:  # of a stream only the step before it names the agent
            name = conventions.agent(span.raw, run.trace.memo, span.dialect).name
        if isinstance(name, str) and name not in ("", NAMELESS) and not node:  # a node is said to be one, too
            spans.setdefault(name, []).append(span.index)


def _passing(run: Run) -> set[str]:
    """Who passed control by a tool, and to whom: what bears such a name is an agent, though its own span does not tell.

    A graph of LangGraph in JavaScript that passes control ends without a word.
    """
    calls = [call for call in run.tool_calls if passes_control(call.name) and call.status not in _UNDONE]
    passed = [_from_call(run, call) for call in calls]
    return {name for one in passed for name in (one.source, one.target) if name}


def agent_name(run: Run, index: int) -> str | None:
    """The name of the agent that a span belongs to: its nearest agent span that has a name."""
    spans = run.trace.spans
    while index >= 0:
        span = spans[index]
        if span.kind == "agent":
            name = conventions.agent_name(span.raw, run.trace.memo, span.dialect)
            if name:
                return name
        index = span.parent
    return None


def handoffs(run: Run) -> tuple[Handoff, ...]:
    """The hand-offs, from their own spans, else from transfer tools, else from agents that follow each other."""
    own = run.by_kind.get("handoff")
    if own:
        return tuple(_from_span(run, span) for span in own)
    calls = run.tool_calls
    names = set(run.tally.names) if len(run.work) == len(calls) else {call.name for call in calls}
    transfers = [name for name in names if passes_control(name)]
    if transfers:
        by_tool = [call for call in calls if call.name in transfers and call.status not in _UNDONE]
        if by_tool:
            passed = [_from_call(run, call) for call in by_tool]
            return tuple(one for one in passed if not _led_nowhere(run, one))
    return tuple(_from_siblings(run))


def _led_nowhere(run: Run, passed: Handoff) -> bool:
    """Control was passed to nobody: the target has no span here, nor has any other agent behind the one that passed it.

    Only where all spans are here and the agent that passed it left one: then the next would have, too.
    """
    if passed.span < 0 or passed.target is None or not run.completeness.complete:
        return False
    names = {_plain(agent.name) for agent in run.agents if any(run.trace.spans[n].kind == "agent" for n in agent.spans)}
    if _plain(passed.source or "") not in names or _plain(passed.target) in names:
        return False
    return _next_agent(run, run.trace.spans[passed.span], passed.source) is None


def _plain(name: str) -> str:
    """A name without what tools' names cannot hold."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _from_span(run: Run, span: Span) -> Handoff:
    said = conventions.handoff(span.raw, run.trace.memo)
    source = (said.source if said else None) or agent_name(run, span.parent)
    target = (said.target if said else None) or _next_agent(run, span, source)
    return Handoff(source=source, target=target, span=span.index, span_id=span.span_id)


def _from_call(run: Run, call: ToolCall) -> Handoff:
    said = conventions.handoff(run.trace.spans[call.span].raw, run.trace.memo) if call.span >= 0 else None
    source = agent_name(run, call.agent)
    if said is not None and said.source is not None and source in (None, agent_name(run, run.root)):
        source = said.source  # the nearest agent is no nearer than the graph that holds all of them
    source = source or _agent_before(run, call) or _asker(run, call)
    target = said.target if said is not None else None
    arguments = call.arguments
    if target is None and isinstance(arguments, Mapping):
        given = cast("Mapping[str, object]", arguments)
        target = next((value for key in _TARGET_KEYS if isinstance(value := given.get(key), str)), None)
    if target is None:
        lowered = call.name.lower()
        target = next((call.name[len(p) :] for p in _TRANSFERS if lowered.startswith(p)), None)
    if target is None or target == "agent":
        target = _next_agent(run, run.trace.spans[call.span], source) if call.span >= 0 else None
    return Handoff(source=source, target=target, span=call.span, span_id=call.span_id)


def _asker(run: Run, call: ToolCall) -> str | None:
    """Who asked for the call, by the state that a step of LangChain in JavaScript returned: no agent has a span."""
    if call.call_id is None:
        return None
    memo, mark = run.trace.memo, f'"{call.call_id}"'
    for span in run.by_kind.get("other", ()):
        state = span.attributes.get(_STATE) if span.raw.scope.name == LANGCHAIN_JS else None
        if isinstance(state, str) and mark in state and (name := asker_in(memo.json(state), call.call_id)):
            return name
    return None


def _agent_before(run: Run, call: ToolCall) -> str | None:
    """The agent whose step ended last before a call that stands beside the agents' steps, as in LlamaIndex.

    The call's span may stand in a step of its own there.
    """
    if call.span < 0:
        return None
    own = run.trace.spans[call.span].parent
    beside = (own, run.trace.spans[own].parent) if own >= 0 else (own,)
    steps = run.by_kind.get("agent", ())
    before = [step for step in steps if step.parent in beside and step.end_ns <= call.start_ns]
    last = max(before, key=lambda span: span.end_ns, default=None)
    return conventions.agent_name(last.raw, run.trace.memo, last.dialect) if last is not None else None


def _next_agent(run: Run, span: Span, source: str | None) -> str | None:
    """The first agent that starts after a span and is another one."""
    for other in run.spans:
        if other.kind == "agent" and other.start_ns >= span.start_ns and other.index != span.agent:
            name = conventions.agent_name(other.raw, run.trace.memo, other.dialect)
            if name and name != source:
                return name
    return None


def _from_siblings(run: Run) -> list[Handoff]:
    """Agents that follow each other under one workflow, where a hand-off framework leaves no span for it."""
    out: list[Handoff] = []
    previous: dict[int, tuple[Span, str]] = {}
    for span in run.by_kind.get("agent", ()):
        if "openai_agents" not in span.raw.scope.name:
            continue
        name = conventions.agent_name(span.raw, run.trace.memo, span.dialect)
        if not name:
            continue
        before = previous.get(span.parent)
        if before is not None and before[1] != name and before[0].end_ns <= span.start_ns:
            out.append(Handoff(source=before[1], target=name, span=span.index, span_id=span.span_id))
        previous[span.parent] = (span, name)
    return out


def retrievals(run: Run) -> tuple[Retrieval, ...]:
    """The retrievals by start; a retriever that only calls another one is the same retrieval."""
    spans = run.trace.spans
    out: list[Retrieval] = []
    by_span: dict[int, Retrieval] = {}
    for span in run.trace.paced(run.by_kind.get("retrieval", ())):
        said = conventions.retrieval(span.raw, run.trace.memo, span.dialect)
        if said.query is not None and is_cut(said.query):
            said.query = None
        held = by_span.get(span.holder) if span.holder >= 0 and spans[span.holder].kind == "retrieval" else None
        if held is None:
            held = _retrieval(span, said)
            out.append(held)
        else:
            held.query = held.query or said.query
            held.documents = held.documents or said.documents
            held.failed = held.failed or conventions.failed(span.raw, span.dialect)
        by_span[span.index] = held
    return tuple(out)


def _retrieval(span: Span, said: RetrievalFields) -> Retrieval:
    return Retrieval(
        query=said.query,
        documents=said.documents,
        failed=conventions.failed(span.raw, span.dialect),
        span=span.index,
        span_id=span.span_id,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
    )
