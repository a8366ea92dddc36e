"""Did control pass between the agents as it should?"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias, cast

from spanwise.errors import ModelError
from spanwise.model.calls import Handoff, ToolCall
from spanwise.model.effects import passes_control
from spanwise.model.lost_context import Loss, agent_key, agent_of, losses_of
from spanwise.model.score import Evidence, Score, not_applicable, not_measurable
from spanwise.model.searches import searches_of
from spanwise.model.trace import Run
from spanwise.text import excerpt

Route: TypeAlias = tuple[str | None, str]
"""Who hands over and to whom, names made comparable; None stands for anybody."""

Moment: TypeAlias = tuple[int, bool]
"""When a hand-off took place, and whether it only ends an agent's work."""

_RETURN = "transfer_back_to_"
_NAMED = 5
_UNKNOWN = frozenset({"other"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoffs:
    """F1 of the hand-offs against the expected ones, in any order; without an expectation 1 - ping-pong / hand-offs.

    An expected hand-off is a target (`"billing"`), or a source and a target (`("triage", "billing")` or
    `"triage -> billing"`). Ping-pong is a hand-off back to the agent that control came from, before the agent that
    had it ran a tool, retrieved anything or called a model more than once. `max_depth` limits how many agents deep
    control may pass without coming back; a deeper run has an issue, its value stays. So has a run in which what one
    agent knew did not come to the next one with the control.
    """

    expected: tuple[str | tuple[str, str], ...] | None = None
    max_depth: int | None = None

    def __post_init__(self) -> None:
        for item in self.expected or ():
            _route(item)
        if self.max_depth is not None and not _is_count(self.max_depth):
            raise ModelError(f"handoffs: max_depth is {self.max_depth!r}; give a whole number, 0 or more.")

    def __call__(self, run: Run, /) -> Score:
        passed = _known_sources(run.handoffs)
        if not passed:
            return self._none(run)
        moments = _moments(run, passed)
        found = _Returns.of(run, passed, moments)
        lost = _Lost.of(run, passed, moments)
        issues = (*found.issues, *self._too_deep(passed), *lost.issues)
        advice = (*found.advice, *lost.advice)
        if self.expected is not None:
            return _against(_routes(self.expected), passed, issues, lost.evidence, advice)
        if found.unclear:
            why = str(run.lacks("llm_calls") or "")
            said = f"Whether {found.unclear} did anything before it handed back cannot be told. {why}"
            return not_measurable("handoffs", said.strip())
        count, bad = len(passed), len(found.evidence)
        return Score(
            name="handoffs",
            value=1.0 - bad / count,
            reason=f"{bad} of {count} hand-offs went straight back to where control came from.",
            evidence=(*found.evidence, *lost.evidence),
            issues=issues,
            recommendations=advice,
        )

    def _none(self, run: Run) -> Score:
        if self.expected is None and not run.by_kind.keys() <= _UNKNOWN:
            return not_applicable("handoffs", "No agent handed over to another.")
        unseen = str(run.lacks("spans", "tool_calls") or "")
        if unseen or self.expected is None:
            return not_measurable("handoffs", unseen)
        if not run.completeness.complete:
            return not_measurable("handoffs", f"The trace is partial: {'; '.join(run.completeness.reasons)}.")
        wanted = _routes(self.expected)
        named = {agent_key(agent.name): agent.name for agent in run.agents}
        there = next((named[target] for _, target in wanted if target in named), None)
        if there is not None and len(named) > 1:
            return not_measurable("handoffs", f"{there} took part, but no span says how control came to it.")
        return _against(wanted, (), (), (), ())

    def _too_deep(self, passed: Sequence[Handoff]) -> tuple[str, ...]:
        if self.max_depth is None:
            return ()
        depth, names = _deepest(passed)
        if depth <= self.max_depth:
            return ()
        way = " -> ".join(names) + (" -> ..." if depth >= _NAMED else "")
        return (f"Control went {depth} agents deep ({way}); at most {self.max_depth} is allowed.",)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _route(item: object) -> Route:
    """An expected hand-off, checked."""
    if isinstance(item, str) and "->" in item:
        pair: Sequence[object] = item.split("->")
    elif isinstance(item, str):
        pair = (None, item)
    else:
        pair = cast("Sequence[object]", item) if isinstance(item, tuple | list) else ()
    if len(pair) == 2 and isinstance(pair[1], str) and agent_key(pair[1]):
        source = pair[0]
        if source is None:
            return None, agent_key(pair[1])
        if isinstance(source, str) and agent_key(source):
            return agent_key(source), agent_key(pair[1])
    raise ModelError(
        f"handoffs: expected names {item!r}; give a target such as 'billing', or a source and a target "
        "such as 'triage -> billing'."
    )


def _routes(expected: Sequence[object]) -> list[Route]:
    return [_route(item) for item in expected]


def _known_sources(handoffs: Sequence[Handoff]) -> list[Handoff]:
    """The hand-offs; a source that is not recorded is the agent that was handed over to before."""
    out: list[Handoff] = []
    for item in handoffs:
        if item.source is None and out and out[-1].target is not None:
            item = Handoff(source=out[-1].target, target=item.target, span=item.span, span_id=item.span_id)
        out.append(item)
    return out


def _told(item: Handoff) -> str:
    return f"{item.source or 'an agent that is not named'} -> {item.target or 'an agent that is not named'}"


def _against(
    wanted: Sequence[Route],
    passed: Sequence[Handoff],
    issues: tuple[str, ...],
    evidence: tuple[Evidence, ...],
    advice: tuple[str, ...],
) -> Score:
    """F1 of the hand-offs against the expected ones."""
    missing, extra = _unmatched(wanted, passed)
    if _undecided(missing, extra):
        names = ", ".join(dict.fromkeys(_told(item) for item in extra if item.source is None or item.target is None))
        return not_measurable("handoffs", f"Who handed over to whom is not recorded: {names} may be an expected one.")
    matched = len(wanted) - len(missing)
    total = len(wanted) + len(passed)
    lacking = tuple(f"The hand-off {_shown(route)} was expected and did not happen." for route in missing)
    surplus = tuple(f"The hand-off {_told(item)} was not expected." for item in extra)
    return Score(
        name="handoffs",
        value=2 * matched / total if total else 1.0,
        reason=f"{matched} of {len(wanted)} expected hand-offs happened; "
        f"{len(extra)} of {len(passed)} were not expected.",
        evidence=(*(Evidence(span_id=item.span_id, quote=excerpt(_told(item))) for item in extra), *evidence),
        issues=(*lacking, *surplus, *issues),
        recommendations=advice,
    )


def _shown(route: Route) -> str:
    return f"to {route[1]}" if route[0] is None else f"{route[0]} -> {route[1]}"


def _unmatched(wanted: Sequence[Route], passed: Sequence[Handoff]) -> tuple[list[Route], list[Handoff]]:
    """The expected hand-offs that did not happen and the ones that were not expected, matched one to one.

    Expectations that name a source are matched first; those that name only a target take whom they get, hand-offs of
    unknown source last.
    """
    exact: dict[tuple[str | None, str | None], deque[int]] = {}
    for at, item in enumerate(passed):
        exact.setdefault(_key(item), deque()).append(at)
    missing: list[Route] = []
    taken: set[int] = set()
    for route in wanted:
        if route[0] is not None:
            pool = exact.get(route)
            if pool:
                taken.add(pool.popleft())
            else:
                missing.append(route)
    targets: dict[str | None, deque[int]] = {}
    for at in sorted(range(len(passed)), key=lambda at: passed[at].source is None):
        if at not in taken:
            targets.setdefault(_key(passed[at])[1], deque()).append(at)
    for route in wanted:
        if route[0] is None:
            pool = targets.get(route[1])
            if pool:
                taken.add(pool.popleft())
            else:
                missing.append(route)
    return missing, [item for at, item in enumerate(passed) if at not in taken]


def _undecided(missing: Sequence[Route], extra: Sequence[Handoff]) -> bool:
    """Whether a hand-off that is not recorded whole may be one of the missing."""
    partly = {key for item in extra if None in (key := _key(item))}
    return any(
        (source is None or route[0] is None or source == route[0]) and (target is None or target == route[1])
        for source, target in partly
        for route in set(missing)
    )


def _key(item: Handoff) -> tuple[str | None, str | None]:
    source, target = item.source, item.target
    return (None if source is None else agent_key(source), None if target is None else agent_key(target))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Returns:
    """The hand-offs straight back to where control came from; `unclear` names an agent of which too little is known."""

    evidence: tuple[Evidence, ...]
    issues: tuple[str, ...]
    advice: tuple[str, ...]
    unclear: str = ""

    @classmethod
    def of(cls, run: Run, passed: Sequence[Handoff], moments: Sequence[Moment]) -> _Returns:
        """The returns of a run in which the agent that had control did nothing."""
        worked = sorted((*(call.start_ns for call in run.work), *(one.start_ns for one in run.once(searches_of))))
        thought = [call.start_ns for call in run.llm_calls]
        found: list[Handoff] = []
        unclear = ""
        for (before, (since, _)), (item, (until, is_return)) in pairwise(zip(passed, moments, strict=True)):
            source, target = _key(item)
            if target is None or is_return or _key(before) != (target, source):
                continue
            if bisect_left(worked, until) > bisect_left(worked, since):
                continue
            if not thought:
                unclear = unclear or str(item.source)
            elif bisect_left(thought, until) - bisect_left(thought, since) <= 1:
                found.append(item)
        names = dict.fromkeys((str(item.source), str(item.target)) for item in found)
        return cls(
            evidence=tuple(Evidence(span_id=item.span_id, quote=excerpt(_told(item))) for item in found),
            issues=tuple(
                f"{item.source} handed straight back to {item.target}, without a call of a tool or a retrieval."
                for item in found
            ),
            advice=tuple(f"Tell {target} what {source} is for, or let {source} finish." for source, target in names),
            unclear=unclear,
        )


def _moments(run: Run, passed: Sequence[Handoff]) -> list[Moment]:
    """When each hand-off took place, and whether it only ends an agent's work (`transfer_back_to_...`)."""
    calls = [
        call for call in run.tool_calls if passes_control(call.name) and not call.failed and call.status != "not_run"
    ]
    if [call.span for call in calls] == [item.span for item in passed]:
        return [(call.start_ns, call.name.lower().startswith(_RETURN)) for call in calls]
    return [(run.trace.spans[item.span].start_ns, False) for item in passed]


def _deepest(passed: Sequence[Handoff]) -> tuple[int, list[str]]:
    """How many agents deep control went without coming back, and the first of their names."""
    path: list[str] = []
    place: dict[str, int] = {}
    depth, names = 0, list[str]()
    for item in passed:
        source, target = _key(item)
        if source is None or target is None:
            continue
        if source not in place:  # control came here by a way that is not recorded
            path, place = [source], {source: 0}
        for agent in (source, target):
            at = place.get(agent)
            if at is None:
                place[agent] = len(path)
                path.append(agent)
            else:
                for gone in path[at + 1 :]:
                    del place[gone]
                del path[at + 1 :]
        if len(path) - 1 > depth:
            depth, names = len(path) - 1, path[:_NAMED]
    return depth, names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lost:
    """What was known and did not come with the control: issues and what shows them."""

    evidence: tuple[Evidence, ...]
    issues: tuple[str, ...]
    advice: tuple[str, ...]

    @classmethod
    def of(cls, run: Run, passed: Sequence[Handoff], moments: Sequence[Moment]) -> _Lost:
        """Agents that were told nothing of what the one before them knew, and calls that repeat another agent's."""
        losses = losses_of(run, passed, [at_ns for at_ns, _ in moments])
        shown = [
            evidence
            for loss in losses
            for evidence in (
                Evidence(span_id=loss.span_id, quote=excerpt(loss.told.asked)),
                Evidence(span_id=loss.call.span_id, quote=excerpt(loss.call.raw_result)),
            )
        ]
        repeated = _repeated(run)
        return cls(
            evidence=(*shown, *repeated.values()),
            issues=(*map(_untold, losses), *repeated),
            advice=tuple(
                f"Let {loss.handoff.target} see the conversation so far, or tell it what {loss.handoff.source} found."
                for loss in losses
            ),
        )


def _untold(loss: Loss) -> str:
    source, target = loss.handoff.source, loss.handoff.target
    return (
        f"{target} was told nothing of the user's question, nor of what {source} had found with {loss.call.name}: "
        "the context did not come with the control."
    )


def _repeated(run: Run) -> dict[str, Evidence]:
    """Calls that repeat what another agent had done, as what was not handed over; each with the first of them."""
    names = {index: agent.name for agent in run.agents for index in agent.spans}
    found: dict[tuple[str, str, str], list[ToolCall]] = {}
    for first, again in run.repeats.duplicates:
        before, after = agent_of(run, first.agent, names), agent_of(run, again.agent, names)
        if before and after and before != after:
            found.setdefault((again.name, before, after), []).append(again)
    return {
        f"{after} called {tool} with arguments that {before} had called it with"
        + (f", {len(calls)} times" if len(calls) > 1 else "")
        + ": what was known did not come with the control.": Evidence(
            span_id=calls[0].span_id, quote=excerpt(calls[0].arguments)
        )
        for (tool, before, after), calls in found.items()
    }
