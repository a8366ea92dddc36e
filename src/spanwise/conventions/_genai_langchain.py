"""LangChain's agents under OpenTelemetry's instrumentation, which leaves out what a tool's span would tell."""

from __future__ import annotations

from spanwise.conventions._genai_scopes import LANGCHAIN
from spanwise.conventions._messages import messages_of
from spanwise.model.content import Memo
from spanwise.model.raw import RawSpan


def ends_in_output(span: RawSpan, call_id: str | None, memo: Memo) -> bool:
    """Whether an agent's last word is this call, and the call its typed output: `create_agent(response_format=...)`.

    A run that waits for somebody to approve a call ends in the same words. Only a graph with a checkpointer can wait,
    and what that runs has a thread's id; of a run that has one it cannot be told.
    """
    attributes = span.attributes
    if span.scope.name != LANGCHAIN or "gen_ai.conversation.id" in attributes:
        return False
    said = messages_of(attributes.get("gen_ai.output.messages"), memo)
    asked = [part for part in said[-1].parts if part.type == "tool_call"] if said else []
    return len(asked) == 1 and asked[0].id == call_id
