"""An agent of the OpenAI Agents SDK whose runs are scored as they end, sub-agents and hand-offs among them.

pip install openai-agents openinference-instrumentation-openai-agents
python examples/live_openai_agents.py
"""

from __future__ import annotations

import json

import httpx
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_trace_processors
from openai import AsyncOpenAI

import spanwise

PLAN = ("A-17", "A17", "A-17")


@function_tool
def parcel(number: str) -> str:
    """Where a parcel is."""
    return "in Lyon since Monday" if number == "A-17" else "Error: no parcel has this number"


def scripted(request: httpx.Request) -> httpx.Response:
    """A script in the API's place: it looks three times, once under a wrong number, and answers."""
    done = sum(message["role"] == "assistant" for message in json.loads(request.content)["messages"])
    message: dict[str, object] = {"role": "assistant", "content": "Your parcel is in Lyon since Monday."}
    if done < len(PLAN):
        call = {"name": "parcel", "arguments": json.dumps({"number": PLAN[done]})}
        message = {"role": "assistant", "tool_calls": [{"id": f"call-{done}", "type": "function", "function": call}]}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 80, "completion_tokens": 20, "total_tokens": 100}
    body = {"id": f"answer-{done}", "object": "chat.completion", "created": 0, "model": "gpt-4.1-mini"}
    return httpx.Response(200, json={**body, "choices": [choice], "usage": usage})


client = AsyncOpenAI(api_key="unused", http_client=httpx.AsyncClient(transport=httpx.MockTransport(scripted)))
agent = Agent(
    name="concierge",
    instructions="Find parcels.",
    tools=[parcel],
    model=OpenAIChatCompletionsModel(model="gpt-4.1-mini", openai_client=client),
)

if __name__ == "__main__":
    set_trace_processors([])  # by itself the SDK sends its traces to OpenAI
    handle = spanwise.instrument(agent, console=True)
    print(Runner.run_sync(agent, "Where is parcel A-17?").final_output)
    handle.flush()
    result = handle.last()[0]
    print("asked:", result.run.query)
    for call in result.run.tool_calls:
        print("called:", call.name, call.arguments, call.status, "->", call.result)
    for score in result.scores:
        if score.name in {"redundancy", "efficiency"}:
            print(score.name, round(score.value or 0, 2), "|", *score.issues)
