"""Runs that LangChain started side by side (`batch`), of which each one's span hangs below that of the one before.

OpenLLMetry's handler and Langfuse's make the span of a run the current one, and the threads of a batch begin with what
was current then. That nobody above called it still stands on each run's outermost span. OpenLLMetry's handler
of LlamaIndex loses hold of the span of a run, so that the next run's hangs below it, when that is long over.
"""

from __future__ import annotations

from spanwise.model.raw import RawSpan

_OPENLLMETRY = "opentelemetry.instrumentation.langchain"
_LANGFUSE = "langfuse-sdk"
_LLAMA_INDEX = "opentelemetry.instrumentation.llamaindex"
_RUN = ".workflow"
SCOPES = frozenset({_OPENLLMETRY, _LANGFUSE, _LLAMA_INDEX})


def is_started_apart(span: RawSpan, above: RawSpan) -> bool:
    """Both are what nobody called of the same chain: another input of a batch, no step of the one above."""
    if span.scope.name == _LLAMA_INDEX:
        return span.name.endswith(_RUN) and above.name.endswith(_RUN) and 0 < above.end_ns <= span.start_ns
    return span.name == above.name and _is_outermost(span) and _is_outermost(above)


def _is_outermost(span: RawSpan) -> bool:
    get = span.attributes.get
    if span.scope.name == _LANGFUSE:
        return get("langfuse.observation.metadata.is_langchain_root") in {"true", True}
    return (
        span.scope.name == _OPENLLMETRY
        and get("traceloop.span.kind") == "workflow"
        and get("traceloop.entity.path") == ""
    )
