"""Spanwise scores AI agents from the OpenTelemetry traces they leave: `spanwise.score("traces/")`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.fleet import aggregate
    from spanwise.offline import score

__all__ = ["aggregate", "score"]


def __getattr__(name: str) -> object:
    """Load a public name when it is first used: importing the package must cost an app nothing."""
    if name == "aggregate":
        from spanwise.fleet import aggregate

        return aggregate
    if name == "score":
        from spanwise.offline import score

        return score
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
