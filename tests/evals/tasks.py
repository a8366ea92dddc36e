"""Tasks to evaluate: an agent with tools, on a provider of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext
from pydantic_evals.reporting import EvaluationReport

from spanwise.evals.capture import Capture
from spanwise.evals.runs import found_in

Report: TypeAlias = EvaluationReport[str, object, Mapping[str, object]]


class Seen(Evaluator[object, object, object]):
    """Keeps what evaluators are given: the tools of the run of each case."""

    def __init__(self) -> None:
        self.tools: dict[str, list[str]] = {}
        self.why: dict[str, str] = {}
        self.attributes: dict[str, Mapping[str, object]] = {}

    def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> dict[str, bool]:
        found, name = found_in(ctx), str(ctx.name)
        self.tools[name] = [] if found.run is None else [call.name for call in found.run.tool_calls]
        self.why[name] = found.why
        self.attributes[name] = dict(ctx.attributes)
        return {}


class Agent:
    """An agent whose spans go to a provider that nobody else uses."""

    def __init__(self) -> None:
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.tracer = self.provider.get_tracer("app")
        self.seen = Seen()
        self.capture = partial(Capture, provider=self.provider)

    @contextmanager
    def run(self, name: str = "helper") -> Iterator[trace.Span]:
        """A run of the agent."""
        fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        with self.tracer.start_as_current_span(f"invoke_agent {name}", attributes=fields) as span:
            yield span

    def begin(self, name: str, context: Context | None = None) -> trace.Span:
        """A tool's call that goes on."""
        fields = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.arguments": f'{{"q":"{name}"}}',
            "gen_ai.tool.call.result": '"found"',
        }
        return self.tracer.start_span(f"execute_tool {name}", context=context, attributes=fields)

    def call(self, name: str, context: Context | None = None) -> None:
        """A tool's call: in a context that was carried along, as instrumentations of threads do, if one is given."""
        token = None if context is None else otel.attach(context)
        self.begin(name).end()
        if token is not None:
            otel.detach(token)

    def evaluate(self, dataset: Dataset[str, object, object], task: Callable[[str], object], **options: Any) -> Report:
        """The report on a task, its cases captured."""
        given = {"lifecycle": self.capture, "progress": False, **options}
        return asyncio.run(dataset.evaluate(task, **given))

    def dataset(self, names: Sequence[str], *more: Evaluator[object, object, object]) -> Dataset[str, object, object]:
        """A dataset with a case for each name, which is the input, too."""
        cases = [Case[str, object, object](name=name, inputs=name) for name in names]
        return Dataset(name="tests", cases=cases, evaluators=[self.seen, *more])
