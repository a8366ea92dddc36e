"""What was asked and what was answered.

The run's own span says it best. Where it does not, the first model call of the run was given the question, and the
last one that was not made inside a tool (a sub-agent's, a guardrail's) gave the answer. A request for a tool is never
an answer, nor is a tool's result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from spanwise import conventions
from spanwise.assembly import llms, templates
from spanwise.assembly.results import TICK_NS
from spanwise.assembly.verdicts import asks_again
from spanwise.conventions import first_user_text, last_answer_text, llama_index, logfire_openai_agents, quarkus
from spanwise.conventions._genai_langchain import put_in_form
from spanwise.conventions._genai_scopes import LANGCHAIN, LANGCHAIN_JS, asks_for_tools
from spanwise.conventions._langchain import as_json, returned
from spanwise.conventions._openinference_messages import LLAMA_INDEX
from spanwise.conventions._parts import is_in_tool, is_sent
from spanwise.conventions._smolagents import task_in
from spanwise.conventions._traceloop_llama_index import LLAMA_INDEX as OPENLLMETRY_LLAMA_INDEX
from spanwise.model.calls import Given, Retrieval, ToolCall
from spanwise.model.content import AgentFields, Memo, Message, Messages, is_cut, is_mask
from spanwise.model.effects import is_control, passes_control, says_output_taken
from spanwise.model.raw import STATUS_ERROR
from spanwise.model.span import RUN_KINDS, Span
from spanwise.model.trace import Run

_CREW_PROMPT = re.compile(
    r"\s*Current Task: (.+?)(?:\n\nThis is the expected criteria for your final answer\b|\Z)", re.S
)
_NODE = re.compile(r"\w+")
_STEPS = RUN_KINDS | {"other"}
"""Logfire's turns of an agent, which fail in its place, are among the others."""
_TRIPPED = ("Guardrail tripwire triggered", "GuardrailTripwireTriggered")
"""How the error of an agent says it, in Python and in JavaScript."""
_HEX = re.compile(r"[0-9a-f]+")
_THREAD, _THREAD_RUN = "gen_ai.thread.id", "gen_ai.thread.run.id"
USERS = frozenset({"user", "human"})
_MODELS = frozenset({"assistant", "model", "ai"})
_LLAMA_INDEX = frozenset({LLAMA_INDEX, OPENLLMETRY_LLAMA_INDEX, llama_index.SCOPE})
_WHOLES = ("input", "inputs", "output", "outputs", "prompt", "completion", "value")
"""How attributes end that hold all of a request or an answer as JSON."""


def query(run: Run) -> str | None:
    """What the user asked; None where a mask stands in its place, or its hash."""
    said = recorded_query(run)
    return None if said is not None and (is_mask(said) or _is_digest(said)) else said


def _is_digest(said: str | None) -> bool:
    """The text is a SHA-1 or SHA-256, which the Collector writes in the place of what it hashes."""
    return said is not None and len(said) in {40, 64} and _HEX.fullmatch(said) is not None


def recorded_query(run: Run) -> str | None:
    """What is recorded as the question, a mask too."""
    memo = run.trace.memo
    root = run.root_span
    if root is not None:
        said = _whole(conventions.agent(root.raw, memo, root.dialect).query)
        if said:
            return said
    searched: Sequence[Retrieval] = ()
    for group in run.llm_groups:
        sent = llms.messages(run, group).input
        asked = first_user_text(sent)
        if sent and asked and not _is_cut(group, asked) and not asks_again(asked):
            if (task := task_in(group[0].raw, sent)) is not None:
                return task
            searched = templates.searched_before(run, group[0])
            question = conventions.asked_in(group[0].raw, asked) or templates.question_in(asked, searched)
            if question is not None:
                return _without_prompt(question)
            break
    for span in _runners(run):
        said = _whole(conventions.agent(span.raw, memo, span.dialect).query)
        if said and (question := templates.question_in(said, searched)):
            return question
    return _asked_beside(run)


def _whole(said: str | None) -> str | None:
    """What was said, unless it is what a framework was called with or returned, cut in the middle."""
    return None if said is None or is_cut(said) else said


def _is_cut(group: Sequence[Span], said: str) -> bool:
    """The text is all that an attribute for requests and answers as a whole holds, not words: that was cut."""
    return is_cut(said) and any(
        said == value and key.lower().endswith(_WHOLES) for span in group for key, value in span.attributes.items()
    )


def _asked_beside(run: Run) -> str | None:
    """The message that a request beside the run's own span had sent to its thread, the latest before it."""
    root = run.root_span
    thread = _first(run, _THREAD) if root is None else root.attributes.get(_THREAD)
    if thread is None:
        return None
    spans = run.spans if root is None else run.trace.spans[: root.index]
    before = (one for one in reversed(spans) if root is None or one.parent == root.parent)
    said = (_agent(run, one) for one in before if one.attributes.get(_THREAD) == thread)
    return next((found.query for found in said if found.query), None)


def _first(run: Run, name: str) -> object:
    """The first value of an attribute in a run without a span of its own, such as one whose state an app asked for."""
    return next((found for span in run.spans if (found := span.attributes.get(name)) is not None), None)


def _answered_beside(run: Run) -> str | None:
    """The message of the run that a request beside its own span was given when it was over."""
    root = run.root_span
    number = _first(run, _THREAD_RUN) if root is None else root.attributes.get(_THREAD_RUN)
    if number is None:
        return None
    spans = run.spans if root is None else run.trace.spans[root.index + 1 :]
    after = (one for one in spans if root is None or one.parent == root.parent)
    said = (
        _agent(run, one) for one in after if any(event.attributes.get(_THREAD_RUN) == number for event in one.events)
    )
    return next((found.answer for found in said if found.answer), None)


def _agent(run: Run, span: Span) -> AgentFields:
    return conventions.agent(span.raw, run.trace.memo, span.dialect)


def _without_prompt(asked: str) -> str:
    """The task out of the prompt that CrewAI puts around it."""
    found = _CREW_PROMPT.match(asked)
    return found.group(1).strip() if found is not None else asked


def answer(run: Run) -> str | None:
    """What the run answered in the end; None where a mask stands in its place, or its hash beside the question's."""
    said = recorded_answer(run)
    if said is None or is_mask(said):
        return None
    return None if _is_digest(said) and _is_digest(recorded_query(run)) else said


def guarded(run: Run) -> bool:
    """A guardrail of the OpenAI Agents SDK ended the run: what a model said was given to nobody."""
    agents = run.by_kind.get("agent", ())
    kinds = _STEPS if agents and agents[0].raw.scope.name == logfire_openai_agents.SCOPE else RUN_KINDS
    failed = [span for span in run.of_kinds(kinds) if span.raw.status_code == STATUS_ERROR]
    if not failed:
        return False
    errors = [(span, run.trace.facts.span_error(span)) for span in failed]
    tripped = [span for span, error in errors if error is not None and any(mark in error.message for mark in _TRIPPED)]
    return bool(tripped) and not _inside_tools(run).issuperset(span.index for span in tripped)


def recorded_answer(run: Run) -> str | None:
    """What is recorded as the answer, a mask too."""
    if guarded(run):
        return None
    memo = run.trace.memo
    root = run.root_span
    if root is not None:
        said = _whole(conventions.agent(root.raw, memo, root.dialect).answer)
        if said and root.raw.scope.name in _LLAMA_INDEX:  # prints the text, and cuts what stands behind it
            return _typed_answer(run) or said
        if said and (typed := _put_in_form(run, root)):
            return typed
        if said:
            return _last_text(run, said) if conventions.CONVENTIONS[root.dialect].strings_texts else said
    inside = _inside_tools(run)
    groups = _own_groups(run, inside)
    if groups:
        last = groups[-1]  # by start: a call that spans the tools it asked for ends after those that follow it
        said = last_answer_text(llms.messages(run, last).output)
        if said and not _is_cut(last, said) and not asks_unsaid(run, last):
            return said
    said = _steering_answer(run) or _typed_answer(run) or _state_answer(run)
    if said:
        return said
    return _runners_answer(run, inside, groups[-1][0].start_ns if groups else 0) or _answered_beside(run)


def _put_in_form(run: Run, root: Span) -> str | None:
    """The typed answer that a last model call made of what the run is recorded to have answered."""
    last = llms.messages(run, run.llm_groups[-1]) if run.llm_groups and root.raw.scope.name == LANGCHAIN else None
    part = None if last is None else put_in_form(root.raw, last, run.trace.memo)
    if part is None or part.type != "tool_call":
        return None if part is None else part.text
    return as_json(run.trace.memo.json(part.value))


def _own_groups(run: Run, inside: set[int]) -> list[Sequence[Span]]:
    """The model calls that were not made inside a tool."""
    return [group for group in run.llm_groups if group[0].index not in inside]


def _last_text(run: Run, said: str) -> str | None:
    """The answer out of the texts of all steps, strung together; as it is where it is no such string."""
    outputs = [llms.output(run, group) for group in _own_groups(run, _inside_tools(run))]
    strung = "".join(message.text for output in outputs for message in output)
    return last_answer_text(outputs[-1]) if outputs and said == strung else said


def asks_unsaid(run: Run, group: Sequence[Span]) -> bool:
    """A model call ended on a request for tools that is not recorded, though what it was sent is.

    Where none ever is, and no reason for the end either, a tool that ran behind the run's last answer tells it.
    """
    return _ran_behind(run, group) or any(
        asks_for_tools(span.raw, run.trace.memo)
        and not conventions.requests(span.raw, run.trace.memo, span.dialect)
        and (conventions.messages(span.raw, run.trace.memo, span.dialect) != Messages() or quarkus.is_strung(span.raw))
        for span in group
    )


def _ran_behind(run: Run, group: Sequence[Span]) -> bool:
    """A tool ran behind an answer of which only the text is recorded, whatever it asked for."""
    if all(conventions.tells_requests(span.raw, span.dialect) for span in group):
        return False
    begun = max(span.end_ns for span in group) - TICK_NS
    return any(tool.start_ns > max(begun, group[0].start_ns) for tool in run.by_kind.get("tool", ()))


def _runners_answer(run: Run, inside: set[int], asked_ns: int) -> str | None:
    """What the last agent or workflow within the run answered; not one that was over when a model was last asked."""
    around = _around_models(run)
    root = run.root_span
    failed = root is not None and run.trace.facts.status(root) in {"error", "timeout"}
    for span in sorted(_runners(run), key=lambda span: (span.end_ns, -span.start_ns), reverse=True):
        if span.end_ns < asked_ns:
            break
        if span.index not in inside and not (failed and span.kind != "agent"):  # a step's output is no answer
            said = _whole(conventions.agent(span.raw, run.trace.memo, span.dialect).answer)
            if said and not (_NODE.fullmatch(said) and around and span.index not in around):
                return said
    return None


def _around_models(run: Run) -> set[int]:
    """The spans in which a model was asked; any other step that returns a bare word names the next node."""
    found: set[int] = set()
    for group in run.llm_groups:
        for span in run.trace.ancestors(group[0].index):
            if span.index in found:
                break
            found.add(span.index)
    return found


def given(run: Run) -> tuple[Given, ...]:
    """What the first model call was given besides the question, each text once."""
    for group in run.llm_groups:
        sent = llms.messages(run, group).input
        if sent is None:
            continue
        first = group[0]
        out: dict[str, Given] = {}
        for message in sent:
            for text in _texts(message, run.trace.memo):
                if text and text != run.query and message.role not in _MODELS:
                    out.setdefault(text, _given(message.role, text, first))
        return tuple(out.values())
    return ()


def _given(role: str, text: str, span: Span) -> Given:
    return Given(role=role, text=text, span=span.index, span_id=span.span_id, start_ns=span.start_ns)


def _texts(message: Message, memo: Memo) -> Iterable[str]:
    for part in message.parts:
        if part.type == "text":
            yield part.text
        elif part.type == "tool_result":
            value = memo.json(part.value)
            yield value if isinstance(value, str) else str(part.value or "")


def _steering_answer(run: Run) -> str | None:
    """The answer handed to a tool that ends the run (`final_answer`)."""
    for call in reversed(run.tool_calls):
        if not _may_answer(call):
            continue
        arguments = call.arguments
        if not isinstance(arguments, Mapping):
            continue
        given = cast("Mapping[str, object]", arguments)
        said = given.get("answer")
        if isinstance(said, str):
            return said
        if len(given) == 1 and not passes_control(call.name):
            only = next(iter(given.values()))
            if isinstance(only, str):
                return only
    return None


def _typed_answer(run: Run) -> str | None:
    """The output that the model's last call gave: the call's result says it again, or what the run itself gave back."""
    call = run.tool_calls[-1] if run.tool_calls else None
    if call is None or run.root_span is None or not call.control or call.status != "ok":
        return None
    if call.arguments and call.result == call.arguments:
        return as_json(call.result)
    said = returned(run.root_span.raw)
    return said if call.arguments and run.trace.memo.json(said) == call.arguments else None


def _state_answer(run: Run) -> str | None:
    """What the step of LangChain in JavaScript that ended last returned: OpenLLMetry's have none around them."""
    steps = [span for span in run.by_kind.get("other", ()) if span.raw.scope.name == LANGCHAIN_JS]
    return _agent(run, max(steps, key=lambda span: span.end_ns)).answer if steps else None


def _may_answer(call: ToolCall) -> bool:
    """The call ends the run; one whose arguments a parser took may as well be a step on the way (a grade, a route)."""
    return call.status not in {"error", "retry"} and (is_control(call.name) or says_output_taken(call.raw_result))


def _runners(run: Run) -> Iterable[Span]:
    return [span for span in run.spans if span.kind in RUN_KINDS and span.index != run.root]


def _inside_tools(run: Run) -> set[int]:
    """The spans that stand below a tool of this run; what a tool that passes control leads to goes on with the run.

    Who was sent by another agent stood below such a tool, too, where that agent's own span and the tool's were lost.
    """
    steering = {call.span for call in run.tool_calls if call.control}
    spans = run.trace.spans
    inside: set[int] = set()
    torn = run.root < 0 <= run.mark
    for span in run.spans:
        above = span.parent
        sent = torn and above < 0 and ((span.kind == "agent" and is_sent(span.raw)) or is_in_tool(span.raw))
        if sent or (above >= 0 and (above in inside or (spans[above].kind == "tool" and above not in steering))):
            inside.add(span.index)
    return inside
