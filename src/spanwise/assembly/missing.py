"""What the spans of a run do not tell, why, and the switch that would make them tell it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from spanwise import conventions
from spanwise.assembly import cuts, endings, llms, texts
from spanwise.conventions import _traceloop_openai_agents, litellm, quarkus
from spanwise.conventions._genai_scopes import WITHOUT_REQUESTS, client_switch, may_have_asked
from spanwise.conventions._usage_switches import leaves_cached_out, usage_switch
from spanwise.model.calls import Missing, ToolCall
from spanwise.model.span import Span
from spanwise.model.trace import Run

_NOTHING = Missing(
    field="spans",
    why="No span here follows a known convention: the agent framework is not instrumented, or its spans were filtered "
    "out.",
    switch="Instrument the framework (`spanwise doctor` lists how).",
)
_NO_CALL = Missing(
    field="llm_calls",
    why="No model call left a span.",
    switch="Instrument the model client as well as the agent framework.",
)
_STOPPED = " (A run that a guardrail stops before a model is asked looks the same.)"
_UNANSWERED = Missing(field="llm_calls", why="The transcript holds no message of an assistant.")
_CREWAI = "opentelemetry.instrumentation.crewai.instrumentation"
_HAYSTACK = "openinference.instrumentation.haystack"
_AGNO = "opentelemetry.instrumentation.agno"
_OVERCOUNTED = "CrewAI's total counts more than this run: other agents or earlier runs used the same model objects."
_UNKNOWN = frozenset({"other"})
_EMBEDDINGS = frozenset({"embedding", "other"})
_EMBEDDED = tuple(
    Missing(field=field, why="Texts were embedded here, and no model was asked anything.")
    for field in ("query", "answer", "llm_calls", "tokens")
)
_SEARCHES = frozenset({"retrieval", "rerank", "embedding", "other"})
_USAGE_SWITCH = "Turn on usage reporting of the model client (for streams: include_usage)."
_LEFT = ", though others have theirs: it failed, or its stream was given up."
_COUNTING = frozenset({"llm", "agent"})
_UNCACHED = Missing(
    field="tokens",
    why="The input is counted without what a cache of the provider gave or took, which the instrumentation leaves out.",
)
_STRUNG = "The prompt is recorded as one text, in which the question cannot be told from the instructions."
_CUT = "cut in the middle: a limit on the length of attributes is set."
_THREAD = "gen_ai.thread.id"
_STREAMED = "Stream the run (`runs.stream`)."
_WAITED = "Use `runs.create_and_process`, or stream the run (`runs.stream`)."
_SERVED = "The agent ran in the service, which tells what was called of streamed runs only."
_BY_ITSELF = "Google's client calls functions by itself"
_OVERWRITTEN = "LiteLLM wrote the requests onto the span around them, the later over the earlier."


def missing(run: Run) -> tuple[Missing, ...]:
    """One entry per field that cannot be read."""
    if not _speaks(run):
        return (_NOTHING,)
    if run.by_kind.keys() <= _EMBEDDINGS:
        return _EMBEDDED
    return tuple(found for read in _FIELDS.values() if (found := read(run)) is not None)


def lacking(run: Run, fields: Sequence[str]) -> Missing | None:
    """The entry of the first of some fields that cannot be read; no other field is looked at."""
    if not _speaks(run):
        return _NOTHING if "spans" in fields else None
    if run.by_kind.keys() <= _EMBEDDINGS:
        return next((one for field in fields for one in _EMBEDDED if one.field == field), None)
    for field in fields:
        found = None if field == "spans" else _FIELDS[field](run)
        if found is not None:
            return found
    return None


def _speaks(run: Run) -> bool:
    """Some span follows a known convention."""
    return not run.by_kind.keys() <= _UNKNOWN


def _query(run: Run) -> Missing | None:
    if run.query is not None:
        return None
    if texts.recorded_query(run):
        return Missing(field="query", why="What the user asked was removed from the spans.")
    if cuts.cut_ones(run)[0]:
        return Missing(field="query", why=f"What the user asked was {_CUT}", switch=cuts.LENGTH_SWITCH)
    if _asks_nothing(run):
        return Missing(field="query", why="The run was asked nothing: none of its messages is a user's.")
    if why := endings.unasked(run):
        return Missing(field="query", why=f"{why}: its input would tell the question.")
    if any(quarkus.is_strung(span.raw) for group in run.llm_groups[:1] for span in group):
        return Missing(field="query", why=_STRUNG)
    why = f"No span records what the user asked.{_if_stopped(run)}"
    return Missing(field="query", why=why, switch=run.content_switch)


def _asks_nothing(run: Run) -> bool:
    """What the first model call was sent is recorded, and no user said any of it: instructions alone began the run."""
    sent = llms.messages(run, run.llm_groups[0]).input if run.llm_groups else None
    return any(message.text for message in sent or ()) and not any(
        message.role in texts.USERS for message in sent or ()
    )


def _answer(run: Run) -> Missing | None:
    if run.answer is not None or endings.ended_in_failure(run):
        return None
    if texts.recorded_answer(run):
        return Missing(field="answer", why="The answer was removed from the spans.")
    if cuts.cut_ones(run)[1]:
        return Missing(field="answer", why=f"The answer was {_CUT}", switch=cuts.LENGTH_SWITCH)
    if why := endings.unanswered(run):
        return Missing(field="answer", why=why)
    if run.llm_groups and cuts.lost_attributes(run.llm_groups[-1]):
        why = "The last model call lost attributes at the limit of the SDK, its answer among them."
        return Missing(field="answer", why=why, switch=cuts.COUNT_SWITCH)
    if run.llm_groups and endings.was_left(run, run.llm_groups[-1]):
        return Missing(field="answer", why=f"The last model call has no answer{_LEFT}")
    switch = _client_switch(run) or run.content_switch
    return Missing(field="answer", why=f"No span records the final answer.{_if_stopped(run)}", switch=switch)


def _if_stopped(run: Run) -> str:
    """What else than a switch that is off may be why a run without any call tells nothing."""
    return _STOPPED if endings.may_be_unasked(run) else ""


def _client_switch(run: Run) -> str:
    """What to install where the model calls' spans never have answers and tokens."""
    counted = any(call.usage.input_tokens is not None for call in run.llm_calls)
    return "" if counted or not run.llm_groups else client_switch(run.llm_groups[-1][-1].raw)


def _arguments(run: Run) -> Missing | None:
    calls = run.trace.paced(run.tool_calls)
    bare = [call for call in calls if not call.control and call.arguments_state != "present"]
    cut = [call.name for call in bare if call.arguments_state == "truncated"]
    bare = [call for call in bare if call.arguments_state != "truncated"]
    if not bare and not cut:
        return None
    if not bare:
        why = f"The arguments of {_count(cut)} are no whole JSON: the model broke off, or their text was cut."
        return Missing(field="arguments", why=why)
    why = f"Arguments are not recorded for {_count([call.name for call in bare])}."
    refused = all(call.status == "not_run" and call.result_state == "present" for call in bare)
    return Missing(field="arguments", why=why, switch="" if refused else _switch_of(run, bare))


def _results(run: Run) -> Missing | None:
    calls = run.trace.paced(run.tool_calls)
    silent = [
        call
        for call in calls
        if not call.control and call.status not in {"error", "not_run"} and call.result_state != "present"
    ]
    if not silent:
        return None
    paused = [call.name for call in silent if _is_paused(run, call)]
    silent = [call for call in silent if not _is_paused(run, call)]
    if not silent:
        return Missing(field="results", why=f"The run was paused in {_count(paused)}: no result followed.")
    last = {(part.id, part.name) for part in endings.asked_last(run)}
    names = [call.name for call in silent if call.origin == "span" or (call.call_id, call.name) not in last]
    if not names:
        return Missing(field="results", why="The run ended on a request for tools: no result followed.")
    cut = [call.name for call in silent if call.result_state == "truncated"]
    why = f"The results of {_count(cut)} were cut." if cut else f"Results are not recorded for {_count(names)}."
    known = {_scope(run, call) for call in calls if call.span >= 0 and call.result_state == "present"}
    is_on = not cut and known and all(call.span < 0 or _scope(run, call) in known for call in silent)
    return Missing(field="results", why=why, switch="" if is_on else _switch_of(run, silent))


def _switch_of(run: Run, calls: Sequence[ToolCall]) -> str:
    """What would record the content of these calls: another dialect than that of the run's first span may lack it."""
    own = next((run.trace.spans[call.span] for call in calls if call.span >= 0), None)
    if own is None or cuts.limit_of(run):
        return run.content_switch
    return conventions.content_switch(own.raw, some=run.query is not None)


def _scope(run: Run, call: ToolCall) -> str:
    return run.trace.spans[call.span].raw.scope.name


def _is_paused(run: Run, call: ToolCall) -> bool:
    """The call waits for a human, whose word starts it anew in a later run."""
    if call.span < 0 or call.status != "unknown":
        return False
    span = run.trace.spans[call.span]
    return conventions.tool(span.raw, run.trace.memo, span.dialect).paused


def _llm_calls(run: Run) -> Missing | None:
    if run.llm_calls:
        return None
    if run.llm_groups:
        why = f"{_BY_ITSELF}: one span stands for several model calls."
        switch = "Turn automatic function calling off, or use an instrumentation that records each call."
        return Missing(field="llm_calls", why=why, switch=switch)
    if _is_overwritten(run):
        return Missing(field="llm_calls", why=_OVERWRITTEN, switch=litellm.REQUEST_SWITCH)
    if _is_served(run):
        return Missing(field="llm_calls", why=_SERVED, switch=_STREAMED)
    if why := endings.unasked(run):
        return Missing(field="llm_calls", why=f"{why}.")
    if not run.timed:
        return _UNANSWERED
    return replace(_NO_CALL, why=f"{_NO_CALL.why}{_if_stopped(run)}")


def _is_served(run: Run) -> bool:
    """The agent ran in Azure's service, of which its requests tell."""
    return any(_THREAD in span.attributes for span in run.spans)


def _is_overwritten(run: Run) -> bool:
    return any(litellm.is_shared(span.raw) for span in run.by_kind.get("workflow", ()))


def _tool_calls(run: Run) -> Missing | None:
    if not run.tool_calls and any(llms.may_have_called(run, group[0]) for group in run.llm_groups):
        why = f"{_BY_ITSELF}, of which OpenLLMetry records nothing."
        return Missing(
            field="tool_calls", why=why, switch="Install opentelemetry-instrumentation-google-genai instead."
        )
    if not run.tool_calls and any(texts.asks_unsaid(run, group) for group in run.llm_groups):
        why = "A model asked for tools; its span does not say for which, nor what it gave them."
        spans = [span for group in run.llm_groups for span in group]
        if any(_traceloop_openai_agents.is_request(span.attributes) for span in spans):
            return Missing(field="tool_calls", why=why, switch=_traceloop_openai_agents.SWITCH)
        beside = any(span.raw.scope.name in WITHOUT_REQUESTS for span in spans)
        return Missing(field="tool_calls", why=why, switch=_NO_CALL.switch if beside else "")
    if not run.tool_calls and not run.llm_calls and _is_served(run):
        return Missing(field="tool_calls", why=_SERVED, switch=_STREAMED)
    if not run.llm_groups and _has_coworker(run):
        why = "What an agent did for the one that gave it work is not recorded: CrewAI's tools have no spans here."
        return Missing(field="tool_calls", why=why, switch=_NO_CALL.switch)
    if not run.llm_groups and not run.tool_calls and _is_unsaid(run):
        why = "Tools have no spans here, and what was said, which tells their calls, is not recorded."
        return Missing(
            field="tool_calls", why=why, switch=cuts.LENGTH_SWITCH if cuts.limit_of(run) else _NO_CALL.switch
        )
    if not run.llm_calls or run.tool_calls or _answers_recorded(run):
        return None
    why = "No tool call is recorded; what the models answered is not, they may have asked for some."
    silent = [group for group in run.llm_groups if not _tells_answer(run, group)]
    return Missing(field="tool_calls", why=why, switch=_switch_for(run, silent, run.content_switch))


def _is_unsaid(run: Run) -> bool:
    """Of a crew, or of Haystack's agents, the conversation is recorded where it ended well, and was not cut."""
    memo, failed = run.trace.memo, endings.ended_in_failure(run)
    crew = [span for span in run.spans if span.raw.scope.name == _CREWAI]
    if crew:
        heard = any(conventions.messages(span.raw, memo, span.dialect).input for span in crew)
        return not heard and bool(run.tool_definitions or cuts.limit_of(run))
    return failed and any(span.raw.scope.name == _HAYSTACK and span.raw.name == "Agent.run" for span in run.spans)


def _has_coworker(run: Run) -> bool:
    """An agent of CrewAI's worked for another one, whose conversation tells only what came of it."""
    spans = run.trace.spans
    agents = [span for span in run.by_kind.get("agent", ()) if span.raw.scope.name == _CREWAI]
    return any(span.parent >= 0 and spans[span.parent].kind == "agent" for span in agents)


def _tokens(run: Run) -> Missing | None:
    if run.tokens is not None:
        return _some_tokens(run)
    if run.llm_groups and not run.llm_calls:
        why = f"{_BY_ITSELF}: its span counts the tokens of the last model call only."
        return Missing(field="tokens", why=why, switch="Turn automatic function calling off.")
    if any(said.overcounted for said in llms.aggregates(run)):
        team = any(span.raw.scope.name == _AGNO for span in run.spans)
        why = "OpenLLMetry does not count what a team of Agno's used by itself." if team else _OVERCOUNTED
        return Missing(field="tokens", why=why, switch="Instrument the model client as well as the agent framework.")
    if _is_overwritten(run):
        return Missing(field="tokens", why=_OVERWRITTEN, switch=litellm.REQUEST_SWITCH)
    if _is_served(run):
        return Missing(
            field="tokens", why="Only a request that waited for the run's end counts its tokens.", switch=_WAITED
        )
    if why := endings.unasked(run):
        return Missing(field="tokens", why=f"{why}.")
    if run.llm_calls and all(call.failed for call in run.llm_calls):
        return Missing(field="tokens", why="Every model call failed: there are no tokens to count.")
    switch = (_client_switch(run) or _usage_switch(run)) if run.llm_groups else (_llm_calls(run) or _NO_CALL).switch
    return Missing(field="tokens", why="No span counts tokens.", switch=switch)


def _usage_switch(run: Run) -> str:
    own = {usage_switch(span.raw) for span in run.llm_groups[-1]}
    found = own.pop() if len(own) == 1 else None
    return _USAGE_SWITCH if found is None else found


def _some_tokens(run: Run) -> Missing | None:
    """Where some model calls count tokens and others do not, the sums are not those of the run."""
    answered = [call for call in run.llm_calls if not call.failed]
    asks = any(call.usage.input_tokens is not None for call in answered)
    says = any(call.usage.output_tokens is not None for call in answered)
    silent = [
        call
        for call in answered
        if (asks and call.usage.input_tokens is None) or (says and call.usage.output_tokens is None)
    ]
    if not silent:
        counting = run.of_kinds(_COUNTING)
        return _UNCACHED if any(leaves_cached_out(span.raw) for span in counting) else None
    why = f"{len(silent)} of {len(answered)} model calls count no tokens: the sums are of the others."
    uncounted = {call.span for call in silent}
    groups = [group for group in run.llm_groups if any(span.index in uncounted for span in group)]
    return Missing(field="tokens", why=why, switch=_switch_for(run, groups, _usage_switch(run)))


def _switch_for(run: Run, groups: Sequence[Sequence[Span]], switch: str) -> str:
    """What would make these model calls tell more: none where they were left, the SDK's limit where it took that."""
    if groups and all(map(cuts.lost_attributes, groups)):
        return cuts.COUNT_SWITCH
    return "" if groups and all(endings.was_left(run, group) for group in groups) else switch


def _documents(run: Run) -> Missing | None:
    if all(item.documents is not None for item in run.retrievals):
        return None
    return Missing(field="documents", why="Retrieved documents are not recorded.", switch=run.content_switch)


_FIELDS: Mapping[str, Callable[[Run], Missing | None]] = {
    "query": _query,
    "answer": _answer,
    "arguments": _arguments,
    "results": _results,
    "llm_calls": _llm_calls,
    "tool_calls": _tool_calls,
    "tokens": _tokens,
    "documents": _documents,
}


def _answers_recorded(run: Run) -> bool:
    """Every model call that succeeded tells its answer, so that a request for a tool would have been seen."""
    if not run.llm_groups:
        return run.answer is not None
    return all(_tells_answer(run, group) for group in run.llm_groups)


def _tells_answer(run: Run, group: Sequence[Span]) -> bool:
    memo, facts = run.trace.memo, run.trace.facts
    return any(
        facts.status(span) in {"error", "timeout"}
        or (conventions.requests(span.raw, memo, span.dialect) is not None and not may_have_asked(span.raw))
        for span in group
    )


def _count(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    shown = ", ".join(distinct[:3]) + (", ..." if len(distinct) > 3 else "")
    return f"{len(names)} tool call{'s' if len(names) > 1 else ''} ({shown})"


def content_switch(run: Run) -> str:
    """The setting that would make the instrumentation record content; empty where none is known, or it is on."""
    if run.by_kind.keys() <= _SEARCHES and any(item.query is not None for item in run.retrievals):
        return ""  # retrievers alone, where nobody else was asked anything
    if cuts.limit_of(run):
        return cuts.LENGTH_SWITCH
    known = next((span for span in run.spans if span.kind != "other"), None)
    return conventions.content_switch(known.raw, some=run.query is not None) if known is not None else ""
