"""Finding the app's tracer provider, or making one, without harming what is there."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import cast

from opentelemetry import trace
from opentelemetry._logs import get_logger_provider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

from spanwise.capture.processor import LogCapture

_log = logging.getLogger("spanwise")


def is_provider(target: object) -> bool:
    """The target takes span processors: an SDK's provider, or a wrapper around one."""
    return callable(getattr(target, "add_span_processor", None)) and callable(getattr(target, "get_tracer", None))


def provider_for(target: object = None) -> tuple[TracerProvider | None, str]:
    """The provider to attach to, and in words where it is from; None where the app's takes no processors.

    An app that has none gets one, as its global provider: whoever asks for a tracer afterwards, uses it.
    """
    if is_provider(target):
        return cast("TracerProvider", target), "the given provider"
    current: object = trace.get_tracer_provider()
    if is_provider(current):
        return cast("TracerProvider", current), "the app's provider"
    if isinstance(current, trace.ProxyTracerProvider):
        made = TracerProvider(resource=Resource.create())
        trace.set_tracer_provider(made)
        if trace.get_tracer_provider() is made:
            return made, "a new global provider, since the app had none"
        return provider_for(trace.get_tracer_provider())  # another thread was quicker
    return None, f"the app's provider is a {type(current).__name__}, which takes no span processors"


def attach(provider: TracerProvider, processor: SpanProcessor) -> None:
    """Have the provider call the processor."""
    provider.add_span_processor(processor)


def attach_logs(capture: LogCapture) -> bool:
    """Have the app's logger provider call the capture, if the app has one that takes processors."""
    add: Callable[[LogCapture], None] | None = getattr(get_logger_provider(), "add_log_record_processor", None)
    if add is None:
        return False
    add(capture)
    return True
