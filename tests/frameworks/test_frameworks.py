"""Each framework for real: turned on, run by a stand-in model, read by spanwise, and off again after the undo."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frameworks.conftest import Driven

QUERY = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
CALLS = [
    ("search_docs", {"query": "population of France 2024"}),
    ("calculator", {"expression": "68.4 million * 0.1"}),
    ("calculator", {"expression": "68400000 * 0.1"}),
    ("search_docs", {"query": "population of France 2024"}),
]
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
OPENINFERENCE = "openinference.instrumentation"

Drive = Callable[..., Driven]


def check(driven: Driven, *, failed: str = "error") -> None:
    """The one run has the scenario's question, answer and calls, with what went in and what came out."""
    (run,) = driven.runs
    assert (QUERY, ANSWER) == (run.query, run.answer)
    calls = [call for call in run.tool_calls if call.name != "final_answer"]
    assert CALLS == [(call.name, call.arguments) for call in calls]
    assert ["ok", failed, "ok", "ok"] == [call.status for call in calls]
    results = [str(call.result) for call in calls]
    assert "INSEE" in results[0]
    assert "cannot parse" in results[1]
    assert "6840000" in results[2]
    assert {"research_agent"} == {agent.name for agent in run.agents}


def test_pydantic_ai(drive: Drive) -> None:
    """Pydantic AI's own instrumentation, of all agents."""
    driven = drive("pydantic_ai")
    check(driven, failed="retry")
    assert (["pydantic-ai: instrumented all agents (format 5)"], [], [0]) == (
        driven.did,
        driven.missing,
        driven.told["after"],
    )


@pytest.mark.parametrize(
    ("sample", "name"),
    [
        ("langgraph", "langchain"),
        ("llama_index", "llama-index"),
        ("openai_agents", "openai-agents"),
        ("smolagents", "smolagents"),
    ],
)
def test_openinference(drive: Drive, sample: str, name: str) -> None:
    """OpenInference's instrumentation, where it is installed; after the undo there are no more spans."""
    driven = drive(sample)
    check(driven)
    assert [f"{name}: instrumented by openinference-instrumentation-{name}"] == driven.did
    assert ([], [0]) == (driven.missing, driven.told["after"])
    assert [name] == driven.told["imported"]


def test_crewai(drive: Drive) -> None:
    """CrewAI's crews and tools, and what is needed for its model calls."""
    driven = drive("crewai")
    check(driven)
    assert ["crewai: instrumented by openinference-instrumentation-crewai"] == driven.did
    (missing,) = driven.missing
    assert missing.startswith("crewai: pip install openinference-instrumentation-openai, or ")
    assert [0] == driven.told["after"]


def test_google_adk(drive: Drive) -> None:
    """Google ADK records its runs itself, with content where the variable is set."""
    driven = drive("google_adk", **{CAPTURE: "SPAN_ONLY"})
    check(driven)
    assert (["google-adk: records its runs itself"], []) == (driven.did, driven.missing)


def test_google_adk_without_content(drive: Drive) -> None:
    """Without the variable the developer is told of it, and nothing is made up for the run."""
    driven = drive("google_adk")
    assert [f"google-adk: set {CAPTURE}=SPAN_ONLY to record content."] == driven.missing
    (run,) = driven.runs
    assert run.query is None
    assert ["search_docs", "calculator", "calculator", "search_docs"] == [call.name for call in run.tool_calls]


def test_strands(drive: Drive) -> None:
    """Strands records its runs itself, content included."""
    driven = drive("strands")
    check(driven)
    assert (["strands: records its runs itself"], []) == (driven.did, driven.missing)


@pytest.mark.parametrize(
    ("sample", "library", "other"),
    [
        ("langgraph", "langchain", "langchain"),
        ("llama_index", "llama_index", "llamaindex"),
        ("openai_agents", "openai_agents", "openai_agents"),
    ],
)
def test_openllmetry_where_openinference_is_not_installed(drive: Drive, sample: str, library: str, other: str) -> None:
    """OpenLLMetry comes second, and nothing of it is left after the undo."""
    driven = drive(sample, "--without", f"{OPENINFERENCE}.{library}")
    (run,) = driven.runs
    assert ANSWER == run.answer
    assert CALLS == [(call.name, call.arguments) for call in run.tool_calls]
    assert [f"instrumented by opentelemetry-instrumentation-{other}".replace("_", "-")] == [
        line.partition(": ")[2] for line in driven.did
    ]
    assert ([], [0]) == (driven.missing, driven.told["after"])


def test_opentelemetrys_own_comes_third(drive: Drive) -> None:
    """OpenTelemetry's own instrumentation is used where neither is there, and records content when told to."""
    without = ("--without", f"{OPENINFERENCE}.langchain", "--without", "opentelemetry.instrumentation.langchain")
    driven = drive("langgraph", *without, "--twice", **{CAPTURE: "SPAN_ONLY"})
    (run,) = driven.runs
    assert (QUERY, ANSWER) == (run.query, run.answer)
    assert CALLS == [(call.name, call.arguments) for call in run.tool_calls]
    assert ["langchain: instrumented by opentelemetry-instrumentation-genai-langchain"] == driven.did
    assert ([], driven.did) == (driven.missing, driven.told["again"]["did"])
    first, second = driven.told["after"]
    assert (True, 0) == (first > 0, second)


def test_what_is_needed_beside_is_said(drive: Drive) -> None:
    """OpenTelemetry's instrumentation of the OpenAI Agents SDK has no model calls without that of the client."""
    modules = (f"{OPENINFERENCE}.openai_agents", "opentelemetry.instrumentation.openai_agents")
    driven = drive("openai_agents", *(word for module in modules for word in ("--without", module)))
    assert ["openai-agents: instrumented by opentelemetry-instrumentation-genai-openai-agents"] == driven.did
    beside = "pip install opentelemetry-instrumentation-genai-openai, or model calls, the question and the answer"
    assert [
        f"openai-agents: set {CAPTURE}=SPAN_ONLY to record content.",
        f"openai-agents: {beside} are not recorded.",
    ] == driven.missing
    assert [0] == driven.told["after"]


def test_nothing_installed_says_what_to_install(drive: Drive) -> None:
    """Where no package can instrument a framework, the one to install is named, and the app runs as it did."""
    driven = drive("smolagents", "--without", f"{OPENINFERENCE}.smolagents")
    assert ([], ["smolagents: pip install openinference-instrumentation-smolagents."]) == (driven.did, driven.missing)
    assert ([], [0]) == (driven.runs, driven.told["after"])


def test_a_package_that_does_not_work_gives_way_to_the_next(drive: Drive) -> None:
    """An instrumentation that raises is said to, and the next one is used."""
    before = "import openinference.instrumentation.langchain as it; del it.LangChainInstrumentor"
    driven = drive("langgraph", "--before", before)
    check(driven)
    assert ["langchain: instrumented by opentelemetry-instrumentation-langchain"] == driven.did
    (missing,) = driven.missing
    assert missing.startswith("langchain: openinference-instrumentation-langchain does not work here (AttributeError")


def test_what_the_app_has_turned_on_is_left_alone(drive: Drive) -> None:
    """An instrumentation that is on stays the only one, and stays on after the undo."""
    module = "openinference.instrumentation.langchain"
    before = f"from {module} import LangChainInstrumentor as it; it().instrument(tracer_provider=provider)"
    driven = drive("langgraph", "--before", before)
    check(driven)
    assert [f"langchain: left alone, instrumented already by {module}"] == driven.did
    assert driven.told["spans"] == driven.told["after"][0]


def test_hidden_content_is_said_of_what_is_left_alone(drive: Drive) -> None:
    """The switch that hides content is named, whoever turned the instrumentation on."""
    module = "openinference.instrumentation.smolagents"
    before = f"from {module} import SmolagentsInstrumentor as it; it().instrument(tracer_provider=provider)"
    driven = drive("smolagents", "--before", before, OPENINFERENCE_HIDE_INPUTS="true")
    assert ["smolagents: unset OPENINFERENCE_HIDE_INPUTS to record content."] == driven.missing


def test_logfire_in_charge_is_left_alone(drive: Drive) -> None:
    """Where Logfire wraps the OpenAI Agents SDK, no second instrumentation is turned on."""
    before = (
        "import logfire; logfire.configure(send_to_logfire=False, console=False, metrics=False);"
        "logfire.instrument_openai_agents()"
    )
    driven = drive("openai_agents", "--before", before)
    assert ["openai-agents: left alone, Logfire records it"] == driven.did
    assert ([], 0) == (driven.missing, driven.told["spans"])


def test_switches_of_the_openai_agents_sdk_are_said(drive: Drive) -> None:
    """Tracing that is off, and content that is off, are told with the way to turn them on."""
    driven = drive(
        "openai_agents",
        "--before",
        "import agents; agents.set_tracing_disabled(True)",
        OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA="false",
    )
    assert [
        "openai-agents: set_tracing_disabled(False), or its runs leave no spans.",
        "openai-agents: unset OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA to record content.",
    ] == driven.missing


def test_two_targets_share_one_instrumentation(drive: Drive) -> None:
    """Turned on for two agents it is on once, and off when both are undone."""
    driven = drive("smolagents", "--twice")
    check(driven)
    assert driven.did == driven.told["again"]["did"]
    assert [driven.told["spans"], 0] == driven.told["after"]
