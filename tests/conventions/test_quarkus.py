"""Quarkus LangChain4j's spans: told by their names, with prompts of which the parts cannot be told apart."""

from __future__ import annotations

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import quarkus
from spanwise.model.content import Memo
from spanwise.model.raw import RawSpan, Scope
from tests.conventions.robustness import read_all, spans
from tests.making import run_of, span
from tests.recordings_io import made

MODEL = {"gen_ai.request.model": "m"}
KEYS = (
    "gen_ai.request.model", "gen_ai.prompt", "gen_ai.completion", "gen_ai.operation.name", "gen_ai.tool.name",
    "gen_ai.tool.call.result", "gen_ai.client.estimated_cost",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "attributes", "kind"),
    [
        ("langchain4j.aiservices.Assistant.ask", {}, "workflow"),
        ("completion m", MODEL, "llm"),
        ("langchain4j.tools.find", {"gen_ai.operation.name": "execute_tool"}, "tool"),
        ("completion of an order", {}, "other"),
        ("POST /chat/completions", {}, "other"),
    ],
)
def test_kinds(name: str, attributes: dict[str, object], kind: str) -> None:
    """Names tell, for the scope is that of all spans of the app."""
    assert kind == conventions.classify(made(name, scope=quarkus.SCOPE, attributes=attributes))[1]


@pytest.mark.parametrize(
    ("cost", "usd"), [("0.00005535USD", 0.00005535), ("5 EUR", None), ("?USD", None), (None, None)]
)
def test_cost(cost: str | None, usd: float | None) -> None:
    """What Quarkus reckons is text that ends in the currency."""
    told = {} if cost is None else {"gen_ai.client.estimated_cost": cost}
    assert usd == quarkus.llm(made("completion m", attributes=MODEL | told), Memo()).cost_usd


def test_a_tool_that_raised() -> None:
    """The exception is the failure, for the status is not set; what a tool returned as text is JSON within JSON."""
    event = ("exception", {"exception.type": "E", "exception.message": "no"})
    failed = quarkus.tool(made("langchain4j.tools.find", events=[event]), Memo())
    assert (True, "no") == (failed.failed, failed.message)
    done = quarkus.tool(made(attributes={"gen_ai.tool.call.result": '"[1]"'}), Memo())
    assert (False, "[1]") == (done.failed, done.result)


@pytest.mark.parametrize(("prompt", "asked"), [("Q", "Q"), ("Be good.\nQ", None)])
def test_prompts(prompt: str, asked: str | None) -> None:
    """A prompt of several lines may begin with instructions: the question is not told, and no switch would tell it."""
    scope = Scope(quarkus.SCOPE, "", {})
    held = {**MODEL, "gen_ai.prompt": prompt, "gen_ai.completion": "A"}
    run = run_of(
        span(1, name="langchain4j.aiservices.A.b", end=50, scope=scope),
        span(2, parent=1, name="completion m", attributes=held, scope=scope),
    )
    assert (asked, "A") == (run.query, run.answer)
    missing = {one.field: one for one in run.missing}
    assert (asked is None) is ("query" in missing and not missing["query"].switch)


def test_a_tool_that_does_not_exist() -> None:
    """It ends the run and leaves no span: that a model asked for some tool is all that is known."""
    scope = Scope(quarkus.SCOPE, "", {})
    asked = {**MODEL, "gen_ai.prompt": "Be good.\nQ", "gen_ai.response.finish_reasons": "TOOL_EXECUTION"}
    run = run_of(
        span(1, name="langchain4j.aiservices.A.b", end=50, scope=scope),
        span(2, parent=1, name="completion m", attributes=asked, scope=scope),
    )
    said = {one.field: one.why for one in run.missing}
    assert "A model asked for tools; its span does not say for which, nor what it gave them." == said["tool_calls"]
    assert "The run ended on a request for tools: no answer followed." == said["answer"]


@given(spans(quarkus.CONVENTION, keys=KEYS, words=("chat", "USD", "a\nb")))
def test_never_raises(given_span: RawSpan) -> None:
    """Whatever the attributes hold, nothing is raised."""
    assert read_all(quarkus.CONVENTION, given_span)
