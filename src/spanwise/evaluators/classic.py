"""What does the classic arithmetic say, by words in the query, counts of calls and bands of time?

The evaluators of the profile `classic`. They have no parameters: their rules and numbers are given, and where the
profile says 1.0 they say 1.0. What they need of a trace they still need: without it they are not measurable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from spanwise.model.calls import ToolCall
from spanwise.model.score import Evidence, Score, not_applicable, not_measurable
from spanwise.model.trace import Run
from spanwise.text import excerpt

WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "tool_selection": 0.25,
        "tool_sequence": 0.15,
        "efficiency": 0.20,
        "latency": 0.20,
        "retrieval_relevance": 0.20,
    }
)
WITHOUT: Mapping[str, float] = MappingProxyType({"retrieval_relevance": 1.0})
"""A mean relevance of none, or of exactly 0, counts 1.0 in the overall score."""

RULES: Sequence[tuple[str, tuple[str, ...], str]] = (
    ("documents", ("document", "file", "search for", "find"), "retrieve_relevant_documents"),
    ("listing", ("list", "show all", "what documents"), "list_documents"),
    ("news", ("news", "latest", "current", "today"), "web_search"),
    ("calculation", ("calculate", "compute", "run code"), "execute_code"),
    ("data", ("query", "sql", "data from", "rows"), "execute_sql_query"),
)
"""Name, words that are looked for in the lower-cased query as substrings, and the tool that they ask for."""
_BANDS = ((3, 100), (5, 80), (8, 60))
_LATENCY_BANDS = ((1.0, 1.0), (1.5, 0.8), (2.0, 0.6))
_LEAST = 40
_TARGET_MS = 5000.0
_STEP_TARGETS = (("tool", 1000.0), ("LLM", 2000.0), ("retrieval", 500.0))
_RELEVANT = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSelection:
    """Expected tools that were called / expected tools; 1.0 where the words of the query ask for none."""

    def __call__(self, run: Run, /) -> Score:
        query = run.query
        if query is None or _unseen(run):
            return not_measurable("tool_selection", _why(run, "query", "The question is not recorded."))
        lowered = query.lower()
        expected = {tool: name for name, words, tool in RULES if any(word in lowered for word in words)}
        if not expected:
            return Score(name="tool_selection", value=1.0, reason="The words of the query ask for no tool.")
        used = {call.name for call in run.work}
        lacking = [tool for tool in expected if tool not in used]
        return Score(
            name="tool_selection",
            value=(len(expected) - len(lacking)) / len(expected),
            reason=f"{len(expected) - len(lacking)} of {len(expected)} expected tools were called"
            f" ({', '.join(expected)}).",
            issues=tuple(f"{tool} was not called, though the query speaks of {expected[tool]}." for tool in lacking),
            recommendations=tuple(f"Say in the description of {tool} which questions it is for." for tool in lacking),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSequence:
    """1.0 - 0.2 per immediate repeat of a tool - 0.1 if the first web search comes after the first retrieval."""

    def __call__(self, run: Run, /) -> Score:
        if _unseen(run):
            return not_measurable("tool_sequence", _why(run, "spans"))
        names = [call.name for call in run.work]
        repeats = [call for before, call in zip(names, run.work[1:], strict=False) if before == call.name]
        late = _first(names, "web_search") > _first(names, "retrieve_relevant_documents") >= 0
        issues = [f"{call.name} was called twice in a row." for call in repeats]
        if late:
            issues.append("web_search came after retrieve_relevant_documents.")
        return Score(
            name="tool_sequence",
            value=max(10 - 2 * len(repeats) - late, 0) / 10,
            reason=f"{len(repeats)} immediate repeat{'' if len(repeats) == 1 else 's'} in {len(names)} calls"
            + (", and a web search after the retrieval." if late else "."),
            evidence=tuple(Evidence(span_id=call.span_id, quote=excerpt(call.arguments)) for call in repeats),
            issues=tuple(issues),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """1.0 for up to 3 calls, 0.8 for 5, 0.6 for 8, else 0.4; less 0.15 per redundant call."""

    def __call__(self, run: Run, /) -> Score:
        problem = _untold(run, "efficiency")
        if problem is not None:
            return problem
        calls = len(run.work)
        redundant = len(_redundant(run))
        band = next((value for most, value in _BANDS if calls <= most), _LEAST)
        return Score(
            name="efficiency",
            value=max(band - 15 * redundant, 0) / 100,
            reason=f"{calls} tool call{'' if calls == 1 else 's'} ({band / 100:g}), {redundant} redundant.",
            issues=(f"{calls} tool calls are more than 3.",) if band < 100 else (),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Redundancy:
    """The number of calls with the same tool and input as an earlier one, whatever came of either."""

    def __call__(self, run: Run, /) -> Score:
        problem = _untold(run, "redundancy", unit="calls")
        if problem is not None:
            return problem
        found = _redundant(run)
        return Score(
            name="redundancy",
            value=float(len(found)),
            unit="calls",
            reason=f"{len(found)} of {len(run.work)} tool calls repeat an earlier one.",
            evidence=tuple(Evidence(span_id=call.span_id, quote=excerpt(call.arguments)) for call in found),
            issues=tuple(f"{call.name} was called again with the same arguments." for call in found),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Failed steps that a later step of the same kind followed without a failure / failed steps; 1.0 without any.

    A step is a tool call, a model call or a retrieval. Also `recovery_errors`: how many failed.
    """

    def __call__(self, run: Run, /) -> Sequence[Score]:
        if _unseen(run):
            why = _why(run, "spans")
            return not_measurable("recovery", why), not_measurable("recovery_errors", why, unit="errors")
        kinds = (
            ("tool", [(call.failed, call.name, call.span_id) for call in run.work]),
            ("model", [(call.failed, call.model or "a model", call.span_id) for call in run.llm_calls]),
            ("retrieval", [(step.failed, "a retrieval", step.span_id) for step in run.retrievals]),
        )
        errors = recovered = 0
        evidence: list[Evidence] = []
        issues: list[str] = []
        for kind, steps in kinds:
            last_fine = max((at for at, (failed, _, _) in enumerate(steps) if not failed), default=-1)
            for at, (failed, name, span_id) in enumerate(steps):
                if not failed:
                    continue
                errors += 1
                evidence.append(Evidence(span_id=span_id))
                if at < last_fine:
                    recovered += 1
                else:
                    issues.append(f"{name} failed, and no {kind} call succeeded afterwards.")
        told = f"{recovered} of {errors} failures were followed by a success of the same kind."
        return (
            Score(
                name="recovery",
                value=recovered / errors if errors else 1.0,
                reason=told if errors else "Nothing failed.",
                evidence=tuple(evidence),
                issues=tuple(issues),
            ),
            Score(
                name="recovery_errors",
                value=float(errors),
                unit="errors",
                reason=f"{errors} step{'' if errors == 1 else 's'} failed.",
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """By ratio of the run's time to 5000 ms: 1.0 up to 1, 0.8 up to 1.5, 0.6 up to 2, else 0.4.

    Also `latency_ms`, the run's time, and `latency_tool_ms`, the mean time of a tool call.
    """

    def __call__(self, run: Run, /) -> Sequence[Score]:
        why, took = _untimed(run), run.duration_ms
        if took is None or why:
            return (
                not_measurable("latency", why),
                not_measurable("latency_ms", why, unit="ms"),
                not_measurable("latency_tool_ms", why, unit="ms"),
            )
        ratio = took / _TARGET_MS
        value = next((value for most, value in _LATENCY_BANDS if ratio <= most), 0.4)
        score = Score(
            name="latency",
            value=value,
            reason=f"{took:.0f} ms are {ratio:.2f} of {_TARGET_MS:.0f} ms.",
            issues=tuple(_slow(run, took)),
        )
        tools = [call.duration_ns / 1e6 for call in run.work if call.origin == "span"]
        return (
            score,
            Score(name="latency_ms", value=took, unit="ms", reason="From the start to the end of the run."),
            Score(
                name="latency_tool_ms",
                value=math.fsum(tools) / len(tools),
                unit="ms",
                reason=f"The mean of {len(tools)} tool call{'' if len(tools) == 1 else 's'}.",
            )
            if tools
            else not_applicable("latency_tool_ms", "No tool call left a span.", unit="ms"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalRelevance:
    """The mean of the recorded scores of all retrieved documents."""

    def __call__(self, run: Run, /) -> Score:
        name = "retrieval_relevance"
        if not run.retrievals:
            if _unseen(run):
                return not_measurable(name, _why(run, "spans"))
            return not_applicable(name, "The run retrieved nothing.")
        scores = [
            document.score for step in run.retrievals for document in step.documents or () if document.score is not None
        ]
        if not scores:
            return not_measurable(name, _why(run, "documents", "No retrieved document has a recorded score."))
        odd = next((score for score in scores if not 0.0 <= score <= 1.0), None)
        if odd is not None:
            return not_measurable(name, f"A recorded score is {odd:g}; a mean needs scores from 0 to 1.")
        value = min(math.fsum(scores) / len(scores), 1.0)
        return Score(
            name=name,
            value=value,
            reason=f"The mean of {len(scores)} recorded score{'' if len(scores) == 1 else 's'}.",
            evidence=tuple(Evidence(span_id=step.span_id) for step in run.retrievals),
            issues=(f"The mean relevance {value:.2f} is below {_RELEVANT}.",) if value < _RELEVANT else (),
        )


def _first(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else -1


def _redundant(run: Run) -> list[ToolCall]:
    seen: set[tuple[str, bytes]] = set()
    found: list[ToolCall] = []
    for call, key in zip(run.asked.calls, run.asked.keys, strict=True):
        if key is None:
            continue
        if key in seen:
            found.append(call)
        seen.add(key)
    return found


def _untold(run: Run, name: str, *, unit: str = "") -> Score | None:
    """Why redundant calls cannot be counted, if so: nothing was seen, or arguments that would tell are missing."""
    if _unseen(run):
        return not_measurable(name, _why(run, "spans"), unit=unit)
    if not run.asked.untold:
        return None
    why = _why(run, "arguments", "their arguments are not recorded whole.")
    tools = ", ".join(run.asked.untold)
    return not_measurable(name, f"Whether calls of {tools} repeat each other cannot be told: {why}", unit=unit)


def _unseen(run: Run) -> bool:
    """Nothing of an agent is here: neither a call nor an agent's own span."""
    return not run.work and not run.llm_calls and not run.retrievals and not any(s.kind == "agent" for s in run.spans)


def _why(run: Run, field: str, otherwise: str = "No span of an agent, a model or a tool is here.") -> str:
    fields = (field, "spans")
    return str(run.lacks(*fields) or otherwise)


def _untimed(run: Run) -> str:
    if _unseen(run):
        return _why(run, "spans")
    if not run.timed:
        return "A transcript records no times. Score the spans of the run."
    root = run.root_span
    if root is not None and not root.is_over:
        return f"The run's own span {'ends before it begins' if root.raw.end_ns > 0 else 'never ended'}."
    return "" if run.duration_ms is not None else "The run's spans begin and end at the same time."


def _slow(run: Run, took: float) -> list[str]:
    """The steps that took longer than a step of their kind should."""
    steps = (
        [(call.name, call.duration_ns / 1e6) for call in run.work],
        [(call.model or "a model call", (call.end_ns - call.start_ns) / 1e6) for call in run.llm_calls],
        [("a retrieval", (step.end_ns - step.start_ns) / 1e6) for step in run.retrievals],
    )
    found = [f"The run took {took:.0f} ms, the target is {_TARGET_MS:.0f} ms."]
    for (kind, target), taken in zip(_STEP_TARGETS, steps, strict=True):
        found += [
            f"{name} took {ms:.0f} ms, the target of a {kind} call is {target:.0f} ms."
            for name, ms in taken
            if ms > target
        ]
    return found if took > _TARGET_MS else found[1:]
