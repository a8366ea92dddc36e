"""Model calls that an agent's span holds, and failures that no status shows."""

from __future__ import annotations

from spanwise.model.raw import RawEvent, RawSpan, Scope
from spanwise.report.outline import outline
from tests.making import agent, chat, run_of, span

ADK = Scope("gcp.vertex.agent", "2", {})
DETAILS = "gen_ai.client.inference.operation.details"


def bridged(*tokens: tuple[int, int]) -> RawSpan:
    """An agent of ADK on whose span OpenInference left its last model call; its log events tell the tokens."""
    events = [
        RawEvent(DETAILS, 10 + at, {"gen_ai.usage.input_tokens": sent, "gen_ai.usage.output_tokens": got})
        for at, (sent, got) in enumerate(tokens)
    ]
    attributes = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.agent.name": "helper",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 3,
        "openinference.span.kind": "LLM",
        "llm.token_count.prompt": 30,
        "llm.token_count.completion": 3,
    }
    return span(2, parent=1, name="invoke_agent helper", attributes=attributes, events=events, scope=ADK, end=900)


def test_calls_held_by_an_agent() -> None:
    """Each log event is a model call with its own tokens, over when the event was written."""
    run = run_of(agent(1), bridged((10, 1), (20, 2), (30, 3)))
    assert [(10, 10, 1), (11, 20, 2), (12, 30, 3)] == [
        (call.end_ns, call.tokens.input, call.tokens.output) for call in run.llm_calls
    ]
    assert (("gpt-4o-mini",), 60, 6) == (run.models, run.tokens and run.tokens.input, run.tokens and run.tokens.output)


def test_calls_that_nothing_tells() -> None:
    """Without log events neither the calls nor their tokens are known: what the span says is the last one's."""
    run = run_of(agent(1), bridged())
    assert () == run.llm_calls
    assert run.tokens is None
    assert ("gpt-4o-mini",) == run.models
    assert {"llm_calls", "tokens"} <= {item.field for item in run.missing}


def test_calls_held_beside_calls_with_spans() -> None:
    """Both kinds are counted, by start, and the tree shows those that have spans."""
    run = run_of(agent(1), bridged((10, 1)), chat(5, parent=1, tokens=(7, 7)))
    assert [7, 10] == [call.tokens.input for call in run.llm_calls]
    assert outline(run)


def test_held_calls_that_have_spans() -> None:
    """Where the client's instrumentation gave each held call a span below the agent's, each is counted once."""

    def asked(number: int, start: int, end: int) -> RawSpan:
        usage = {"gen_ai.usage.input_tokens": number, "gen_ai.usage.output_tokens": 1}
        said = {"gen_ai.operation.name": "chat", **usage}
        return span(number, parent=2, start=start, end=end, attributes=said)

    run = run_of(agent(1), bridged((10, 1), (20, 2)), asked(30, 4, 9), asked(31, 10, 11))
    assert [30, 31] == [call.tokens.input for call in run.llm_calls]
    run = run_of(agent(1), bridged((10, 1), (20, 2)), asked(30, 4, 9), asked(31, 50, 60))
    assert [30, 10, 20, 31] == [call.tokens.input for call in run.llm_calls]


def langsmith(number: int, kind: str, *, events: tuple[RawEvent, ...] = ()) -> RawSpan:
    """A run of LangSmith, whose status is always OK."""
    return span(number, parent=1, name=kind, attributes={"langsmith.span.kind": kind}, status=1, events=events)


def test_failures_in_events() -> None:
    """LangSmith's status says OK whatever happened; the exception event tells of model calls, retrievals and spans."""
    raised = (RawEvent("exception", 5, {"exception.type": "Exception", "exception.message": "ValueError('no')"}),)
    run = run_of(
        agent(1), langsmith(5, "llm"), langsmith(6, "llm", events=raised), langsmith(7, "retriever", events=raised)
    )
    assert [False, True] == [call.failed for call in run.llm_calls]
    assert [True] == [item.failed for item in run.retrievals]
    facts = run.trace.facts
    assert ["ok", "error"] == [facts.status(item) for item in run.by_kind["llm"]]
    assert [None, "no"] == [said and said.message for said in map(facts.span_error, run.by_kind["llm"])]


def test_failures_in_levels() -> None:
    """Langfuse's level tells of a failure where the status is unset."""
    attributes = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.level": "ERROR",
        "langfuse.observation.status_message": "no answer",
    }
    failed = span(5, parent=1, attributes=attributes)
    run = run_of(agent(1), failed)
    assert [True] == [call.failed for call in run.llm_calls]
    assert "error" == run.trace.facts.status(run.by_kind["llm"][0])
    said = run.trace.facts.span_error(run.by_kind["llm"][0])
    assert said is not None
    assert "no answer" == said.message


def test_a_held_call_that_failed() -> None:
    """A log event that tells neither tokens nor how the call ended stands for one that failed: nothing is missing."""
    bridge = bridged((10, 1))
    bridge.events = (*bridge.events, RawEvent(DETAILS, 20, {}))
    run = run_of(agent(1), bridge)
    assert [False, True] == [call.failed for call in run.llm_calls]
    assert [] == [item for item in run.missing if item.field == "tokens"]
