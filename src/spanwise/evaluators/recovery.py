"""When a tool failed, did the agent get over it?"""

from __future__ import annotations

from dataclasses import dataclass, field

from spanwise.model.calls import ToolCall
from spanwise.model.score import Evidence, Score, not_applicable, not_measurable
from spanwise.model.trace import Run
from spanwise.text import excerpt


@dataclass(slots=True, kw_only=True)
class _Episode:
    """A failed call of a tool and its retries, up to the first that succeeded."""

    failures: list[ToolCall] = field(default_factory=list["ToolCall"])
    recovered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Recovered failure episodes / failure episodes.

    An episode is a failed call and its retries by the same tool; it is recovered by a later success of that tool. A
    retry that the tool asked the model for (pydantic-ai's ModelRetry) is a failure that may recover. Without a failure
    the question does not arise.
    """

    def __call__(self, run: Run, /) -> Score:
        calls = [call for call in run.tool_calls if not call.control and call.status != "not_run"]
        episodes = _episodes(calls)
        if not episodes:
            return _nothing(run, calls)
        recovered = [episode for episode in episodes if episode.recovered]
        lost = [episode for episode in episodes if not episode.recovered]
        return Score(
            name="recovery",
            value=len(recovered) / len(episodes),
            reason=f"{len(recovered)} of {len(episodes)} failures of tools were recovered from.",
            evidence=tuple(
                Evidence(span_id=call.span_id, quote=_words(call)) for episode in episodes for call in episode.failures
            ),
            issues=tuple(_issue(episode) for episode in lost),
            recommendations=tuple(_advice(episode) for episode in lost),
        )


def _nothing(run: Run, calls: list[ToolCall]) -> Score:
    unknown = [call.name for call in calls if call.status == "unknown"]
    if unknown:
        names = ", ".join(dict.fromkeys(unknown))
        switch = next((item.switch for item in run.missing if item.field == "results"), "")
        return not_measurable("recovery", f"Whether calls of {names} failed is not recorded. {switch}".strip())
    if calls or run.llm_calls or any(span.kind == "agent" for span in run.spans):
        return not_applicable("recovery", "No tool failed." if calls else "The run called no tool.")
    said = next((str(item) for item in run.missing if item.field == "spans"), "")
    return not_measurable("recovery", said or "No span of an agent, a model or a tool is here.")


def _episodes(calls: list[ToolCall]) -> list[_Episode]:
    out: list[_Episode] = []
    open_: dict[str, _Episode] = {}
    for call in calls:
        if call.status in {"error", "retry"}:
            episode = open_.get(call.name)
            if episode is None:
                episode = open_[call.name] = _Episode()
                out.append(episode)
            episode.failures.append(call)
        elif call.status == "ok":
            episode = open_.pop(call.name, None)
            if episode is not None:
                episode.recovered = True
    return out


def _words(call: ToolCall) -> str:
    return excerpt(call.error.message if call.error and call.error.message else call.result)


def _issue(episode: _Episode) -> str:
    last = episode.failures[-1]
    times = "once" if len(episode.failures) == 1 else f"{len(episode.failures)} times"
    words = _words(last)
    return f"{last.name} failed {times} and never succeeded afterwards" + (f": {words}" if words else ".")


def _advice(episode: _Episode) -> str:
    last = episode.failures[-1]
    if last.error is not None and last.error.type:
        what = f"{last.error.type} of {last.name}"
        return f"Handle {what}: tell the model what a valid call looks like, or offer another tool."
    return f"Make the error text of {last.name} say what a valid call looks like, or offer another tool."
