"""What the spans of a run do not tell, why, and the switch that would make them tell it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spanwise import conventions
from spanwise.model.calls import Missing
from spanwise.model.span import Span
from spanwise.model.trace import Run

_NO_DIALECT = (
    "No span here follows a known convention: the agent framework is not instrumented, or its spans were filtered out."
)


def missing(run: Run) -> tuple[Missing, ...]:
    """One entry per field that cannot be read."""
    switch = content_switch(run)
    out: list[Missing] = []

    def lacks(field: str, why: str, switch: str = switch) -> None:
        out.append(Missing(field=field, why=why, switch=switch))

    if all(span.kind == "other" for span in run.spans):
        lacks("spans", _NO_DIALECT, "Instrument the framework (`spanwise doctor` lists how).")
        return tuple(out)
    for field, why in _unsaid(run):
        lacks(field, why)
    work = [call for call in run.tool_calls if not call.control]
    bare = [call.name for call in work if call.arguments_state != "present"]
    if bare:
        lacks("arguments", f"Arguments are not recorded for {_count(bare)}.")
    silent = [call.name for call in work if call.result_state != "present" and call.status not in {"error", "not_run"}]
    if silent:
        lacks("results", f"Results are not recorded for {_count(silent)}.")
    if not run.llm_calls:
        lacks("llm_calls", "No model call left a span.", "Instrument the model client as well as the agent framework.")
    elif not run.tool_calls and not _answers_recorded(run):
        lacks("tool_calls", "No tool call is recorded; what the models answered is not, they may have asked for some.")
    if run.tokens is None:
        lacks(
            "tokens",
            "No span counts tokens.",
            "Turn on usage reporting of the model client (for streams: include_usage).",
        )
    if any(item.documents is None for item in run.retrievals):
        lacks("documents", "Retrieved documents are not recorded.")
    return tuple(out)


def _unsaid(run: Run) -> Iterator[tuple[str, str]]:
    if run.query is None:
        yield "query", "No span records what the user asked."
    if run.answer is None and not _ended_in_failure(run):
        yield "answer", "No span records the final answer."


def _answers_recorded(run: Run) -> bool:
    """Every model call that succeeded tells its answer, so that a request for a tool would have been seen."""
    if not run.llm_groups:
        return run.answer is not None
    return all(_tells_answer(run, group) for group in run.llm_groups)


def _tells_answer(run: Run, group: Sequence[Span]) -> bool:
    memo, facts = run.trace.memo, run.trace.facts
    return any(
        facts.status(span) in {"error", "timeout"} or conventions.requests(span.raw, memo, span.dialect) is not None
        for span in group
    )


def _count(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    shown = ", ".join(distinct[:3]) + (", ..." if len(distinct) > 3 else "")
    return f"{len(names)} tool call{'s' if len(names) > 1 else ''} ({shown})"


def _ended_in_failure(run: Run) -> bool:
    root = run.root_span
    return root is not None and run.trace.facts.status(root) in {"error", "timeout"}


def content_switch(run: Run) -> str:
    """The setting that would make the instrumentation record content; empty where none is known."""
    known = next((span for span in run.spans if span.kind != "other"), None)
    return conventions.content_switch(known.raw) if known is not None else ""
