"""pydantic-evals: the built-in evaluators as its evaluator classes, and its evaluators on live and stored runs.

pydantic-evals is loaded when one of these names is first used, and not by importing this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from spanwise.evals.versions import require

if TYPE_CHECKING:
    from spanwise.evals.adapter import as_evaluator
    from spanwise.evals.capture import Capture
    from spanwise.evals.classes import (
        ALL,
        Cost,
        Efficiency,
        Grounding,
        Handoffs,
        Latency,
        Loops,
        Overall,
        Recovery,
        Redundancy,
        RetrievalRelevance,
        ToolArguments,
        ToolSelection,
        ToolSequence,
    )
    from spanwise.evals.contexts import context_of
    from spanwise.evals.datasets import dataset_of
    from spanwise.evals.failed import FailedCases, failed_run
    from spanwise.evals.repeats import REPORTS, RepeatStatistics, print_repeats, repeats_of
    from spanwise.evals.stored import FileContexts, StoreContexts
    from spanwise.evals.tree import tree_of

__all__ = [
    "ALL",
    "REPORTS",
    "Capture",
    "Cost",
    "Efficiency",
    "FailedCases",
    "FileContexts",
    "Grounding",
    "Handoffs",
    "Latency",
    "Loops",
    "Overall",
    "Recovery",
    "Redundancy",
    "RepeatStatistics",
    "RetrievalRelevance",
    "StoreContexts",
    "ToolArguments",
    "ToolSelection",
    "ToolSequence",
    "as_evaluator",
    "context_of",
    "dataset_of",
    "failed_run",
    "print_repeats",
    "repeats_of",
    "tree_of",
]
_PLACES = {
    "adapter": ("as_evaluator",),
    "capture": ("Capture",),
    "contexts": ("context_of",),
    "datasets": ("dataset_of",),
    "failed": ("FailedCases", "failed_run"),
    "repeats": ("REPORTS", "RepeatStatistics", "print_repeats", "repeats_of"),
    "stored": ("FileContexts", "StoreContexts"),
    "tree": ("tree_of",),
}
_PLACE = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a public name when it is first used; refuse a version of pydantic-evals that cannot be served."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require()
    return getattr(import_module(f"spanwise.evals.{_PLACE.get(name, 'classes')}"), name)
