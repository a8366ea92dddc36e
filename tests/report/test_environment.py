"""What is found in an environment."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from spanwise.report.environment import Content, Environment, look, normal

SDK = {"opentelemetry-sdk": "1.45.2", "msgspec": "0.22", "left-pad": "1"}
SENT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
EXPORTER = {"opentelemetry-exporter-otlp-proto-http": "1.45"}


def seen(installed: Mapping[str, str], environ: Mapping[str, str] | None = None) -> Environment:
    """What is found with these packages, beside the SDK and an exporter that is configured."""
    return look(installed={**SDK, **EXPORTER, **installed}, environ={**SENT, **(environ or {})})


def test_an_instrumented_framework_misses_nothing() -> None:
    """A framework with its instrumentation, content recorded and a destination leaves nothing to say."""
    found = seen({"langgraph": "1.2", "openinference-instrumentation-langchain": "0.1"})
    (framework,) = found.frameworks
    assert ((), {"openinference-instrumentation-langchain": "0.1"}, "") == (
        found.missing,
        framework.instrumentations,
        framework.pip,
    )


def test_a_bare_framework_gets_its_pip_line() -> None:
    """A framework that nothing instruments is named with the line that changes it."""
    assert ("CrewAI (crewai) is not instrumented: pip install openinference-instrumentation-crewai",) == seen(
        {"crewai": "1.15"}
    ).missing


def test_a_client_below_a_framework_is_not_asked_for() -> None:
    """A model client alone needs an instrumentation; below an agent framework the framework's will do."""
    assert ("OpenAI client (openai) is not instrumented: pip install openinference-instrumentation-openai",) == seen(
        {"openai": "3"}
    ).missing
    assert () == seen({"openai": "3", "pydantic-ai-slim": "2.62"}).missing


@pytest.mark.parametrize(
    ("value", "records"), [(None, False), ("", False), ("NO_CONTENT", False), ("SPAN_ONLY", True), ("true", True)]
)
def test_the_official_instrumentations_record_content_when_told(value: str | None, records: bool) -> None:
    """Content of the GenAI instrumentations is recorded only with their variable set to a mode that does."""
    name = "opentelemetry-instrumentation-genai-langchain"
    variable = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    found = seen({"langchain": "1", name: "1.3b0"}, {} if value is None else {variable: value})
    (content,) = found.content
    assert (variable, (name,), bool(value), records) == (content.variable, content.of, content.is_set, content.records)
    assert records == (found.missing == ())


@pytest.mark.parametrize(
    ("installed", "environ", "variable", "records"),
    [
        ({"google-adk": "2"}, {}, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", False),
        ({"agent-framework-core": "1"}, {"ENABLE_SENSITIVE_DATA": "True"}, "ENABLE_SENSITIVE_DATA", True),
        (
            {"llama-index-core": "1", "opentelemetry-instrumentation-llamaindex": "1"},
            {"TRACELOOP_TRACE_CONTENT": "false"},
            "TRACELOOP_TRACE_CONTENT",
            False,
        ),
        (
            {"smolagents": "1", "openinference-instrumentation-smolagents": "1"},
            {"OPENINFERENCE_HIDE_INPUTS": "true"},
            "OPENINFERENCE_HIDE_INPUTS",
            False,
        ),
    ],
)
def test_each_dialect_has_its_own_switch(
    installed: Mapping[str, str], environ: Mapping[str, str], variable: str, records: bool
) -> None:
    """The switch that decides over content is that of the installed instrumentation."""
    found: dict[str, Content] = {item.variable: item for item in seen(installed, environ).content}
    assert records == found[variable].records


def test_only_names_of_variables_are_kept() -> None:
    """The value of a variable is nowhere in what was found, and other people's variables are not looked at."""
    found = look(installed=SDK, environ={"LANGFUSE_SECRET_KEY": "sk-12345", "OTEL_EMPTY": "", "PASSWORD": "sk-12345"})
    assert "sk-12345" not in repr(found)
    assert {"LANGFUSE_SECRET_KEY": True, "OTEL_EMPTY": False, "LOGFIRE_TOKEN": False} == {
        name: found.variables[name] for name in ("LANGFUSE_SECRET_KEY", "OTEL_EMPTY", "LOGFIRE_TOKEN")
    }
    assert "PASSWORD" not in found.variables


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"OTEL_SDK_DISABLED": "TRUE"}, "OTEL_SDK_DISABLED turns all spans off"),
        ({"OTEL_TRACES_EXPORTER": "none"}, "exports no spans"),
        ({"OTEL_TRACES_SAMPLER": "traceidratio"}, "drops traces"),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "100"}, "cuts long prompts"),
    ],
)
def test_settings_that_lose_spans_are_told(environ: Mapping[str, str], words: str) -> None:
    """A setting of the SDK that loses spans or content is named with the way out."""
    (said,) = seen({"pydantic-ai-slim": "2"}, environ).missing
    assert words in said


def test_an_app_without_destination_is_told() -> None:
    """Without an endpoint or a key spans go nowhere; with an endpoint an exporter is needed."""
    framework = {"pydantic-ai-slim": "2"}
    (nowhere,) = look(installed=framework, environ={}).missing
    (bare,) = look(installed=framework, environ=SENT).missing
    assert (True, True) == (
        nowhere.startswith("No destination"),
        bare.endswith("opentelemetry-exporter-otlp-proto-http"),
    )


def test_without_a_framework_the_environment_may_be_the_wrong_one() -> None:
    """Where no known framework is installed, that is the first thing said."""
    assert "No agent framework" in seen({}).missing[0]


def test_extras_list_what_they_lack() -> None:
    """The packages of each extra that are not installed are listed, and packages are named in normal form."""
    requirements = (
        "msgspec>=0.19",
        "rich>=13; extra == 'cli'",
        'PyYAML>=6; extra == "cli"',
        "spanwise[cli]; extra == 'all'",
    )
    found = look(installed={"rich": "15"}, environ={}, requirements=requirements)
    assert ({"cli": ("pyyaml",)}, "a-b-c") == (found.extras, normal("A_b..C"))


def test_packages_of_telemetry_are_listed() -> None:
    """Of all that is installed, packages that make, carry or price spans are listed."""
    assert {"opentelemetry-sdk": "1.45.2", "msgspec": "0.22"} == look(installed=SDK, environ={}).packages
