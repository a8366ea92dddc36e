"""A FastAPI app: the agent runs of each request are scored, and bear the request's id, its session and its user.

pip install fastapi httpx pydantic-ai-slim
python examples/live_fastapi.py
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import httpx
from fastapi import FastAPI, Query
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import spanwise

USERS = {b"Bearer key-1": "ann", b"Bearer key-2": "bob"}


async def opening_hours(place: str) -> str:
    """When a place is open."""
    await asyncio.sleep(0.01)
    return f"{place}: 9 to 17"


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A function in the model's place: it looks a place up, the zoo twice, and answers."""
    place = str(messages[0].parts[-1].content)
    done = sum(isinstance(message, ModelResponse) for message in messages)
    if done < (2 if place == "zoo" else 1):
        return ModelResponse(parts=[ToolCallPart("opening_hours", {"place": place}, tool_call_id=f"call-{done}")])
    return ModelResponse(parts=[TextPart(f"It is open from 9 to 17 ({place}).")])


def identify(scope: dict[str, Any]) -> dict[str, object]:
    """The user is whose key it is: a header with a name could say anybody's."""
    headers = dict(scope["headers"])
    return {"user_id": USERS.get(headers.get(b"authorization", b"")), "tags": [scope["path"]]}


agent = Agent(FunctionModel(scripted, model_name="scripted"), name="guide", tools=[opening_hours])
app = FastAPI()
handle = spanwise.instrument(
    app, headers={"request_id": "X-Request-ID", "session_id": "X-Chat-ID"}, identify=identify, console=True
)


@app.get("/hours")
async def hours(place: Annotated[list[str], Query()]) -> list[str]:
    """One agent run for each place, side by side."""
    return [run.output for run in await asyncio.gather(*(agent.run(one) for one in place))]


async def ask() -> None:
    """Four requests at once, of two users, each in a chat of its own."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://app") as client:
        headers = [
            {"X-Request-ID": f"r{n}", "X-Chat-ID": f"chat-{n % 2}", "Authorization": f"Bearer key-{1 + n % 2}"}
            for n in range(4)
        ]
        asked = (client.get("/hours?place=zoo&place=museum", headers=one) for one in headers)
        print(*{answer.text for answer in await asyncio.gather(*asked)})


if __name__ == "__main__":
    asyncio.run(ask())
    handle.flush()
    for result in sorted(handle.last(8), key=lambda one: (one.run.who.request_id, one.run.query)):
        who = result.run.who
        score = next(score for score in result.scores if score.name == "redundancy")
        print(who.request_id, who.session_id, who.user_id, *who.tags, result.run.query, score.name, score.value)
