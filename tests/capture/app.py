"""An app with an agent on it, instrumented for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Tracer

from spanwise.capture.handle import Handle, Stats
from spanwise.capture.instrument import instrument
from spanwise.model.ports import Sink
from spanwise.model.result import RunResult

WAIT_S = 10.0


class App:
    """A tracer provider with an agent on it, instrumented."""

    def __init__(self, *, also: Sequence[Sink] = (), **options: object) -> None:
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.results: list[RunResult] = []
        self.handle: Handle = instrument(self.provider, sinks=[self.results.append, *also], **options)
        self.tracer: Tracer = self.provider.get_tracer("app")

    @contextmanager
    def agent(self, name: str = "helper") -> Iterator[trace.Span]:
        """An agent's run."""
        fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        with self.tracer.start_as_current_span(f"invoke_agent {name}", attributes=fields) as span:
            yield span

    @contextmanager
    def tool(self, name: str, query: str = "q") -> Iterator[trace.Span]:
        """A tool's call."""
        fields = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.arguments": f'{{"q":"{query}"}}',
            "gen_ai.tool.call.result": '"found"',
        }
        with self.tracer.start_as_current_span(f"execute_tool {name}", attributes=fields) as span:
            yield span

    def flushed(self) -> list[RunResult]:
        """The results, once everything that ended is scored."""
        assert self.handle.flush(WAIT_S)
        return self.results


@pytest.fixture
def app() -> Iterator[App]:
    """An instrumented app with default options."""
    made = App()
    yield made
    made.handle.uninstrument()


@pytest.fixture
def make() -> Iterator[Callable[..., App]]:
    """Makes instrumented apps with options."""
    made: list[App] = []

    def one(**options: object) -> App:
        made.append(App(**options))
        return made[-1]

    yield one
    for app in made:
        app.handle.uninstrument(timeout_s=2)


def tools(result: RunResult) -> list[str]:
    """The names of the tools that a run called."""
    return [call.name for call in result.run.tool_calls]


def added_up(stats: Stats) -> int:
    """What the counters say became of what was captured."""
    return (
        stats.queued
        + stats.own
        + stats.held
        + stats.released
        + stats.doubled
        + stats.late
        + sum(stats.refused.values())
    )
