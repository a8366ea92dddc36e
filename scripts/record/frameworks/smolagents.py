"""Smolagents' tool-calling agent, with OpenInference."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider
from smolagents import OpenAIModel, ToolCallingAgent, tool

import scenario
import session


@tool
def search_docs(query: str) -> str:
    """Search the document index and return scored passages.

    Args:
        query: What to look for.
    """
    return scenario.search_text(query)


@tool
def calculator(expression: str) -> float:
    """Evaluate an arithmetic expression.

    Args:
        expression: Numbers and operators, without words.
    """
    return scenario.calculate(expression)


def main(this: session.Session, provider: TracerProvider) -> str:
    """The answer of one run."""
    if this.instrumentation != session.OUTSIDE:
        from openinference.instrumentation.smolagents import SmolagentsInstrumentor

        SmolagentsInstrumentor().instrument(tracer_provider=provider)
    model = OpenAIModel(model_id=scenario.MODEL, api_base=this.openai_url, api_key="unused")
    agent = ToolCallingAgent(
        tools=[search_docs, calculator],
        model=model,
        name=scenario.RESEARCH_AGENT,
        description="Answers questions with research.",
        instructions=scenario.RESEARCH_PROMPT,
    )
    return str(agent.run(this.query))


if __name__ == "__main__":
    session.run(main, framework="smolagents")
