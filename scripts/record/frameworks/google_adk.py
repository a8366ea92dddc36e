"""Google's Agent Development Kit, with its own instrumentation."""

from __future__ import annotations

import asyncio
import os

from google.adk.agents import Agent
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types
from opentelemetry.sdk.trace import TracerProvider

import scenario
import session

MODEL = "gemini-2.5-flash"


def search_docs(query: str) -> dict[str, object]:
    """Search the document index and return scored passages."""
    return {"documents": scenario.search(query)}


def calculator(expression: str) -> dict[str, object]:
    """Evaluate an arithmetic expression."""
    try:
        return {"status": "success", "result": scenario.calculate(expression)}
    except ValueError as error:
        # ADK ends a run whose tool raises; its documentation has tools return their errors.
        return {"status": "error", "error_message": str(error)}


def main(this: session.Session, provider: TracerProvider) -> str:
    """The answer of one run; ADK takes the global provider."""
    del provider
    os.environ["GOOGLE_API_KEY"] = "unused"
    return asyncio.run(_run(this))


async def _run(this: session.Session) -> str:
    model = Gemini(model=MODEL, base_url=this.base_url)
    agent = Agent(
        name=scenario.RESEARCH_AGENT,
        description="Answers questions with research.",
        model=model,
        instruction=scenario.RESEARCH_PROMPT,
        tools=[search_docs, calculator],
        disallow_transfer_to_parent=True,
        disallow_transfer_to_peers=True,
    )
    if this.variant == "handoff":
        agent = Agent(name=scenario.TRIAGE_AGENT, model=model, instruction=scenario.TRIAGE_PROMPT, sub_agents=[agent])
    runner = InMemoryRunner(agent=agent, app_name="spanwise_sample")
    await runner.session_service.create_session(
        app_name="spanwise_sample", user_id=scenario.USER_ID, session_id=scenario.SESSION_ID
    )
    message = types.Content(role="user", parts=[types.Part(text=this.query)])
    said: list[str] = []
    async for event in runner.run_async(user_id=scenario.USER_ID, session_id=scenario.SESSION_ID, new_message=message):
        parts = event.content.parts if event.content else None
        said.extend(part.text for part in parts or [] if part.text)
    await runner.close()
    return said[-1] if said else ""


if __name__ == "__main__":
    session.run(main, framework="google-adk")
