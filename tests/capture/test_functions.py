"""Plain functions as targets: one run per call, and nothing changes for its caller."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import json
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

from spanwise.capture._call import LIMIT, MARK
from spanwise.capture.functions import decorate
from tests.capture.recorded import Recorded, content


@pytest.fixture
def recorded() -> Recorded:
    """Somewhere for spans to go."""
    return Recorded()


def test_a_call_is_a_run(recorded: Recorded, tmp_path: Path) -> None:
    """Each call of a function is a run with its question, its answer and its name."""

    def ask(limit: int, question: str) -> str:
        """Answers."""
        return f"{question}! {limit}"

    asked = decorate(ask, recorded.provider).target
    assert ["why! 3", "how! 4"] == [asked(3, "why"), asked(4, question="how")]
    runs = recorded.runs(tmp_path)
    assert [("why", "why! 3"), ("how", "how! 4")] == [(run.query, run.answer) for run in runs]
    assert [("ask",), ("ask",)] == [tuple(agent.name for agent in run.agents) for run in runs]
    assert ("ask", "Answers.") == (asked.__name__, asked.__doc__)


def test_arguments_without_text_are_the_question_by_name(recorded: Recorded) -> None:
    """Where no argument is text, all of them are the question, and an object is what it holds."""

    @dataclass
    class Order:
        number: int
        tags: set[str]

    class Shop:
        def price(self, order: Order, *, rate: float = 1.0) -> dict[str, object]:
            return {"total": order.number * rate}

    shop = Shop()
    decorate(shop.price, recorded.provider, name="shop").target(Order(7, {"a"}), rate=2.0)
    span = recorded.only()
    assert {"order": {"number": 7, "tags": ["a"]}, "rate": 2.0} == json.loads(str(content(span, "input")))
    assert {"total": 14.0} == json.loads(str(content(span, "output")))
    assert "invoke_agent shop" == span.name


def test_methods_can_be_decorated_in_their_class(recorded: Recorded) -> None:
    """A decorated function in a class binds as the function did, and its instance is no argument."""

    class Agent:
        def run(self, number: int) -> int:
            return number + 1

    Agent.run = decorate(Agent.run, recorded.provider).target  # pyright: ignore[reportAttributeAccessIssue]  # a test
    assert 3 == Agent().run(2)
    assert '{"number": 2}' == content(recorded.only(), "input")


def test_spans_inside_are_below(recorded: Recorded) -> None:
    """What the function records is below the run, in the same trace, and the caller's span is current afterwards."""
    tracer = recorded.provider.get_tracer("app")

    def ask(question: str) -> str:
        with tracer.start_as_current_span("inner"):
            return question

    with tracer.start_as_current_span("outer") as outer:
        decorate(ask, recorded.provider).target("why")
        assert trace.get_current_span() is outer
    inner, run, top = recorded.spans
    assert ["inner", "invoke_agent ask", "outer"] == [span.name for span in recorded.spans]
    assert (run.context.span_id, top.context.span_id) == (inner.parent.span_id, run.parent.span_id)


def test_an_exception_is_recorded_and_passes(recorded: Recorded) -> None:
    """The caller gets the very exception; the span is an error of its type."""
    failure = LookupError("no such thing")

    def ask(question: str) -> str:
        raise failure

    with pytest.raises(LookupError) as caught:
        decorate(ask, recorded.provider).target("why")
    assert caught.value is failure
    span = recorded.only()
    assert ("ERROR", "LookupError: no such thing") == (span.status.status_code.name, span.status.description)
    assert "LookupError" == (span.attributes or {})["error.type"]
    assert ["exception"] == [event.name for event in span.events]


def test_coroutines_keep_their_kind(recorded: Recorded) -> None:
    """A decorated coroutine function is one, and concurrent calls are runs of their own."""

    async def ask(question: str) -> str:
        await asyncio.sleep(0.001)
        return question.upper()

    asked = decorate(ask, recorded.provider).target
    assert inspect.iscoroutinefunction(asked)

    async def main() -> list[str]:
        return await asyncio.gather(*(asked(f"q{n}") for n in range(20)))

    assert [f"Q{n}" for n in range(20)] == asyncio.run(main())
    pairs = {(content(span, "input"), content(span, "output")) for span in recorded.spans}
    assert {(f"q{n}", f"Q{n}") for n in range(20)} == pairs
    assert [None] * 20 == [span.parent for span in recorded.spans]


def test_a_cancelled_call_is_an_error(recorded: Recorded) -> None:
    """Cancelling a call ends its span as an error, and the cancellation goes on."""

    async def ask(question: str) -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.ensure_future(decorate(ask, recorded.provider).target("why"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert "asyncio.exceptions.CancelledError" == (recorded.only().attributes or {})["error.type"]


def test_callables_of_other_kinds(recorded: Recorded) -> None:
    """Partials and objects that are called work too, async ones included."""

    class Agent:
        async def __call__(self, question: str) -> str:
            return question

    class Heir(Agent):
        pass

    assert "why" == asyncio.run(decorate(Heir(), recorded.provider).target("why"))
    assert "x!" == decorate(functools.partial("{}{}".format, "x"), recorded.provider).target("!")
    assert ["invoke_agent Heir", "invoke_agent partial"] == [span.name for span in recorded.spans]


def test_undone_functions_record_nothing(recorded: Recorded) -> None:
    """After the undo calls work, and leave no spans; the current span is the caller's."""
    current: list[trace.Span] = []

    def ask(question: str) -> str:
        current.append(trace.get_current_span())
        return question

    async def stream(question: str) -> AsyncGenerator[str, None]:
        current.append(trace.get_current_span())
        yield question

    async def streamed() -> list[str]:
        return [piece async for piece in second.target("how")]

    first, second = decorate(ask, recorded.provider), decorate(stream, recorded.provider)
    first.undo()
    second.undo()
    with recorded.provider.get_tracer("app").start_as_current_span("outer") as outer:
        assert ("why", ["how"]) == (first.target("why"), asyncio.run(streamed()))
    assert [outer, outer] == current
    assert ["outer"] == [span.name for span in recorded.spans]


def test_context_variables_pass_through_calls(recorded: Recorded) -> None:
    """What a function sets in context variables its caller sees, as it would without."""
    variable = contextvars.ContextVar("variable", default=0)

    def ask(question: str) -> None:
        variable.set(1)

    decorate(ask, recorded.provider).target("why")
    assert 1 == variable.get()


def test_threads_have_runs_of_their_own(recorded: Recorded) -> None:
    """Calls from many threads at once are as many runs, none below another."""
    asked = decorate(lambda question: question, recorded.provider, name="ask").target
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(asked, [f"q{n}" for n in range(100)]))
    assert 100 == len({span.context.trace_id for span in recorded.spans})
    assert all(content(span, "input") == content(span, "output") for span in recorded.spans)


def test_values_that_cannot_be_written_do_no_harm(recorded: Recorded, caplog: pytest.LogCaptureFixture) -> None:
    """A value whose text cannot be made leaves its attribute out; the call goes on, and it is said once."""

    class Bad:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    asked = decorate(lambda thing: thing, recorded.provider, name="ask").target
    asked(Bad())
    asked(Bad())
    assert [False, False] == ["gen_ai.input.messages" in (span.attributes or {}) for span in recorded.spans]
    assert 1 == len(caplog.records)


def test_processors_that_raise_do_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    """A span that cannot be begun or ended is the app's processors' affair, not the caller's."""

    class Broken(SpanProcessor):
        def __init__(self, at: str) -> None:
            self._at = at

        def on_start(self, span: object, parent_context: object = None) -> None:
            if self._at == "start":
                raise RuntimeError(self._at)

        def on_end(self, span: object) -> None:
            if self._at == "end":
                raise RuntimeError(self._at)

    for at in ("start", "end"):
        provider = TracerProvider()
        provider.add_span_processor(Broken(at))
        assert "why" == decorate(lambda question: question, provider, name=at).target("why")
    assert 2 == len(caplog.records)


def test_long_texts_are_cut_with_a_mark(recorded: Recorded) -> None:
    """More than the limit is not written: neither of a text, nor of a stream, nor of a list of a million."""

    def ask(numbers: list[int]) -> Generator[str, None, None]:
        for _ in range(10):
            yield "x" * (LIMIT // 5)

    list(decorate(ask, recorded.provider).target(list(range(1_000_000))))
    question, answer = (str(content(recorded.only(), side)) for side in ("input", "output"))
    assert (LIMIT + len(MARK),) * 2 == (len(question), len(answer))
    assert [True, True] == [text.endswith(MARK) for text in (question, answer)]


def test_content_can_be_left_out(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where content is switched off, spans carry names, times and types of errors."""
    monkeypatch.setenv("SPANWISE_RECORD_CONTENT", "false")

    def ask(question: str) -> str:
        raise ValueError("secret")

    with pytest.raises(ValueError, match="secret"):
        decorate(ask, recorded.provider).target("secret")
    assert "secret" not in recorded.only().to_json()
    assert "ValueError" == (recorded.only().attributes or {})["error.type"]
