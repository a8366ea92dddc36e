"""What was asked and what was answered."""

from __future__ import annotations

import json

import pytest

from spanwise import conventions
from spanwise.model.raw import Scope
from tests.making import agent, asks, chat, returns, run_of, says, span, span_id, tool, user

FINISHED = "gen_ai.response.finish_reasons"


def said(sent: str | None = None, got: str | None = None) -> dict[str, object]:
    """An agent's attributes that record a question and an answer."""
    out: dict[str, object] = {}
    if sent is not None:
        out["gen_ai.input.messages"] = json.dumps([user(sent)])
    if got is not None:
        out["gen_ai.output.messages"] = json.dumps([says(got)])
    return out


def test_the_runs_own_span_says_it_best() -> None:
    """Question and answer of the run's own span go before those of its model calls."""
    run = run_of(agent(1, **said("Q", "A")), chat(2, parent=1, sent=[user("other")], got=[says("other")]))
    assert ("Q", "A") == (run.query, run.answer)


def test_first_and_last_model_call() -> None:
    """Else the first model call that was asked something tells the question, the one that ended last the answer."""
    run = run_of(
        agent(1),
        chat(2, parent=1),
        chat(20, parent=1, sent=[user("Q")], got=[asks(("c", "x", {}))]),
        chat(40, parent=1, sent=[user("Q"), returns(("c", 1))], got=[says("A")]),
    )
    assert ("Q", "A") == (run.query, run.answer)


def test_a_request_for_a_tool_is_no_answer() -> None:
    """A run whose last model call asks for a tool has not answered, whatever it said along with it."""
    asking = {"type": "tool_call", "id": "c", "name": "x", "arguments": {}}
    talking = {"role": "assistant", "parts": [{"type": "text", "content": "Let me see."}, asking]}
    run = run_of(agent(1), chat(2, parent=1, got=[says("Early.")]), chat(40, parent=1, got=[talking]))
    assert None is run.answer


def test_a_model_call_inside_a_tool_does_not_answer() -> None:
    """What a model says inside a tool, at whatever depth, is the tool's business."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[says("A")]),
        tool(20, parent=1),
        span(21, parent=20),
        agent(22, parent=21, name="inner", **said("inner Q", "inner A")),
        chat(23, parent=22, got=[says("inner")]),
    )
    assert "A" == run.answer


def test_agents_below_a_silent_root() -> None:
    """Where neither root nor model calls tell, the first agent's question and the last one's answer do."""
    run = run_of(
        span(1, attributes={"gen_ai.operation.name": "invoke_workflow"}),
        agent(2, parent=1, name="mute"),
        agent(3, parent=1, name="a", **said("Q", "first")),
        agent(40, parent=1, name="b", **said("other", "A")),
        agent(60, parent=1, name="mute"),
    )
    assert ("Q", "A") == (run.query, run.answer)


def test_a_step_before_the_last_model_call_does_not_answer() -> None:
    """What was over when the model was asked, such as a step that hands the question on, is not what was answered."""
    wanted = asks(("c1", "search", {"q": "x"}))
    run = run_of(
        span(1, attributes={"gen_ai.operation.name": "invoke_workflow"}, end=90),
        agent(2, parent=1, end=10, **said("Q", "Q")),
        chat(20, parent=1, sent=[user("Q")], got=[wanted]),
    )
    assert ("Q", None) == (run.query, run.answer)


def test_an_agent_inside_a_tool_does_not_answer() -> None:
    """An agent that ran as a tool does not answer for the run."""
    run = run_of(agent(1), tool(2, parent=1), agent(3, parent=2, name="inner", **said(None, "inner A")))
    assert (None, None) == (run.query, run.answer)


def test_a_trace_without_agents() -> None:
    """Model calls alone tell question and answer."""
    run = run_of(span(1), chat(2, parent=1, sent=[user("Q")], got=[says("A")]))
    assert ("Q", "A") == (run.query, run.answer)


def test_nothing_recorded() -> None:
    """Without content there is neither question nor answer."""
    run = run_of(agent(1), chat(2, parent=1), tool(3, parent=1))
    assert (None, None) == (run.query, run.answer)


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("final_answer", {"answer": "A"}, "A"),
        ("final_answer", {"answer": "A", "confidence": "high"}, "A"),
        ("finish", {"text": "A"}, "A"),
        ("final_result", {"a": "x", "b": "y"}, None),
        ("final_result", {"n": 3}, None),
        ("final_answer", "A", None),
        ("transfer_to_sales", {"reason": "A"}, None),
        ("search", {"answer": "A"}, None),
    ],
)
def test_answer_handed_to_a_tool(name: str, arguments: object, answer: str | None) -> None:
    """The text given to a tool that ends the run is the answer; what a hand-over or a working tool was given is not."""
    assert answer == run_of(agent(1), tool(2, parent=1, name=name, arguments=arguments)).answer


def test_a_failed_final_answer_is_none() -> None:
    """An answer that the ending tool refused is not the answer; the one before it may be."""
    run = run_of(
        agent(1),
        tool(2, parent=1, name="final_answer", arguments={"answer": "first"}),
        tool(20, parent=1, name="final_answer", arguments={"answer": "refused"}, failed=True),
    )
    assert "first" == run.answer


def test_given() -> None:
    """What the first model call was given besides the question, each text once, without what models said."""
    sent = [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        user("q"),
        says("a"),
        user("Be brief."),
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "result": "found"}]},
    ]
    run = run_of(
        agent(1, **{"gen_ai.input.messages": json.dumps([user("q")])}), chat(2, parent=1), chat(3, parent=1, sent=sent)
    )
    assert [("system", "Be brief.", span_id(3)), ("tool", "found", span_id(3))] == [
        (one.role, one.text, one.span_id) for one in run.given
    ]
    assert () == run_of(agent(1)).given


def test_a_mask_is_nobodys_words() -> None:
    """Where a mask stands in the place of question and answer, neither is known; inside a text it is part of it."""
    run = run_of(agent(1), chat(2, parent=1, sent=[user("***")], got=[says("[REDACTED]")]))
    assert (None, None) == (run.query, run.answer)
    run = run_of(agent(1), chat(2, parent=1, sent=[user("I am [REDACTED].")], got=[says("*** Hi ***")]))
    assert ("I am [REDACTED].", "*** Hi ***") == (run.query, run.answer)


@pytest.mark.parametrize(
    ("asked", "query"),
    [
        ("\nCurrent Task: Count.\n\nThis is the expected criteria for your final answer: 1", "Count."),
        ("\nCurrent Task: Count\n\nto ten.", "Count\n\nto ten."),
        ("My Current Task: none", "My Current Task: none"),
    ],
)
def test_the_task_in_crewais_prompt(asked: str, query: str) -> None:
    """What a crew's model was told is a prompt around the task."""
    assert query == run_of(agent(1), chat(2, parent=1, sent=[user(asked)], got=[says("1")])).query


@pytest.mark.parametrize(("returned", "answer"), [("tools", None), ("In two words.", "In two words.")])
def test_a_step_that_names_the_next_one(returned: str, answer: str | None) -> None:
    """A bare word from a step that asks no model is the name of a graph's next node, and no answer."""
    found = run_of(
        span(1, name="graph", attributes={"gen_ai.operation.name": "invoke_workflow"}, end=99),
        chat(20, parent=1, sent=[user("?")], got=[asks(("c1", "search", {}))]),
        span(
            40, parent=1, name="route", attributes={"traceloop.span.kind": "task", "traceloop.entity.output": returned}
        ),
    )
    assert answer == found.answer


def test_a_step_around_a_model_that_says_a_word() -> None:
    """A bare word from a step that asks a model may be the answer."""
    found = run_of(
        span(1, name="graph", attributes={"gen_ai.operation.name": "invoke_workflow"}, end=99),
        span(
            20,
            parent=1,
            name="grade",
            attributes={"traceloop.span.kind": "task", "traceloop.entity.output": "yes"},
            end=60,
        ),
        chat(30, parent=20),
        chat(40, parent=20),
    )
    assert "yes" == found.answer


def test_the_task_in_the_prompt_of_smolagents() -> None:
    """Where the agent's own span is missing, the task stands in the first message behind a heading."""
    sent = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "New task:\nCount.",
    }
    scope = Scope("openinference.instrumentation.smolagents", "", {})
    assert "Count." == run_of(span(1, attributes=sent, scope=scope)).query
    assert "New task:\nCount." == run_of(span(1, attributes=sent)).query


def test_the_output_that_a_parser_took() -> None:
    """It is the answer of a run that gives it back as it is; of any other it may have been a step on the way."""
    asked = {"messages": [{"role": "user", "content": "City?"}]}
    call = {"id": "c1", "type": "function", "function": {"name": "Place", "arguments": '{"city":"Paris","n":2}'}}
    step, model = {"langfuse.observation.type": "span"}, {"langfuse.observation.type": "generation"}
    model["langfuse.observation.input"] = json.dumps(asked)
    model["langfuse.observation.output"] = json.dumps({"role": "assistant", "content": "", "tool_calls": [call]})
    parser = {**step, "langfuse.observation.input": json.dumps(call)}
    whole = '{"n": 2, "city": "Paris"}'
    for returned, answer in ((whole, whole), ('{"city": "Rome", "n": 2}', None), ("{}", None)):
        run = run_of(
            span(1, name="RunnableSequence", attributes={**step, "langfuse.observation.output": returned}, end=99),
            span(2, parent=1, name="ChatOpenAI", attributes=model, end=50),
            span(60, parent=1, name="JsonOutputKeyToolsParser", attributes=parser),
        )
        assert ("City?", answer) == (run.query, run.answer)


def test_the_output_that_a_tool_gave_back() -> None:
    """The tool by which Strands in JavaScript takes an agent's output returns it: that is the answer."""
    given = {"city": "Paris", "n": 2}
    asked = asks(("c1", "strands_structured_output", given))
    call = tool(20, parent=1, name="strands_structured_output", arguments=given, result=given, call_id="c1")
    run = run_of(agent(1), chat(2, parent=1, sent=[user("City?")], got=[asked]), call)
    assert ('{"city":"Paris","n":2}', True) == (run.answer, run.tool_calls[0].control)


def test_words_beside_a_request_that_is_not_recorded() -> None:
    """They are no answer: the model ended them to have a tool called."""
    run = run_of(chat(2, parent=None, sent=[user("Q")], got=[says("I look.")], **{FINISHED: ["tool_calls"]}))
    assert None is run.answer
    run = run_of(chat(2, parent=None, sent=[user("Q")], got=[says("I know.")], **{FINISHED: ["stop"]}))
    assert "I know." == run.answer
    legacy = {
        "llm.request.type": "chat",
        "gen_ai.completion.0.content": "I look.",
        "gen_ai.completion.0.finish_reason": "tool_calls",
    }
    assert None is run_of(span(1, attributes=legacy)).answer
    generation = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": '[{"role": "user", "content": "Q"}]',
        "langfuse.observation.output": "I look.",
        "langfuse.observation.metadata.finish_reason": "tool_calls",
    }
    run = run_of(span(1, attributes=generation))
    assert ("Q", None) == (run.query, run.answer)
    assert not conventions.tells_requests(run.spans[0].raw, run.spans[0].dialect)


def test_what_was_cut_is_not_what_was_said() -> None:
    """JSON cut in the middle is no question and no answer; those of the model calls are taken, or it is said."""
    cut = {"input.value": '{"task": "How many', "output.value": '{"raw": "About', "openinference.span.kind": "AGENT"}
    root = span(1, attributes=cut, end=1000)
    whole = run_of(root, chat(2, parent=1, sent=[user("Q")], got=[says("A")]))
    assert ("Q", "A") == (whole.query, whole.answer)
    alone = run_of(root, chat(2, parent=1, tokens=(1, 1)))
    why = "cut in the middle: a limit on the length of attributes is set."
    said = {one.field: (one.why, "LENGTH_LIMIT" in one.switch) for one in alone.missing}
    assert (None, None) == (alone.query, alone.answer)
    assert (f"What the user asked was {why}", True) == said["query"]
    assert (f"The answer was {why}", True) == said["answer"]


def test_a_model_call_that_was_cut() -> None:
    """Of a model call, too: but an answer in JSON that the model itself broke off is what it said."""
    held = {"openinference.span.kind": "LLM", "input.value": '{"messages": [{"role', "output.value": '{"choices": [{"m'}
    run = run_of(agent(1), span(2, parent=1, attributes=held), span(4, parent=1, attributes=held))
    assert (None, None) == (run.query, run.answer)
    assert '{"city": "Par' == run_of(agent(1), chat(2, parent=1, got=[says('{"city": "Par')])).answer


@pytest.mark.parametrize("size", [40, 64])
def test_what_was_hashed(size: int) -> None:
    """A hash in the place of the question is none, nor is that of the answer beside it; alone it may be the answer."""
    digest = "0123456789abcdef" * 4
    hashed = run_of(agent(1, **said(digest[:size], digest[-size:])))
    asked = run_of(agent(1, **said("What is its hash?", digest[:size])))
    assert (None, None, digest[:size]) == (hashed.query, hashed.answer, asked.answer)


def test_steps_of_a_run_that_failed_do_not_answer() -> None:
    """What a step of a failed run gave is no answer; what an agent in it answered is."""
    chain = {"openinference.span.kind": "CHAIN"}
    step = span(2, parent=1, attributes={**chain, "output.value": "I think."})
    for status, answered in ((2, None), (0, "I think.")):
        run = run_of(span(1, end=100, attributes=chain, status=status), step)
        assert answered == run.answer
    failed = span(1, end=2000, attributes=chain, status=2)
    assert "A" == run_of(failed, agent(2, parent=1, **said("Q", "A"))).answer


def test_what_asks_to_try_again_is_no_question() -> None:
    """Pydantic AI tells a model to try again with content or without: the question that is not recorded is not this."""
    silent = {"role": "user", "parts": [{"type": "text"}]}
    again = user("Validation feedback:\nNo.\n\nFix the errors and try again.")
    first = chat(2, parent=1, sent=[silent], got=[says("A")])
    assert None is run_of(agent(1), first, chat(20, parent=1, sent=[silent, says("A"), again], got=[says("B")])).query
