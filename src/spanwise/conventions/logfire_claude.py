"""Logfire's spans of the Claude Agent SDK: the GenAI conventions.

The SDK tells of answers, not of requests: Logfire opens a model call's span whenever the model may be at work, after
each result of a tool. One that names no model was none. Tokens are counted whole by the agent's span only.
"""

from __future__ import annotations

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._returned import plain
from spanwise.model.content import Memo, ToolFields
from spanwise.model.raw import STATUS_ERROR, RawSpan
from spanwise.model.span import Kind


def kind(span: RawSpan) -> Kind | None:
    """What the operation says; a model call that neither answered nor failed was none."""
    found = _genai.kind(span)
    if found == "llm" and span.status_code != STATUS_ERROR and "gen_ai.response.model" not in span.attributes:
        return "other"
    return found


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """What the GenAI attributes say, the result taken out of the blocks in which an MCP server returns it."""
    said = _genai.tool(span, memo)
    if said.result is not None:
        said.result = plain(said.result, memo)
    return said


CONVENTION = Convention(
    name="logfire_claude",
    title="Claude Agent SDK through Logfire",
    scopes=("logfire.claude_agent_sdk",),
    kind=kind,
    tool=tool,
    output=_genai.output,
    requests=_genai.requests,
    content_switch="Let Logfire's scrubbing leave messages, arguments and results in their places.",
)
