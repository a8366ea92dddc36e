"""Was every tool call of use?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from spanwise.errors import ModelError
from spanwise.evaluators.grounding import bearing
from spanwise.model.abstention import bare_repeats, no_tool_called, why_missing
from spanwise.model.calls import Said, ToolCall
from spanwise.model.dataflow import Flow, flows_of
from spanwise.model.ports import outcome
from spanwise.model.score import Evidence, Score, not_measurable
from spanwise.model.trace import Run
from spanwise.text import excerpt

_NAME = "efficiency"


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """Useful calls / calls; with `step_bands` set, times the factor of the band that the number of calls falls in.

    A call is of no use if it repeats an earlier one (as in redundancy), if it failed and its tool never succeeded
    afterwards, or if nothing of its result is found in a later argument, a later retrieval's query, a later message of
    a model or the answer, and no claim of the answer rests on it (as in grounding). A tool with side effects is of use
    by its effect.
    """

    step_bands: tuple[tuple[int, float], ...] | None = None
    """(at most so many calls, factor), by number of calls; more calls than in the last band get its factor."""

    def __post_init__(self) -> None:
        if self.step_bands is None:
            return
        bands = _bands(self.step_bands)
        if bands is None:
            wanted = "pairs of a number of calls, going up, and a factor in [0, 1]"
            raise ModelError(f"{_NAME}: step_bands: read {self.step_bands!r}, expected {wanted}")
        object.__setattr__(self, "step_bands", bands)

    def __call__(self, run: Run, /) -> Score:
        return outcome(self.steps(run))

    def steps(self, run: Run, /) -> Iterator[Score | None]:
        """The score, last; before it a None after each step of the work."""
        calls = run.work
        if not calls:
            yield no_tool_called(_NAME, run)
            return
        bare = bare_repeats(calls)
        if bare:
            why = why_missing(run, "arguments")
            yield not_measurable(_NAME, f"Whether calls of {', '.join(bare)} repeat each other cannot be told: {why}")
            return
        repeated = {id(again): first for first, again in run.repeats.duplicates}
        lost = {id(call) for one in run.episodes if not one.recovered and not one.unclear for call in one.failures}
        acting = run.acting
        reading = [c for c in calls if not c.failed and id(c) not in repeated and c.name not in acting]
        flows = flows_of(run, reading, deaf=repeated) if reading else ()
        if run.answer and any(flow.fate == "unread" for flow in flows):
            yield None
            borne = yield from bearing(run)
            flows = tuple(_rested_on(flow) if flow.call.span_id in borne else flow for flow in flows)
        yield self._told(run, calls, flows, repeated, lost)

    def _told(
        self,
        run: Run,
        calls: Sequence[ToolCall],
        flows: Sequence[Flow],
        repeated: Mapping[int, ToolCall],
        lost: Collection[int],
    ) -> Score:
        unknown = sum(flow.fate == "unknown" for flow in flows)
        if flows and unknown == len(flows):
            why = _why_unknown(run)
            return not_measurable(_NAME, f"Whether the results of the calls were used cannot be told: {why}")
        unread = {id(flow.call) for flow in flows if flow.fate == "unread"}
        useless = [call for call in calls if id(call) in repeated or id(call) in lost or id(call) in unread]
        value = (len(calls) - len(useless)) / len(calls)
        factor = _factor(self.step_bands, len(calls))
        return Score(
            name=_NAME,
            value=value * factor,
            reason=_reason(calls, useless, flows, factor),
            evidence=tuple(_evidence(call, unread) for call in run.trace.paced(useless)),
            issues=tuple(_issue(call, unread, repeated.keys()) for call in run.trace.paced(useless)),
            recommendations=tuple(dict.fromkeys(_advice(call) for call in useless if id(call) in unread)),
        )


def _rested_on(flow: Flow) -> Flow:
    """A claim of the answer rests on the result, though no word or number of it is found there as it stands."""
    return replace(flow, fate="read", reader=None) if flow.fate == "unread" else flow


def _bands(given: object) -> tuple[tuple[int, float], ...] | None:
    """The bands as tuples; None where they are none."""
    listed = cast("Sequence[object]", given) if isinstance(given, list | tuple) else ()
    out: list[tuple[int, float]] = []
    for one in listed:
        pair = cast("Sequence[object]", one) if isinstance(one, list | tuple) else ()
        if len(pair) != 2:
            return None
        most, factor = pair
        if not isinstance(most, int) or isinstance(most, bool) or most < (out[-1][0] + 1 if out else 0):
            return None
        if not isinstance(factor, int | float) or isinstance(factor, bool) or not 0.0 <= factor <= 1.0:
            return None
        out.append((most, float(factor)))
    return tuple(out) or None


def _factor(bands: Sequence[tuple[int, float]] | None, calls: int) -> float:
    if not bands:
        return 1.0
    return next((factor for most, factor in bands if calls <= most), bands[-1][1])


def _why_unknown(run: Run) -> str:
    if run.answer is None and run.lacks("answer") is None:
        return "The run failed before it gave an answer."
    if run.lacks("answer", "arguments", "results") is not None:
        return why_missing(run, "results", "answer", "arguments")
    return f"What the models said between the calls is not recorded. {run.content_switch}".strip()


def _reason(calls: Sequence[ToolCall], useless: Sequence[ToolCall], flows: Sequence[Flow], factor: float) -> str:
    said = [f"{len(calls) - len(useless)} of {len(calls)} tool calls were of use."]
    read = [flow for flow in flows if flow.fate == "read"]
    answered = sum(flow.reader is None for flow in read)
    if read:
        spoken = sum(isinstance(flow.reader, Said) for flow in read)
        places = [f"{answered} in the answer", f"{len(read) - answered - spoken} in a later call"]
        said.append(f"Results found again: {', '.join([*places, f'{spoken} in a message'][: 3 if spoken else 2])}.")
    unknown = sum(flow.fate == "unknown" for flow in flows)
    if unknown:
        said.append(f"Whether {unknown} more were used is not recorded; they count as used.")
    if factor != 1.0:
        said.append(f"{len(calls)} calls: times {factor:g}.")
    return " ".join(said)


def _evidence(call: ToolCall, unread: set[int]) -> Evidence:
    if call.failed:
        return Evidence(span_id=call.span_id, quote=excerpt(call.error.message if call.error else call.result))
    return Evidence(span_id=call.span_id, quote=excerpt(call.raw_result if id(call) in unread else call.arguments))


def _issue(call: ToolCall, unread: set[int], repeated: object) -> str:
    with_ = excerpt(call.arguments, limit=80)
    shown = f"{call.name} ({with_})" if with_ else call.name
    if id(call) in unread:
        return f"Nothing of what {shown} returned is found in a later argument, in a message or in the answer."
    return f"{shown} failed, and never succeeded afterwards." if call.failed else f"{shown} repeats an earlier call."


def _advice(call: ToolCall) -> str:
    return f"Leave out {call.name} where its result is not needed, or let the answer say what it found."
