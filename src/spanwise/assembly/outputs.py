"""Calls by which a model gave its output, of a tool that nothing runs: frameworks offer the output's schema as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spanwise import conventions
from spanwise.assembly import llms
from spanwise.conventions import llama_index
from spanwise.conventions._genai_langchain import ends_in_output, put_in_form
from spanwise.conventions._genai_scopes import LANGCHAIN
from spanwise.model.calls import ToolCall
from spanwise.model.effects import is_output, says_output_taken, says_output_unused
from spanwise.model.trace import Run


def judge_outputs(run: Run, calls: Sequence[ToolCall]) -> None:
    """Tell which calls that left no span gave an output, and whether it was taken."""
    _judge_told(calls)
    if calls:
        _judge_typed(run, calls)
    untold = [call for call in calls if call.raw_result is None and call.call_id]
    open_ = [call for call in untold if not call.control]
    if open_:
        _judge_parsed(run, open_)
    _judge_last(run, untold)


def _judge_told(calls: Sequence[ToolCall]) -> None:
    """A tool that gave the run its output did no work in its other calls: they were refused, or not used."""
    outputs = {call.name for call in calls if _is_taken(call) or is_output(call.name) or _is_refused(call)}
    for call in calls:
        if call.name in outputs:
            call.control = True
            if call.status == "ok" and not _is_taken(call):
                call.status = "not_run" if says_output_unused(call.raw_result) else "retry"


def _is_refused(call: ToolCall) -> bool:
    """LangChain told the model that its typed output did not fit."""
    told = call.raw_result
    return isinstance(told, str) and f"Failed to parse structured output for tool '{call.name}'" in told[:200]


def _is_taken(call: ToolCall) -> bool:
    """The model was told that its output was taken; LangChain in JavaScript tells it the output itself."""
    if says_output_taken(call.raw_result):
        return True
    given: object = call.arguments
    return isinstance(given, Mapping) and given != {} and call.result == given


def _judge_parsed(run: Run, calls: Sequence[ToolCall]) -> None:
    """A call whose arguments a parser took as the model's output, which no model was told a result of."""
    for span in run.trace.paced(run.spans):
        text = conventions.parsed(span.raw)
        if text is None:
            continue
        failed = run.trace.facts.status(span) in {"error", "timeout"}
        for call in calls:
            if f'"{call.call_id}"' in text:
                call.control = True
                call.status = "error" if failed else "ok"
                call.error = conventions.error(span.raw) if failed else None


def _judge_last(run: Run, calls: Sequence[ToolCall]) -> None:
    """A call with which an agent ended that nothing could have paused: its arguments are what it returned."""
    root = run.root_span
    if calls and root is not None and root.raw.scope.name == LANGCHAIN and run.llm_groups:
        part = put_in_form(root.raw, llms.messages(run, run.llm_groups[-1]), run.trace.memo)
        for call in calls:
            if part is not None and call.call_id == part.id and call.status == "unknown":
                call.control, call.status, call.raw_result = True, "ok", call.raw_arguments
    for call in calls:
        if call.agent >= 0 and call.status == "unknown":
            span = run.trace.spans[call.agent]
            if ends_in_output(span.raw, call.call_id, run.trace.memo) and not conventions.failed(
                span.raw, span.dialect
            ):
                call.control, call.status, call.raw_result = True, "ok", call.raw_arguments


def _judge_typed(run: Run, calls: Sequence[ToolCall]) -> None:
    """Calls of the schema in which a span was to answer: what the model was told of one is why it was refused."""
    for span in run.trace.paced(run.spans):
        name = conventions.typed_as(span.raw) or llama_index.typed_as(span.raw)
        if name is None:
            continue
        failed = run.trace.facts.status(span) in {"error", "timeout"}
        for call in calls:
            if call.name == name and span.start_ns <= call.start_ns <= span.end_ns:
                call.control = True
                call.status = "retry" if call.raw_result is not None else "error" if failed else "ok"
                if call.status == "ok":
                    call.raw_result = call.raw_arguments
