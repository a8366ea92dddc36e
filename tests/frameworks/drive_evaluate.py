"""A `Dataset.evaluate` of pydantic-evals while Spanwise is on, in the environment that holds it.

    python tests/frameworks/drive_evaluate.py POLICY [bare] [seam] [alone] [OUT]

`bare`: Logfire is not configured, so that pydantic-evals leaves no spans. `seam`: the task says that somebody else
scores it. `alone`: a run outside of the evaluation, too. OUT: where the spans are
written as Logfire exports them, scrubbed. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import logfire
from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import IsInstance, LLMJudge

import otlp_file
import spanwise
from spanwise.capture._mark import scored_here


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """One call of the tool, then the answer."""
    if any(isinstance(part, ToolReturnPart) for message in messages for part in message.parts):
        return ModelResponse(parts=[TextPart("The password is right.")])
    return ModelResponse(parts=[ToolCallPart("login", {"user": "ann", "password": "tulip"})])


def judge(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """All is well."""
    verdict = {"reason": "ok", "pass": True, "score": 1.0}
    if info.output_tools:
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, verdict)])
    return ModelResponse(parts=[TextPart(json.dumps(verdict))])


agent = Agent(FunctionModel(answer), name="helper")


@agent.tool_plain
def login(user: str, password: str) -> str:
    """A tool whose result Logfire scrubs."""
    return f"auth of {user} with {password}: granted"


async def task(query: str) -> str:
    """The agent's answer."""
    if "seam" in sys.argv:
        with scored_here():
            return (await agent.run(query)).output
    return (await agent.run(query)).output


def main() -> dict[str, object]:
    """What came of it."""
    exporter = InMemorySpanExporter()
    if "bare" not in sys.argv:
        logfire.configure(
            send_to_logfire=False, console=False, metrics=False, inspect_arguments=False,
            additional_span_processors=[SimpleSpanProcessor(exporter)],
        )  # fmt: skip
    results: list[spanwise.RunResult] = []
    handle = spanwise.instrument(agent, sinks=[results.append], in_evaluate=sys.argv[1])
    dataset = Dataset(
        name="logins",
        cases=[Case(name="first", inputs="Is tulip right?"), Case(name="second", inputs="And now?")],
        evaluators=[IsInstance(type_name="str"), LLMJudge(rubric="good", model=FunctionModel(judge))],
    )
    with spanwise.context(tags=["mine"], metadata={"a": 1}):
        report = dataset.evaluate_sync(task, name="nightly", progress=False)
    if "alone" in sys.argv:
        agent.run_sync("Alone?")
    assert handle.flush(20)
    trace.get_tracer_provider().force_flush()
    if sys.argv[-1].endswith(".json"):
        otlp_file.write(Path(sys.argv[-1]), otlp_file.traces_json(exporter.get_finished_spans()))
    stats = handle.stats()
    handle.uninstrument()
    return {
        "judged": [case.assertions["LLMJudge"].value for case in report.cases],
        "runs": sorted(
            [one.run.query, [[call.name, call.arguments, call.result] for call in one.run.tool_calls]]
            for one in results
        ),
        "who": [[list(one.run.who.tags), one.run.who.metadata] for one in sorted(results, key=lambda r: r.run.query)],
        "scored": stats.scored,
        "unscored": stats.unscored,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main()) + "\n")
