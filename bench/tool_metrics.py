"""Tool metrics side by side with ragas, agentevals, deepeval and pydantic-evals; runs in `.build/peers`, prints JSON.

Everyone is given the same calls in the form that it works on, made before the clock starts: ours an assembled run whose
calls were read, ragas and agentevals their messages, deepeval its test case, pydantic-evals a span tree. Expected are
the same calls, so that everyone has to look at all of them; the last call differs, so that nobody is done at once.
"""

from __future__ import annotations

import os

os.environ |= {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "RAGAS_DO_NOT_TRACK": "true",
    "LANGSMITH_TRACING": "false",
    "ANONYMIZED_TELEMETRY": "false",
}

import asyncio
import contextlib
import io
import json
import sys
import warnings
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from functools import partial

from agentevals.trajectory.match import create_trajectory_match_evaluator
from deepeval.metrics import ToolCorrectnessMetric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase
from deepeval.test_case import ToolCall as DeepToolCall
from pydantic_evals.evaluators import EvaluatorContext, ToolCorrectness, TrajectoryMatch
from pydantic_evals.otel.span_tree import SpanNode, SpanTree
from ragas.messages import AIMessage, HumanMessage
from ragas.messages import ToolCall as RagasToolCall
from ragas.metrics.collections import ToolCallAccuracy, ToolCallF1

from bench.timing import interleaved, median_us, spent_ns
from spanwise.assembly.tree import build_trace
from spanwise.evaluators.redundancy import Redundancy
from spanwise.evaluators.tool_arguments import ToolArguments
from spanwise.evaluators.tool_selection import ToolSelection
from spanwise.evaluators.tool_sequence import ToolSequence
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.trace import Run

SIZES = (10, 50, 200)
_CALLS_PER_ROUND = 2_000
_SLOW_ROUNDS = 3
_TOOLS = ("search", "lookup", "calculate", "fetch_page", "book")
_START = 1_760_000_000_000_000_000


class _NoModel(DeepEvalBaseLLM):
    """deepeval wants a model at hand, which this metric then does not ask."""

    def load_model(self, *args: object, **kwargs: object) -> _NoModel:
        return self

    def generate(self, *args: object, **kwargs: object) -> str:
        raise AssertionError("no model is asked here")

    async def a_generate(self, *args: object, **kwargs: object) -> str:
        raise AssertionError("no model is asked here")

    def get_model_name(self, *args: object, **kwargs: object) -> str:
        return "none"


def _calls(size: int) -> list[tuple[str, dict[str, object]]]:
    made: list[tuple[str, dict[str, object]]] = [
        (_TOOLS[at % len(_TOOLS)], {"query": f"question number {at}", "limit": at % 7}) for at in range(size)
    ]
    return made


def _expected(size: int) -> list[tuple[str, dict[str, object]]]:
    return [*_calls(size)[:-1], (_TOOLS[(size - 1) % len(_TOOLS)], {"query": "another question", "limit": 1})]


def _run(size: int) -> Run:
    scope = Scope("bench", "1", {})
    root = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    spans = [
        RawSpan("t" * 32, "0" * 16, None, "invoke_agent", _START, _START + size * 1000 + 1, 0, "", root, (), scope)
    ]
    for at, (name, arguments) in enumerate(_calls(size), start=1):
        begun = _START + at * 1000
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": f"call_{at}",
            "gen_ai.tool.call.arguments": json.dumps(arguments),
            "gen_ai.tool.call.result": '"done"',
        }
        spans.append(
            RawSpan(
                "t" * 32,
                f"{at:016x}",
                "0" * 16,
                f"execute_tool {name}",
                begun,
                begun + 900,
                0,
                "",
                attributes,
                (),
                scope,
            )
        )
    (run,) = build_trace("t" * 32, spans).runs
    return run


def _tree(size: int) -> SpanTree:
    tree = SpanTree()
    tree.add_spans(
        [
            SpanNode(
                name=f"execute_tool {name}",
                trace_id=1,
                span_id=at + 1,
                parent_span_id=None,
                start_timestamp=datetime.fromtimestamp(_START / 1e9, tz=UTC) + timedelta(milliseconds=at),
                end_timestamp=datetime.fromtimestamp(_START / 1e9, tz=UTC) + timedelta(milliseconds=at + 1),
                attributes={"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": json.dumps(arguments)},
                status="ok",
            )
            for at, (name, arguments) in enumerate(_calls(size))
        ]
    )
    return tree


def _driven(make: Callable[[], Coroutine[object, object, object]]) -> object:
    """What a coroutine that waits for nothing returns, without a loop's own cost."""
    try:
        make().send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits for something")


def _ours(size: int) -> dict[str, Callable[[], object]]:
    names = tuple(name for name, _ in _expected(size))
    expected = tuple({"tool": name, "arguments": arguments} for name, arguments in _expected(size))
    selection, sequence = ToolSelection(expected=names), ToolSequence(expected=names)
    redundancy, arguments = Redundancy(), ToolArguments(expected=expected)

    def fresh(evaluator: Callable[[Run], object]) -> Callable[[], object]:
        run = _run(size)
        calls = run.tool_calls

        def score() -> object:
            again = Run(run.trace, run.root)
            again.__dict__["tool_calls"] = calls  # read before; what evaluators derive from the calls is not
            run.trace.memo.__init__()
            return evaluator(again)

        return score

    return {
        "spanwise tool_selection": fresh(selection),
        "spanwise tool_sequence": fresh(sequence),
        "spanwise redundancy": fresh(redundancy),
        "spanwise tool_arguments": fresh(arguments),
    }


def _theirs(size: int) -> dict[str, Callable[[], object]]:
    calls, expected = _calls(size), _expected(size)
    asked = [
        HumanMessage(content="go"),
        *(AIMessage(content="", tool_calls=[RagasToolCall(name=name, args=args)]) for name, args in calls),
    ]
    reference = [RagasToolCall(name=name, args=args) for name, args in expected]
    accuracy, f1 = ToolCallAccuracy(), ToolCallF1()
    match = create_trajectory_match_evaluator(trajectory_match_mode="unordered")
    spoken, wanted = _openai(calls), _openai(expected)
    case = LLMTestCase(
        input="go",
        actual_output="done",
        tools_called=[DeepToolCall(name=name, input_parameters=args) for name, args in calls],
        expected_tools=[DeepToolCall(name=name, input_parameters=args) for name, args in expected],
    )
    metric = ToolCorrectnessMetric(model=_NoModel(), async_mode=False)
    names = [name for name, _ in expected]
    context = EvaluatorContext(
        name="case",
        inputs=None,
        metadata=None,
        expected_output=None,
        output=None,
        duration=1.0,
        _span_tree=_tree(size),
        attributes={},
        metrics={},
    )
    return {
        "ragas ToolCallAccuracy": lambda: _driven(partial(accuracy.ascore, asked, reference)),
        "ragas ToolCallF1": lambda: _driven(partial(f1.ascore, asked, reference)),
        "agentevals unordered": lambda: match(outputs=spoken, reference_outputs=wanted),
        "deepeval ToolCorrectness": lambda: metric.measure(case, _show_indicator=False),
        "pydantic-evals ToolCorrectness": lambda: ToolCorrectness(expected_tools=names).evaluate(context),
        "pydantic-evals TrajectoryMatch": lambda: TrajectoryMatch(expected_trajectory=names).evaluate(context),
    }


def _openai(calls: list[tuple[str, dict[str, object]]]) -> list[dict[str, object]]:
    return [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"type": "function", "function": {"name": name, "arguments": json.dumps(args)}}],
        }
        for name, args in calls
    ]


def _repeated(work: Callable[[], object], times: int) -> object:
    for _ in range(times):
        work()
    return None


def measure(rounds: int) -> list[dict[str, object]]:
    """Microseconds per trace of everyone, at each size."""
    found: list[dict[str, object]] = []
    for size in SIZES:
        times = _CALLS_PER_ROUND // size
        for ways, repeats, count in ((_ours(size), times, rounds), (_theirs(size), max(times // 20, 1), rounds)):
            variants = {name: partial(spent_ns, partial(_repeated, way, repeats)) for name, way in ways.items()}
            taken = interleaved(variants, rounds=count)
            found += [
                {"size": size, "name": name, "us": median_us(ns, repeats), "us_per_call": median_us(ns, repeats * size)}
                for name, ns in taken.items()
            ]
    return found


def main() -> None:
    """Print the figures as JSON; what the peers print goes to stderr."""
    warnings.simplefilter("ignore")
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        asyncio.set_event_loop(asyncio.new_event_loop())
        found = measure(int(sys.argv[1]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
