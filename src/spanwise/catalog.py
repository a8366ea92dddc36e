"""The built-ins by name. The type checker proves that each entry fits its protocol.

Sinks are loaded when they are named; that each of them is one, the tests prove.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import cast

from spanwise import extensions
from spanwise.errors import SpecError
from spanwise.evaluators import classic
from spanwise.evaluators.cost import Cost
from spanwise.evaluators.efficiency import Efficiency
from spanwise.evaluators.grounding import Grounding
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
from spanwise.judges import Goal, PlanAdherence, PlanQuality, ReasoningQuality, Rubric, ToolChoice
from spanwise.model.ports import AnyEvaluator, Evaluator, Sink
from spanwise.parameters import built
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
    "grounding": Grounding,
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

JUDGES: Mapping[str, Callable[..., Evaluator]] = {
    "reasoning_quality": ReasoningQuality,
    "plan_quality": PlanQuality,
    "plan_adherence": PlanAdherence,
    "tool_choice": ToolChoice,
    "goal": Goal,
    "rubric": Rubric,
}
"""They ask a language model, and so run where they are named, in no profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Evaluators that are run together, by name, and how their scores are weighed into one."""

    evaluators: Mapping[str, Callable[..., AnyEvaluator]]
    overall: Overall


PROFILES: Mapping[str, Profile] = {
    "default": Profile(evaluators=EVALUATORS, overall=Overall()),
    "classic": Profile(evaluators=CLASSIC, overall=Overall(weights=classic.WEIGHTS, without=classic.WITHOUT)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkEntry:
    """Where a sink is, and which variables of the environment ask for it: all of them have to be set.

    One that ends in `*` stands for any that begins so. None at all: the sink is there only where it is named.
    """

    path: str
    variables: tuple[str, ...] = ()

    def is_asked(self, environ: Mapping[str, str]) -> bool:
        """The environment asks for it."""
        return bool(self.variables) and all(_is_set(variable, environ) for variable in self.variables)


def _is_set(variable: str, environ: Mapping[str, str]) -> bool:
    return any(value.strip() for name, value in environ.items() if fnmatchcase(name, variable))


SINKS: Mapping[str, SinkEntry] = {
    "log": SinkEntry(path="spanwise.sinks.log:LogSink"),
    "console": SinkEntry(path="spanwise.sinks.console:ConsoleSink"),
    "callback": SinkEntry(path="spanwise.sinks.callback:CallbackSink"),
    "store": SinkEntry(path="spanwise.store.sink:StoreSink.open"),
    "jsonl": SinkEntry(path="spanwise.sinks.jsonl:JsonLinesSink", variables=("SPANWISE_JSONL",)),
    "otel_events": SinkEntry(
        path="spanwise.sinks.otel_events:OtelEventsSink", variables=("OTEL_EXPORTER_OTLP_*ENDPOINT",)
    ),
    "otlp": SinkEntry(path="spanwise.sinks.otlp:OtlpSink"),
    "otel_metrics": SinkEntry(path="spanwise.sinks.otel_metrics:OtelMetricsSink"),
    "evaluation_span": SinkEntry(path="spanwise.sinks.evaluation_span:EvaluationSpanSink"),
    "langfuse": SinkEntry(
        path="spanwise.sinks.langfuse:LangfuseSink.from_environment",
        variables=("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"),
    ),
    "logfire": SinkEntry(path="spanwise.sinks.logfire:LogfireSink", variables=("LOGFIRE_TOKEN",)),
    "phoenix": SinkEntry(path="spanwise.sinks.phoenix:PhoenixSink"),
    "mlflow": SinkEntry(path="spanwise.sinks.mlflow:MlflowSink"),
    "prometheus": SinkEntry(path="spanwise.sinks.prometheus:PrometheusSink"),
}
"""SPANWISE_STORE, which may also say where the store is, is read by the doors."""

SOURCES: Mapping[str, Source] = {source.name: source for source in ALL_SOURCES}


def default_evaluators(profile: str = "default") -> dict[str, AnyEvaluator]:
    """Every evaluator of a profile with its default parameters, in the order in which reports show them."""
    return {name: make() for name, make in PROFILES[profile].evaluators.items()}


def make_sink(
    use: str, options: Mapping[str, object], *, given: Mapping[str, object] | None = None, where: str = "sinks"
) -> Sink:
    """A sink by its name here, by that which another package announces, or by a path such as `acme.ledger:LedgerSink`.

    Args:
        use: The name or the path.
        options: What it is made with, as a file of settings says.
        given: Values that a door has for those that take them: `content`, `document`, `mask`.
        where: The place that errors name.

    Raises:
        SpecError: There is none of the name, or it cannot be made so.
    """
    entry = SINKS.get(use)
    point = extensions.announced(extensions.SINKS).get(use) if entry is None and ":" not in use else None
    path = entry.path if entry else point.value if point else use
    if ":" not in path:
        known = ", ".join(dict.fromkeys((*SINKS, *extensions.announced(extensions.SINKS))))
        raise SpecError(f"{where}: unknown sink {use!r}; known: {known}")
    found = extensions.load_sink(path)
    if not callable(found) or (extensions.is_sink(found) and not isinstance(found, type)):
        if options:
            raise SpecError(f"{where}: {use!r} has no parameters; read {', '.join(options)}")
        return cast("Sink", found)
    takes = _parameters(found)
    errors: list[str] = []
    read = {name: value for name, value in (given or {}).items() if name in takes}
    made = built(found, options, where, errors, read=read)
    if not errors and not extensions.is_sink(made):
        errors.append(f"{where}: {use!r} made {made!r}, expected {extensions.EXPECTED_SINK}")
    if errors:
        raise SpecError("\n".join(errors))
    return cast("Sink", made)


def _parameters(make: Callable[..., object]) -> Mapping[str, object]:
    try:
        return inspect.signature(make).parameters
    except (ValueError, TypeError):
        return {}
