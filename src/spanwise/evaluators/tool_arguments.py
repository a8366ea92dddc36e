"""Were the tools called with the right arguments?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast, get_args

import msgspec

from spanwise.errors import ModelError
from spanwise.model.abstention import has_arguments, no_tool_called, why_missing
from spanwise.model.calls import ToolCall
from spanwise.model.expectation import candidates, effecting, tool_names, unseen
from spanwise.model.expected_call import ExpectedCall, expected_calls
from spanwise.model.matching import Difference, Lens, Match, Matching, Pair, matched
from spanwise.model.offers import by_name
from spanwise.model.ports import outcome
from spanwise.model.schema import violations
from spanwise.model.score import Evidence, Score, not_applicable, not_measurable
from spanwise.model.trace import Run
from spanwise.text import excerpt

_NAME = "tool_arguments"
_MATCHES: tuple[str, ...] = get_args(Match)
_TOLD = 4
_PACE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolArguments:
    """Credit of the calls against those expected / (expected calls + calls of these tools too many).

    Expected and made calls of a tool are matched one to one so that the sum of credits is largest; the credit of a
    pair is its equal leaf arguments / all its leaf arguments. `match` says which keys have to be there: `exact` those
    of both sides, `superset` at least the expected ones, `subset` none but expected ones, `ignore` any. Failed calls
    are not done. Without `expected`: calls that fit their tool's schema / calls of tools with a recorded schema.
    """

    expected: tuple[ExpectedCall, ...] | None = None
    match: Match = "exact"
    overrides: Mapping[str, Match] = field(default_factory=dict[str, Match])
    paths: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    defaults: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    tolerance: float = 0.0
    effects_only: bool = False
    effect_tools: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.expected is not None:
            object.__setattr__(self, "expected", expected_calls(self.expected, f"{_NAME}: expected"))
        if not _is_mapping(self.overrides):
            raise ModelError(f"{_NAME}: overrides: read {self.overrides!r}, expected a way to match for each tool")
        places = {"match": self.match, **{f"overrides of {tool!r}": way for tool, way in self.overrides.items()}}
        for place, way in places.items():
            if way not in _MATCHES:
                raise ModelError(f"{_NAME}: {place}: read {way!r}, expected one of {', '.join(_MATCHES)}")
        _refuse_no_paths(self.paths, "paths")
        _refuse_no_paths(self.ignore, "ignore")
        tool_names(self.effect_tools or (), f"{_NAME}: effect_tools")
        defaults = cast("Mapping[str, object]", self.defaults)
        if not _is_mapping(defaults) or not all(_is_mapping(one) for one in defaults.values()):
            raise ModelError(f"{_NAME}: defaults: read {defaults!r}, expected for each tool a mapping of its arguments")
        given = cast("object", self.tolerance)
        if not isinstance(given, int | float) or isinstance(given, bool) or not 0.0 <= given < 1.0:
            raise ModelError(f"{_NAME}: tolerance: read {given!r}, expected a number from 0 to below 1")

    def __call__(self, run: Run, /) -> Score:
        return outcome(self.steps(run))

    def steps(self, run: Run, /) -> Iterator[Score | None]:
        """The score, last, with a pause after every few calls that are compared with their schema."""
        if self.expected is None:
            yield from self._by_schema(run)
        else:
            yield self._by_expectation(run, self.expected)

    def _by_schema(self, run: Run) -> Iterator[Score | None]:
        calls = self._with_effects(run, run.work)
        if not calls:
            yield no_tool_called(_NAME, run)
            return
        offered = by_name(run.tool_definitions or (), run.tally.names)
        schemas = {name: tool.schema for name, tool in offered.items() if tool.schema}
        described = [call for call in calls if call.name in schemas]
        if not described:
            yield not_applicable(_NAME, "Nothing was expected, and no schema of a called tool is recorded.")
            return
        judged = 0
        broken: list[tuple[ToolCall, tuple[str, ...]]] = []
        evidence: list[Evidence] = []
        for number, call in enumerate(described, start=1):
            if has_arguments(call):
                judged += 1
                said = violations(call.arguments, schemas[call.name] or {})
                if said:
                    broken.append((call, said))
                    evidence += _evidence((call,))
            if not number % _PACE:
                yield None
        if not judged:
            yield not_measurable(_NAME, f"Whether arguments fit cannot be told: {why_missing(run, 'arguments')}")
            return
        left_out = [
            f"{number} {why}."
            for number, why in (
                (len(calls) - len(described), "of tools without a recorded schema left out"),
                (len(described) - judged, "without recorded arguments left out"),
            )
            if number
        ]
        fit = f"{judged - len(broken)} of {judged} tool calls fit the schema of their tool."
        yield Score(
            name=_NAME,
            value=(judged - len(broken)) / judged,
            reason=" ".join([fit, *left_out]),
            evidence=tuple(evidence),
            issues=tuple(f"{call.name} was called against its schema: {_listed(said)}." for call, said in broken),
            recommendations=tuple(
                f"Show the model a valid call of {name} in the tool's description, or turn on strict tool schemas."
                for name in dict.fromkeys(call.name for call, _ in broken)
            ),
        )

    def _with_effects(self, run: Run, calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
        if not self.effects_only:
            return calls
        acting = effecting(run, {call.name for call in calls}, self.effect_tools)
        return [call for call in calls if call.name in acting]

    def _by_expectation(self, run: Run, expected: Sequence[ExpectedCall]) -> Score:
        why = "" if run.tool_calls else unseen(run)
        if why:
            return not_measurable(_NAME, f"Which tools were called cannot be told: {why}")
        if self.effects_only:
            acting = effecting(run, {one.tool for one in expected}, self.effect_tools)
            expected = [one for one in expected if one.tool in acting]
        names = {one.tool for one in expected}
        done = [call for call in candidates(run, names) if not call.failed]
        if not expected:
            return _none_expected(self._with_effects(run, done))
        done = [call for call in done if call.name in names]
        lens = self._lens()
        bare = [
            call for call in run.trace.paced(done) if lens.match_of(call.name) != "ignore" and not has_arguments(call)
        ]
        if bare:
            told = ", ".join(dict.fromkeys(call.name for call in bare))
            return not_measurable(_NAME, f"What {told} was called with cannot be told: {why_missing(run, 'arguments')}")
        return _scored(run, matched(expected, done, lens, run.trace.pause), lens)

    def _lens(self) -> Lens:
        return Lens(
            match=self.match,
            overrides=self.overrides,
            paths=self.paths,
            ignore=self.ignore,
            defaults=self.defaults,
            tolerance=self.tolerance,
        )


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _refuse_no_paths(value: object, place: str) -> None:
    listed = cast("tuple[object, ...]", value) if isinstance(value, tuple) else None
    if listed is None or not all(isinstance(path, str) and path for path in listed):
        raise ModelError(f"{_NAME}: {place}: read {value!r}, expected a tuple of dotted key paths")


def _none_expected(calls: Sequence[ToolCall]) -> Score:
    """The score where the expectation is that nothing is called."""
    if not calls:
        return Score(name=_NAME, value=1.0, reason="No call was expected, and none was made.")
    return Score(
        name=_NAME,
        value=0.0,
        reason=f"No call was expected, {len(calls)} made.",
        evidence=_evidence(calls),
        issues=tuple(f"{call.name} was called with {_shown(call)} where no call was expected." for call in calls),
    )


def _scored(run: Run, found: Matching, lens: Lens) -> Score:
    pairs, total = found.pairs, len(found.pairs) + len(found.missing) + len(found.surplus)
    whole = sum(pair.credit == 1.0 for pair in pairs)
    credit = math.fsum(pair.credit for pair in pairs)
    partial = [(pair, lens.differences(pair)) for pair in run.trace.paced(pairs) if pair.credit < 1.0]
    partial.sort(key=lambda one: (one[0].made.start_ns, one[0].made.span))
    said = f"{whole} of {len(pairs) + len(found.missing)} expected calls were made as expected"
    more = [
        f"{number} {what}"
        for number, what in (
            (len(partial), "with other arguments"),
            (len(found.missing), "not made"),
            (len(found.surplus), "too many"),
        )
        if number
    ]
    ordered = " Calls of a tool beyond 200 that differ were matched in order." if found.in_order else ""
    failed = Counter(call.name for call in run.work if call.failed)
    return Score(
        name=_NAME,
        value=min(credit / total, 1.0),
        reason=f"{', '.join([said, *more])}: credit {credit:.4g} of {total}.{ordered}",
        evidence=_evidence(run.trace.paced([*(pair.made for pair, _ in partial), *found.surplus])),
        issues=(
            *(_differing(pair, differences) for pair, differences in run.trace.paced(partial)),
            *(_missing(one, failed[one.tool]) for one in run.trace.paced(found.missing)),
            *(
                f"{call.name} was called with {_shown(call)}, once more than expected."
                for call in run.trace.paced(found.surplus)
            ),
        ),
        recommendations=tuple(dict.fromkeys(_advice(*one) for one in run.trace.paced(partial))),
    )


def _evidence(calls: Iterable[ToolCall]) -> tuple[Evidence, ...]:
    return tuple(Evidence(span_id=call.span_id, quote=excerpt(call.arguments)) for call in calls)


def _shown(call: ToolCall) -> str:
    return excerpt(call.arguments, limit=80) or "arguments that are not recorded"


def _listed(said: Sequence[str]) -> str:
    more = f"; {len(said) - _TOLD} more" if len(said) > _TOLD else ""
    return "; ".join(said[:_TOLD]) + more


def _differing(pair: Pair, differences: Sequence[Difference]) -> str:
    return f"{pair.made.name} was called with other arguments: {_listed([_told(one) for one in differences])}."


def _told(one: Difference) -> str:
    """A difference in words."""
    path = one.path or "arguments"
    if one.made is None and one.expected is not None:
        return f"{path} missing, {_value(one.expected[0])} expected"
    made = _value(one.made[0] if one.made else None)
    if one.expected is None:
        return f"{path} = {made} not expected"
    return f"{path} = {made} instead of {_value(one.expected[0])}"


def _value(leaf: object) -> str:
    """A leaf as JSON."""
    text = leaf.decode(errors="replace") if isinstance(leaf, bytes) else msgspec.json.encode(leaf).decode()
    return excerpt(text, limit=60)


def _missing(one: ExpectedCall, failed: int) -> str:
    tried = f" and only failed ({failed} times)" if failed > 1 else " and only failed" if failed else ""
    with_ = excerpt(one.arguments, limit=80)
    if tried:
        return f"{one.tool} was expected with {with_}{tried}."
    return f"{one.tool} was expected with {with_} and not called so."


def _advice(pair: Pair, differences: Sequence[Difference]) -> str:
    path = next((one for one in differences if one.expected), differences[0]).path or "arguments"
    return f"Say in the description of {pair.made.name} what {path} is to be, with an example."
