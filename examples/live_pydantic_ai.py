"""A Pydantic AI agent whose runs are scored as they end: one line, and a line on the terminal per run.

python examples/live_pydantic_ai.py
"""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import spanwise

PLAN = ("Oslo", "Lima", "Oslo")


def weather(city: str) -> str:
    """The weather in a city."""
    return f"18 degrees in {city}"


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A function in the model's place: it looks three cities up, one of them twice, and answers."""
    del info
    done = sum(isinstance(message, ModelResponse) for message in messages)
    if done < len(PLAN):
        return ModelResponse(parts=[ToolCallPart("weather", {"city": PLAN[done]}, tool_call_id=f"call-{done}")])
    return ModelResponse(parts=[TextPart("18 degrees in both cities.")])


agent = Agent(FunctionModel(scripted, model_name="scripted"), name="forecaster", tools=[weather])

if __name__ == "__main__":
    handle = spanwise.instrument(agent, console=True)
    print(agent.run_sync("How warm is it in Oslo and Lima?").output)
    handle.flush()
    for score in handle.last()[0].scores:
        if score.name == "redundancy":
            print(score.name, round(score.value or 0, 2), "|", score.issues[0])
