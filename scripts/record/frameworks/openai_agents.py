"""The OpenAI Agents SDK, under one of four instrumentations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from agents import (
    Agent,
    ModelBehaviorError,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
    set_trace_processors,
)
from openai import AsyncOpenAI
from opentelemetry.sdk.trace import TracerProvider

import scenario
import session

WORKFLOW = "population workflow"


@function_tool
def search_docs(query: str) -> str:
    """Search the document index and return scored passages."""
    return scenario.search_text(query)


@function_tool
def calculator(expression: str) -> float:
    """Evaluate an arithmetic expression."""
    return scenario.calculate(expression)


def openinference(this: session.Session, provider: TracerProvider) -> None:
    """OpenInference's processor replaces the SDK's own trace export."""
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


def traceloop(this: session.Session, provider: TracerProvider) -> None:
    """Traceloop's processor, beside the SDK's own."""
    from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


def otel_genai(this: session.Session, provider: TracerProvider) -> None:
    """OpenTelemetry's GenAI instrumentation of the SDK alone, which records no model calls."""
    from opentelemetry.instrumentation.genai.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


def otel_genai_with_openai(this: session.Session, provider: TracerProvider) -> None:
    """OpenTelemetry's GenAI instrumentation of the SDK and of the client below it."""
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    otel_genai(this, provider)
    OpenAIInstrumentor().instrument(tracer_provider=provider)


def logfire(this: session.Session, provider: TracerProvider) -> None:
    """Logfire wraps the SDK's trace provider; its spans are handed to the recording's exporter."""
    import logfire as library
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    library.configure(
        send_to_logfire=False,
        console=False,
        metrics=False,
        inspect_arguments=False,
        service_name="openai-agents-sample",
        additional_span_processors=[SimpleSpanProcessor(this.exporter)],
    )
    library.instrument_openai_agents()


INSTRUMENTATIONS: Mapping[str, Callable[[session.Session, TracerProvider], None]] = {
    "openinference": openinference,
    "traceloop": traceloop,
    "otel-genai": otel_genai,
    "otel-genai-with-openai": otel_genai_with_openai,
    "logfire": logfire,
}


def main(this: session.Session, provider: TracerProvider) -> str:
    """The answer of one run."""
    if this.instrumentation != session.OUTSIDE:
        # Without this the SDK would send its own traces to its vendor.
        set_trace_processors([])
        INSTRUMENTATIONS[this.instrumentation](this, provider)
    model = OpenAIResponsesModel(
        model=scenario.MODEL, openai_client=AsyncOpenAI(base_url=this.openai_url, api_key="unused")
    )
    agent = Agent(
        name=scenario.RESEARCH_AGENT,
        instructions=scenario.RESEARCH_PROMPT,
        tools=[search_docs, calculator],
        model=model,
    )
    if this.variant == "handoff":
        agent = Agent(name=scenario.TRIAGE_AGENT, instructions=scenario.TRIAGE_PROMPT, handoffs=[agent], model=model)
    elif this.variant == "subagent":
        agent = _manager(model, agent)
    try:
        return asyncio.run(_run(agent, this))
    except ModelBehaviorError as error:
        # The SDK ends a run whose model calls a tool that does not exist: that is the recording.
        return f"{scenario.RUN_ENDED}{error}"


async def _run(agent: Agent, this: session.Session) -> str:
    config = RunConfig(workflow_name=WORKFLOW, group_id=scenario.SESSION_ID)
    if this.variant != "streaming":
        return (await Runner.run(agent, this.query, run_config=config)).final_output
    result = Runner.run_streamed(agent, this.query, run_config=config)
    async for _ in result.stream_events():
        pass
    return result.final_output


def _manager(model: OpenAIResponsesModel, research: Agent) -> Agent:
    delegate = research.as_tool(
        tool_name="delegate_research", tool_description="Delegate a question to the research agent."
    )
    return Agent(name=scenario.MANAGER_AGENT, instructions=scenario.MANAGER_PROMPT, tools=[delegate], model=model)


if __name__ == "__main__":
    session.run(main, framework="openai-agents")
