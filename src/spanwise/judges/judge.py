"""A judge: from a run to questions, and from a reply to a score, both pure; in between somebody is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from spanwise.errors import ModelError
from spanwise.evaluators.efficiency import Efficiency
from spanwise.evaluators.handoffs import Handoffs
from spanwise.evaluators.loops import Loops
from spanwise.evaluators.recovery import Recovery
from spanwise.evaluators.redundancy import Redundancy
from spanwise.evaluators.tool_arguments import ToolArguments
from spanwise.evaluators.tool_selection import ToolSelection
from spanwise.evaluators.tool_sequence import ToolSequence
from spanwise.judges.cascade import Ruling, Skip, ruling, unasked
from spanwise.judges.chunks import Part, fit, tokens_of
from spanwise.judges.failures import ContextOverflowError, UnaskedError, UnjudgedError
from spanwise.judges.panel import Panel
from spanwise.judges.questions import VERSION, Question, Scope, frame, material
from spanwise.judges.replies import verdict_of
from spanwise.judges.transcript import Transcript, encoded, transcript_of
from spanwise.judges.verdicts import Decision, Merge, merged, score_of
from spanwise.model.ports import AnyEvaluator
from spanwise.model.score import Score, not_applicable, not_measurable
from spanwise.model.trace import Run
from spanwise.run import THRESHOLDS, name_of

_CHECKS: Mapping[str, type] = {
    "tool_selection": ToolSelection,
    "tool_sequence": ToolSequence,
    "tool_arguments": ToolArguments,
    "redundancy": Redundancy,
    "loops": Loops,
    "efficiency": Efficiency,
    "recovery": Recovery,
    "handoffs": Handoffs,
}
_WRAPPING = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """What every judge has; each kind adds its scope.

    Args:
        after: The deterministic checks that come first.
        skip: When the judge is not asked: `failed`, if one of them is an alert; `decided`, also if all of them are
            perfect; `never`.
        panel: Who judges; the settings that all judges share where not given.
        checks: Those checks as they are configured, by name; with their defaults where not given.
        thresholds: When a check is an alert.
    """

    after: tuple[str, ...] = ()
    skip: Skip = "failed"
    panel: Panel | None = None
    checks: Mapping[str, AnyEvaluator] = field(default_factory=dict[str, AnyEvaluator])
    thresholds: Mapping[str, tuple[float, float]] = field(default_factory=lambda: THRESHOLDS)
    shows_tools: ClassVar[bool] = False
    question: ClassVar[str] = ""
    """What it asks, in a sentence for people."""

    @property
    def name(self) -> str:
        """What the judge calls its score."""
        return name_of(self)

    @property
    def scope(self) -> Scope:
        """The one thing that it judges."""
        raise NotImplementedError

    @property
    def merging(self) -> Merge:
        """How the parts of a long run are merged: one bad part is enough, unless a kind says otherwise."""
        return "worst"

    def unfit(self, run: Run, told: Transcript) -> Score | None:
        """Why the question does not arise for a run, or cannot be measured; None where it can."""
        raise NotImplementedError

    def ask(self, run: Run) -> Sequence[Question] | Score:
        """The questions about a run, one for each part of it; a score where there is nothing to ask.

        Raises:
            ContextOverflowError: The run does not fit.
        """
        told = transcript_of(run)
        unfit = self.unfit(run, told)
        if unfit is not None:
            return unfit
        instructions, panel = frame(self.scope), self.panel or Panel()
        head, tail = self._head(told), self._tail(told)
        used = tokens_of(instructions) + sum(tokens_of(line) for line in (*head, *tail)) + _WRAPPING
        room = panel.context_tokens - panel.reply_tokens - used
        if room < 0:
            raise ContextOverflowError(
                f"the task, the tools and the answer take about {used} tokens of {panel.context_tokens};"
                " name models that read more, and set `context_tokens`"
            )
        parts = fit(told.steps, room=room, most=panel.parts) if told.steps else [Part(lines=())]
        steps = {step.number: step for step in told.steps}
        return [
            Question(
                instructions=instructions,
                material=material(head, part, tail),
                scale=self.scope.scale,
                part=part,
                steps=steps,
            )
            for part in parts
        ]

    def read(self, reply: str, question: Question) -> Score:
        """The score that one reply gives.

        Raises:
            ReplyError: The reply is no verdict.
        """
        verdict = verdict_of(reply, question)
        return self._scored([Decision(number=verdict.number, verdict=verdict, part=question.part)])

    def hear(self, run: Run, *, fresh: bool = False) -> Score:
        """The score of a run, whatever rules say of it; `fresh` asks again what was asked before.

        Raises:
            UnaskedError: Nobody could be asked.
            UnjudgedError: There is no verdict.
        """
        from spanwise.judges.desk import hear  # an app that names no judge needs no event loop

        asked = self.ask(run)
        return asked if isinstance(asked, Score) else self._scored(hear(asked, self.panel or Panel(), fresh=fresh))

    def ruling(self, run: Run) -> Ruling:
        """What the deterministic checks make of a run.

        Raises:
            ModelError: There is no such check.
        """
        checks: dict[str, AnyEvaluator] = {}
        for name in self.after:
            if name not in self.checks and name not in _CHECKS:
                raise ModelError(f"{self.name}: after names {name!r}, expected one of {', '.join(_CHECKS)}")
            checks[name] = self.checks[name] if name in self.checks else _CHECKS[name]()
        return ruling(run, checks, thresholds=self.thresholds)

    def __call__(self, run: Run, /) -> Score:
        """The score of a run that rules leave undecided. What goes wrong is told by its status, never by a number."""
        if self.after and self.skip != "never":
            why = unasked(self.ruling(run), self.skip)
            if why:
                return not_applicable(self.name, why)
        try:
            return self.hear(run)
        except UnaskedError as error:
            return not_measurable(self.name, str(error))
        except UnjudgedError as error:
            return Score(name=self.name, status="error", reason=f"{type(error).__name__}: {error}")

    def _scored(self, decisions: Sequence[Decision]) -> Score:
        decided = merged(decisions, self.merging)
        return score_of(
            self.name, decided, self.scope.scale, version=VERSION, config_hash=self._hash(self.panel or Panel())
        )

    @property
    def signature(self) -> tuple[str, str]:
        """The version, and the hash of what is asked, that its verdicts carry; nobody is asked for it."""
        return VERSION, self._hash(self.panel or Panel())

    def _hash(self, panel: Panel) -> str:
        """The same for the same question to the same models with the same way of counting."""
        asked = (VERSION, frame(self.scope), panel.named(), panel.agree, panel.tie, panel.abstain, self.merging)
        return hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def _head(self, told: Transcript) -> list[str]:
        lines = [encoded({"task": told.task})]
        if self.shows_tools:
            lines += told.tools or [encoded({"tools": "not recorded"})]
        return lines

    def _tail(self, told: Transcript) -> list[str]:
        ended = [encoded({"ended_in": told.ended_in})] if told.ended_in else []
        return [encoded({"answer": told.answer}), *ended]


def with_settings(
    found: Mapping[str, AnyEvaluator],
    *,
    panel: Panel | None,
    checks: Mapping[str, AnyEvaluator],
    thresholds: Mapping[str, tuple[float, float]],
) -> dict[str, AnyEvaluator]:
    """The evaluators, of which the judges get what a project sets: the shared panel, its checks and its thresholds.

    What a judge was given itself stays.
    """
    rules = {name: one for name, one in checks.items() if not isinstance(one, Judge)}
    return {
        name: replace(one, panel=one.panel or panel, checks={**rules, **one.checks}, thresholds=thresholds)
        if isinstance(one, Judge)
        else one
        for name, one in found.items()
    }


def lacking(name: str, run: Run, *fields: str) -> Score | None:
    """The score of a run that lacks one of some fields; None where it has them all."""
    missing = run.lacks(*fields)
    return None if missing is None else not_measurable(name, str(missing))
