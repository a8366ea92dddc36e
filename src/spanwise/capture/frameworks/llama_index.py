"""LlamaIndex: instrumented at its dispatcher, unless its own OpenTelemetry package is registered there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import cast

from spanwise.capture.frameworks._framework import Framework
from spanwise.capture.frameworks._instrumentor import Plan, openinference, openllmetry
from spanwise.capture.frameworks._remains import take_out

_OPENLLMETRY = "opentelemetry.instrumentation.llamaindex"


def _dispatcher() -> object:
    get: Callable[[], object] | None = getattr(sys.modules.get("llama_index_instrumentation"), "get_dispatcher", None)
    return get() if get else None


def _take_out_openllmetry() -> None:
    dispatcher = _dispatcher()
    take_out(_OPENLLMETRY, getattr(dispatcher, "span_handlers", None))
    take_out(_OPENLLMETRY, getattr(dispatcher, "event_handlers", None))


def _in_charge() -> str:
    handlers = cast("Iterable[object]", getattr(_dispatcher(), "span_handlers", ()))
    own = any(type(one).__module__.startswith("llama_index.observability.") for one in handlers)
    return "LlamaIndex's own OpenTelemetry package" if own else ""


_PLAN = Plan(
    name="llama-index",
    instruments=frozenset(("llama-index", "llama-index-core")),
    choices=(
        openinference("llama_index", "LlamaIndexInstrumentor"),
        openllmetry("llamaindex", "LlamaIndexInstrumentor", clean=_take_out_openllmetry),
    ),
    in_charge=_in_charge,
)

FRAMEWORK = Framework(
    name="llama-index",
    title="LlamaIndex",
    modules=("llama_index",),
    marker="llama_index.core",
    package="llama-index-core",
    turn_on=_PLAN.enable,
)
