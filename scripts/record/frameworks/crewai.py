"""A CrewAI crew of one agent and one task, under one of three instrumentations."""

from __future__ import annotations

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from opentelemetry.sdk.trace import TracerProvider

import scenario
import session


@tool("search_docs")
def search_docs(query: str) -> str:
    """Search the document index and return scored passages."""
    return scenario.search_text(query)


@tool("calculator")
def calculator(expression: str) -> float:
    """Evaluate an arithmetic expression."""
    return scenario.calculate(expression)


def instrument(name: str, provider: TracerProvider) -> None:
    """Turn on the instrumentation of that name."""
    if name == session.OUTSIDE:
        return
    if name == "traceloop":
        from opentelemetry.instrumentation.crewai import CrewAIInstrumentor

        CrewAIInstrumentor().instrument(tracer_provider=provider)
        return
    from openinference.instrumentation.crewai import CrewAIInstrumentor

    CrewAIInstrumentor().instrument(tracer_provider=provider)
    if name == "openinference-with-openai":
        from openinference.instrumentation.openai import OpenAIInstrumentor

        OpenAIInstrumentor().instrument(tracer_provider=provider)


def main(this: session.Session, provider: TracerProvider) -> str:
    """The answer of one run."""
    instrument(this.instrumentation, provider)
    agent = Agent(
        role=scenario.RESEARCH_AGENT,
        goal="Answer questions",
        backstory="You are a careful research assistant.",
        tools=[search_docs, calculator],
        llm=LLM(model=scenario.MODEL, base_url=this.openai_url, api_key="unused"),
        allow_delegation=False,
    )
    task = Task(description=this.query, expected_output="One sentence", agent=agent)
    crew = Crew(name="population_crew", agents=[agent], tasks=[task], tracing=False)
    return crew.kickoff(inputs={"topic": "France"}).raw


if __name__ == "__main__":
    session.run(main, framework="crewai")
