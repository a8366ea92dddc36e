"""A small agent to show what Spanwise sees: real spans of a real framework, with a function in the model's place.

It looks a warehouse up, mistypes the other one (the tool asks for a retry), gets it right, looks the first one up again
although it knows the answer, and answers.
"""

from __future__ import annotations

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent, InstrumentationSettings, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from spanwise.cli._otlp import to_otlp

QUESTION = "Which of our two warehouses has more free pallet spaces, and how many more?"
ANSWER = "The north warehouse: it has 420 free pallet spaces, 55 more than the south warehouse with 365."
_ASKED = ("north", "sout", "south", "north")
_FREE = {"north": 420, "south": 365}


def free_spaces(warehouse: str) -> int:
    """Free pallet spaces in a warehouse."""
    if warehouse not in _FREE:
        raise ModelRetry(f"there is no warehouse {warehouse!r}; there are {' and '.join(_FREE)}")
    return _FREE[warehouse]


def decide(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """What a model would answer next: the calls one by one, then the answer."""
    del info
    done = sum(isinstance(message, ModelResponse) for message in messages)
    if done == len(_ASKED):
        return ModelResponse(parts=[TextPart(ANSWER)])
    return ModelResponse(
        parts=[ToolCallPart("free_spaces", {"warehouse": _ASKED[done]}, tool_call_id=f"call-{done + 1}")]
    )


def run() -> str:
    """The agent's spans as OTLP/JSON, collected in memory: no global provider is touched and nothing is sent."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "spanwise-demo"}))
    provider.add_span_processor(SimpleSpanProcessor(memory))
    agent = Agent(FunctionModel(decide, model_name="scripted"), name="stock_keeper", tools=[free_spaces], retries=2)
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    try:
        agent.run_sync(QUESTION)
    finally:
        Agent.instrument_all(False)
        provider.shutdown()
    return to_otlp(memory.get_finished_spans())
