"""Handles on what an agent does: each is a span, begun when the handle is made and ended when it is said how it went.

A handle takes its place from the handle that made it, whatever thread or task it is used in. Only entering it (`with`,
`async with`) makes it the current span, for what is called inside.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self, TypeVar

from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind

from spanwise.record import spans
from spanwise.record.attributes import answer_of, constant, given, output_of, when_content
from spanwise.record.encoding import documents_of, made, messages_of, text_of, text_or_none
from spanwise.record.open_steps import OpenSteps
from spanwise.record.spans import Attributes, Current, Late

S = TypeVar("S", bound="Step")
_STEP = otel.create_key("spanwise.record.step")


class _Absent:
    """What was not given; None may be a result."""


ABSENT = _Absent()


class Step:
    """One thing that an agent does, and where further ones are begun within it. Ending it twice is harmless.

    What was begun within it and has not been ended by then is ended with it, marked `spanwise.unended`: of a tool call
    it is then not known whether it succeeded.
    """

    __slots__ = ("_base", "_context", "_entered", "_open", "_parent", "_span")

    def __init__(
        self, span: Span, base: Context, parent: Step | None = None, among: OpenSteps[Step] | None = None
    ) -> None:
        self._span = span
        self._base = base
        self._parent = parent
        self._open: OpenSteps[Step] | None = among
        self._context: Context | None = None
        self._entered: list[Current[Step]] = []

    @property
    def span(self) -> Span:
        """The OpenTelemetry span, for attributes and events of your own."""
        return self._span

    @property
    def context(self) -> Context:
        """The OpenTelemetry context whose current span this is: to begin spans below it by other means."""
        if self._context is None:
            self._context = self._within(self._base)
        return self._context

    def _within(self, context: Context) -> Context:
        if not self._span.get_span_context().is_valid:
            return context
        return otel.set_value(_STEP, self, trace.set_span_in_context(self._span, context))

    @property
    def parent(self) -> Step | None:
        """The handle that it was begun with."""
        return self._parent

    def as_current(self) -> Current[Self]:
        """Make this the current span for a `with` block, without ending it there."""
        return Current(self, self._within)

    def start_agent(
        self,
        name: str,
        *,
        query: object = None,
        provider: str | None = None,
        conversation_id: str | None = None,
        tools: object = None,
        attributes: Attributes | None = None,
    ) -> Run:
        """Begin the run of an agent: below a run, that of a sub-agent.

        Args:
            name: The agent's name.
            query: What it is asked: text, or the messages so far.
            provider: Who serves its model, such as `openai`.
            conversation_id: The conversation that this is a turn of.
            tools: The definitions of the tools that it may call.
            attributes: More attributes for the span.
        """
        known = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "gen_ai.provider.name": provider,
            "gen_ai.conversation.id": conversation_id,
        }
        late = when_content(
            {
                "gen_ai.input.messages": lambda: messages_of(made(query)),
                "gen_ai.tool.definitions": lambda: text_or_none(tools),
            }
        )
        return self._start(Run, f"invoke_agent {name}", {**given(known), **(attributes or {})}, late)

    def start_tool(self, name: str, arguments: object = None, *, call_id: str | None = None) -> ToolCall:
        """Begin a tool call; `call_id` is the id that the model gave it."""
        known = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id}
        late = when_content({"gen_ai.tool.call.arguments": lambda: text_or_none(arguments)})
        return self._start(ToolCall, f"execute_tool {name}", given(known), late)

    def start_llm(
        self,
        model: str,
        messages: object = None,
        *,
        provider: str | None = None,
        operation: str = "chat",
        tools: object = None,
    ) -> LLMCall:
        """Begin a call of a model.

        Args:
            model: The model that is asked.
            messages: The prompt as text, or messages, in OpenAI's form or that of the conventions.
            provider: Who serves it, such as `openai`; prices are looked up by it.
            operation: The name of the operation by the conventions.
            tools: The definitions of the tools that the model is offered.
        """
        known = {
            "gen_ai.operation.name": operation,
            "gen_ai.request.model": model,
            "gen_ai.provider.name": provider,
        }
        late = when_content(
            {
                "gen_ai.input.messages": lambda: messages_of(made(messages)),
                "gen_ai.tool.definitions": lambda: text_or_none(tools),
            }
        )
        return self._start(LLMCall, f"{operation} {model}", given(known), late, SpanKind.CLIENT)

    def start_retrieval(self, query: object = None, *, source: str | None = None) -> Retrieval:
        """Begin a retrieval; `source` names what is searched."""
        known = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": source}
        late = when_content({"gen_ai.retrieval.query.text": lambda: text_or_none(query)})
        name = f"retrieval {source}" if source else "retrieval"
        return self._start(Retrieval, name, given(known), late, SpanKind.CLIENT)

    def start_plan(self) -> Text:
        """Begin planning; its end takes the plan."""
        return self._start(Text, "plan", {"gen_ai.operation.name": "plan"}, {})

    def plan(self, text: str) -> None:
        """The agent made this plan, just now."""
        self.start_plan().end(text)

    def _start(
        self,
        cls: type[S],
        name: str,
        attributes: Attributes,
        late: Late,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> S:
        base = self.context
        among: OpenSteps[Step] = OpenSteps() if self._open is None else self._open
        step = cls(spans.begin(name, base, attributes, kind, late), base, self, among)
        among.add(step, self)
        return step

    def mark_abandoned(self) -> None:
        """Whoever asked for a stream left before its end. It is still to be ended."""
        spans.write(self._span, {spans.ABANDONED: lambda: True})

    def _finish(self, late: Late, error: BaseException | str | None = None) -> None:
        left = None if self._open is None else self._open.end(self, self._parent)
        if left is None:
            return
        for step in reversed(left):
            spans.write(step.span, {spans.UNENDED: lambda: True})
            spans.end(step.span)
        spans.write(self._span, late)
        if error is not None:
            spans.fail(self._span, error)
        spans.end(self._span)

    def __enter__(self) -> Self:
        if self._open is not None:
            self._open.release(self, self._parent)  # its own block ends it
        current: Current[Step] = Current(self, self._within)
        current.__enter__()
        self._entered.append(current)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._entered:
            self._entered.pop().__exit__(kind, error, traceback)
        if isinstance(error, GeneratorExit):
            self.mark_abandoned()
            error = None
        self._finish({}, error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)


class Run(Step):
    """The run of an agent."""

    __slots__ = ()

    def answer(self, text: object) -> None:
        """The agent's final answer; the last one counts."""
        spans.write(self._span, answer_of(text))

    def respond(self, text: str) -> None:
        """The agent wrote its answer, just now and without a model."""
        self.start_response().end(text)

    def start_response(self) -> Response:
        """Begin to write the answer without a model; its end takes the answer."""
        return self._start(Response, "respond", {"gen_ai.operation.name": "respond"}, {})

    def end(self, answer: object = None, *, error: BaseException | str | None = None) -> None:
        """End the run: with its answer, if that is not given yet, or with what it failed by."""
        self._finish(answer_of(answer), error)


class ToolCall(Step):
    """A tool call."""

    __slots__ = ()

    def end(self, result: object = ABSENT, *, error: BaseException | str | None = None) -> None:
        """End the call: with its result, which may be None, or with what it failed by."""
        absent = result is ABSENT
        late = when_content({"gen_ai.tool.call.result": lambda: None if absent else text_of(result)})
        self._finish(late, error)


class Retrieval(Step):
    """A retrieval."""

    __slots__ = ()

    def end(self, documents: object = None, *, error: BaseException | str | None = None) -> None:
        """End the retrieval: with its documents, or with what it failed by.

        A document is a mapping or an object with `id`, `score` and `content` (or `text`, or `page_content`), a pair
        of a document and its score, or text.
        """
        content = spans.with_content()
        self._finish({"gen_ai.retrieval.documents": lambda: documents_of(documents, content=content)}, error)


class Text(Step):
    """Something that ends in a text, such as planning."""

    __slots__ = ()

    def end(self, text: str | None = None, *, error: BaseException | str | None = None) -> None:
        """End it: with the text, or with what it failed by."""
        self._finish(answer_of(text), error)


class Response(Text):
    """Writing the run's answer; what it ends with is the answer of the run."""

    __slots__ = ()

    def end(self, text: str | None = None, *, error: BaseException | str | None = None) -> None:
        """End it: with the run's answer, or with what it failed by."""
        super().end(text, error=error)
        if text is not None and isinstance(self._parent, Run):
            self._parent.answer(text)


class LLMCall(Step):
    """A call of a model."""

    __slots__ = ("_begun", "_streams")

    def __init__(
        self, span: Span, base: Context, parent: Step | None = None, among: OpenSteps[Step] | None = None
    ) -> None:
        super().__init__(span, base, parent, among)
        self._begun = time.perf_counter()
        self._streams = False

    def first_token(self) -> None:
        """The first piece of a streamed answer is here; later ones do not count."""
        if not self._streams:
            self._streams = True
            took = time.perf_counter() - self._begun
            spans.write(self._span, {"gen_ai.response.time_to_first_chunk": lambda: took})

    def end(
        self,
        output: object = None,
        *,
        tool_calls: object = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cache_read_tokens: int | None = None,
        cache_write_tokens: int | None = None,
        reasoning_tokens: int | None = None,
        cost_usd: float | None = None,
        model: str | None = None,
        finish_reason: str | None = None,
        error: BaseException | str | None = None,
    ) -> None:
        """End the call: with what the model answered and used, or with what it failed by.

        Args:
            output: Text, or messages.
            tool_calls: What it asked for: each a mapping or an object with `name`, `arguments` and `id`, or as OpenAI
                gives them.
            input_tokens: All tokens sent, cached ones among them.
            output_tokens: All tokens generated, reasoning among them.
            cache_read_tokens: How many of those sent were read from a cache.
            cache_write_tokens: How many of those sent were written to one.
            reasoning_tokens: How many of those generated were reasoning.
            cost_usd: What it cost, if known; else it is estimated from model and tokens.
            model: The model that answered.
            finish_reason: Why it stopped.
            error: What it failed by.
        """
        used = {
            "gen_ai.response.model": model,
            "gen_ai.usage.input_tokens": input_tokens,
            "gen_ai.usage.output_tokens": output_tokens,
            "gen_ai.usage.cache_read.input_tokens": cache_read_tokens,
            "gen_ai.usage.cache_write.input_tokens": cache_write_tokens,
            "gen_ai.usage.reasoning.output_tokens": reasoning_tokens,
            "gen_ai.usage.cost": cost_usd,
            "gen_ai.response.finish_reasons": None if finish_reason is None else (finish_reason,),
        }
        said = when_content({"gen_ai.output.messages": lambda: output_of(output, tool_calls, finish_reason)})
        self._finish({**{name: constant(value) for name, value in used.items() if value is not None}, **said}, error)


def current() -> Step:
    """The innermost handle that was entered, or whose decorated function runs.

    Where there is none, it is one without a span, and what is begun with it is begun below the current span.
    """
    found = otel.get_value(_STEP)
    return found if isinstance(found, Step) else Step(trace.INVALID_SPAN, otel.get_current())


def here() -> Step:
    """What begins things below the current span, whoever made that, and ends none of them."""
    found = otel.get_value(_STEP)
    return Step(trace.INVALID_SPAN, otel.get_current(), found if isinstance(found, Step) else None)


def current_run() -> Run:
    """The run that `current()` is part of; where there is none, one that takes answers for nothing."""
    found = otel.get_value(_STEP)
    step = found if isinstance(found, Step) else None
    while step is not None and not isinstance(step, Run):
        step = step.parent
    return step if step is not None else Run(trace.INVALID_SPAN, otel.get_current())
