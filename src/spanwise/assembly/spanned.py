"""The tool calls that left spans, each once: nested doubles are merged.

Most spans are plain, and a run has many, so those are read by the compiled part where there is one; all others, and all
where there is none, are read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spanwise import conventions
from spanwise.assembly import plain
from spanwise.assembly.verdicts import is_no_such_tool, reads_like_error, says_error, says_no_such_tool
from spanwise.model.calls import CallStatus, ToolCall
from spanwise.model.content import Memo, ToolFields, is_blank
from spanwise.model.effects import is_control
from spanwise.model.raw import STATUS_ERROR
from spanwise.model.span import Span, SpanError, is_after
from spanwise.model.trace import Run

_HOPS = 16
_FAILED = frozenset({"error", "retry"})


def span_calls(run: Run) -> list[ToolCall]:
    """The calls that left spans, nested doubles merged, by start."""
    tools, trace = run.by_kind.get("tool", ()), run.trace
    found = _Found(run)
    if plain.READER is not None:
        plain.READER.tool_calls(tools, trace.spans, trace.memo, found.calls, found.by_span, found.add, trace.pause)
    else:
        for span in trace.paced(tools):
            found.add(span)
    return _folded(found.served, found.calls) if found.served else found.calls


class _Found:
    """The calls of a run's spans, as far as those were looked at."""

    __slots__ = ("_batches", "_memo", "_run", "by_span", "calls", "served")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._memo = run.trace.memo
        self.calls: list[ToolCall] = []
        self.by_span: dict[int, ToolCall] = {}
        self._batches: set[int] = set()
        self.served: list[ToolCall] = []
        """What MCP says of calls, without content."""

    def add(self, span: Span) -> None:
        """Look at one more."""
        memo, raw = self._memo, span.raw
        several = conventions.several(raw, memo, span.dialect)
        if several is not None:
            if span.holder not in self._batches and several:
                self._batches.add(span.index)
                self.calls += [_call_of_batch(span, one, memo) for one in several]
            return
        fields = conventions.tool(raw, memo, span.dialect)
        name = fields.name or raw.name
        if name in plain.STAND_INS and _stands_in(name, fields):
            return
        call = _same_call(self._run, span, fields.name, self.by_span) if span.holder >= 0 else None
        if call is None:
            call = _call(span, name, fields, memo)
            self.calls.append(call)
            if "mcp.method.name" in raw.attributes and fields.arguments is None and fields.call_id is None:
                self.served.append(call)
        else:
            _merge(call, span, fields)
        self.by_span[span.index] = call


def _folded(served: Sequence[ToolCall], calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls, what MCP servers say of some put to those of the agent beside them, which never made its span current.

    The agent knows the tool with its server's name in front: `mcp__kit__search`.
    """
    by_name: dict[str, list[ToolCall]] = {}
    for call in calls:
        _, parted, name = call.name.rpartition("__")
        if parted and call.call_id is not None:
            by_name.setdefault(name, []).append(call)
    gone: set[int] = set()
    for one in served:
        around = [
            call
            for call in by_name.get(one.name.rpartition("__")[2], ())
            if call.name.endswith(f"__{one.name}") and call.agent == one.agent
            and call.start_ns <= one.start_ns and one.end_ns <= call.end_ns
        ]  # fmt: skip
        if around:
            gone.add(id(one))
        if len(around) == 1 and one.status == "error" and around[0].status != "error":
            around[0].status, around[0].error = "error", one.error
    return [call for call in calls if id(call) not in gone]


def _stands_in(name: str, fields: ToolFields) -> bool:
    """LangChain ran this in the place of a tool that does not exist, or of an answer that it could not read."""
    return name == "_Exception" or fields.arguments is None or "requested_tool_name" in str(fields.arguments)


def _same_call(run: Run, span: Span, name: str | None, by_span: Mapping[int, ToolCall]) -> ToolCall | None:
    """The call of an enclosing tool span with the same name in the same agent, if there is one.

    A span that does not name its tool is the inner half of the call that stands around it.
    """
    spans = run.trace.spans
    at = span.holder
    for _ in range(_HOPS):
        if at < 0:
            return None
        above = spans[at]
        if above.kind == "tool":
            call = None if is_after(span, above) else by_span.get(at)
            return call if call is not None and name in (None, call.name) else None
        at = above.holder
    return None


def _call(span: Span, name: str, fields: ToolFields, memo: Memo) -> ToolCall:
    raw = span.raw
    status, error = _judged(span, name, fields)
    return ToolCall(
        name,
        status,
        span.index,
        span.agent,
        raw.start_ns,
        raw.end_ns if raw.end_ns > raw.start_ns else raw.start_ns,
        fields.call_id,
        is_control(name) or fields.control,
        "span",
        fields.arguments,
        fields.result,
        memo,
        raw.span_id,
        error,
    )


def _call_of_batch(span: Span, fields: ToolFields, memo: Memo) -> ToolCall:
    """One call of a span that ran several; what it says of a tool that does not exist, no tool returned."""
    name = fields.name or span.raw.name
    call = _call(span, name, fields, memo)
    if says_no_such_tool(name, fields.result):
        call.status = "not_run"
    return call


def _judged(span: Span, name: str, fields: ToolFields) -> tuple[CallStatus, SpanError | None]:
    """What became of a call, and why it failed: one of a tool that does not exist was not run."""
    status = _status(span, fields)
    if status not in _FAILED:
        return status, None
    error = conventions.error(span.raw) or SpanError(message=fields.message)
    described = span.attributes.get(plain.DESCRIPTION)
    untold = fields.result is None and is_no_such_tool(name, error, described)
    return ("not_run", None) if untold or says_no_such_tool(name, fields.result) else (status, error)


def _status(span: Span, fields: ToolFields) -> CallStatus:
    raw = span.raw
    if fields.retry:
        return "retry"
    if fields.paused:
        return "unknown"
    failed = raw.status_code == STATUS_ERROR and conventions.failed(raw, span.dialect)
    if failed or fields.failed or says_error(fields.result):
        return "error"
    if raw.end_ns <= 0 or fields.uncertain:
        return "error" if fields.bare and reads_like_error(fields.result) else "unknown"
    if is_blank(fields.result) or (fields.result is None and fields.arguments is None and conventions.is_untold(raw)):
        return "unknown"  # a failure that a tool returned would stand in its result
    return "ok"


def _merge(call: ToolCall, span: Span, fields: ToolFields) -> None:
    """Take from an inner span of the same call what the outer one does not say; one failure makes the call failed."""
    if call.raw_arguments is None:
        call.raw_arguments = fields.arguments
    if call.raw_result is None:
        call.raw_result = fields.result
    call.call_id = call.call_id or fields.call_id
    inner, error = _judged(span, call.name, fields)
    if inner == "not_run" or call.status == "not_run":
        call.status, call.error = "not_run", None
    elif inner == "retry" or (inner == "error" and call.status != "retry"):
        call.status = inner
        if call.error is None or not call.error.message:
            call.error = error
    elif call.status == "unknown":
        call.status = inner
