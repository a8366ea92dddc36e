"""Did the agent go round in circles?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from spanwise.errors import ModelError
from spanwise.model.abstention import bare_repeats, no_tool_called, why_missing
from spanwise.model.calls import ToolCall, canonical_of
from spanwise.model.cycles import Cycle, cycles_of
from spanwise.model.score import Evidence, Score, not_measurable
from spanwise.model.trace import Run
from spanwise.text import excerpt

_TOLD = 20
_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Loops:
    """1 - calls in repeats of a cycle after its first round / calls, for cycles of any length.

    One call over and over is a loop from `minimum` times in a row, a cycle of several calls from `minimum_rounds` whole
    rounds. Calls are the same if tool and canonical arguments are, and nothing new came of the later one: a success
    after a failure is new, and so is a read whose result differs from the last time. Failed calls belong to a cycle.
    """

    minimum: int = 3
    minimum_rounds: int = 2

    def __post_init__(self) -> None:
        for field, value in (("minimum", self.minimum), ("minimum_rounds", self.minimum_rounds)):
            if type(value) is not int or value < 2:
                raise ModelError(f"Loops: {field}: read {value!r}, expected a whole number of at least 2")

    def __call__(self, run: Run, /) -> Score:
        calls = run.work
        if not calls:
            return no_tool_called("loops", run)
        asked = run.asked
        # All calls of a cycle are like another one, and there are two in a row at least.
        none = asked.distinct or not any(at - before == 1 for before, at in pairwise(asked.places))
        bare = () if none or None not in asked.given else bare_repeats(calls)
        found = [] if none else self._loops(_signatures(run, bare))
        if not found:
            return Score(name="loops", value=1.0, reason=f"No cycle repeats in {_count(len(calls), 'tool call')}.")
        looping = _looping(calls, found) if bare else ()
        unsure = [name for name in bare if name in looping]
        if unsure:
            why = why_missing(run, "arguments")
            return not_measurable("loops", f"Whether calls of {', '.join(unsure)} repeat a cycle cannot be told: {why}")
        loops, repeats = _covering(found, len(calls))
        told = sorted(loops[:_TOLD])
        more = f" The {_TOLD} longest are listed." if len(loops) > _TOLD else ""
        return Score(
            name="loops",
            value=(len(calls) - repeats) / len(calls),
            reason=f"{repeats} of {len(calls)} tool calls repeat a cycle, in {_count(len(loops), 'loop')}.{more}",
            evidence=tuple(
                Evidence(span_id=call.span_id, quote=excerpt(call.arguments))
                for loop in told
                for call in (calls[loop.start], calls[loop.end - 1])
            ),
            issues=tuple(_issue(calls, loop) for loop in told),
            recommendations=tuple(dict.fromkeys(_advice(calls, loop) for loop in told)),
        )

    def _loops(self, signatures: Sequence[object]) -> list[Cycle]:
        """The cycles that were gone through often enough."""
        return [
            cycle
            for cycle in cycles_of(signatures)
            if cycle.times >= (self.minimum if cycle.period == 1 else self.minimum_rounds)
        ]


def _signatures(run: Run, bare: Collection[str]) -> Sequence[object]:
    """For each call what is equal if a later call is the same again and brought nothing new.

    Calls of a tool whose arguments are not all recorded may be the same, so they count as such here.
    """
    asked = run.asked
    keys = [
        (call.name, b"") if call.name in bare else key or (call.name, canonical_of(call))
        for call, key in zip(asked.calls, asked.keys, strict=True)
    ]
    out: list[object] = list(range(len(run.work)))
    last: dict[tuple[str, bytes], tuple[ToolCall, int]] = {}
    for at, call, key in run.trace.paced(zip(asked.places, asked.calls, keys, strict=True)):
        before = last.get(key)
        version = 0 if before is None or not key[1] else before[1] + _is_news(before[0], call, run)
        last[key] = (call, version)
        out[at] = (key, version)
    return out


def _is_news(before: ToolCall, call: ToolCall, run: Run) -> bool:
    """The call brought what the one before did not: it succeeded at last, or it read something else."""
    if call.failed or before.failed:
        return before.failed and not call.failed
    if before.raw_result == call.raw_result or call.name in run.acting:
        return False
    if before.result_state != "present" or call.result_state != "present":
        return False
    return before.result != call.result


def _covering(cycles: Sequence[Cycle], calls: int) -> tuple[list[Cycle], int]:
    """The loops, longest first, that have repeats of their own, and the repeated calls of all together."""
    covered = bytearray(calls)
    out: list[Cycle] = []
    for cycle in sorted(cycles, key=lambda one: (-one.repeats, one.start, one.period)):
        begin = cycle.start + cycle.period
        if 0 in covered[begin : cycle.end]:
            out.append(cycle)
            covered[begin : cycle.end] = b"\x01" * cycle.repeats
    return out, covered.count(1)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _looping(calls: Sequence[ToolCall], loops: Sequence[Cycle]) -> frozenset[str]:
    """The names of the tools in some loops."""
    covered = _covering(loops, len(calls))[0]
    return frozenset(call.name for loop in covered for call in calls[loop.start : loop.start + loop.period])


def _names(calls: Sequence[ToolCall], loop: Cycle) -> str:
    names = [call.name for call in calls[loop.start : loop.start + min(loop.period, _NAMED)]]
    return " -> ".join(names) + (f" -> ... ({loop.period} calls)" if loop.period > _NAMED else "")


def _issue(calls: Sequence[ToolCall], loop: Cycle) -> str:
    where = f"calls {loop.start + 1} to {loop.end} of {len(calls)}"
    took = sum(call.duration_ns for call in calls[loop.start + loop.period : loop.end]) / 1e6
    spent = f"; the repeats took {took:.0f} ms" if took else ""
    if loop.period > 1:
        return f"{_names(calls, loop)} was gone through {loop.times} times in a row, {where}{spent}."
    first = calls[loop.start]
    with_ = excerpt(first.arguments, limit=80)
    shown = f" ({with_})" if with_ else ""
    return f"{first.name} was called {loop.times} times in a row with the same arguments{shown}, {where}{spent}."


def _advice(calls: Sequence[ToolCall], loop: Cycle) -> str:
    names = _names(calls, loop)
    if all(call.failed for call in calls[loop.start : loop.end]):
        return f"Stop after some failures of {names}, and tell the model what to change before another try."
    return f"When {names} brings nothing new, tell the model so, or end the run after a set number of rounds."
