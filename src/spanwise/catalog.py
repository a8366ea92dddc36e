"""The built-ins by name. The type checker proves that each entry fits its protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spanwise.evaluators.cost import Cost
from spanwise.evaluators.recovery import Recovery
from spanwise.evaluators.redundancy import Redundancy
from spanwise.model.ports import Evaluator
from spanwise.sources import SOURCES as ALL_SOURCES
from spanwise.sources import Source

EVALUATORS: Mapping[str, Callable[..., Evaluator]] = {
    "redundancy": Redundancy,
    "recovery": Recovery,
    "cost": Cost,
}

SOURCES: Mapping[str, Source] = {source.name: source for source in ALL_SOURCES}


def default_evaluators() -> dict[str, Evaluator]:
    """Every built-in evaluator with its default parameters, in the order in which reports show them."""
    return {name: make() for name, make in EVALUATORS.items()}
