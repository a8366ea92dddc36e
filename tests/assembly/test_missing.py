"""What the spans do not tell, and the switch that would make them tell it."""

from __future__ import annotations

import json

from spanwise.model.calls import Missing
from spanwise.model.raw import RawEvent, RawSpan, Scope
from spanwise.model.trace import Run
from tests.making import agent, asks, chat, returns, run_of, says, span, tool, user

GENAI = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
WHOLE = {
    "gen_ai.input.messages": json.dumps([user("Q")]),
    "gen_ai.output.messages": json.dumps([says("A")]),
}


def fields(run: Run) -> list[str]:
    """The fields that are missing."""
    return [item.field for item in run.missing]


def test_nothing_is_missing() -> None:
    """A run that tells everything misses nothing; control tools need no arguments."""
    run = run_of(
        agent(1, **WHOLE),
        chat(2, parent=1, tokens=(1, 1)),
        tool(3, parent=1, arguments={"q": 1}, result="r"),
        tool(4, parent=1, name="final_answer"),
    )
    assert () == run.missing


def test_spans_of_no_dialect() -> None:
    """A run of which no span is understood says that, and nothing else."""
    (only,) = run_of(span(1), span(2, parent=1)).missing
    assert ("spans", "Instrument the framework (`spanwise doctor` lists how).") == (only.field, only.switch)
    assert str(only) == f"{only.why} {only.switch}"


def test_content_that_was_not_recorded() -> None:
    """Question, answer, arguments and results that are off name the switch of the instrumentation."""
    run = run_of(agent(1), chat(2, parent=1, tokens=(1, 1)), tool(3, parent=1), tool(4, parent=1, name="b"))
    assert ["query", "answer", "arguments", "results"] == fields(run)
    assert all(GENAI in item.switch for item in run.missing)
    assert ["Arguments are not recorded for 2 tool calls (search, b)."] == [
        item.why for item in run.missing if item.field == "arguments"
    ]


def test_long_lists_are_cut() -> None:
    """Names stand once each, three at most."""
    names = ["a", "a", "b", "c", "d"]
    run = run_of(agent(1, **WHOLE), *(tool(n, parent=1, name=name) for n, name in enumerate(names, start=2)))
    assert "Arguments are not recorded for 5 tool calls (a, b, c, ...)." in [item.why for item in run.missing]
    alone = run_of(agent(1, **WHOLE), tool(2, parent=1, name="a"))
    assert "Arguments are not recorded for 1 tool call (a)." in [item.why for item in alone.missing]


def test_masked_content_is_said_to_be_removed() -> None:
    """A mask in the place of the question or the answer was put there on purpose: no switch would help."""
    masked = {
        "gen_ai.input.messages": json.dumps([user("[REDACTED]")]),
        "gen_ai.output.messages": json.dumps([says("[REDACTED]")]),
    }
    run = run_of(agent(1, **masked), chat(2, parent=1, tokens=(1, 1)))
    assert {
        Missing(field="query", why="What the user asked was removed from the spans."),
        Missing(field="answer", why="The answer was removed from the spans."),
    } <= set(run.missing)


def test_an_answer_that_never_came() -> None:
    """A run that ended on a request for tools has no answer to record: no switch would help."""
    asked = {"gen_ai.input.messages": json.dumps([user("Q")])}
    run = run_of(agent(1, **asked), chat(2, parent=1, got=[asks(("c1", "a", {"b": 1}))], tokens=(1, 1)))
    why = "The run ended on a request for tools: no answer followed."
    assert [Missing(field="answer", why=why)] == [one for one in run.missing if one.field == "answer"]


def test_an_answer_after_a_failed_model_call() -> None:
    """A run whose last model call failed has no answer to record, though the agent's span tells of no failure."""
    asked = {"gen_ai.input.messages": json.dumps([user("Q")])}
    failing = chat(9, parent=1)
    failing.status_code = 2
    run = run_of(agent(1, **asked), chat(2, parent=1, got=[asks(("c1", "a", {}))], tokens=(1, 1)), failing)
    why = "The last model call failed: no answer followed."
    assert [Missing(field="answer", why=why)] == [one for one in run.missing if one.field == "answer"]


def test_an_empty_answer() -> None:
    """A model that answered without a word was recorded whole; what only thought, or is not recorded, was not."""
    asked = {"gen_ai.input.messages": json.dumps([user("Q")])}
    for parts, why in (
        ([], "The last model call answered without a word."),
        ([{"type": "text", "content": ""}], "The last model call answered without a word."),
        ([{"type": "reasoning", "content": "Hm."}], "No span records the final answer."),
    ):
        said = {"role": "assistant", "parts": parts}
        run = run_of(agent(1, **asked), chat(2, parent=1, got=[said], tokens=(1, 1)))
        assert [why] == [one.why for one in run.missing if one.field == "answer"]


def test_arguments_that_are_no_json() -> None:
    """Arguments in which the model broke off stand as it wrote them: no switch would give others."""
    asked = {"gen_ai.input.messages": json.dumps([user("Q")])}
    call = {"type": "tool_call", "id": "c1", "name": "a", "arguments": '{"b": 1, "c": '}
    run = run_of(agent(1, **asked), chat(2, parent=1, got=[{"role": "assistant", "parts": [call]}], tokens=(1, 1)))
    (found,) = (one for one in run.missing if one.field == "arguments")
    assert ("The arguments of 1 tool call (a) are no whole JSON: the model broke off, or their text was cut.", "") == (
        found.why, found.switch
    )  # fmt: skip
    assert ['{"b": 1, "c": '] == [one.arguments for one in run.tool_calls]


def test_requests_that_are_left_out() -> None:
    """A model that ended its answer to have tools called asked for some, though its span does not say for which."""
    why = "A model asked for tools; its span does not say for which, nor what it gave them."
    for more in ({}, {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": []}])}):
        said = {**more, "gen_ai.response.finish_reasons": ["tool_calls"]}
        model = chat(2, parent=1, sent=[user("Q")], tokens=(1, 1))
        model.attributes = {**model.attributes, **said}
        run = run_of(agent(1, **{"gen_ai.input.messages": json.dumps([user("Q")])}), model)
        assert [
            Missing(field="answer", why="The run ended on a request for tools: no answer followed."),
            Missing(field="tool_calls", why=why),
        ] == list(run.missing)


def test_a_run_that_only_embeds() -> None:
    """An app that has texts embedded asks nobody anything: no switch would record a question, nor a model call."""
    run = run_of(span(1, attributes={"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "m"}))
    assert {"query", "answer", "llm_calls", "tokens"} == {one.field for one in run.missing}
    assert {("Texts were embedded here, and no model was asked anything.", "")} == {
        (one.why, one.switch) for one in run.missing
    }
    lacking = [run.lacks(*fields) for fields in (("answer", "query"), ("arguments",))]
    assert [run.missing[1], None] == lacking


def test_requests_that_the_client_would_tell() -> None:
    """OpenLLMetry leaves out what models of LangChain's or LlamaIndex's ask for in JavaScript: the client tells it."""
    for scope in ("@traceloop/instrumentation-langchain", "@traceloop/instrumentation-llamaindex"):
        model = chat(2, parent=None, sent=[user("Q")], got=[says("")], tokens=(1, 1))
        model.attributes = {**model.attributes, "gen_ai.response.finish_reasons": ["tool_calls"]}
        model.scope = Scope(scope, "0.27.0", {})
        (found,) = (one for one in run_of(model).missing if one.field == "tool_calls")
        assert "Instrument the model client as well as the agent framework." == found.switch


def test_results_that_never_came() -> None:
    """Of what a run asked for in its end no result could be recorded; of what it asked for before one could."""
    first = chat(2, parent=1, got=[asks(("c1", "a", {"b": 1}))], tokens=(1, 1))
    why = "The run ended on a request for tools: no result followed."
    assert [Missing(field="results", why=why)] == [one for one in run_of(first).missing if one.field == "results"]
    silent = run_of(agent(1, **WHOLE), first, chat(9, parent=1, got=[asks(("c2", "b", {}))], tokens=(1, 1)))
    (found,) = (one for one in silent.missing if one.field == "results")
    assert ("Results are not recorded for 1 tool call (a).", True) == (found.why, GENAI in found.switch)
    ran = run_of(agent(1, **WHOLE), first, tool(3, parent=1, name="a", call_id="c1", arguments={"b": 1}))
    (found,) = (one for one in ran.missing if one.field == "results")
    assert GENAI in found.switch


def test_results_of_a_pause() -> None:
    """A tool in which the run waits for a human returns nothing yet; another one's result could be recorded."""
    asked = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask", "error.type": "GraphInterrupt"}
    waits = span(2, parent=1, name="execute_tool ask", attributes=asked, status=2)
    why = "The run was paused in 1 tool call (ask): no result followed."
    found = run_of(agent(1, **WHOLE), waits).missing
    assert [Missing(field="results", why=why)] == [one for one in found if one.field == "results"]
    silent = run_of(agent(1, **WHOLE), waits, tool(3, parent=1, name="a", arguments={"b": 1}))
    (told,) = (one for one in silent.missing if one.field == "results")
    assert ("Results are not recorded for 1 tool call (a).", True) == (told.why, GENAI in told.switch)


def test_no_tokens_of_calls_that_failed() -> None:
    """Where every model call failed no usage was reported; where one did not, its client may report it."""
    failed = span(2, parent=1, attributes={"gen_ai.operation.name": "chat"}, status=2)
    (found,) = (one for one in run_of(agent(1, **WHOLE), failed).missing if one.field == "tokens")
    assert Missing(field="tokens", why="Every model call failed: there are no tokens to count.") == found
    (found,) = (one for one in run_of(agent(1, **WHOLE), failed, chat(5, parent=1)).missing if one.field == "tokens")
    assert "include_usage" in found.switch


def test_tokens_of_some_calls() -> None:
    """Sums over a part of the model calls are said to be that; a call that failed used nothing that is known."""
    failed = span(9, parent=1, attributes={"gen_ai.operation.name": "chat"}, status=2)
    counted, silent = chat(2, parent=1, got=[says("A")], tokens=(1, 1)), chat(5, parent=1, got=[says("B")])
    (found,) = (one for one in run_of(agent(1), counted, failed, silent).missing if one.field == "tokens")
    why = "1 of 2 model calls count no tokens: the sums are of the others."
    assert (why, True) == (found.why, "include_usage" in found.switch)
    assert not [one for one in run_of(agent(1), counted, failed).missing if one.field == "tokens"]


def test_a_stream_that_was_given_up() -> None:
    """A model call without answer and tokens, beside others that have theirs, was left: no switch would help."""
    asked = {"gen_ai.input.messages": json.dumps([user("Q")])}
    first = chat(2, parent=1, got=[asks(("c1", "a", {"b": 1}))], tokens=(1, 1))
    done = tool(20, parent=1, name="a", call_id="c1", arguments={"b": 1}, result="r")
    run = run_of(agent(1, **asked), first, done, chat(50, parent=1, sent=[user("Q")]))
    left = "The last model call has no answer, though others have theirs: it failed, or its stream was given up."
    some = "1 of 2 model calls count no tokens: the sums are of the others."
    assert [Missing(field="answer", why=left), Missing(field="tokens", why=some)] == list(run.missing)


def test_names_without_content() -> None:
    """Where others tell no more than the names of the tools that they ask for, content is off, and nothing was left."""
    first = chat(2, parent=1, got=[{"role": "assistant", "parts": [{"type": "tool_call", "name": "a", "id": "c1"}]}])
    (found,) = (one for one in run_of(agent(1), first, chat(5, parent=1)).missing if one.field == "answer")
    assert ("No span records the final answer.", True) == (found.why, "CAPTURE_MESSAGE_CONTENT" in found.switch)


def test_parts_without_content() -> None:
    """Parts of which no more than the type is recorded tell neither that no tool was asked for nor an answer."""
    for part in ({"type": "tool_call", "id": "c1"}, {"type": "text"}):
        bare = {"role": "assistant", "parts": [part]}
        run = run_of(
            agent(1), chat(2, parent=1, got=[{"role": "assistant", "parts": [{"type": "tool_call", "id": "c0"}]}])
        )
        run = run_of(agent(1), *(one.raw for one in run.spans[1:]), chat(5, parent=1, got=[bare]))
        found = {one.field: one for one in run.missing}
        assert found["tool_calls"].why.startswith("No tool call is recorded; what the models answered is not")
        assert "No span records the final answer." == found["answer"].why
        assert "CAPTURE_MESSAGE_CONTENT" in found["answer"].switch == found["tool_calls"].switch


def test_agents_that_end_on_a_request() -> None:
    """Where no model call left a span, the agent's own messages tell that it ended on requests for tools."""
    said = [user("Q"), says("Looking."), asks(("c1", "a", {"b": 1})), asks(("c2", "a", {"b": 2}))]
    run = run_of(agent(1, **{"gen_ai.output.messages": json.dumps(said)}))
    found = {one.field: one.why for one in run.missing}
    assert "The run ended on a request for tools: no answer followed." == found["answer"]
    assert "The run ended on a request for tools: no result followed." == found["results"]


def test_agents_whose_client_is_not_instrumented() -> None:
    """OpenLLMetry's spans of chat completions have neither answer nor tokens: those of the client have."""
    scope = Scope("opentelemetry.instrumentation.openai_agents", "0.62", {})
    fields = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps([user("Q")])}
    run = run_of(agent(1), span(2, parent=1, attributes=fields, scope=scope))
    switches = {one.field: one.switch for one in run.missing}
    assert switches["answer"] == switches["tokens"]
    assert switches["tokens"].startswith("Install opentelemetry-instrumentation-openai as well")


def test_results_nobody_can_have() -> None:
    """A failed call and one that did not run have no result to record."""
    run = run_of(
        agent(1, **WHOLE),
        chat(2, parent=1, got=[asks(("c9", "gone", {"a": 1}))], tokens=(1, 1)),
        tool(20, parent=1, arguments={"a": 1}, failed=True),
        chat(40, parent=1, sent=[user("Q"), returns(("c8", 1))], got=[says("A")], tokens=(1, 1)),
    )
    assert ["not_run", "error"] == [call.status for call in run.tool_calls]
    assert () == run.missing


def test_no_answer_of_a_failed_run() -> None:
    """A run that ended in a failure has no answer to miss."""
    broken = agent(1, **{"gen_ai.input.messages": json.dumps([user("Q")])})
    broken.status_code = 2
    silent = chat(2, parent=1, got=[says("")], tokens=(1, 1))
    assert "answer" not in fields(run_of(broken, silent))
    broken.status_code = 1
    assert ["answer"] == fields(run_of(broken, silent))


def test_no_root_to_fail() -> None:
    """A trace without an agent may miss its answer."""
    assert ["query", "answer"] == fields(run_of(chat(1, parent=None, got=[says("")], tokens=(1, 1))))


def test_calls_that_nobody_could_see() -> None:
    """No tool call among model calls whose answers are not recorded says nothing; a failed one asked for none."""
    spans = [agent(1, **WHOLE), chat(2, parent=1, got=[says("A")], tokens=(1, 1)), chat(3, parent=1, tokens=(1, 1))]
    run = run_of(*spans)
    assert ["No tool call is recorded; what the models answered is not, they may have asked for some."] == [
        item.why for item in run.missing
    ]
    assert ("tool_calls", "") == (run.missing[0].field, run.missing[0].switch)  # the other one's answer is recorded
    (silent,) = run_of(spans[0], spans[2]).missing
    assert GENAI in silent.switch
    assert () == run_of(*spans, tool(4, parent=1, arguments={}, result="r")).missing
    spans[2].status_code = 2
    assert () == run_of(*spans).missing


def test_model_calls_that_an_agent_holds() -> None:
    """Model calls without spans of their own are told by the answer of the run."""
    said = {"gen_ai.output.messages": json.dumps([says("A")])}
    details = RawEvent("gen_ai.client.inference.operation.details", 3, {"gen_ai.usage.input_tokens": 5})
    for attributes, expected in (({}, True), (said, False)):
        more = {"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "m", **attributes}
        scope = Scope("gcp.vertex.agent", "2", {})
        run = run_of(span(1, name="invoke_agent helper", attributes=more, events=[details], scope=scope))
        assert 1 == len(run.llm_calls)
        assert expected == ("tool_calls" in fields(run))


def test_model_calls_and_tokens() -> None:
    """Without model spans there are no tokens either, whatever the client reports: it is to be instrumented."""
    run = run_of(agent(1, **WHOLE))
    assert [
        Missing(
            field="llm_calls",
            why="No model call left a span.",
            switch="Instrument the model client as well as the agent framework.",
        ),
        Missing(
            field="tokens",
            why="No span counts tokens.",
            switch="Instrument the model client as well as the agent framework.",
        ),
    ] == list(run.missing)


def test_documents() -> None:
    """A retrieval whose documents are not recorded is named."""
    bare = span(3, parent=1, attributes={"gen_ai.operation.name": "retrieval"})
    assert ["documents"] == fields(run_of(agent(1, **WHOLE), chat(2, parent=1, got=[says("A")], tokens=(1, 1)), bare))


def test_a_dialect_without_a_switch() -> None:
    """What speaks the generic dialect only names the generic switch, though nothing but a tool's name is there."""
    run = run_of(span(1, attributes={"gen_ai.tool.name": "x"}))
    assert ["query", "answer", "arguments", "results", "llm_calls", "tokens"] == fields(run)
    assert GENAI in run.missing[0].switch


def test_functions_that_google_calls_by_itself() -> None:
    """One span stands for several model calls; what OpenLLMetry records of them does not even tell of the tools."""

    def found(scope: str, *more: RawSpan, sent: object = None, **content: object) -> list[str]:
        asked = chat(2, parent=1, tokens=(7, 3), sent=sent or [user("Q")], got=[says("A")], **content)
        asked.scope = Scope(f"opentelemetry.instrumentation.{scope}", "1", {})
        run = run_of(agent(1, **WHOLE), asked, *more)
        assert (bool(run.missing), run.models) == (not run.llm_calls, ("gpt-4o-mini",))
        return fields(run)

    ran = tool(3, parent=2, arguments={}, result=1)
    assert ["llm_calls", "tokens"] == found("google_genai", ran) == found("google_generativeai", ran)
    names = {"gen_ai.tool.definitions": json.dumps([{"name": "search"}])}
    assert ["llm_calls", "tool_calls", "tokens"] == found("google_generativeai", **names)
    assert [] == found("google_genai", **names) == found("google_generativeai")
    declared = {"gen_ai.tool.definitions": json.dumps([{"name": "search", "description": "Search."}])}
    assert [] == found("google_generativeai", **declared)
    seen = [user("Q"), asks(("c1", "search", {})), returns(("c1", 1))]
    assert [] == found("google_generativeai", sent=seen, **names)


def test_a_setting_that_is_on_is_not_recommended() -> None:
    """OpenLLMetry records all content that it can or none: where a question is recorded, no setting brings the rest."""
    scope = Scope("opentelemetry.instrumentation.openai_agents", "0.46.1", {})
    called = {"traceloop.span.kind": "tool", "gen_ai.tool.name": "search"}
    asked = {"traceloop.span.kind": "workflow", "traceloop.entity.input": "Q"}
    answered = {**asked, "traceloop.entity.output": "A"}
    without = {"traceloop.span.kind": "workflow"}

    def switches(root: dict[str, object]) -> list[str]:
        spans = span(1, scope=scope, attributes=root, end=9), span(2, parent=1, scope=scope, attributes=called)
        return [item.switch for item in run_of(*spans).missing if item.field == "results"]

    assert [""] == switches(answered)
    assert ["Set TRACELOOP_TRACE_CONTENT=true."] == switches(without)


def test_a_retriever_alone() -> None:
    """Where only a retriever was asked something, and that is recorded, no switch would tell of a question."""
    searched = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "France"}
    switches = {one.field: one.switch for one in run_of(span(1, attributes=searched)).missing}
    assert ("", "") == (switches["query"], switches["answer"])
    silent = run_of(span(1, attributes={"gen_ai.operation.name": "retrieval"}))
    assert all(GENAI in one.switch for one in silent.missing if one.field in {"query", "answer", "documents"})


def test_what_a_coworker_did() -> None:
    """OpenLLMetry tells the conversation of CrewAI's tasks only: what an agent did for another one stands nowhere."""
    scope = Scope("opentelemetry.instrumentation.crewai.instrumentation", "", {})
    roles = {"traceloop.span.kind": "agent", "gen_ai.operation.name": "invoke_agent"}
    boss, helper = ({**roles, "gen_ai.agent.name": name} for name in ("boss", "helper"))
    alone = run_of(span(1, attributes=boss, scope=scope))
    assert "tool_calls" not in fields(alone)
    run = run_of(span(1, attributes=boss, scope=scope), span(2, parent=1, attributes=helper, scope=scope))
    (found,) = (one for one in run.missing if one.field == "tool_calls")
    assert found.why.startswith("What an agent did for the one that gave it work is not recorded")


def test_tokens_that_a_limit_took_away() -> None:
    """Where attributes were dropped a limit is to be raised; a call that counts one kind of two is not whole."""
    counted = chat(2, parent=1, tokens=(1, 1))
    half = chat(20, parent=1, **{"gen_ai.usage.input_tokens": 1})
    said = {one.field: one for one in run_of(agent(1), counted, half).missing}
    assert "1 of 2 model calls count no tokens: the sums are of the others." == said["tokens"].why
    assert "include_usage" in said["tokens"].switch
    half.dropped = 3
    said = {one.field: one for one in run_of(agent(1), counted, half).missing}
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in said["tokens"].switch
