"""The Model Context Protocol: client and server spans of `tools/call` and of everything around it.

One call leaves up to three spans inside each other (FastMCP's client, the SDK's sender, the server); they are merged
later, by the name of the tool. The convention has attributes for arguments and results, but the libraries do not fill
them; Logfire's instrumentation of the first MCP SDK records request and response as they were sent.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions._convention import Convention
from spanwise.conventions._returned import plain
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import Memo, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

CALL = "tools/call"
_SETUP = frozenset({"initialize", "server/discover", "ping", "logging/setLevel"})


def kind(span: RawSpan) -> Kind | None:
    """A tool call, what prepares one, or other traffic. FastMCP's step into a mounted server is traffic too."""
    method = span.attributes.get("mcp.method.name", span.attributes.get("rpc.method"))
    if not isinstance(
        method, str
    ):  # Logfire names the method of a request that a server handles in the span's name only
        method = span.name.partition(": ")[2]
    if method == CALL:
        return "other" if span.name.startswith("delegate ") else "tool"
    if method in _SETUP or method.endswith("/list") or method.startswith("notifications/"):
        return "setup"
    return "other"


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments and result; an error that the server reports in its result is a failure."""
    get = span.attributes.get
    asked = mapping_of(memo.json(get("request"))) or {}
    params = mapping_of(asked.get("params")) or {}
    answered = mapping_of(memo.json(get("response", get("gen_ai.tool.call.result"))))
    name = first_text(span.attributes, "gen_ai.tool.name", "params.name") or first_text(params, "name")
    if name is None:
        name = text_of(span.name.partition(f"{CALL} ")[2])
    failed = answered is not None and answered.get("isError") is True
    return ToolFields(name, params.get("arguments"), unwrapped(answered, memo), failed=failed)


def unwrapped(answer: Mapping[str, object] | None, memo: Memo) -> object:
    """What the tool returned: structured content where there is some, else the text of the content blocks."""
    if answer is None or not ("content" in answer or "structuredContent" in answer):
        return answer
    structured = answer.get("structuredContent")
    if structured is None:
        return plain(answer.get("content"), memo)
    fields = mapping_of(structured)
    return fields["result"] if fields is not None and set(fields) == {"result"} else structured


CONVENTION = Convention(
    name="mcp",
    title="Model Context Protocol",
    scopes=("logfire.mcp",),
    keys=("mcp.method.name",),
    kind=kind,
    tool=tool,
    content_switch="Instrument the agent that calls the server: MCP's own spans carry no content.",
)
