"""A LangGraph agent whose runs are scored as they end, through LangChain's `create_agent`.

pip install langchain langgraph openinference-instrumentation-langchain
python examples/live_langgraph.py
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall

import spanwise


def population(country: str) -> str:
    """Inhabitants of a country, in millions."""
    return {"France": "68.4", "Peru": "34.0"}[country]


class Scripted(GenericFakeChatModel):
    """A script in the model's place; yours is `ChatOpenAI` or any other."""

    def bind_tools(self, tools: Sequence[object], **options: object) -> Scripted:
        """The script knows which tools there are."""
        return self


def asks_for(country: str, number: int) -> AIMessage:
    """A message of the model that calls the tool."""
    return AIMessage("", tool_calls=[ToolCall(name="population", args={"country": country}, id=f"call-{number}")])


SCRIPT = [
    asks_for("France", 1),
    asks_for("Peru", 2),
    asks_for("France", 3),
    AIMessage("France: 68.4 million, Peru 34.0."),
]

if __name__ == "__main__":
    agent = create_agent(Scripted(messages=iter(SCRIPT)), tools=[population], name="geographer")
    handle = spanwise.instrument(agent, console=True)
    done = agent.invoke({"messages": [("user", "Which has more inhabitants, France or Peru?")]})
    print(done["messages"][-1].content)
    handle.flush()
    result = handle.last()[0]
    print("asked:", result.run.query)
    for call in result.run.tool_calls:
        print("called:", call.name, call.arguments, "->", call.result)
    for score in result.scores:
        if score.name in {"redundancy", "efficiency"}:
            print(score.name, round(score.value or 0, 2), "|", *score.issues)
