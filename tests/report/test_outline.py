"""Runs as outlines."""

from __future__ import annotations

from collections.abc import Iterable

from spanwise.model.raw import Scope
from spanwise.model.trace import Run
from spanwise.report.outline import Entry, outline, walk
from tests.corpus.facts import runs_of
from tests.making import agent, asks, chat, run_of, says, span, tool, user


def drawn(run: Run, *, everything: bool = False) -> list[str]:
    """The outline as indented text."""
    return lines(outline(run, everything=everything).entries)


def lines(entries: Iterable[Entry]) -> list[str]:
    """Entries as indented text, with the number of spans that each stands for where there are several."""
    return [
        "  " * depth + f"{entry.word} {entry.name}" + (f" x{entry.merged + 1}" if entry.merged else "")
        for depth, entry in walk(list(entries))
    ]


def test_calls_stand_below_their_agent() -> None:
    """Agents, model calls and tool calls are entries, by start."""
    run = run_of(agent(1), chat(2, parent=1), tool(3, parent=1, name="search"), chat(4, parent=1))
    assert ["agent helper", "  model gpt-4o-mini", "  tool search", "  model gpt-4o-mini"] == drawn(run)


def test_plumbing_is_left_out_and_counted() -> None:
    """A span that only carries others is not shown, what it carries hangs above, and it is counted."""
    run = run_of(agent(1), span(2, parent=1, name="task"), span(3, parent=2, name="GET"), tool(4, parent=3))
    assert (["agent helper", "  tool search"], 2) == (drawn(run), outline(run).hidden)


def test_everything_shows_plumbing() -> None:
    """With everything asked for, plumbing has its place and nothing is left out."""
    run = run_of(agent(1), span(2, parent=1, name="task"), tool(3, parent=2))
    assert (["agent helper", "  span task", "    tool search"], 0) == (
        drawn(run, everything=True),
        outline(run, everything=True).hidden,
    )


def test_spans_of_one_call_are_one_entry() -> None:
    """Nested tool spans of one name and nested model spans are one entry each; what hung below the inner one stays."""
    run = run_of(
        agent(1),
        chat(2, parent=1, model=None),
        chat(3, parent=2, tokens=(5, 1)),
        tool(4, parent=1, start=20, end=50),
        tool(5, parent=4, start=21, end=49),
        agent(6, parent=5, name="inner"),
    )
    assert [
        "agent helper",
        "  model gpt-4o-mini x2",
        "  tool search x2",
        "    agent inner",
    ] == drawn(run)


def test_a_wrapper_of_the_same_agent_is_that_agent() -> None:
    """An agent span directly below one of the same name is the same agent; below a tool call it is not."""
    run = run_of(agent(1), agent(2, parent=1), tool(3, parent=2, name="delegate"), agent(4, parent=3))
    assert ["agent helper x2", "  tool delegate", "    agent helper"] == drawn(run)


def test_the_calls_of_one_span_are_all_shown() -> None:
    """A span that ran several calls, as AgentScope's steps are in Java, is an entry for each, side by side."""
    step: dict[str, object] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "a, b, a"}
    scope = Scope("io.agentscope", "", {})
    both = span(4, parent=1, attributes=step | {"gen_ai.tool.call.count": 3}, scope=scope)
    run = run_of(agent(1), both, tool(40, parent=1))
    assert ["agent helper", "  tool a", "  tool b", "  tool a", "  tool search"] == drawn(run)


def test_a_model_span_around_several_is_plumbing() -> None:
    """A model span that wraps several model calls only carries them."""
    run = run_of(agent(1), chat(2, parent=1, model="outer"), chat(3, parent=2), chat(4, parent=2))
    assert ["agent helper", "  model gpt-4o-mini", "  model gpt-4o-mini"] == drawn(run)


def test_a_call_without_a_span_stands_below_its_model_call() -> None:
    """A call known from a message hangs below the model call that asked for it."""
    run = run_of(
        agent(1),
        chat(2, parent=1, sent=[user("hi")], got=[asks(("c1", "magic", {"a": 1}))]),
        chat(3, parent=1, got=[says("done")]),
    )
    found = outline(run)
    assert ["agent helper", "  model gpt-4o-mini", "    tool magic", "  model gpt-4o-mini"] == lines(found.entries)
    assert [None] == [entry.span for _, entry in walk(found.entries) if entry.word == "tool"]


def test_an_echo_of_a_call_is_none() -> None:
    """What an MCP server records of a call beside the span of the client that made it is no call of its own."""
    (run,) = runs_of("claude-agent-sdk__openinference", logs=False)
    assert ["tool"] * 4 == [entry.word for _, entry in walk(list(outline(run).entries)) if entry.word == "tool"]


def test_the_root_of_a_run_is_shown_whatever_it_is() -> None:
    """A workflow at the top is shown, though workflows further down are plumbing."""
    workflow = {"gen_ai.operation.name": "invoke_workflow"}
    run = run_of(
        span(1, name="flow", attributes=workflow),
        span(2, parent=1, name="step", attributes=workflow),
        agent(3, parent=2),
    )
    assert ["workflow flow", "  agent helper"] == drawn(run)


def test_deep_chains_take_no_recursion_and_no_square_of_time() -> None:
    """Ten thousand spans below each other, every one with a tool call, are one outline."""
    chain = [agent(1)]
    for number in range(2, 20_000, 2):
        chain += [span(number, parent=max(number - 2, 1), name="task"), tool(number + 1, parent=number)]
    run = run_of(*chain)
    assert (9_999, 10_000) == (outline(run).hidden, sum(1 for _ in walk(outline(run).entries)))
