"""Did the agent pick the right tools?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from spanwise.model.abstention import no_tool_called
from spanwise.model.calls import ToolCall
from spanwise.model.content import ToolDefinition
from spanwise.model.expectation import (
    Rule,
    Rules,
    again,
    all_of,
    candidates,
    effecting,
    never_ran,
    no_overlap,
    told_missing,
    told_surplus,
    tool_names,
    unseen,
)
from spanwise.model.fit import catalogue_of
from spanwise.model.offers import by_name
from spanwise.model.schema import violations
from spanwise.model.score import Evidence, Score, not_applicable, not_measurable
from spanwise.model.trace import Run
from spanwise.text import excerpt

_NAME = "tool_selection"
_DONE = frozenset({"ok", "unknown"})
_NOTHING_TO_GO_BY = (
    "Nothing was expected of this run, and tool definitions are not recorded. Give `expected`, or rules that match the "
    "query; or turn on content capture of the instrumentation, which records what tools the model was offered."
)
_OFFERED_SHOWN = 6
_FIT_TOOLS = 1000
_FIT_FACTOR = 2.0
_FIT_WORDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSelection:
    """F1 of the tools called against the tools expected, or valid calls / calls where nothing was expected.

    What is expected is `expected`, else what the `rules` that match the query say. A call that failed is not done: a
    tool that only failed counts as a wrong call. A tool counts once, unless the expectation names it more often. An
    empty `expected` says that no tool is needed. A call of a forbidden tool makes the score 0.
    """

    expected: tuple[str, ...] | None = None
    forbidden: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    effects_only: bool = False
    effect_tools: tuple[str, ...] | None = None
    check_arguments: bool = True

    def __post_init__(self) -> None:
        tool_names(self.expected or (), "tool_selection: expected")
        tool_names(self.forbidden, "tool_selection: forbidden")
        tool_names(self.effect_tools or (), "tool_selection: effect_tools")
        all_of(self.rules, Rule, "tool_selection: rules")
        no_overlap(self.expected or (), self.forbidden, "tool_selection")

    def __call__(self, run: Run, /) -> Score:
        expected, forbidden, source = self.expected, self.forbidden, "as given"
        query = run.query if expected is None and self.rules else None
        if query is not None:
            matched = Rules(self.rules).match(query)
            forbidden = (*forbidden, *matched.forbidden)
            if matched.expected is not None:
                expected = tuple(name for name in matched.expected if name not in forbidden)
            source = f"by rule {', '.join(matched.names)}"
        calls = candidates(run, (*(expected or ()), *forbidden))
        barred = [call for call in calls if call.name in forbidden] if forbidden else []
        if barred:
            return _forbidden(barred)
        if expected is None and self.rules and query is None:
            why = run.lacks("spans", "query")
            return not_measurable(_NAME, f"Which rules match cannot be told: {why or 'the query is empty.'}")
        if self.effects_only:
            named = {*(expected or ()), *(call.name for call in run.tool_calls)}
            acting = effecting(run, named, self.effect_tools)
            calls = [call for call in calls if call.name in acting]
            expected = None if expected is None else tuple(name for name in expected if name in acting)
        if expected is None:
            return self._without_expectation(run, calls, forbidden)
        return _against(run, calls, expected, source, "tools with side effects" if self.effects_only else "tools")

    def _without_expectation(self, run: Run, calls: Sequence[ToolCall], forbidden: tuple[str, ...]) -> Score:
        tools = _offered(run)
        idle = never_ran(run)
        offered = by_name(tools or (), run.tally.names, [call.name for call in idle])
        invented = [call for call in idle if call.name not in offered] if idle and tools is not None else []
        if self.effects_only:
            acting = effecting(run, {call.name for call in invented}, self.effect_tools)
            invented = [call for call in invented if call.name in acting]
        judged = [*calls, *invented] if invented else calls
        if not judged:
            if self.effects_only and run.tool_calls:
                return not_applicable(_NAME, "The run called no tool with side effects.")
            return no_tool_called(_NAME, run)
        if tools is None:
            if not forbidden:
                return Score(name=_NAME, status="not_applicable", reason=_NOTHING_TO_GO_BY, issues=_idle(idle, None))
            reason = f"None of {_count(len(calls), 'tool call')} is of a forbidden tool; nothing else was expected."
            return Score(name=_NAME, value=1.0, reason=reason, issues=_idle(idle, None))
        unknown = [call for call in judged if call.name not in offered]
        unfit = _unfit(run.trace.paced(calls), offered) if self.check_arguments else []
        better = _better(run, calls, tools)
        valid = len(judged) - len(unknown) - len(unfit)
        reason = self._reason(f"{valid} of {_count(len(judged), 'call')}", calls, tools)
        if not unknown and not unfit and not idle:
            return Score(name=_NAME, value=1.0, reason=reason, issues=better)
        return Score(
            name=_NAME,
            value=valid / len(judged),
            reason=reason,
            evidence=tuple(_evidence(call) for call in (*unknown, *(call for call, _ in unfit))),
            issues=(
                *_unknown(unknown, list(offered)),
                *(f"{call.name} was called with arguments that break its schema: {said}." for call, said in unfit),
                *_idle([call for call in idle if call.name in offered], offered),
                *better,
            ),
            recommendations=_advice_on(unknown, unfit),
        )

    def _reason(self, valid: str, calls: Sequence[ToolCall], tools: Sequence[ToolDefinition]) -> str:
        checked = self.check_arguments and any(tool.schema is not None for tool in tools)
        bare = sum(call.arguments_state != "present" for call in calls) if checked else 0
        how = "by name and arguments" if checked else "by name"
        more = f" (arguments of {bare} not recorded)." if bare else "."
        return f"Valid {how}, of the tools that were offered: {valid}{more}"


# Against an expectation


def _offered(run: Run) -> tuple[ToolDefinition, ...] | None:
    """The tools that the run was offered; None where only those are recorded by which it gave its output.

    A ReAct agent's tools stand in its prompt, the schema of its typed answer is offered as a tool.
    """
    tools = run.tool_definitions
    outputs = {call.name for call in run.tool_calls if call.control} if tools else set[str]()
    return None if tools and outputs.issuperset(tool.name for tool in tools) else tools


def _against(run: Run, calls: Sequence[ToolCall], expected: tuple[str, ...], source: str, kind: str) -> Score:
    if not calls:
        why = unseen(run)
        if why:
            return not_measurable(_NAME, f"Whether the agent called any tool cannot be told: {why}")
    wanted = _counted(expected)
    done: dict[str, int] = {}
    failed = 0
    for call in calls:
        if call.status in _DONE:
            done[call.name] = done.get(call.name, 0) + 1
        else:
            failed += 1
    lost = {call.name for call in calls if call.name not in done} if failed else set[str]()
    made, met = len(done) + len(lost), 0
    for name, times in wanted.items():
        count = done.get(name, 0)
        if times == 1 or not count:
            met += count > 0
        else:
            made += count - 1
            met += min(count, times)
    value = 2 * met / (made + len(expected)) if made or expected else 1.0
    reason = _reason(met, made, len(expected), source, kind)
    idle = _idle(never_ran(run), None)
    if value == 1.0:
        return Score(name=_NAME, value=1.0, reason=reason, issues=idle)
    surplus = {
        name for name, count in done.items() if name not in wanted or (wanted[name] > 1 and count > wanted[name])
    }
    missed = [name for name, count in wanted.items() if done.get(name, 0) < count]
    wrong = _firsts((call for call in calls if call.name in lost or call.status in _DONE), surplus | lost)
    return Score(
        name=_NAME,
        value=value,
        reason=reason,
        evidence=tuple(_evidence(call) for call in wrong),
        issues=(
            *(told_missing(name, wanted[name], done.get(name, 0), failed=name in lost) for name in missed),
            *(told_surplus(name, wanted.get(name, 0), done[name]) for name in done if name in surplus),
            *(f"{name} failed whenever it was called, and is not expected." for name in sorted(lost - set(wanted))),
            *idle,
        ),
        recommendations=_advice(missed, lost, [call.name for call in wrong if call.name in surplus], expected),
    )


@lru_cache(maxsize=256)
def _counted(names: tuple[str, ...]) -> Mapping[str, int]:
    return Counter(names)


def _reason(met: int, made: int, expected: int, source: str, kind: str) -> str:
    if not expected:
        return f"No {kind} expected ({source}), {made or 'none'} called."
    precision = f"{met / made:.2f}" if made else "none, nothing was called"
    return f"{met} of {expected} expected {kind} called ({source}); precision {precision}, recall {met / expected:.2f}."


def _firsts(calls: Iterable[ToolCall], names: Collection[str]) -> list[ToolCall]:
    """The first call of each of the named tools, by start."""
    found: dict[str, ToolCall] = {}
    for call in calls:
        if call.name in names and call.name not in found:
            found[call.name] = call
    return list(found.values())


def _advice(
    missed: Sequence[str], failed: Collection[str], surplus: Sequence[str], expected: Sequence[str]
) -> tuple[str, ...]:
    """What to do, once per tool."""
    if surplus and not expected:
        return ("Say in the instructions which requests need no tool.",)
    return (
        *(
            f"Make {name} work, or its error say what a valid call looks like."
            if name in failed
            else f"Say in the description of {name}, or in the instructions, when to call it."
            for name in missed
        ),
        *(f"Say in the description of {name} what it is not for, or do not offer it." for name in surplus),
    )


def _forbidden(barred: Sequence[ToolCall]) -> Score:
    count = Counter(call.name for call in barred)
    return Score(
        name=_NAME,
        value=0.0,
        reason=f"Forbidden tools were called: {', '.join(count)}.",
        evidence=tuple(_evidence(call) for call in barred),
        issues=tuple(f"{name} is forbidden and was called{again(times)}." for name, times in count.items()),
        recommendations=tuple(f"Do not offer {name} here, or guard it with a check of its own." for name in count),
    )


# Without an expectation


def _idle(calls: Sequence[ToolCall], offered: Mapping[str, ToolDefinition] | None) -> tuple[str, ...]:
    """One issue per tool that was asked for and never ran."""
    if not calls:
        return ()
    why = " though it was offered" if offered is not None else ""
    count = Counter(call.name for call in calls)
    return tuple(f"The model asked for {name}{again(times)}, which never ran{why}." for name, times in count.items())


def _unfit(calls: Iterable[ToolCall], offered: Mapping[str, ToolDefinition]) -> list[tuple[ToolCall, str]]:
    """The calls of offered tools whose recorded arguments break the schema, each with how."""
    found: list[tuple[ToolCall, str]] = []
    known: dict[tuple[str, str], str] = {}
    for call in calls:
        tool = offered.get(call.name)
        if tool is None or tool.schema is None or call.arguments_state != "present":
            continue
        raw = call.raw_arguments
        key = (call.name, raw) if isinstance(raw, str) else None
        said = known.get(key) if key is not None else None
        if said is None:
            said = "; ".join(violations(call.arguments, tool.schema))
            if key is not None:
                known[key] = said
        if said:
            found.append((call, said))
    return found


def _unknown(calls: Sequence[ToolCall], offered: Sequence[str]) -> tuple[str, ...]:
    """One issue per name that is not among the offered ones."""
    shown = ", ".join(offered[:_OFFERED_SHOWN]) + (", ..." if len(offered) > _OFFERED_SHOWN else "")
    among = f"the tools that were offered ({shown})" if offered else "the tools that were offered: none"
    count = Counter(call.name for call in calls)
    ran = {call.name for call in calls if call.status == "ok"}
    return tuple(
        f"{name} ran, but is not among {among}."
        if name in ran
        else f"The model asked for {name}{again(times)}, which is not among {among}."
        for name, times in count.items()
    )


def _advice_on(unknown: Sequence[ToolCall], unfit: Sequence[tuple[ToolCall, str]]) -> tuple[str, ...]:
    """What to do about names that were not offered and arguments that do not fit, once per tool."""
    ran = {call.name: call.status == "ok" for call in unknown}
    return (
        *(
            f"Record the definition of {name}, or find out why it could run without having been offered."
            if fine
            else f"Offer a tool for what the model wanted of {name}, or name the tools there are in the instructions."
            for name, fine in ran.items()
        ),
        *(
            f"Make the schema and the description of {name} agree, with an example of valid arguments."
            for name in dict.fromkeys(call.name for call, _ in unfit)
        ),
    )


def _better(run: Run, calls: Sequence[ToolCall], tools: Sequence[ToolDefinition]) -> tuple[str, ...]:
    """An issue where an offered tool that was not called fits the query clearly better than any that was."""
    if not calls or len(tools) > _FIT_TOOLS:
        return ()
    chosen = {call.name for call in calls}
    catalogue = catalogue_of(tools)
    told = zip(catalogue.names, catalogue.widths, strict=True)
    # What the query is, is asked only if an answer to it can matter.
    if not any(width >= _FIT_WORDS and name not in chosen for name, width in told) or not run.query:
        return ()
    met = catalogue.met(run.query)
    if len(met) < _FIT_WORDS:
        return ()
    found = catalogue.fits(met)
    held = max((fit for name, (fit, _) in found.items() if name in chosen), default=0.0)
    name, (fit, words) = max(
        ((name, one) for name, one in found.items() if name not in chosen), key=lambda item: item[1][0]
    )
    if len(words) < _FIT_WORDS or fit < _FIT_FACTOR * held:
        return ()
    return (f"{name} was not called, though it shares more words with the query ({', '.join(words)}) than what was.",)


# Words


def _evidence(call: ToolCall) -> Evidence:
    said = call.error.message if call.failed and call.error is not None and call.error.message else call.raw_arguments
    return Evidence(span_id=call.span_id, quote=excerpt(said))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"
