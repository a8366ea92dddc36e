"""Is the answer borne out by what the agent saw?

The answer is taken apart into claims, and for each the passage of a tool's result or a document is found that supports
or contradicts it. No model is asked: `spanwise.grounding` compares words, numbers, dates and names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from spanwise.grounding.answers import Judged, Message, Verdicts, judge_all, judging
from spanwise.grounding.pool import KINDS, SOURCES, Kind, Pool, pool_of, pooling
from spanwise.grounding.quantities import facts_in
from spanwise.grounding.steps import Steps
from spanwise.model.calls import ToolCall
from spanwise.model.content import is_redacted
from spanwise.model.ports import outcome
from spanwise.model.score import Evidence, Score, not_applicable, not_measurable
from spanwise.model.trace import Run
from spanwise.text import excerpt

_NAME = "grounding"
_ISSUES = 20
_QUOTE = 240
Of: TypeAlias = Literal["answer", "messages"]
_CONTRADICTED = "Have the agent quote what it found, and compare numbers, dates and names before it answers."
_UNSUPPORTED = "Tell the agent to answer from what its tools return, and to say where it does not know."


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounding:
    """s / (s + u + 2c) over the supported, unsupported and contradicted claims of the final answer.

    With `of="messages"` all that the agents said is judged, the final answer included, each message by what had been
    seen when it was said.

    Evidence are the results of `tools`, the retrieved `documents`, the `query` of the user, and as `context` what else
    the first model call was given: instructions, and the conversation before. Each kind can be switched off.
    """

    tools: bool = True
    documents: bool = True
    query: bool = True
    context: bool = True
    of: Of = "answer"

    def __call__(self, run: Run, /) -> Score:
        return outcome(self.steps(run))

    def steps(self, run: Run, /) -> Iterator[Score | None]:
        """The score, last; before it a None after each step of the work."""
        messages = _final(run) if self.of == "answer" else messages_of(run)
        if not messages:
            yield _unanswered(run)
            return
        yield None
        kinds = self._kinds()
        found = run.once(_Found)
        if self.of != "answer" or kinds != KINDS:
            pool, said = yield from _judged(run, messages, kinds)
        elif found.whole is None:
            pool, said = yield from _judged(run, messages, kinds)
            found.bearing = _bearing(said)
        else:
            (pool, said), found.whole = found.whole, None
        yield self._told(run, pool, messages, said)

    def _kinds(self) -> tuple[Kind, ...]:
        chosen: tuple[tuple[Kind, bool], ...] = (
            ("tool", self.tools),
            ("document", self.documents),
            ("query", self.query),
            ("context", self.context),
        )
        return tuple(kind for kind, wanted in chosen if wanted)

    def _told(self, run: Run, pool: Pool, messages: Sequence[Message], said: Verdicts) -> Score:
        if said.value is None:
            return _claimless(self.of)
        if not pool.pieces:
            return not_measurable(_NAME, _why_no_evidence(run))
        return _score(run, pool, messages if self.of == "messages" else (), said)


class _Found:
    """What of the judgement of a run's answer by all evidence is kept for others who ask."""

    def __init__(self, run: Run) -> None:
        del run
        self.whole: tuple[Pool, Verdicts] | None = None
        self.bearing: frozenset[str] | None = None


def bearing(run: Run, /) -> Steps[frozenset[str]]:
    """The spans of tools whose results bear out what the final answer says with a number, a date or a name, in steps.

    It may stand there in another form, in another unit or spelling, or be calculated from what stands there.
    """
    found = run.once(_Found)
    if found.bearing is None:
        found.whole = yield from _judged(run, _final(run), KINDS)
        found.bearing = _bearing(found.whole[1])
    return found.bearing


def _bearing(said: Verdicts) -> frozenset[str]:
    good = (one for one in said.of("supported") if one.kind == "tool" and one.span_id)
    return frozenset(one.span_id for one in good if one.reason or facts_in(one.claim))


def _judged(run: Run, messages: Sequence[Message], kinds: Sequence[Kind]) -> Steps[tuple[Pool, Verdicts]]:
    """The evidence of some kinds, and the verdicts by it."""
    pool = yield from pooling(run, kinds)
    yield
    if not pool.pieces or all(piece.kind == "query" for piece in pool.pieces):
        pool = Pool()
    return pool, (yield from judging(messages, pool))


def judged_of(run: Run, /) -> tuple[Judged, ...]:
    """Each claim of a run's final answer, with the span whose evidence supports it, contradicts it or comes closest."""
    return judge_all(_final(run), pool_of(run)).claims


def messages_of(run: Run, /) -> tuple[Message, ...]:
    """All that the agents of a run said, by the end of it; the final answer is the last one, and may rest on all."""
    said = [
        Message(one.text, one.span_id, one.end_ns)
        for one in sorted(run.said, key=lambda one: one.end_ns)
        if one.text and not is_redacted(one.text)
    ]
    for last in _final(run):
        words = last.text.strip()
        place = next((at for at in range(len(said) - 1, -1, -1) if words in said[at].text), None)
        spoken = said.pop(place) if place is not None else last
        said.append(last._replace(span_id=spoken.span_id))
    return tuple(said)


def _final(run: Run) -> tuple[Message, ...]:
    """The final answer alone."""
    answer = run.answer
    return () if answer is None or is_redacted(answer) else (Message(answer, run.run_id),)


def _claimless(of: Of) -> Score:
    subject = "The answer claims nothing" if of == "answer" else "The messages claim nothing"
    return not_applicable(_NAME, f"{subject} that evidence could bear out.")


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


def _score(run: Run, pool: Pool, messages: Sequence[Message], said: Verdicts) -> Score:
    good, open_, bad = (said.of(one) for one in ("supported", "unsupported", "contradicted"))
    researched = any(piece.kind in SOURCES for piece in pool.pieces)
    if not researched and not bad and not any(one.kind == "context" for one in good):
        return not_measurable(_NAME, _why_no_evidence(run))
    if open_ and not bad and _unseen(run):
        return not_measurable(_NAME, f"{_many(open_)} may rest on what is not recorded. {_why_no_evidence(run)}")
    shown = [*bad, *open_][:_ISSUES]
    return Score(
        name=_NAME,
        value=said.value,
        reason=_reason((good, open_, bad), said, several=bool(messages)),
        evidence=tuple(evidence for one in [*bad, *open_, *good] for evidence in _evidence(one, messages)),
        issues=tuple(_issue(one, messages) for one in shown),
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


def _reason(sorts: tuple[list[Judged], list[Judged], list[Judged]], said: Verdicts, *, several: bool) -> str:
    good, open_, bad = sorts
    parts = [
        f"{len(one)} {name}"
        for one, name in ((good, "supported"), (open_, "unsupported"), (bad, "contradicted"))
        if one
    ]
    total = len(good) + len(open_) + len(bad)
    aside = len(said.of("not_checkable"))
    told = f"{total} claim{'s' if total > 1 else ''}: {', '.join(parts)}."
    told += f" {aside} sentence{'s' if aside > 1 else ''} not checkable." if aside else ""
    if not said.more:
        return told
    return told + (" Not all claims were judged." if several else " Only the first claims were judged.")


def _evidence(one: Judged, messages: Sequence[Message]) -> Iterator[Evidence]:
    """Where several messages are judged, what the claim's says; and the passage for it or against it."""
    if messages:
        by, end = messages[one.message], min(one.end, one.start + _QUOTE)
        yield Evidence(span_id=by.span_id, quote=by.text[one.start : end], start=one.start, end=end)
    if one.piece >= 0:
        yield Evidence(span_id=one.span_id, quote=one.quote, start=one.first, end=one.last)


def _issue(one: Judged, messages: Sequence[Message]) -> str:
    by = f", said in span {messages[one.message].span_id}" if messages else ""
    what = f"{one.verdict.capitalize()}{by}: {excerpt(one.claim)}"
    why = f" ({one.reason})" if one.reason else ""
    where = f" in span {one.span_id}" if one.span_id else ""
    closest = (
        f" Closest evidence{where}: {excerpt(one.quote)}" if one.quote else " Nothing in the evidence comes close."
    )
    return f"{what}{why}.{closest}" if not what.endswith((".", "!")) or why else f"{what}{closest}"
