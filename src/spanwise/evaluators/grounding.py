"""Is the answer borne out by what the agent saw?

The answer is taken apart into claims, and for each the passage of a tool's result or a document is found that supports
or contradicts it. No model is asked: `spanwise.grounding` compares words, numbers, dates and names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spanwise.grounding.answers import Judged, Verdicts, steps
from spanwise.grounding.pool import SOURCES, Kind, Pool, pool_of
from spanwise.model.calls import ToolCall
from spanwise.model.content import is_redacted
from spanwise.model.ports import outcome
from spanwise.model.score import Evidence, Score, not_applicable, not_measurable
from spanwise.model.trace import Run
from spanwise.text import excerpt

_NAME = "grounding"
_ISSUES = 20
_CONTRADICTED = "Have the agent quote what it found, and compare numbers, dates and names before it answers."
_UNSUPPORTED = "Tell the agent to answer from what its tools return, and to say where it does not know."


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounding:
    """s / (s + u + 2c) over the supported, unsupported and contradicted claims of the final answer.

    Evidence are the results of `tools`, the retrieved `documents`, the `query` of the user, and as `context` what else
    the first model call was given: instructions, and the conversation before. Each kind can be switched off.
    """

    tools: bool = True
    documents: bool = True
    query: bool = True
    context: bool = True

    def __call__(self, run: Run, /) -> Score:
        return outcome(self.steps(run))

    def steps(self, run: Run, /) -> Iterator[Score | None]:
        """The score, last; before it a None after each step of the work."""
        answer = run.answer
        if answer is None or is_redacted(answer):
            yield _unanswered(run)
            return
        pool = pool_of(run, self._kinds())
        yield None
        if not pool.pieces or all(piece.kind == "query" for piece in pool.pieces):
            yield self._without_evidence(run, answer)
            return
        for said in steps(answer, pool):
            yield _score(run, pool, said) if said is not None else None

    def _kinds(self) -> tuple[Kind, ...]:
        chosen: tuple[tuple[Kind, bool], ...] = (
            ("tool", self.tools),
            ("document", self.documents),
            ("query", self.query),
            ("context", self.context),
        )
        return tuple(kind for kind, wanted in chosen if wanted)

    def _without_evidence(self, run: Run, answer: str) -> Score:
        *_, said = steps(answer, Pool())
        if said is not None and said.value is None:
            return _claimless()
        return not_measurable(_NAME, _why_no_evidence(run))


def judged_of(run: Run, /) -> tuple[Judged, ...]:
    """Each claim of a run's final answer, with the span whose evidence supports it, contradicts it or comes closest."""
    if run.answer is None or is_redacted(run.answer):
        return ()
    *_, said = steps(run.answer, pool_of(run))
    return said.claims if said is not None else ()


def _claimless() -> Score:
    return not_applicable(_NAME, "The answer claims nothing that evidence could bear out.")


def _unanswered(run: Run) -> Score:
    why = next((str(item) for item in run.missing if item.field in {"answer", "spans"}), "")
    if why or run.answer is not None:
        return not_measurable(_NAME, why or "The answer was removed from the spans.")
    return not_applicable(_NAME, "The run ended without an answer.")


def _why_no_evidence(run: Run) -> str:
    why = next((str(item) for item in run.missing if item.field in {"results", "documents", "tool_calls", "spans"}), "")
    return (
        why
        or "No tool returned any text and no document was retrieved, so there is nothing to compare the answer with."
    )


def _score(run: Run, pool: Pool, said: Verdicts) -> Score:
    value = said.value
    if value is None:
        return _claimless()
    good, open_, bad = (said.of(one) for one in ("supported", "unsupported", "contradicted"))
    researched = any(piece.kind in SOURCES for piece in pool.pieces)
    if not researched and not bad and not any(one.kind == "context" for one in good):
        return not_measurable(_NAME, _why_no_evidence(run))
    if open_ and not bad and _unseen(run):
        return not_measurable(_NAME, f"{_many(open_)} may rest on what is not recorded. {_why_no_evidence(run)}")
    shown = [*bad, *open_][:_ISSUES]
    return Score(
        name=_NAME,
        value=value,
        reason=_reason(good, open_, bad, said),
        evidence=tuple(
            Evidence(span_id=one.span_id, quote=one.quote, start=one.first, end=one.last)
            for one in [*bad, *open_, *good]
            if one.piece >= 0
        ),
        issues=tuple(map(_issue, shown)),
        recommendations=((_CONTRADICTED,) if bad else ()) + ((_UNSUPPORTED,) if open_ else ()),
    )


def _unseen(run: Run) -> bool:
    """Half of the results, or more, are not recorded whole."""
    calls = [call for call in run.work if not _told(call)]
    dark = [one for one in run.retrievals if one.documents is None and not one.failed]
    return bool(calls or dark) and 2 * (len(calls) + len(dark)) >= len(run.work) + len(run.retrievals)


def _told(call: ToolCall) -> bool:
    return call.result_state == "present" or call.failed


def _many(claims: list[Judged]) -> str:
    return f"{len(claims)} claim{'s' if len(claims) > 1 else ''} of the answer"


def _reason(good: list[Judged], open_: list[Judged], bad: list[Judged], said: Verdicts) -> str:
    parts = [
        f"{len(one)} {name}"
        for one, name in ((good, "supported"), (open_, "unsupported"), (bad, "contradicted"))
        if one
    ]
    total = len(good) + len(open_) + len(bad)
    aside = len(said.of("not_checkable"))
    told = f"{total} claim{'s' if total > 1 else ''}: {', '.join(parts)}."
    told += f" {aside} sentence{'s' if aside > 1 else ''} not checkable." if aside else ""
    return told + (" Only the first claims were judged." if said.more else "")


def _issue(one: Judged) -> str:
    what = f"{one.verdict.capitalize()}: {excerpt(one.claim)}"
    why = f" ({one.reason})" if one.reason else ""
    where = f" in span {one.span_id}" if one.span_id else ""
    closest = (
        f" Closest evidence{where}: {excerpt(one.quote)}" if one.quote else " Nothing in the evidence comes close."
    )
    return f"{what}{why}.{closest}" if not what.endswith((".", "!")) or why else f"{what}{closest}"
