"""`spanwise.context`: whose request a run served, in every thread, task and process that works on it."""

from __future__ import annotations

import asyncio
import contextvars
import timeit
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import baggage, propagate
from opentelemetry import context as otel
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanwise.capture.context import ContextStamp, context
from spanwise.model.calls import Who
from tests.record.reading import traces_of

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
WHO = Who(session_id="s", user_id="u", request_id="r", tags=("x",), metadata={"plan": "pro"})


class Stamping(SpanProcessor):
    """Does at the start of a span what the live processor does there."""

    def __init__(self) -> None:
        self.stamp = ContextStamp()

    def on_start(self, span: Span, parent_context: otel.Context | None = None) -> None:
        """Stamp the span."""
        self.stamp.stamp(span, parent_context)


class Process:
    """What one process records."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(Stamping())
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("app")

    def agent(self, name: str = "a", **attributes: object):
        """The span of an agent's run, as the current one."""
        return self.tracer.start_as_current_span(name, attributes={**AGENT, **attributes})

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The spans that ended."""
        return self.exporter.get_finished_spans()

    @property
    def who(self) -> list[Who]:
        """Whose requests the runs served, by their start."""
        runs = [run for found in traces_of(self.spans) for run in found.runs]
        return [run.who for run in sorted(runs, key=lambda run: run.start_ns)]


@pytest.fixture
def process() -> Process:
    """A process that records."""
    return Process()


def everything(**changes: object):
    """A context in which all is said."""
    said = {"session_id": "s", "user_id": "u", "request_id": "r", "tags": ["x"], "metadata": {"plan": "pro"}}
    return context(**{**said, **changes})


def test_a_run_bears_the_context(process: Process) -> None:
    """What is said lands on the run that begins inside; runs before and after bear nothing."""
    with process.agent():
        pass
    with everything(), process.agent():
        pass
    with process.agent():
        pass
    assert [Who(), WHO, Who()] == process.who


def test_what_is_written(process: Process) -> None:
    """The attributes bear our names, and for session and user also those that other backends read."""
    with everything(), process.agent():
        process.tracer.start_span("below").end()
    below, agent = process.spans
    assert {
        **AGENT,
        "spanwise.session_id": "s",
        "session.id": "s",
        "spanwise.user_id": "u",
        "user.id": "u",
        "spanwise.request_id": "r",
        "spanwise.tags": ("x",),
        "spanwise.metadata": '{"plan":"pro"}',
    } == dict(agent.attributes or {})
    assert {} == dict(below.attributes or {})


def test_nested_contexts(process: Process) -> None:
    """Inside, the inner context counts, tags are united and metadata merged; outside it is gone."""
    with everything():
        with context(user_id="v", tags=("y", "x"), metadata={"plan": "free", "n": 1}), process.agent():
            pass
        with process.agent():
            pass
    inner = Who(session_id="s", user_id="v", request_id="r", tags=("x", "y"), metadata={"plan": "free", "n": 1})
    assert [inner, WHO] == process.who


def test_runs_of_one_request(process: Process) -> None:
    """A context entered inside a request, around runs, inside a custom span: each run finds its own."""
    with process.tracer.start_as_current_span("POST /chat"):
        with context(request_id="1"), process.agent():
            pass
        with context(request_id="2"), process.tracer.start_as_current_span("job"):
            with process.agent():
                pass
            with context(user_id="u"), process.agent(), process.agent("sub"):
                pass
    assert [Who(request_id="1"), Who(request_id="2"), Who(request_id="2", user_id="u")] == process.who
    assert 3 == sum("spanwise.request_id" in (span.attributes or {}) for span in process.spans)


def test_tasks_keep_apart(process: Process) -> None:
    """Tasks at work at the same time do not see each other's context; a task inherits that of its maker."""

    async def work(number: int) -> None:
        async with context(request_id=number):
            await asyncio.sleep(0.001 * (number % 3))
            with process.agent():
                await asyncio.sleep(0.001)

    async def main() -> None:
        async with context(session_id="s"):
            await asyncio.gather(*(asyncio.create_task(work(number)) for number in range(20)))

    asyncio.run(main())
    assert sorted(str(n) for n in range(20)) == sorted(who.request_id or "" for who in process.who)
    assert {"s"} == {who.session_id for who in process.who}


def test_threads_keep_apart(process: Process) -> None:
    """A thread has the context that it is run in, and no other."""

    def work() -> None:
        with process.agent():
            pass

    with ThreadPoolExecutor(1) as pool, everything():
        pool.submit(work).result()
        pool.submit(contextvars.copy_context().run, work).result()
        asyncio.run(asyncio.to_thread(work))
    assert [Who(), WHO, WHO] == process.who


def test_an_explicit_context_counts(process: Process) -> None:
    """A span that is begun with an OpenTelemetry context bears what was said where that was taken."""
    with everything():
        taken = otel.get_current()
    with context(request_id="other"):
        process.tracer.start_span("a", context=taken, attributes=AGENT).end()
        process.tracer.start_span("a", context=otel.Context(), attributes=AGENT).end()
    assert [WHO, Who(request_id="other")] == process.who


def test_it_crosses_to_other_processes(process: Process) -> None:
    """What is said here lands on the runs of a process that is called from here, and is added to there."""
    other = Process()
    carrier: dict[str, str] = {}
    long = {"plan": "pro", "text": "é, ;=%" * 10}
    with everything(metadata=long, tags=["é", "b c"]), process.agent():
        propagate.inject(carrier)
    token = otel.attach(propagate.extract(carrier, context=otel.Context()))
    try:
        with other.agent():
            pass
        with context(request_id="mine", tags=["c"]), other.agent():
            other.tracer.start_span("below").end()
    finally:
        otel.detach(token)
    sent = Who(session_id="s", user_id="u", request_id="r", tags=("é", "b c"), metadata=long)
    merged = Who(session_id="s", user_id="u", request_id="mine", tags=("é", "b c", "c"), metadata=long)
    assert [sent, merged] == other.who
    assert {} == dict(next(span.attributes for span in other.spans if span.name == "below") or {})


def test_what_is_too_long_is_not_sent(process: Process) -> None:
    """Large metadata stays here; the rest is sent, and an outer context's is not sent in its place."""
    carrier: dict[str, str] = {}
    with everything(), context(metadata={"text": "x" * 2000}), process.agent():
        propagate.inject(carrier)
    assert {"plan": "pro", "text": "x" * 2000} == process.who[0].metadata
    assert 1100 > len(carrier["baggage"])
    assert "spanwise.user_id=u" in carrier["baggage"]
    assert "spanwise.metadata" not in carrier["baggage"]


def test_it_can_be_kept_here(process: Process) -> None:
    """Without `propagate` nothing is sent, and the run here bears it."""
    carrier: dict[str, str] = {}
    with everything(propagate=False), process.agent():
        propagate.inject(carrier)
    assert {"traceparent"} == set(carrier)
    assert [WHO] == process.who


def test_the_apps_own_baggage_stays() -> None:
    """Other entries of baggage are there inside and after; ours are only inside."""
    token = otel.attach(baggage.set_baggage("mine", "1"))
    with everything():
        assert {"mine", "spanwise.session_id"} < set(baggage.get_all())
    assert {"mine": "1"} == dict(baggage.get_all())
    otel.detach(token)


@pytest.mark.parametrize(
    "header",
    [
        "spanwise.tags=%5B1%2C",
        "spanwise.metadata=%5B%5D,spanwise.tags=%7B%7D",
        "spanwise.metadata=" + "%5B" * 1300,
        "spanwise.session_id=,spanwise.user_id=%20",
    ],
)
def test_odd_baggage(process: Process, header: str) -> None:
    """Whatever another process sends, the span begins, and what cannot be read is left out."""
    parent = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "baggage": header}
    process.tracer.start_span("a", context=propagate.extract(parent), attributes=AGENT).end()
    assert [Who()] == process.who


def test_received_values_are_bounded(process: Process) -> None:
    """Long ids and many tags that come along are cut."""
    tags = "%5B" + "%2C".join(f"%22{number}%22" for number in range(100)) + "%5D"
    parent = {
        "traceparent": f"00-{'a' * 32}-{'b' * 16}-01",
        "baggage": f"spanwise.session_id={'s' * 4000},spanwise.tags={tags}",
    }
    process.tracer.start_span("a", context=propagate.extract(parent), attributes=AGENT).end()
    (who,) = process.who
    assert ("s" * 256, 64) == (who.session_id, len(who.tags))


def test_what_the_app_set_stays(process: Process) -> None:
    """Attributes that the app gives a span are not overwritten, before or after; the run bears the context's."""
    with everything(), process.agent(**{"session.id": "app", "spanwise.request_id": "app"}) as span:
        span.set_attribute("user.id", "later")
    (found,) = process.spans
    attributes = found.attributes or {}
    assert ("app", "later", "app") == (
        attributes["session.id"],
        attributes["user.id"],
        attributes["spanwise.request_id"],
    )
    assert ("s", "u", "app") == (process.who[0].session_id, process.who[0].user_id, process.who[0].request_id)


def test_odd_values(process: Process) -> None:
    """Numbers, one tag as text, and metadata that JSON does not know are made into what can be written."""
    with context(session_id=7, user_id="", tags="one", metadata={1: {2}, "o": object}), process.agent():
        pass
    (who,) = process.who
    assert ("7", None, ("one",)) == (who.session_id, who.user_id, who.tags)
    assert {"1": [2], "o": "<class 'object'>"} == who.metadata


def test_an_empty_context(process: Process) -> None:
    """A context that says nothing changes nothing."""
    with context(), process.agent():
        assert {} == dict(baggage.get_all())
    assert [Who()] == process.who


def test_as_a_decorator(process: Process) -> None:
    """Each call of a decorated function runs inside, whatever kind it is; a stream's consumer does not."""
    said = everything()

    @said
    def plain() -> None:
        with process.agent():
            pass

    @said
    async def waiting() -> None:
        plain()

    @said
    def items() -> Iterator[int]:
        for number in range(2):
            with process.agent():
                pass
            yield number

    @said
    async def aitems() -> AsyncIterator[int]:
        with process.agent():
            pass
        yield 1

    async def main() -> None:
        await asyncio.gather(waiting(), waiting())
        async for _ in aitems():
            assert {} == dict(baggage.get_all())

    plain()
    for _ in items():
        assert {} == dict(baggage.get_all())
    asyncio.run(main())
    assert [WHO] * 6 == process.who


def test_left_elsewhere(process: Process) -> None:
    """A context that is left where it was not entered, as streams do that are dropped, changes nothing there."""
    outer, inner = context(session_id="outer"), context(session_id="inner")
    with outer:
        contextvars.Context().run(inner.__enter__)
        inner.__exit__(None, None, None)
        with process.agent():
            pass
    outer.__exit__(None, None, None)
    assert ["outer"] == [who.session_id for who in process.who]


def test_other_dialects(process: Process) -> None:
    """The context is read on spans of whatever dialect, before what those say of themselves."""
    with everything(), process.tracer.start_as_current_span("x") as span:
        span.set_attributes(
            {
                "openinference.span.kind": "AGENT",
                "session.id": "theirs",
                "metadata": '{"user_id": "theirs", "thread": 1}',
                "tag.tags": ["t"],
            }
        )
    assert [
        Who(
            session_id="s",
            user_id="u",
            request_id="r",
            tags=("x", "t"),
            metadata={"user_id": "theirs", "thread": 1, "plan": "pro"},
        )
    ] == process.who


def test_what_it_costs_when_nothing_is_said() -> None:
    """Stamping a span outside of any context takes less than two microseconds even on a slow machine."""
    process = Process()
    stamp = ContextStamp().stamp
    with process.agent() as span:
        number = 20_000
        best = min(timeit.repeat(lambda: stamp(span, None), number=number, repeat=5)) / number
    assert 2e-6 > best
