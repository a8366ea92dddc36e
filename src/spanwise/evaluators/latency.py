"""How much of the run's time did it need?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spanwise.errors import ModelError
from spanwise.model.calls import ToolCall
from spanwise.model.critical_path import Gap, Spent, spent_of
from spanwise.model.raw import hex_id
from spanwise.model.score import Evidence, Score, not_measurable
from spanwise.model.searches import Search, searches_of
from spanwise.model.span import RUN_KINDS, Span
from spanwise.model.trace import Run
from spanwise.stats import quantile
from spanwise.text import excerpt

_NAMED = 3
_UNJUDGED = frozenset({*RUN_KINDS, "other", "setup", "evaluation"})
_UNRECORDED = "A gap may be the time of a call that left no span, so idle time is not judged."


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """The share of the critical path that was neither idle nor spent on failed or repeated calls.

    With `target_ms`, the time that a run may take, the share is multiplied by min(1, target / actual). The targets per
    call of a tool, a model or a retrieval change no value: what exceeds them is named in the issues. A gap in which
    nothing ran is idle if it is longer than `gap_ms`; shorter ones are the framework's own time.
    """

    target_ms: float | None = None
    tool_target_ms: float | None = None
    llm_target_ms: float | None = None
    retrieval_target_ms: float | None = None
    gap_ms: float = 100.0

    def __post_init__(self) -> None:
        for name in ("target_ms", "tool_target_ms", "llm_target_ms", "retrieval_target_ms"):
            given = getattr(self, name)
            if given is not None and not _is_time(given):
                raise ModelError(f"latency: {name} is {given!r}; give a number of milliseconds above 0.")
        if self.gap_ms != 0 and not _is_time(self.gap_ms):
            raise ModelError(f"latency: gap_ms is {self.gap_ms!r}; give a number of milliseconds, 0 or more.")

    def __call__(self, run: Run, /) -> tuple[Score, Score]:
        unknown = _why_unknown(run)
        if unknown:
            return not_measurable("latency", unknown), not_measurable("latency_ms", unknown, unit="ms")
        times = _Times.of(run)
        return self._share(run, times), _duration(run, times)

    def _share(self, run: Run, times: _Times) -> Score:
        wall = run.end_ns - run.start_ns
        met = 1.0 if self.target_ms is None else min(1.0, self.target_ms * 1e6 / wall)
        if run.by_kind.keys() <= _UNJUDGED:
            why = str(run.lacks("spans", "llm_calls") or "")
            said = f"The run took {_ms(wall)}, but nothing is recorded of what it did in that time. {why}".strip()
            if self.target_ms is None:
                return not_measurable("latency", said)
            issues = () if met == 1.0 else (f"The run took {_ms(wall)}; the target is {_ms(self.target_ms * 1e6)}.",)
            return Score(name="latency", value=met, reason=f"{said} Only the target is judged.", issues=issues)
        failed, repeated = _failed(run, times.searches), _repeated(run)
        spent = spent_of(run, failed, repeated, named=_NAMED, longer_than_ns=int(self.gap_ms * 1e6))
        gaps, losses = spent.gaps, _Losses.of(spent, failed, repeated)
        idle = None if gaps is None else sum([gap.duration_ns for gap in gaps])
        useful = (wall - (idle or 0) - losses.failed - losses.repeated) / wall
        spans = run.trace.spans
        blamed = [(spans[at], ns / wall) for at, ns in spent.most]
        slow = self._over_target(wall, blamed) if met < 1.0 else ()
        told = advice = ()
        if gaps or losses is not _NO_LOSSES:
            told = (*_of_gaps(gaps or (), wall), *losses.issues(wall))
            advice = (*_to_fill(gaps or ()), *losses.advice(wall))
        return Score(
            name="latency",
            value=useful * met,
            reason=_reason(wall, idle, losses) + _untold(run) + _most(blamed),
            evidence=tuple(
                [Evidence(span_id=hex_id(raw.span_id), quote=excerpt(raw.name)) for raw in [at.raw for at, _ in blamed]]
            ),
            issues=(*slow, *told, *self._over_targets(times)),
            recommendations=(*_to_speed_up(slow, blamed), *advice),
        )

    def _over_target(self, wall: int, blamed: Sequence[tuple[Span, float]]) -> tuple[str, ...]:
        target = (self.target_ms or 0) * 1e6
        said = f"The run took {_ms(wall)}; the target is {_ms(target)}."
        return (said, *(f"{_named(span)} is {share:.0%} of the critical path." for span, share in blamed))

    def _over_targets(self, times: _Times) -> tuple[str, ...]:
        if self.tool_target_ms is self.llm_target_ms is self.retrieval_target_ms is None:
            return ()
        out: list[str] = []
        limits = ((self.tool_target_ms, times.tools), (self.llm_target_ms, times.models))
        for target, table in (*limits, (self.retrieval_target_ms, {"retrieval": times.retrievals})):
            if target is None:
                continue
            for name, spent in table.items():
                slow = sum(one > target * 1e6 for one in spent)
                if slow:
                    calls = f"{slow} of {len(spent)} calls of {name}" if len(spent) > 1 else f"The call of {name}"
                    out.append(f"{calls} took longer than {_ms(target * 1e6)}: {_spread(spent)}.")
        return tuple(out)


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def _why_unknown(run: Run) -> str:
    """Why the run's duration is not known; empty if it is."""
    if not run.timed:
        return "The times are not recorded: a transcript holds the order of its steps only."
    root = run.root_span
    if root is not None and not root.is_over:
        ends = "ends before it begins" if root.raw.end_ns > 0 else "never ended"
        return f"The run's own span {ends}, so how long the run took is not recorded."
    if run.duration_ms is None:
        return "The run's spans begin and end at the same time, so how long it took is not recorded."
    return ""


class _Times(NamedTuple):
    """How long the calls took, by tool and by model, and how long answers took to begin, each from least to most."""

    tools: Mapping[str, list[int]]
    models: Mapping[str, list[int]]
    retrievals: Sequence[int]
    first_tokens: Mapping[str, list[float]]
    searches: Sequence[Search]

    @classmethod
    def of(cls, run: Run) -> _Times:
        """The times of a run; how long a call took that left no span, or whose span never ended, nobody knows."""
        models: dict[str, list[int]] = {}
        firsts: dict[str, list[float]] = {}
        searches = run.once(searches_of)
        if not searches and not run.llm_calls:
            return cls(run.tally.times, models, (), firsts, searches)
        for call in run.llm_calls:
            ns = call.end_ns - call.start_ns
            if ns > 0:
                used = call.usage
                model = used.model or "a model that is not named"
                if model in models:
                    models[model].append(ns)
                else:
                    models[model] = [ns]
                if used.ttft_ms is not None:
                    firsts.setdefault(model, []).append(used.ttft_ms * 1e6)
        took = [one.end_ns - one.start_ns for one in searches if one.end_ns > one.start_ns]
        for times in (*models.values(), *firsts.values(), took):
            times.sort()
        return cls(run.tally.times, models, took, firsts, searches)


def _duration(run: Run, times: _Times) -> Score:
    said = "From the start to the end of the run." if run.root >= 0 else "From the first start to the last end."
    if times.tools:
        name, spread = _slowest(times.tools)
        said += f" {'Slowest' if len(times.tools) > 1 else 'The'} tool {name}: {spread}."
    if times.models:
        name, spread = _slowest(times.models)
        first = times.first_tokens.get(name)
        began = f", first token {_spread(first)}" if first else ""
        said += f" {'Slowest' if len(times.models) > 1 else 'The'} model {name}: {spread}{began}."
    if times.retrievals:
        said += f" Retrieval: {_spread(times.retrievals)}."
    return Score(name="latency_ms", value=run.duration_ms, unit="ms", reason=said)


def _slowest(table: Mapping[str, Sequence[int]]) -> tuple[str, str]:
    """The name with the highest 95th percentile, and its times in words."""
    if len(table) == 1:
        ((name, spent),) = table.items()
    else:
        _, name, spent = max([(quantile(spent, 0.95), name, spent) for name, spent in table.items()])
    return name, _spread(spent)


def _spread(spent: Sequence[float]) -> str:
    """Times that go from least to most, in words."""
    count = len(spent)
    if count == 1:
        return _ms(spent[0])
    return f"p50 {_ms(quantile(spent, 0.5))}, p95 {_ms(quantile(spent, 0.95))} of {count}"


def _ms(ns: float) -> str:
    ms = ns / 1e6
    return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.3g} ms"


class _Losses(NamedTuple):
    """Time on the critical path that went by in failed calls and in calls that repeat an earlier one."""

    failed: int = 0
    repeated: int = 0
    by_failed: Mapping[str, int] = {}
    by_repeated: Mapping[str, int] = {}

    @classmethod
    def of(cls, spent: Spent, failed: Mapping[int, str], repeated: Mapping[int, str]) -> _Losses:
        """What was lost in these calls, by what was called."""
        if not spent.lost:
            return _NO_LOSSES
        by_failed: dict[str, int] = {}
        by_repeated: dict[str, int] = {}
        for call, ns in spent.lost.items():
            table, name = (by_failed, failed[call]) if call in failed else (by_repeated, repeated[call])
            table[name] = table.get(name, 0) + ns
        return cls(
            failed=sum(by_failed.values()),
            repeated=sum(by_repeated.values()),
            by_failed=by_failed,
            by_repeated=by_repeated,
        )

    def issues(self, wall: int) -> tuple[str, ...]:
        """Where a hundredth of the run or more was lost, the most first."""
        return tuple(
            f"{_ms(ns)} went by in {what} calls of {name}: {ns / wall:.0%} of the run."
            for what, table in (("failed", self.by_failed), ("repeated", self.by_repeated))
            for name, ns in _worst(table, wall)
        )

    def advice(self, wall: int) -> tuple[str, ...]:
        """What would save the time."""
        failed, repeated = ([name for name, _ in _worst(table, wall)] for table in (self.by_failed, self.by_repeated))
        return (
            *(f"Find out why {name} fails, or let it fail sooner." for name in failed),
            *(f"Keep the first result of {name} instead of waiting for it again." for name in repeated),
        )


_NO_LOSSES = _Losses()


def _worst(table: Mapping[str, int], wall: int) -> list[tuple[str, int]]:
    """The names that hold a hundredth of the time or more, the most first."""
    if not table:
        return []
    found = [(name, ns) for name, ns in table.items() if ns * 100 >= wall]
    return sorted(found, key=lambda item: (-item[1], item[0]))


def _failed(run: Run, searches: Sequence[Search]) -> dict[int, str]:
    """The spans of failed calls with what was called; of a span of several calls all must have failed."""
    out = _all_calls(run, run.tally.failed)
    out.update([(call.span, call.model or "a model") for call in run.failed_llm_calls])
    if searches:
        out.update([(one.span, "retrieval") for one in searches if one.failed])
    return out


def _repeated(run: Run) -> dict[int, str]:
    """The spans of calls that repeat an earlier one."""
    repeated = run.repeats.duplicates
    return _all_calls(run, [again for _, again in repeated]) if repeated else {}


def _all_calls(run: Run, calls: Sequence[ToolCall]) -> dict[int, str]:
    found = {call.span: call.name for call in calls if call.span >= 0} if calls else {}
    if not found:
        return found
    these = {id(call) for call in calls}
    for call in run.work:
        if call.span in found and id(call) not in these:
            del found[call.span]
    return found


def _named(span: Span) -> str:
    return f"{span.name} itself" if span.kind in RUN_KINDS else span.name


def _reason(wall: int, idle: int | None, losses: _Losses) -> str:
    lost = (idle or 0) + losses.failed + losses.repeated
    if lost:
        parts = ((idle or 0, "idle"), (losses.failed, "in failed calls"), (losses.repeated, "in repeated calls"))
        told = ", ".join(f"{_ms(ns)} {what}" for ns, what in parts if ns)
        said = f"{lost / wall:.0%} of {_ms(wall)} was lost: {told}"
    else:
        said = f"Nothing of {_ms(wall)} was lost to {'idle time, ' if idle is not None else ''}failed or repeated calls"
    return f"{said}." if idle is not None else f"{said}. {_UNRECORDED}"


def _untold(run: Run) -> str:
    """What may have been lost, and is not known."""
    unclear, untold = run.tally.unclear, run.asked.untold
    if not unclear and not untold:
        return ""
    parts = ((untold, "repeat each other"), (unclear, "failed"))
    return "".join(f" Whether calls of {', '.join(names)} {did} is not recorded." for names, did in parts if names)


def _most(blamed: Sequence[tuple[Span, float]]) -> str:
    shares = [
        f"{span.raw.name} itself {share:.0%}" if span.kind in RUN_KINDS else f"{span.raw.name} {share:.0%}"
        for span, share in blamed
    ]
    return f" Most of the critical path: {', '.join(shares)}." if shares else ""


def _of_gaps(gaps: Sequence[Gap], wall: int) -> tuple[str, ...]:
    if not gaps:
        return ()
    longest = sorted(gaps, key=lambda gap: (-gap.duration_ns, gap.start_ns))
    out = [
        f"Nothing ran for {_ms(gap.duration_ns)} ({gap.duration_ns / wall:.0%} of the run) {_between(gap)}."
        for gap in longest[:_NAMED]
    ]
    if longest[_NAMED:]:
        rest = sum(gap.duration_ns for gap in longest[_NAMED:])
        out.append(f"{len(longest) - _NAMED} more idle gaps took {_ms(rest)} in all.")
    return tuple(out)


def _between(gap: Gap) -> str:
    begun = gap.before.name if gap.before else "the start of the run"
    ended = gap.after.name if gap.after else "the end of the run"
    return f"between {begun} and {ended}"


def _to_fill(gaps: Sequence[Gap]) -> tuple[str, ...]:
    if not gaps:
        return ()
    longest = max(gaps, key=lambda gap: (gap.duration_ns, -gap.start_ns))
    causes = "a limit of rate, a queue, a person, or work that is not instrumented"
    return (f"Find out what the run waits for {_between(longest)}: {causes}.",)


def _to_speed_up(slow: Sequence[str], blamed: Sequence[tuple[Span, float]]) -> tuple[str, ...]:
    if not slow or not blamed:
        return ()
    return (f"Begin with {blamed[0][0].name}, the largest share of the critical path.",)
