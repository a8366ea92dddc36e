"""When a tool failed, did the agent get over it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from spanwise.model.abstention import no_tool_called
from spanwise.model.calls import LLMCall, ToolCall, canonical_of
from spanwise.model.episodes import Episode
from spanwise.model.failures import FailureKind
from spanwise.model.ports import outcome
from spanwise.model.score import Evidence, Score, not_applicable, not_measurable
from spanwise.model.trace import Run
from spanwise.model.waste import duration
from spanwise.text import excerpt

_NAMED: tuple[FailureKind, ...] = ("transient", "permanent")
_PACE = 8
_RETRIES: Mapping[FailureKind, int] = {"transient": 2, "permanent": 0, "unknown": 2}
"""How many retries with the same arguments are good practice after a failure of each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Recovered failure episodes / failure episodes.

    An episode is a failed call and its retries by the same tool; it is recovered by a later success of that tool. A
    retry that the tool asked the model for (pydantic-ai's ModelRetry) is a failure that may recover. Without a failure
    the question does not arise. Failed model calls are named, and change no value.
    """

    def __call__(self, run: Run, /) -> Score:
        return outcome(self.steps(run))

    def steps(self, run: Run, /) -> Iterator[Score | None]:
        """The score, last, with a pause after every few failures that are read."""
        failed = run.failed_llm_calls
        unclear = dict.fromkeys(episode.failures[0].name for episode in run.episodes if episode.unclear)
        if unclear or not run.episodes:
            score = _unclear(run, unclear) if unclear else _nothing(run, run.work)
            if failed:
                score = structs.replace(score, issues=_model_issues(failed), evidence=_model_evidence(run, failed))
            yield score
            return
        episodes: list[tuple[Episode, FailureKind]] = []
        evidence: list[Evidence] = []
        issues: list[str] = []
        advice: dict[str, None] = {}
        read = 0
        for episode in run.episodes:
            kind = episode.kind
            said = [Evidence(span_id=call.span_id, quote=_words(call)) for call in episode.failures]
            episodes.append((episode, kind))
            evidence += said
            issues += _issues(episode, kind, said[-1].quote)
            advice.update(dict.fromkeys(_advice(episode, kind)))
            read += len(said)
            if read >= _PACE:
                read = 0
                yield None
        yield Score(
            name="recovery",
            value=sum(episode.recovered for episode, _ in episodes) / len(episodes),
            reason=_reason(run, episodes),
            evidence=(*evidence, *_model_evidence(run, failed)),
            issues=(*issues, *_model_issues(failed)),
            recommendations=tuple(advice),
        )


def _nothing(run: Run, calls: Sequence[ToolCall]) -> Score:
    if run.tally.unclear:
        return _unclear(run, run.tally.unclear, "failed")
    if calls:
        return not_applicable("recovery", "No tool failed.")
    if run.llm_calls or "agent" in run.by_kind:
        return no_tool_called("recovery", run)
    said = str(run.lacks("spans") or "")
    return not_measurable("recovery", said or "No span of an agent, a model or a tool is here.")


def _unclear(run: Run, names: Iterable[str], what: str = "succeeded when they were tried again") -> Score:
    unseen = run.lacks("results")
    switch = unseen.switch if unseen is not None else ""
    said = f"Whether calls of {', '.join(names)} {what} is not recorded. {switch}"
    return not_measurable("recovery", said.strip())


def _reason(run: Run, episodes: Sequence[tuple[Episode, FailureKind]]) -> str:
    recovered = sum([episode.recovered for episode, _ in episodes])
    kinds = [kind for _, kind in episodes]
    told = [f"{kinds.count(kind)} {kind}" for kind in _NAMED if kind in kinds]
    within = f" ({', '.join(told)})" if told else ""
    took = [ns for episode, _ in episodes if (ns := episode.recovery_ns) is not None] if run.timed else []
    after = f", {'the slowest ' if len(took) > 1 else ''}after {duration(max(took) / 1e6)}" if took else ""
    return f"{recovered} of {len(episodes)} failures of tools{within} were recovered from{after}."


def _words(call: ToolCall) -> str:
    return excerpt(call.error.message if call.error and call.error.message else call.result)


def _issues(episode: Episode, kind: FailureKind, words: str) -> list[str]:
    last = episode.failures[-1]
    said = f": {words}" if words else "."
    out: list[str] = []
    if _is_blind(episode, kind):
        error = "an error" if kind == "unknown" else f"a {kind} error"
        out.append(f"{last.name} was retried unchanged {_times(episode.unchanged)} after {error}{said}")
    if not episode.recovered:
        many = len(episode.failures) > 1
        what = "never succeeded afterwards" if many else "was not tried again"
        which = "" if kind == "unknown" else f" ({kind})"
        out.append(f"{last.name} failed {_times(len(episode.failures))}{which} and {what}{said}")
    return out


def _is_blind(episode: Episode, kind: FailureKind) -> bool:
    """More retries failed with the same arguments than the failure gave reason for."""
    return episode.unchanged > _RETRIES[kind] and not (kind == "permanent" and _came_right(episode))


def _came_right(episode: Episode) -> bool:
    """The very call that had failed succeeded: the failure was not as permanent as it sounded."""
    return episode.success is not None and canonical_of(episode.success) == canonical_of(episode.failures[-1])


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _advice(episode: Episode, kind: FailureKind) -> list[str]:
    last = episode.failures[-1]
    out: list[str] = []
    if _is_blind(episode, kind):
        if kind == "transient":
            out.append(f"Wait longer between tries of {last.name}, and stop after two.")
        else:
            out.append(f"Let the error text of {last.name} say what to change before it is called again.")
    if episode.recovered:
        return out
    if kind == "transient":
        out.append(f"Try {last.name} again after a pause, once or twice, before the agent goes on without it.")
    elif last.error is not None and last.error.type:
        what = f"{last.error.type} of {last.name}"
        out.append(f"Handle {what}: tell the model what a valid call looks like, or offer another tool.")
    else:
        out.append(f"Make the error text of {last.name} say what a valid call looks like, or offer another tool.")
    return out


def _model_issues(failed: Sequence[LLMCall]) -> tuple[str, ...]:
    if not failed:
        return ()
    counts = Counter(call.model or "a model that is not named" for call in failed)
    return tuple(f"{count} call{'s' if count > 1 else ''} of {model} failed." for model, count in counts.items())


def _model_evidence(run: Run, failed: Sequence[LLMCall]) -> tuple[Evidence, ...]:
    if not failed:
        return ()
    spans, facts = run.trace.spans, run.trace.facts
    said = [(call.span_id, facts.span_error(spans[call.span])) for call in failed]
    return tuple(Evidence(span_id=at, quote=excerpt(error.message) if error else "") for at, error in said)
