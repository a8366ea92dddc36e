"""Spanwise scores AI agents from the OpenTelemetry traces they leave: `instrument()` in an app, `score()` on files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise import grounding, record
    from spanwise.capture.context import context
    from spanwise.capture.instrument import instrument
    from spanwise.capture.keep import Keep
    from spanwise.capture.scored_exporter import ScoredExporter
    from spanwise.fleet import aggregate
    from spanwise.offline import score

__all__ = ["Keep", "ScoredExporter", "aggregate", "context", "grounding", "instrument", "record", "score"]
_PLACES = {
    "Keep": "spanwise.capture.keep",
    "ScoredExporter": "spanwise.capture.scored_exporter",
    "aggregate": "spanwise.fleet",
    "context": "spanwise.capture.context",
    "instrument": "spanwise.capture.instrument",
    "score": "spanwise.offline",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is first used: importing the package must cost an app nothing."""
    if name in {"grounding", "record"}:
        return import_module(f"spanwise.{name}")
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
