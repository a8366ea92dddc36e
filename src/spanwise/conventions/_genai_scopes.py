"""What single instrumentations write otherwise than the GenAI conventions that they follow."""

from __future__ import annotations

from spanwise.conventions._values import first_text, mapping_of
from spanwise.model.content import Memo
from spanwise.model.raw import RawSpan

GOOGLE = frozenset(f"opentelemetry.instrumentation.google_{name}" for name in ("generativeai", "genai"))
"""Google's client, whose API wants every function's response as a mapping."""
LANGCHAIN = "opentelemetry.instrumentation.genai.langchain"


def is_plumbing(span: RawSpan) -> bool:
    """LangChain's pieces around an agent (`RunnableAssign<...>`, an output parser) are said to be agents too."""
    name = span.attributes.get("gen_ai.agent.name")
    return isinstance(name, str) and name.startswith(("Runnable", "ToolsAgent", "ReActSingleInput"))


def input_of(text: str, memo: Memo) -> str:
    """The question in the mapping that LangChain's executor was called with, written as if the user had said it."""
    fields = mapping_of(memo.json(text))
    return text if fields is None else first_text(fields, "input", "question", "query") or text
