"""The one place that looks behind the SDK's public interface; each function says what it does if nothing is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from opentelemetry.sdk.trace import Tracer, TracerProvider


def made_tracers(provider: TracerProvider) -> list[Tracer] | None:
    """The tracers that a provider has made and still hands out; None where the SDK does not keep them (1.30)."""
    kept: object = getattr(provider, "_tracers", None)
    if not isinstance(kept, Mapping):
        return None
    found = list(cast("Mapping[object, object]", kept).values())
    return [tracer for tracer in found if isinstance(tracer, Tracer)]
