"""A context in which nothing that judges do leaves a span.

Instrumentations are told to be silent, by the keys that they look for. For one that does not look there is a current
span that is not sampled: a parent-based sampler drops what lies below it, and what is recorded all the same belongs to
a trace of its own that has no root, never to the user's.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator
from contextlib import contextmanager

from opentelemetry import context as otel
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

_KEYS = ("suppress_instrumentation", "suppress_http_instrumentation")
_HELD = ("_SUPPRESS_INSTRUMENTATION_KEY", "_SUPPRESS_HTTP_INSTRUMENTATION_KEY")


@contextmanager
def silent() -> Generator[None]:
    """Within the block, instrumentations of this task or thread are silent, and the user's span is not current."""
    held = [str(key) for name in _HELD if isinstance(key := getattr(otel, name, None), str)]
    unsampled = NonRecordingSpan(
        SpanContext(
            trace_id=secrets.randbits(127) + 1,
            span_id=secrets.randbits(63) + 1,
            is_remote=False,
            trace_flags=TraceFlags(TraceFlags.DEFAULT),
        )
    )
    token = otel.attach(set_span_in_context(unsampled, Context(dict.fromkeys((*_KEYS, *held), True))))
    try:
        yield
    finally:
        otel.detach(token)
