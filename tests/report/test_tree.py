"""Runs as people see them."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from spanwise.assembly.tree import build_trace
from spanwise.model.calls import Tokens
from spanwise.model.raw import RawEvent
from spanwise.model.span import SpanError
from spanwise.model.trace import Run
from spanwise.report.terminal import console
from spanwise.report.tree import error_words, show_run, tokens_of
from tests.making import agent, chat, run_of, says, span, tool, user
from tests.recordings_io import logs, spans

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


def shown(run: Run, *, width: int = 100, everything: bool = False, content: bool = True) -> str:
    """What is printed of a run."""
    file = io.StringIO()
    show_run(console(file, width=width), run=run, everything=everything, content=content)
    # Estimates follow the price list that is installed.
    return re.sub(r"\$[\d.]+(?= \(?estimated)", "$?", file.getvalue())


def recorded(name: str, *, events: bool = False) -> Run:
    """The first run of a recording."""
    found = spans(name)
    trace = build_trace(found[0].trace_id, found, events=logs(name) if events else ())
    trace.source = f"{name}.json"
    return trace.runs[0]


def test_a_recorded_run_is_shown_whole() -> None:
    """The head says who asked what and what it cost, the tree what happened, with arguments, results and errors."""
    assert shown(recorded("pydantic-ai__builtin")) == snapshot("""\
pydantic-ai__builtin.json, trace 204ce4638213ede390fffa1598b660d1
query     How many people lived in France in 2024, and what is 10% of that?
answer    France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84
          million people.
agents    research_agent
duration  329 ms
tokens    2,138 in, 86 out, 256 from cache, 0 reasoning
cost      $0.00035 (recorded)
trace     complete
agent research_agent  329 ms
├── model gpt-4o-mini-2024-07-18  36 ms  192 in, 15 out, 0 reasoning  $0.000038
├── tool search_docs  21 ms
│     arguments {"query":"population of France 2024"}
│     result    [{"id":"doc-fr-1","title":"France demographics","content":"INSEE estimates that 68.…
├── model gpt-4o-mini-2024-07-18  57 ms  359 in, 15 out, 64 from cache, 0 reasoning  $0.000058
├── tool calculator  11 ms  asked for a retry
│     arguments {"expression":"68.4 million * 0.1"}
│     result    cannot parse expression: '68.4 million * 0.1'
│     error     pydantic_ai.exceptions.ToolRetryError: cannot parse expression: '68.4 million * 0.1'
├── model gpt-4o-mini-2024-07-18  55 ms  433 in, 15 out, 64 from cache, 0 reasoning  $0.000069
├── tool calculator  5.4 ms
│     arguments {"expression":"68400000 * 0.1"}
│     result    6840000.0
├── model gpt-4o-mini-2024-07-18  57 ms  493 in, 15 out, 64 from cache, 0 reasoning  $0.000078
├── tool search_docs  22 ms
│     arguments {"query":"population of France 2024"}
│     result    [{"id":"doc-fr-1","title":"France demographics","content":"INSEE estimates that 68.…
└── model gpt-4o-mini-2024-07-18  56 ms  661 in, 26 out, 64 from cache, 0 reasoning  $0.00011

""")


def test_documents_stand_with_their_scores(require: Callable[[str], str]) -> None:
    """A retrieval shows its documents with their scores below it, and nested doubles are one line."""
    require("genai_prices")
    assert shown(recorded("langgraph__otel-genai")) == snapshot("""\
langgraph__otel-genai.json, trace 597ea3ec09d9bd96d2039376cf6a1df6
query     How many people lived in France in 2024, and what is 10% of that?
answer    France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84
          million people.
agents    research_agent
duration  295 ms
tokens    2,014 in, 86 out, 256 from cache
cost      $? (estimated from list prices)
trace     complete
agent research_agent  295 ms
├── model gpt-4o-mini-2024-07-18  18 ms  170 in, 15 out  $? estimated
├── tool search_docs  21 ms
│     arguments {"query":"population of France 2024"}
│     result    [{"id":"doc-fr-1","content":"INSEE estimates that 68.4 million people lived in Fran…
│   └── retrieval retrieval  20 ms
│         query     population of France 2024
│         document  0.91      doc-fr-1
│         document  0.64      doc-fr-2
│         document  0.22      doc-fr-3
├── model gpt-4o-mini-2024-07-18  55 ms  327 in, 15 out, 64 from cache  $? estimated
├── tool calculator  5.3 ms  failed
│     arguments {"expression":"68.4 million * 0.1"}
│     result    Error: ValueError("cannot parse expression: '68.4 million * 0.1'")
│     error     ValueError: cannot parse expression: '68.4 million * 0.1'
├── model gpt-4o-mini-2024-07-18  53 ms  409 in, 15 out, 64 from cache  $? estimated
├── tool calculator  5.3 ms
│     arguments {"expression":"68400000 * 0.1"}
│     result    6840000.0
├── model gpt-4o-mini-2024-07-18  53 ms  475 in, 15 out, 64 from cache  $? estimated
├── tool search_docs  21 ms
│     arguments {"query":"population of France 2024"}
│     result    [{"id":"doc-fr-1","content":"INSEE estimates that 68.4 million people lived in Fran…
│   └── retrieval retrieval  20 ms
│         query     population of France 2024
│         document  0.91      doc-fr-1
│         document  0.64      doc-fr-2
│         document  0.22      doc-fr-3
└── model gpt-4o-mini-2024-07-18  54 ms  633 in, 26 out, 64 from cache  $? estimated

""")


def test_what_is_not_recorded_is_said_with_its_switch(require: Callable[[str], str]) -> None:
    """Where spans carry no content, the lines say so, and the end says which setting would record it."""
    require("genai_prices")
    assert shown(recorded("google-adk__builtin")) == snapshot("""\
google-adk__builtin.json, trace 14a3ecc0fb446bb3e1bb133539695e63
query     not recorded
answer    not recorded
agents    research_agent
duration  162 ms
tokens    1,400 in, 125 out, 256 from cache
cost      $? (estimated from list prices)
trace     complete
workflow invoke_workflow research_agent  162 ms
└── agent research_agent  154 ms
    ├── model gemini-2.5-flash  12 ms  200 in, 25 out, 0 from cache  $? estimated
    ├── tool search_docs  21 ms  outcome not recorded
    │     arguments not recorded
    │     result    not recorded
    ├── model gemini-2.5-flash  11 ms  240 in, 25 out, 64 from cache  $? estimated
    ├── tool calculator  5.4 ms  outcome not recorded
    │     arguments not recorded
    │     result    not recorded
    ├── model gemini-2.5-flash  10 ms  280 in, 25 out, 64 from cache  $? estimated
    ├── tool calculator  5.3 ms  outcome not recorded
    │     arguments not recorded
    │     result    not recorded
    ├── model gemini-2.5-flash  11 ms  320 in, 25 out, 64 from cache  $? estimated
    ├── tool search_docs  20 ms  outcome not recorded
    │     arguments not recorded
    │     result    not recorded
    └── model gemini-2.5-flash  10 ms  360 in, 25 out, 64 from cache  $? estimated
not in these spans
  query      No span records what the user asked. Set
             OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT (schema 1:
             ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true).
  answer     No span records the final answer. Set
             OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT (schema 1:
             ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true).
  arguments  Arguments are not recorded for 4 tool calls (search_docs, calculator). Set
             OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT (schema 1:
             ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true).
  results    Results are not recorded for 4 tool calls (search_docs, calculator). Set
             OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT (schema 1:
             ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true).

""")


def test_without_content_only_names_and_numbers_are_shown() -> None:
    """Nothing that people, models or tools wrote is in the output."""
    text = shown(recorded("langgraph__openinference"), content=False)
    assert [] == re.findall(r"France|68\.?4|population|cannot parse", text)
    assert {"search_docs", "doc-fr-1", "0.91", "ValueError"} <= set(re.findall(r"[\w.-]+", text))


def test_times_are_not_shown_where_there_are_none() -> None:
    """A run made from a transcript has no durations."""
    run = run_of(span(1, name="chat", attributes={"spanwise.times": "none", "gen_ai.operation.name": "invoke_agent"}))
    assert "duration  not recorded" in shown(run)
    assert "0 ns" not in shown(run)


def test_partial_traces_and_repairs_are_said() -> None:
    """The head says what is missing of the trace, what was put right, and which run of how many this is."""
    double = span(2, parent=1, name="other")
    trace = build_trace("1" * 32, [agent(1), agent(5), double, span(2, parent=1, name="x"), tool(3, parent=99)])
    text = shown(trace.runs[0])
    assert "run 1 of 2" in text
    assert "partial: parent unseen of 1 span" in text
    assert "spans that share an id and disagree" in text


def test_times_that_cannot_be_are_no_durations() -> None:
    """Of a run whose span never ended, or ended before it began, nobody knows how long it took; the latter is said."""
    open_, backwards, call = agent(1), agent(1), tool(2, parent=1, start=9, end=8)
    open_.end_ns, backwards.start_ns, backwards.end_ns = 0, 7, 6
    assert "duration  not recorded" in shown(run_of(open_))
    text = shown(run_of(backwards, call))
    assert "duration  not recorded" in text
    assert "repaired  spans that end before they begin, how long they took left open: 2" in text
    assert "tool search  ended before it began" in text


def test_a_very_large_run_is_cut_and_says_so() -> None:
    """Of more than 2000 entries the rest is counted; --all shows every one."""
    run = run_of(agent(1), *(tool(number, parent=1) for number in range(2, 2502)))
    assert "501 more not shown; --all shows them" in shown(run)
    assert 2500 == shown(run, everything=True).count("tool search")


def test_deep_entries_say_their_level() -> None:
    """Where indenting would leave no room for text, levels are numbered instead."""
    chain = [agent(1)]
    chain += [tool(number, parent=number - 1, name=f"t{number}", result=1) for number in range(2, 41)]
    text = shown(run_of(*chain), width=60)
    assert "(level 40)" in text
    assert 40 == len(re.findall(r"tool t\d+ |agent helper  ", text))


@given(text=ANY_TEXT, width=st.integers(40, 200))
def test_no_text_breaks_the_tree(text: str, width: int) -> None:
    """Whatever attributes, names and messages hold, each span keeps its lines, and no control character gets out."""

    def made(word: str) -> Run:
        fields = {"gen_ai.agent.name": word, "session.id": word}
        failing = span(
            4,
            parent=1,
            name=word,
            attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "error.type": word},
            status=2,
            message=word,
            events=[RawEvent("exception", 4, {"exception.type": word, "exception.message": word})],
        )
        return run_of(
            span(1, name=word, attributes={"gen_ai.operation.name": "invoke_agent", **fields}),
            chat(2, parent=1, sent=[user(word)], got=[says(word)], model=word),
            tool(3, parent=1, name=f"a{word}", arguments={word: word}, result=word),
            failing,
        )

    printed = shown(made(text), width=width)
    branches = [line for line in printed.splitlines() if line.startswith(("├── ", "└── "))]
    assert 3 == len(branches)
    assert set() == {unicodedata.category(char) for char in printed.replace("\n", "")} & {"Cc", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SpanError(type="ValueError", message="bad\nthing"), "ValueError: bad thing"),
        (SpanError(type="ValueError"), "ValueError"),
        (SpanError(), "no message recorded"),
    ],
)
def test_errors_are_one_line(error: SpanError, words: str) -> None:
    """An error is its type and its message on one line."""
    assert words == error_words(error)


def test_errors_without_content_keep_their_type() -> None:
    """The message of an error is content, its type is not."""
    assert "ValueError" == error_words(SpanError(type="ValueError", message="secret"), content=False)
    assert "not shown" == error_words(SpanError(message="secret"), content=False)


def test_failures_that_only_results_tell() -> None:
    """A failure without words of its own has no line besides the result that tells it; an empty result is said."""
    told, untold = (tool(2, parent=1, failed=True, result=result) for result in ("no such city", None))
    told.status_message = untold.status_message = ""
    assert "no message recorded" not in shown(run_of(agent(1), told))
    assert "error     no message recorded" in shown(run_of(agent(1), untold))
    assert "result    empty\n" in shown(run_of(agent(1), tool(2, parent=1, result="")))


def test_unrecorded_kinds_of_tokens_are_left_out() -> None:
    """Only what was counted is said."""
    assert "1,200 in, 3 reasoning" == tokens_of(Tokens(input=1200, reasoning=3))
