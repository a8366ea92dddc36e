"""Why a question about the tool calls of a run cannot be answered."""

from __future__ import annotations

from spanwise.model.abstention import bare_repeats, has_arguments, no_tool_called, why_missing
from spanwise.model.calls import ToolCall
from tests.making import agent, chat, run_of, says, span, tool


def test_no_tool_called() -> None:
    """A run that called none leaves the question open to nobody: it does not arise."""
    score = no_tool_called("x", run_of(agent(1), chat(2, parent=1, got=[says("A")])))
    assert ("not_applicable", "The run called no tool.") == (score.status, score.reason)


def test_control_calls_only() -> None:
    """A run whose only call ended it did no work."""
    assert "not_applicable" == no_tool_called("x", run_of(agent(1), tool(2, parent=1, name="final_answer"))).status


def test_calls_may_have_gone_unseen() -> None:
    """Spans of no dialect, a partial trace and unrecorded answers of models hide calls."""
    score = no_tool_called("x", run_of(span(1)))
    assert ("not_measurable", True) == (score.status, "Instrument the framework" in score.reason)
    score = no_tool_called("x", run_of(agent(1), span(9, parent=77)))
    assert ("not_measurable", True) == (score.status, score.reason.startswith("The trace is partial: "))
    score = no_tool_called("x", run_of(agent(1), chat(2, parent=1)))
    assert ("not_measurable", True) == (score.status, "No tool call is recorded" in score.reason)


def test_why_missing() -> None:
    """The first of the named fields that is missing is told with its switch, else that they are cut."""
    run = run_of(agent(1), tool(2, parent=1))
    assert why_missing(run, "answer").startswith("No span records the final answer.")
    assert why_missing(run, "spans", "arguments").startswith("Arguments are not recorded for 1 tool call (search).")
    assert "The spans and the documents are not recorded whole." == why_missing(run, "spans", "documents")


def test_has_arguments() -> None:
    """Arguments are there if they are recorded whole."""
    told = [has_arguments(ToolCall("a", raw_arguments=raw)) for raw in ('{"a":1}', None, "[REDACTED]", '{"a":', {})]
    assert [True, False, False, False, True] == told


def test_bare_repeats() -> None:
    """Only tools that were called more than once, and once without recorded arguments, are named."""
    calls = [ToolCall(name, raw_arguments=raw) for name, raw in (("a", "{}"), ("b", None), ("a", None), ("c", "{}"))]
    assert ["a"] == bare_repeats(calls)
    assert [] == bare_repeats([calls[0], calls[0]])
