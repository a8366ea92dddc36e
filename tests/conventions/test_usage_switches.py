"""Tokens that are not counted, and what to do about them."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from spanwise.conventions import _genai_scopes
from spanwise.conventions._usage_switches import usage_switch
from spanwise.model.raw import Scope
from tests.making import agent, chat, run_of, says, user
from tests.recordings_io import made

CLAUDE = "@arizeai/openinference-instrumentation-claude-agent-sdk"
LANGCHAIN = "@traceloop/instrumentation-langchain"


def test_gemini_streamed_under_langfuse() -> None:
    """What LangChain in JavaScript counts of Gemini's streams cannot be told apart: no reporting is off."""
    google = {"langfuse.observation.metadata.ls_provider": "google_genai"}
    assert "do not stream" in (usage_switch(made(scope="langfuse-sdk", attributes=google)) or "")
    assert usage_switch(made(scope="langfuse-sdk", attributes={"langfuse.observation.type": "generation"})) is None


@pytest.mark.parametrize(("provider", "said"), [("anthropic", ["tokens"]), ("openai", [])])
def test_a_cache_that_is_left_out_by_langchain(provider: str, said: list[str]) -> None:
    """Anthropic counts cached tokens beside the input: where they are not recorded, that is said of the sums."""
    asked = chat(5, parent=1, sent=[user("Q")], got=[says("A")], tokens=(3, 1), **{"gen_ai.provider.name": provider})
    run = run_of(agent(1), replace(asked, scope=Scope(LANGCHAIN, "", {})))
    assert said == [one.field for one in run.missing]
    assert run.tokens is not None
    assert 3 == run.tokens.input


def test_a_cache_that_is_left_out_of_an_agents_totals() -> None:
    """OpenInference's of the Claude Agent SDK in JavaScript does so, too."""
    told = {"openinference.span.kind": "AGENT", "input.value": "Q", "output.value": "A", "llm.token_count.prompt": 3}
    spans = made("ClaudeAgent.query", scope=CLAUDE, attributes=told)
    assert {"llm_calls", "tokens"} == {one.field for one in run_of(spans).missing}


def test_tokens_that_instrumentations_in_javascript_do_not_count() -> None:
    """Whatever the client reports, some streams are recorded without tokens: another way to call the model helps."""
    chat, model = {"gen_ai.operation.name": "chat"}, {"gen_ai.response.model": "m"}
    streamed = {"llm.invocation_parameters": json.dumps({"stream": True}, separators=(",", ":"))}
    openinference = "@arizeai/openinference-instrumentation-openai"
    found = [
        usage_switch(made(scope=scope, attributes={**chat, **more}))
        for scope, more in (
            *((_genai_scopes.OPENAI_JS, more) for more in ({}, model)),
            *((openinference, more) for more in (streamed, {})),
            *((scope, {}) for scope in (_genai_scopes.LANGCHAIN_JS, "other")),
        )
    ]
    expected = [
        "OpenLLMetry records nothing",
        None,
        "OpenInference counts no tokens",
        None,
        "Instrument the model",
        None,
    ]
    assert expected == [said and said[: len(begin or "")] for said, begin in zip(found, expected, strict=True)]
