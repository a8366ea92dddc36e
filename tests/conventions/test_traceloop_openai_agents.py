"""OpenAI's agents under OpenLLMetry's first releases: each agent's span is a request to the model."""

from __future__ import annotations

from spanwise import conventions
from spanwise.conventions import traceloop
from spanwise.model.calls import Tokens
from spanwise.model.content import Memo, Message, Messages, Part
from spanwise.model.raw import Scope
from spanwise.model.trace import Run
from tests.making import run_of, span
from tests.recordings_io import made

SCOPE = "opentelemetry.instrumentation.openai_agents"
REQUEST = {"traceloop.span.kind": "agent", "openai.agent.reset_tool_choice": True}


def test_kinds() -> None:
    """Requests and offered tools are told by what later releases do not write on agents and calls."""
    offer = {"traceloop.span.kind": "tool", "gen_ai.completion.tool.type": "FunctionTool"}
    shapes = (REQUEST, offer, {**offer, "gen_ai.tool.name": "search"}, {"traceloop.span.kind": "agent"})
    assert ["llm", "other", "tool", "agent"] == [traceloop.kind(made(scope=SCOPE, attributes=one)) for one in shapes]


def test_messages() -> None:
    """The question is numbered, the answer a list of texts; a request for tools has none."""
    sent = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "How many?"}
    question = (Message("user", (Part("text", "How many?"),)),)
    answer = (Message("assistant", (Part("text", "Three."),)),)
    said = made(scope=SCOPE, attributes={**REQUEST, **sent, "gen_ai.completion.contents": ["Three."]})
    dialect, _ = conventions.classify(said)
    assert Messages(question, answer) == conventions.messages(said, Memo(), dialect)
    assert answer == traceloop.output(said, Memo())
    asked = made(scope=SCOPE, attributes={**REQUEST, **sent, "gen_ai.completion.types": ["function_call"]})
    assert Messages(question) == conventions.messages(asked, Memo(), dialect)


def test_requests_of_openais_agents_in_openllmetrys_first_releases() -> None:
    """Each span is a request to the model; the tools that it was offered are no calls, nor known those it asked for."""
    scope = Scope("opentelemetry.instrumentation.openai_agents", "0.41.0", {})
    sent = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "How many?", "gen_ai.usage.prompt_tokens": 44}
    own = {"traceloop.span.kind": "agent", "gen_ai.agent.name": "helper", "openai.agent.reset_tool_choice": True}
    offered = {"traceloop.span.kind": "tool", "gen_ai.completion.tool.name": "search"}
    offer = span(9, parent=2, attributes={**offered, "gen_ai.completion.tool.type": "FunctionTool"}, scope=scope)

    def ran(*got: dict[str, object]) -> Run:
        requests = [span(n, parent=1, attributes={**own, **sent, **one}, scope=scope) for n, one in enumerate(got, 2)]
        return run_of(span(1, attributes={"traceloop.span.kind": "workflow"}, scope=scope), offer, *requests)

    asks: dict[str, object] = {"gen_ai.completion.types": ["message", "function_call"]}
    asks["gen_ai.completion.contents"] = ["Let me see."]
    says: dict[str, object] = {"gen_ai.completion.types": ["message"], "gen_ai.completion.contents": ["Three."]}
    run = ran(asks, says)
    assert ("How many?", "Three.", ()) == (run.query, run.answer, run.tool_calls)
    assert (["helper"], 2, Tokens(88, None)) == ([one.name for one in run.agents], len(run.llm_calls), run.tokens)
    (found,) = run.missing
    assert ("tool_calls", True) == (found.field, found.switch.endswith("0.46 or newer."))
    assert ("Three.", ()) == (ran(says).answer, ran(says).missing)
    assert "The run ended on a request for tools: no answer followed." in [one.why for one in ran(asks).missing]
