"""Pydantic AI, with its own instrumentation or with OpenInference's processor on top."""

from __future__ import annotations

import asyncio

from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai import Agent, InstrumentationSettings, ModelRetry
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import scenario
import session


def search_docs(query: str) -> list[dict[str, object]]:
    """Search the document index and return scored passages."""
    return scenario.search(query)


def calculator(expression: str) -> float:
    """Evaluate an arithmetic expression."""
    try:
        return scenario.calculate(expression)
    except ValueError as error:
        raise ModelRetry(str(error)) from error


def main(this: session.Session, provider: TracerProvider) -> str:
    """The answer of one run."""
    if this.instrumentation == "openinference":
        from openinference.instrumentation.pydantic_ai import OpenInferenceSpanProcessor

        provider.add_span_processor(OpenInferenceSpanProcessor())
    if this.instrumentation != session.OUTSIDE:
        Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    model = OpenAIChatModel(scenario.MODEL, provider=OpenAIProvider(base_url=this.openai_url, api_key="unused"))
    research = Agent(
        model,
        name=scenario.RESEARCH_AGENT,
        instructions=scenario.RESEARCH_PROMPT,
        tools=[search_docs, calculator],
        retries=3,
    )
    if this.variant == "streaming":
        return asyncio.run(_streamed(research, this.query))
    if this.variant == "subagent":
        return _manager(model, research).run_sync(this.query).output
    return research.run_sync(this.query).output


def _manager(model: OpenAIChatModel, research: Agent[None, str]) -> Agent[None, str]:
    manager = Agent(model, name=scenario.MANAGER_AGENT, instructions=scenario.MANAGER_PROMPT)

    @manager.tool_plain
    async def delegate_research(question: str) -> str:
        """Delegate a question to the research agent."""
        return (await research.run(question)).output

    return manager


async def _streamed(agent: Agent[None, str], query: str) -> str:
    async with agent.run_stream(query) as result:
        return "".join([piece async for piece in result.stream_text(delta=True)])


if __name__ == "__main__":
    session.run(main, framework="pydantic-ai")
