"""The built-ins by name. The type checker proves that each entry fits its protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spanwise.evaluators import classic
from spanwise.evaluators.cost import Cost
from spanwise.evaluators.efficiency import Efficiency
from spanwise.evaluators.handoffs import Handoffs
from spanwise.evaluators.latency import Latency
from spanwise.evaluators.loops import Loops
from spanwise.evaluators.overall import Overall
from spanwise.evaluators.recovery import Recovery
from spanwise.evaluators.redundancy import Redundancy
from spanwise.evaluators.retrieval_relevance import RetrievalRelevance
from spanwise.evaluators.tool_arguments import ToolArguments
from spanwise.evaluators.tool_selection import ToolSelection
from spanwise.evaluators.tool_sequence import ToolSequence
from spanwise.model.ports import AnyEvaluator, Evaluator, Sink
from spanwise.sinks.callback import CallbackSink
from spanwise.sinks.console import ConsoleSink
from spanwise.sinks.log import LogSink
from spanwise.sources import SOURCES as ALL_SOURCES
from spanwise.sources import Source

EVALUATORS: Mapping[str, Callable[..., Evaluator]] = {
    "tool_selection": ToolSelection,
    "tool_sequence": ToolSequence,
    "tool_arguments": ToolArguments,
    "redundancy": Redundancy,
    "loops": Loops,
    "efficiency": Efficiency,
    "recovery": Recovery,
    "latency": Latency,
    "cost": Cost,
    "retrieval_relevance": RetrievalRelevance,
    "handoffs": Handoffs,
}

CLASSIC: Mapping[str, Callable[..., Evaluator]] = {
    "tool_selection": classic.ToolSelection,
    "tool_sequence": classic.ToolSequence,
    "redundancy": classic.Redundancy,
    "efficiency": classic.Efficiency,
    "recovery": classic.Recovery,
    "latency": classic.Latency,
    "retrieval_relevance": classic.RetrievalRelevance,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Evaluators that are run together, by name, and how their scores are weighed into one."""

    evaluators: Mapping[str, Callable[..., Evaluator]]
    overall: Overall


PROFILES: Mapping[str, Profile] = {
    "default": Profile(evaluators=EVALUATORS, overall=Overall()),
    "classic": Profile(evaluators=CLASSIC, overall=Overall(weights=classic.WEIGHTS, without=classic.WITHOUT)),
}

SINKS: Mapping[str, Callable[..., Sink]] = {"log": LogSink, "console": ConsoleSink, "callback": CallbackSink}

SOURCES: Mapping[str, Source] = {source.name: source for source in ALL_SOURCES}


def default_evaluators(profile: str = "default") -> dict[str, AnyEvaluator]:
    """Every evaluator of a profile with its default parameters, in the order in which reports show them."""
    return {name: make() for name, make in PROFILES[profile].evaluators.items()}
