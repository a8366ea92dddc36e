"""A chat transcript becomes one run: an agent, its model calls, and its tool calls joined to their results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.raw import Scope
from spanwise.sources.chat import usage_attributes
from tests.sources.exports import anthropic, lines, openai, responses
from tests.sources.otlp import Outcome
from tests.sources.transcripts import calls, read, run_of, runs_of, said, spans

OSLO = ("weather", {"city": "Oslo"}, "3 degrees", "call_1")
ROME = ("weather", {"city": "Rome"}, {"celsius": 20}, "call_2")


def test_the_spans_of_a_transcript() -> None:
    """There is an agent span, a model span for each message of the assistant, a tool span for each call, in order."""
    found = spans(read(openai(id="conv-1", session_id="s1", user_id=7, model="gpt-4o", metadata={"k": 1})))
    assert [
        ("invoke_agent", 0, 5),
        ("chat gpt-4o", 1, 1),
        ("execute_tool weather", 2, 4),
        ("execute_tool weather", 3, 4),
        ("chat gpt-4o", 4, 4),
    ] == [(span.name, span.start_ns, span.end_ns) for span in found]
    root, first, oslo, _, last = found
    assert ({"conv-1"}, {root.span_id}) == (
        {span.trace_id for span in found}, {span.parent_id for span in found[1:]}
    )  # fmt: skip
    question = {"role": "user", "parts": [{"type": "text", "content": "How warm are Oslo and Rome?"}]}
    answer = {"role": "assistant", "parts": [{"type": "text", "content": "Oslo 3, Rome 20."}]}
    assert {
        "gen_ai.operation.name": "invoke_agent",
        "spanwise.times": "none",
        "gen_ai.input.messages": [question],
        "gen_ai.output.messages": [answer],
        "gen_ai.conversation.id": "s1",
        "user.id": "7",
        "metadata": {"k": 1},
    } == root.attributes
    assert {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": {"city": "Oslo"},
        "gen_ai.tool.call.result": "3 degrees",
    } == oslo.attributes
    system = {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}
    assert {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": [system, question],
        "gen_ai.output.messages": [
            {
                "role": "assistant",
                "parts": [
                    {"type": "tool_call", "id": "call_1", "name": "weather", "arguments": {"city": "Oslo"}},
                    {"type": "tool_call", "id": "call_2", "name": "weather", "arguments": {"city": "Rome"}},
                ],
            }
        ],
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.tool.definitions": openai()["tools"],
    } == first.attributes
    result = {
        "type": "tool_call_response",
        "id": "call_2",
        "name": None,
        "response": {"celsius": 20},
        "is_error": False,
    }
    assert (5, {"role": "tool", "parts": [result]}, [answer]) == (
        len(last.attributes["gen_ai.input.messages"]),
        last.attributes["gen_ai.input.messages"][3],
        last.attributes["gen_ai.output.messages"],
    )


def test_that_times_are_not_recorded_is_said() -> None:
    """Every span's scope and resource say that there are no times, and the root says it itself."""
    found = spans(read(openai()))
    assert {("spanwise.chat", "1", "none")} == {
        (span.scope.name, span.scope.version, span.scope.resource["spanwise.times"]) for span in found
    }
    assert ["none", None] == [found[0].attributes["spanwise.times"], found[1].attributes.get("spanwise.times")]


def test_openai_reads_as_a_run() -> None:
    """Question, answer, calls in the order in which they were asked for, and the tools on offer are found."""
    run = run_of(openai())
    assert ("How warm are Oslo and Rome?", "Oslo 3, Rome 20.", [OSLO, ROME], ["ok", "ok"], ["weather"], True) == (
        run.query, run.answer, calls(run), [call.status for call in run.tool_calls],
        [tool.name for tool in run.tool_definitions or ()], run.completeness.complete,
    )  # fmt: skip


def test_no_latency_is_made_up() -> None:
    """The run knows that its spans have no times."""
    assert not run_of(openai()).timed


def test_anthropic_reads_as_a_run() -> None:
    """Blocks are read: thinking is no answer, a result marked as an error fails its call, system is a message."""
    found = read(anthropic())
    (run,) = runs_of(found)
    assert ("Add 1 and 2.", "It is 3.", ["add"]) == (
        run.query, run.answer, [tool.name for tool in run.tool_definitions or ()]
    )  # fmt: skip
    assert [("add", {"a": 1, "b": "x"}, "x is no number", "toolu_1"), ("add", {"a": 1, "b": 2}, 3, "toolu_2")] == calls(
        run
    )
    assert [("error", "x is no number"), ("ok", "")] == [
        (call.status, call.error.message if call.error else "") for call in run.tool_calls
    ]
    first = spans(found)[1].attributes
    assert ["system", "user"] == [message["role"] for message in first["gen_ai.input.messages"]]
    assert ["reasoning", "text", "tool_call"] == [part["type"] for part in first["gen_ai.output.messages"][0]["parts"]]


def test_responses_read_as_a_run() -> None:
    """The items of one answer are one model call; an output after them starts the next."""
    found = read(responses())
    (run,) = runs_of(found)
    assert ("What is 2 + 2?", "It is 4.", [("calc", {"e": "2+2"}, 4, "call_1")]) == (run.query, run.answer, calls(run))
    assert ["invoke_agent", "chat", "execute_tool calc", "chat"] == found.names
    assert [["reasoning", "tool_call"], ["text"]] == [
        [part["type"] for part in span.attributes["gen_ai.output.messages"][0]["parts"]]
        for span in spans(found)
        if span.name == "chat"
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"input": "What is 2 + 2?"},
        {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is 2 + 2?"}]}]},
        {"input": [*responses()["input"], *responses()["output"]], "output": None},
    ],
    ids=["text", "item", "all in one list"],
)
def test_responses_in_other_layouts(fields: dict[str, Any]) -> None:
    """Input may be text or items, and everything may stand in one list."""
    expected, found = run_of(responses()), run_of({"object": "response", **responses(**fields)})
    assert (expected.query, expected.answer, calls(expected)) == (found.query, found.answer, calls(found))


def test_messages_in_a_choice() -> None:
    """The answer in the choices of a response belongs to the messages of its request."""
    document = said() | {"choices": [{"index": 0, "message": {"role": "assistant", "content": "answer"}}]}
    assert "answer" == run_of(document).answer


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (json.dumps(openai()["messages"]).encode(), 1),
        (json.dumps([openai(), anthropic()]).encode(), 2),
        (json.dumps([openai()["messages"], anthropic()["messages"]], indent=1).encode(), 2),
        (lines(openai(), anthropic(), responses()), 3),
        (lines(*openai()["messages"]), 1),
        (json.dumps(openai()["messages"]).encode() + b"\n" + json.dumps(openai()["messages"]).encode(), 2),
        (json.dumps(openai()["messages"]).encode() + b"[]", 1),
        (json.dumps(openai(), indent=2).encode(), 1),
    ],
    ids=["messages", "list", "list of lists", "lines", "lines of messages", "lists in a row", "empty list", "indented"],
)
def test_layouts(content: bytes, count: int) -> None:
    """Transcripts may stand alone, in lists, on lines, and as bare lists of messages."""
    outcome = Outcome(content)
    assert (count, [], True) == (len(runs_of(outcome)), outcome.messages, outcome.adds_up())


# Question and answer


def test_several_turns_are_one_run() -> None:
    """Of a conversation with several turns the first question and the last answer count."""
    answer = {"role": "assistant", "content": "first"}
    run = run_of(said(answer, "and then?", {**answer, "content": "last"}, "thanks"))
    assert ("question", "last") == (run.query, run.answer)


def test_a_refusal_is_an_answer() -> None:
    """What the model refused with is its answer, in OpenAI's two places for it."""
    as_field = run_of(said({"role": "assistant", "content": None, "refusal": "No."}))
    as_part = run_of(said({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}))
    assert ("No.", "No.") == (as_field.answer, as_part.answer)


def test_a_transcript_without_a_question() -> None:
    """Where the user said nothing in words there is no query."""
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
    assert None is run_of({"messages": [image, {"role": "assistant", "content": "a cat"}]}).query


# Usage and models


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "prompt_tokens": 100, "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 5},
            },
            (100, 20, 64, None, 5),
        ),
        (
            {
                "input_tokens": 100, "output_tokens": 20,
                "input_tokens_details": {"cached_tokens": 64}, "output_tokens_details": {"reasoning_tokens": 5},
            },
            (100, 20, 64, None, 5),
        ),
        (
            {
                "input_tokens": 10, "output_tokens": 20,
                "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10,
            },
            (100, 20, 80, 10, None),
        ),
        ({"input_tokens": "many", "output_tokens": True, "prompt_tokens_details": 7}, (None, None, None, None, None)),
    ],
    ids=["openai", "responses", "anthropic", "noise"],
)  # fmt: skip
def test_usage(usage: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    """Tokens are read in each provider's words; input includes what came from a cache."""
    names = (
        "input_tokens",
        "output_tokens",
        "cache_read.input_tokens",
        "cache_write.input_tokens",
        "reasoning.output_tokens",
    )
    found = usage_attributes(usage)
    assert expected == tuple(found.get(f"gen_ai.usage.{name}") for name in names)


def test_usage_belongs_where_it_was_counted() -> None:
    """Usage of a message is its model call's; usage of a transcript is its only model call's, or the run's."""
    counted = {"prompt_tokens": 10, "completion_tokens": 2}
    answer = {"role": "assistant", "content": "a", "usage": counted, "model": "m-1"}
    one = run_of(said({**answer, "usage": None}) | {"usage": counted, "model": "m-0"})
    two = run_of(said(answer, "more", answer))
    whole = run_of(said({**answer, "usage": None}, "more", {**answer, "usage": None}) | {"usage": counted})
    assert [10, 20, 10] == [run.tokens.input if run.tokens else None for run in (one, two, whole)]
    assert ([("m-1", 10)], [("m-1", None), ("m-1", None)]) == (
        [(call.model, call.tokens.input) for call in one.llm_calls],
        [(call.model, call.tokens.input) for call in whole.llm_calls],
    )


# Ids, order and size


def test_ids_follow_from_the_content() -> None:
    """The same transcript has the same ids whatever the order of its keys, and another one has others."""
    backwards = json.dumps(dict(reversed(openai().items()))).encode()
    same, again, other = (
        [(span.trace_id, span.span_id) for span in spans(Outcome(content))]
        for content in (json.dumps(openai()).encode(), backwards, json.dumps(openai(model="m")).encode())
    )
    assert same == again
    assert {*same}.isdisjoint(other)
    assert (32, 16, True) == (len(str(same[0][0])), len(str(same[0][1])), int(str(same[0][0]), 16) > 0)


def test_equal_transcripts_of_one_file_stay_apart() -> None:
    """A transcript that stands twice in a file is two traces, also under an id of its own."""
    twice = read([openai(), openai()])
    named = read([openai(trace_id="t"), openai(trace_id="t")])
    assert (2, 2) == (len({span.trace_id for span in spans(twice)}), len(runs_of(named)))


def test_ids_that_are_given_are_kept() -> None:
    """A transcript's own trace id comes before its id; numbers are ids too."""
    assert [{"t"}, {"7"}] == [
        {span.trace_id for span in spans(read(openai(**fields)))}
        for fields in ({"trace_id": "t", "id": "i"}, {"id": 7})
    ]


def test_long_transcripts_grow_in_line() -> None:
    """A model span holds the system message and at most the hundred messages before it."""
    turns = [{"role": role, "content": str(at)} for at in range(300) for role in ("user", "assistant")]
    found = spans(read({"system": "Be brief.", "messages": turns}))
    sent = [span.attributes["gen_ai.input.messages"] for span in found[1:]]
    assert 101 == max(len(messages) for messages in sent)
    assert ["system", "assistant", "user"] == [message["role"] for message in (sent[-1][0], sent[-1][1], sent[-1][-1])]
    assert Scope("spanwise.chat", "1", {"spanwise.times": "none"}) == found[-1].scope


# Bad input


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (7, "made, $[1]: this is no chat transcript: it has no messages"),
        ({"messages": []}, "made, $[1]: this is no chat transcript: it has no messages"),
        ({"messages": [7, None]}, "made, $[1]: this is no chat transcript: it has no messages"),
        ({"prompt": "a", "completion": "b"}, "made, $[1]: this is no chat transcript: it has no messages"),
        ([], "made, $[1]: this is no chat transcript: it has no messages"),
    ],
    ids=["number", "empty", "no objects", "another format", "empty list"],
)
def test_what_is_no_transcript_costs_only_itself(odd: object, message: str) -> None:
    """An element that holds no messages is one error with its place; the others are read."""
    outcome = read([openai(), odd, anthropic()])
    assert ([message], 2, True) == (outcome.messages, len(runs_of(outcome)), outcome.adds_up())


def test_messages_that_are_no_objects_are_said() -> None:
    """What stands between messages and is none is left out and counted; text is taken as the user's."""
    outcome = read({"messages": [*openai()["messages"], 7, None, "more"]})
    assert ({"message that is no object: left out": 2}, []) == (outcome.tally.repairs, outcome.messages)


def test_a_broken_line_costs_only_itself() -> None:
    """A line that is no JSON is one error with its number."""
    outcome = Outcome(lines(openai()) + b'{"messages": [\n' + lines(anthropic()))
    assert (["made, line 2: this is not valid JSON, or nested too deeply"], 2) == (
        outcome.messages,
        len(runs_of(outcome)),
    )


def test_halves_of_character_pairs_are_replaced() -> None:
    """Half of a character pair, as cut texts have it, is replaced and counted."""
    outcome = Outcome(json.dumps(openai()).encode().replace(b"How warm", rb"How \ud83d warm"))
    (run,) = runs_of(outcome)
    assert ("How \ufffd warm are Oslo and Rome?", {"text that is no Unicode: replaced": 1}) == (
        run.query, outcome.tally.repairs
    )  # fmt: skip


def test_deep_nesting_is_read_or_one_error() -> None:
    """Arguments nested ten thousand levels deep are one clear error for their transcript."""
    deep = b'{"messages": [{"role": "user", "content": ' + b"[" * 10_000 + b"]" * 10_000 + b"}]}"
    outcome = Outcome(lines(openai()) + deep + b"\n" + lines(anthropic()))
    assert (["made, line 2: this is not valid JSON, or nested too deeply"], 2) == (
        outcome.messages,
        len(runs_of(outcome)),
    )


KEYS = (
    "role type content tool_calls function name arguments id call_id output status text summary usage tool_use_id"
    " is_error function_call refusal"
).split()
WORDS = (
    "user assistant tool function_call function_call_output mcp_call tool_use tool_result x_tool_result refusal text"
).split()
FIELDS = "system output tools usage id model metadata choices input instructions".split()
NOISE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(NOISE, max_size=4), st.dictionaries(st.sampled_from(FIELDS), NOISE, max_size=3))
def test_random_json_never_raises(items: Sequence[object], fields: dict[str, object]) -> None:
    """Whatever stands in a transcript, reading ends in spans or in errors, and every call has at most one span."""
    for document in (
        [openai(), {"messages": items, **fields}],
        [openai(), list(items)],
        [openai(), *items],
        openai(**fields),
    ):
        outcome = read(document)
        assert outcome.adds_up()
        runs_of(outcome)
