"""A dataset of pydantic-evals in YAML, with evaluators of Spanwise and of its own, on a Pydantic AI agent.

python examples/pydantic_evals_dataset.py
"""

from __future__ import annotations

import itertools
from contextvars import ContextVar
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_evals import Dataset
from rich.console import Console

from spanwise import evals

CITIES = ("Oslo", "Lima", "Quito")
NUMBERS = itertools.count()
CARELESS: ContextVar[bool] = ContextVar("CARELESS", default=False)


def weather(city: str) -> str:
    """The weather in a city."""
    return f"18 degrees in {city}"


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A function in the model's place: it looks each city up, the first one twice where it is careless, and answers."""
    del info
    asked = " ".join(
        str(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    )
    named = [city for city in CITIES if city in asked]
    plan = [*named, named[0]] if len(named) > 1 and CARELESS.get() else named
    done = sum(isinstance(message, ModelResponse) for message in messages)
    if done < len(plan):
        return ModelResponse(parts=[ToolCallPart("weather", {"city": plan[done]}, tool_call_id=f"call-{done}")])
    return ModelResponse(parts=[TextPart("18 degrees everywhere." if plan else "Hello!")])


agent = Agent(FunctionModel(scripted, model_name="scripted"), name="forecaster", tools=[weather])


async def ask(question: str) -> str:
    """The task: one run of the agent, which is careless every second time."""
    CARELESS.set(next(NUMBERS) % 2 == 0)
    return (await agent.run(question)).output


if __name__ == "__main__":
    trace.set_tracer_provider(TracerProvider())
    Agent.instrument_all()
    path = Path(__file__).with_suffix(".yaml")
    dataset = Dataset[str, str, dict[str, object]].from_file(path, custom_evaluator_types=evals.ALL)
    report = dataset.evaluate_sync(ask, repeat=3, progress=False, lifecycle=evals.Capture)
    console = Console(width=140)
    report.print(console=console, include_reasons=True, include_durations=False)
    evals.print_repeats(report, minimum={"redundancy": 0.9, "tool_selection": 1.0}, k=2, console=console)
