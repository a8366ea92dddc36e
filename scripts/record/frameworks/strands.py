"""Strands Agents, with its own instrumentation or with OpenInference's processor on top."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider
from strands import Agent, tool
from strands.models.openai import OpenAIModel

import scenario
import session


@tool
def search_docs(query: str) -> str:
    """Search the document index and return scored passages."""
    return scenario.search_text(query)


@tool
def calculator(expression: str) -> float:
    """Evaluate an arithmetic expression."""
    return scenario.calculate(expression)


def main(this: session.Session, provider: TracerProvider) -> str:
    """The answer of one run; Strands takes the global provider."""
    if this.instrumentation == "openinference":
        from openinference.instrumentation.strands_agents import StrandsAgentsToOpenInferenceProcessor

        provider.add_span_processor(StrandsAgentsToOpenInferenceProcessor())
    model = OpenAIModel(client_args={"base_url": this.openai_url, "api_key": "unused"}, model_id=scenario.MODEL)
    agent = Agent(
        name=scenario.RESEARCH_AGENT,
        model=model,
        system_prompt=scenario.RESEARCH_PROMPT,
        tools=[search_docs, calculator],
        callback_handler=None,
        trace_attributes={"session.id": scenario.SESSION_ID, "user.id": scenario.USER_ID},
    )
    return str(agent(this.query))


if __name__ == "__main__":
    session.run(main, framework="strands")
