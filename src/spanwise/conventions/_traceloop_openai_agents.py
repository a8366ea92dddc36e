"""OpenLLMetry's first instrumentation of OpenAI's agents, 0.41 to 0.45: each request to the model is an agent's span.

Below it stands a span of no length for each tool that the model was offered: those are no calls. What the model asked
for is not recorded, only that it asked; and what the tools did leaves no span.
"""

from __future__ import annotations

from spanwise.conventions._messages import items
from spanwise.model.content import Message, Messages, Part
from spanwise.model.raw import Attributes, RawSpan
from spanwise.model.span import Kind

SWITCH = "Use opentelemetry-instrumentation-openai-agents 0.46 or newer."


def kind(attributes: Attributes) -> Kind | None:
    """A request to the model, or a tool that it was offered; later releases do not write what tells them."""
    if is_request(attributes):
        return "llm"
    return "other" if "gen_ai.completion.tool.type" in attributes and "gen_ai.tool.name" not in attributes else None


def is_request(attributes: Attributes) -> bool:
    """The agent's settings stand on the span of each of its requests."""
    return "openai.agent.reset_tool_choice" in attributes


def messages(span: RawSpan) -> Messages:
    """The words of the answer; what was sent stands in the attributes of former releases."""
    texts = items(span.attributes.get("gen_ai.completion.contents")) or ()
    said = [Part("text", text) for text in texts if isinstance(text, str)]
    return Messages(None, (Message("assistant", tuple(said)),) if said else None)
