"""A run as a span tree of pydantic-evals, so that its evaluators give right verdicts on spans of any instrumentation.

Its evaluators tell tool calls and model requests by Pydantic AI's span names and attributes. So each logical call is
one node with these, whatever spans it left: doubles lose what would have them counted again, and a call that left no
span gets a node of its own. All other nodes are the recorded spans. A tree is made in bulk: one by one is quadratic.

| node | name | attributes |
|---|---|---|
| tool call | `execute_tool NAME` | `gen_ai.tool.name`, `gen_ai.tool.call.arguments`, `.result`, `.id` |
| call that only steers the run | the same | `logfire.msg` says that it is an output function, which is no tool call |
| call that was never made | as recorded | `pydantic_ai.tool.deferral.name`, which is no tool call |
| model request | `chat MODEL` | `gen_ai.operation.name`, `gen_ai.request.model`, `gen_ai.usage.*`, `operation.cost` |
| agent | `invoke_agent NAME` | `gen_ai.operation.name`, `gen_ai.agent.name` |

Each node carries `spanwise.kind` and, where it was renamed, `spanwise.name`: the name as recorded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias, cast

import msgspec
from pydantic_evals.otel import SpanNode, SpanTree

from spanwise.model.calls import LLMCall, ToolCall
from spanwise.model.span import Span
from spanwise.model.trace import Run, Trace

KIND = "spanwise.kind"
NAME = "spanwise.name"
Value: TypeAlias = str | bool | int | float | Sequence[str] | Sequence[bool] | Sequence[int] | Sequence[float]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_US = 253_402_300_799 * 1_000_000
_DEFERRED = "pydantic_ai.tool.deferral.name"
_REPLACED = ("tool_arguments", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "logfire.msg", _DEFERRED)
_STATUS: Mapping[str, str] = {"error": "error", "timeout": "error", "ok": "ok"}


class RunTree(SpanTree):
    """A normalised tree, with the run that it was made of."""

    def __init__(self, run: Run, nodes: Iterable[SpanNode]) -> None:
        self.run = run
        super().__init__(nodes_by_id={node.node_key: node for node in nodes})


def tree_of(run: Run | Trace) -> RunTree:
    """The run, or the whole of a trace, as a normalised tree."""
    if isinstance(run, Trace):
        run = Run(run, -1)
    return RunTree(run, _Nodes(run).all())


class _Nodes:
    """The nodes of a run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._trace_id = number_of(run.trace.trace_id, bits=128)
        self._tools: dict[int, ToolCall] = {}
        self._models: dict[int, LLMCall] = {}
        self._loose: list[ToolCall | LLMCall] = []
        for call in run.tool_calls:
            self._place(call, self._tools, frozenset({"tool", "handoff"}))
        for asked in run.llm_calls:
            self._place(asked, self._models, frozenset({"llm", "generation"}))
        self._agents = {at: agent.name for agent in run.agents for at in agent.spans}

    def _place(
        self, call: ToolCall | LLMCall, held: dict[int, ToolCall] | dict[int, LLMCall], own: frozenset[str]
    ) -> None:
        """Put a call on its span, if it has one for itself."""
        spans = self._run.trace.spans
        if call.span >= 0 and call.span not in held and spans[call.span].kind in own:
            cast("dict[int, ToolCall | LLMCall]", held)[call.span] = call
        elif not (isinstance(call, ToolCall) and call.status == "not_run"):
            self._loose.append(call)

    def all(self) -> list[SpanNode]:
        """A node per span, and one per call that has no span for itself."""
        nodes = [self._of_span(span) for span in self._run.spans]
        known = {node.span_id for node in nodes}
        for node in nodes:
            if node.parent_span_id not in known:
                node.parent_span_id = None
        return nodes + [self._of_loose(call, number) for number, call in enumerate(self._loose)]

    def _of_span(self, span: Span) -> SpanNode:
        attributes = dict(span.attributes)
        attributes[KIND] = span.kind
        name, status = span.name, _STATUS.get(self._run.trace.facts.status(span), "unset")
        tool, model = self._tools.get(span.index), self._models.get(span.index)
        if tool is not None and tool.status != "not_run":
            name, status = self._as_tool(attributes, tool)
        elif tool is not None or "gen_ai.tool.name" in attributes:
            # A double of a call that is counted elsewhere, or a call that was never made.
            attributes[_DEFERRED] = "not_run" if tool is not None else "counted elsewhere"
        if model is not None:
            name = _as_request(attributes, model)
        elif attributes.get("gen_ai.operation.name") == "chat":
            del attributes["gen_ai.operation.name"]
        if span.kind == "agent" and span.index in self._agents:
            name = f"invoke_agent {self._agents[span.index]}"
            attributes |= {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": self._agents[span.index]}
        if name != span.name:
            attributes[NAME] = span.name
        parent = self._run.trace.spans[span.parent].span_id if span.parent >= 0 else None
        return self._node(
            name,
            (number_of(span.span_id), None if parent is None else number_of(parent)),
            (span.start_ns, span.end_ns),
            attributes,
            status,
        )

    def _of_loose(self, call: ToolCall | LLMCall, number: int) -> SpanNode:
        """A node for a call that left no span, or shares one with another."""
        spans = self._run.trace.spans
        above = call.span if call.span >= 0 else call.agent if call.agent >= 0 else self._run.root
        parent = number_of(spans[above].span_id) if above >= 0 else None
        attributes: dict[str, object] = {}
        if isinstance(call, ToolCall):
            attributes[KIND] = "tool"
            name, status = self._as_tool(attributes, call)
        else:
            attributes[KIND] = "llm"
            name, status = _as_request(attributes, call), "error" if call.failed else "unset"
        made = number_of(f"{self._trace_id}/{self._run.run_id}/{number}")
        times = (call.start_ns or self._run.start_ns, call.end_ns or call.start_ns or self._run.start_ns)
        return self._node(name, (made, parent), times, attributes, status)

    def _as_tool(self, attributes: dict[str, object], call: ToolCall) -> tuple[str, str]:
        """Give a node the attributes of a tool call; its name and its status."""
        for key in (
            "tool_arguments",
            "gen_ai.tool.call.arguments",
            "gen_ai.tool.call.result",
            "logfire.msg",
            _DEFERRED,
        ):
            attributes.pop(key, None)
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.name}
        if call.call_id:
            attributes["gen_ai.tool.call.id"] = call.call_id
        for key, state, value in (
            ("gen_ai.tool.call.arguments", call.arguments_state, call.arguments),
            ("gen_ai.tool.call.result", call.result_state, call.result),
        ):
            if state == "present":
                attributes[key] = _json(value)
        if call.control:
            attributes["logfire.msg"] = f"running output function: {call.name}"
        return f"execute_tool {call.name}", "error" if call.failed else "ok" if call.status == "ok" else "unset"

    def _node(
        self,
        name: str,
        ids: tuple[int, int | None],
        times: tuple[int, int],
        attributes: Mapping[str, object],
        status: str,
    ) -> SpanNode:
        begun = moment_of(times[0])
        return SpanNode(
            name=name,
            trace_id=self._trace_id,
            span_id=ids[0],
            parent_span_id=ids[1],
            start_timestamp=begun,
            end_timestamp=max(begun, moment_of(times[1])),
            attributes=cast("dict[str, Value]", dict(attributes)),
            status="error" if status == "error" else "ok" if status == "ok" else "unset",
        )


def _as_request(attributes: dict[str, object], call: LLMCall) -> str:
    """Give a node the attributes of a model request; its name."""
    model = call.model or "unknown"
    attributes |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
    tokens = call.tokens
    for key, count in (("input_tokens", tokens.input), ("output_tokens", tokens.output)):
        if count is not None:
            attributes[f"gen_ai.usage.{key}"] = count
    if call.cost_usd is not None:
        attributes["operation.cost"] = call.cost_usd
    return f"chat {model}"


def _json(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return str(value)


def number_of(text: str, *, bits: int = 64) -> int:
    """An id as the number that a tree wants: that of its hex digits, else one made of it."""
    try:
        number = int(text, 16)
    except ValueError:
        number = -1
    if 0 < number < 1 << bits:
        return number
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=bits // 8).digest(), "big")


def moment_of(ns: int) -> datetime:
    """A time of nanoseconds since 1970, to the microsecond, within the calendar."""
    return _EPOCH + timedelta(microseconds=min(max(ns // 1000, 0), _LATEST_US))
