"""LangChain's agents under OpenTelemetry's instrumentation, which leaves out what a tool's span would tell."""

from __future__ import annotations

from spanwise.conventions._genai_scopes import LANGCHAIN
from spanwise.conventions._messages import messages_of
from spanwise.conventions._values import mapping_of
from spanwise.model.content import Memo, Messages, Part
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


def put_in_form(root: RawSpan, last: Messages, memo: Memo) -> Part | None:
    """The output that the last model call made of the run's last words: `create_react_agent(response_format=...)`.

    That call is sent what was said so far, the run's last words at its end, and answers by an object or by one call.
    """
    if root.scope.name != LANGCHAIN or not last.input or not last.output:
        return None
    said = messages_of(root.attributes.get("gen_ai.output.messages"), memo)
    before, parts = last.input[-1], last.output[-1].parts
    if not said or not said[-1].text or before.role != "assistant" or said[-1].text != before.text or len(parts) != 1:
        return None
    is_object = parts[0].type == "text" and mapping_of(memo.json(parts[0].text)) is not None
    return parts[0] if is_object or parts[0].type == "tool_call" else None
