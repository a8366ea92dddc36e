"""Runs that two instrumentations of a framework recorded at once are told once."""

from __future__ import annotations

import pytest

from spanwise.model.calls import Tokens
from spanwise.model.raw import RawSpan, Scope
from tests.making import run_of, span, told
from tests.recordings_io import remade

FIRST = Scope("openinference.instrumentation.langchain", "1", {})
SECOND = Scope("opentelemetry.instrumentation.langchain", "1", {})
MS = 1_000_000


def first(number: int, kind: str, start: int, end: int, *, parent: int | None, **more: object) -> RawSpan:
    """A span of OpenInference's, by milliseconds."""
    named = {key.replace("__", "."): value for key, value in more.items()}
    attributes = {"openinference.span.kind": kind, **named}
    return span(number, parent=parent, start=start * MS, end=end * MS, attributes=attributes, scope=FIRST)


def second(number: int, operation: str, start: int, end: int, *, parent: int | None, **more: object) -> RawSpan:
    """A span of OpenLLMetry's."""
    named = {f"gen_ai.{key.replace('__', '.')}": value for key, value in more.items()}
    attributes = {"gen_ai.operation.name": operation, **named}
    return span(number, parent=parent, start=start * MS, end=end * MS, attributes=attributes, scope=SECOND)


def recorded(outer: int | None, around: int | None) -> list[RawSpan]:
    """A model call and a tool's, by each of them; what their outermost spans hang below."""
    return [
        second(1, "invoke_agent", 0, 100, parent=around, agent__name="helper"),
        first(2, "AGENT", 1, 99, parent=outer, input__value="How many?", output__value="Three.", agent__name="helper"),
        first(3, "LLM", 10, 30, parent=2, llm__token_count__prompt=5, llm__token_count__completion=2),
        first(4, "TOOL", 40, 50, parent=2, tool__name="search", input__value='{"q": "a"}', output__value="3"),
        second(5, "chat", 9, 31, parent=1, usage__input_tokens=5, usage__output_tokens=2),
        second(6, "execute_tool", 41, 49, parent=1, tool__name="search", tool__call__arguments='{"q": "a"}'),
    ]


LLAMA_INDEX = {
    FIRST.name: "openinference.instrumentation.llama_index",
    SECOND.name: "opentelemetry.instrumentation.llamaindex",
}


@pytest.mark.parametrize(
    ("outer", "around", "names"), [(1, None, {}), (9, 9, {}), (9, 9, LLAMA_INDEX), (None, 2, LLAMA_INDEX)]
)
def test_one_telling_is_enough(outer: int | None, around: int | None, names: dict[str, str]) -> None:
    """Below one another or side by side: every call is counted once, and there is one run."""
    request = [span(9, start=0, end=200 * MS)] if around == 9 else []
    told_twice = [
        remade(one, scope=Scope(names[one.scope.name], "1", {})) if names else one for one in recorded(outer, around)
    ]
    run = run_of(*request, *told_twice)
    assert ("How many?", "Three.", ["helper"]) == (run.query, run.answer, [agent.name for agent in run.agents])
    assert ([("search", {"q": "a"}, 3, "ok")], 1, Tokens(5, 2)) == (told(run), len(run.llm_calls), run.tokens)


def test_a_workflow_of_the_apps_around_both() -> None:
    """Where the app put a span of its own around the run, which says that it is one, too."""
    around = span(
        9, start=0, end=200 * MS, attributes={"openinference.span.kind": "CHAIN"}, scope=Scope("app", "1", {})
    )
    run = run_of(around, *recorded(9, 9))
    assert (1, 1, Tokens(5, 2)) == (len(run.tool_calls), len(run.llm_calls), run.tokens)


@pytest.mark.parametrize("late", [second(7, "chat", 60, 80, parent=1), second(7, "execute_tool", 12, 13, parent=1)])
def test_what_one_of_them_tells_alone_stays(late: RawSpan) -> None:
    """Where one tells a call that the other does not, as in another process, it is no second telling."""
    run = run_of(*recorded(1, None), late)
    assert 4 < len(run.llm_calls) + len([call for call in run.tool_calls if call.span >= 0])
