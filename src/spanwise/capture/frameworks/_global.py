"""Frameworks that record their runs themselves, to whatever tracer provider is the global one."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from spanwise.capture.frameworks._framework import Enabled
from spanwise.capture.frameworks._instrumentor import active


def records_itself(
    name: str, provider: TracerProvider, *, instruments: frozenset[str], missing: tuple[str, ...] = ()
) -> Enabled:
    """There is nothing to turn on; said is where the spans go, and whether that is the provider."""
    other = active(instruments)
    if other is not None:
        return Enabled(did=(f"{name}: left alone, instrumented already by {type(other).__module__}",))
    if not is_global(provider):
        told = f"{name}: records to the global tracer provider, which is another one: set_tracer_provider(...) first."
        missing = (told, *missing)
    return Enabled(did=(f"{name}: records its runs itself",), missing=missing)


def is_global(provider: TracerProvider) -> bool:
    """The provider is the global one, or behind it."""
    current: object = trace.get_tracer_provider()
    behind: object = getattr(current, "provider", None)  # Logfire puts a stand-in before the SDK's provider
    return provider is current or provider is behind
