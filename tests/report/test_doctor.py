"""The doctor's report."""

from __future__ import annotations

import io
import json
from dataclasses import replace

from inline_snapshot import snapshot

from spanwise.report.doctor import Host, show_doctor, to_doctor
from spanwise.report.encode import to_line
from spanwise.report.environment import Environment, look
from spanwise.report.terminal import console

PROVIDER = "opentelemetry.trace.ProxyTracerProvider"
HOST = Host(spanwise="0.1.0", python="3.12.1", platform="Linux", compiled=True, provider=PROVIDER)
FOUND = look(
    installed={
        "opentelemetry-sdk": "1.45.2",
        "google-adk": "2.13.0",
        "crewai": "1.15",
        "langgraph": "1.2",
        "opentelemetry-instrumentation-langchain": "0.62",
    },
    environ={"LANGFUSE_SECRET_KEY": "sk-12345", "OTEL_\x1b[2J": "x"},
    requirements=("rich>=13; extra == 'cli'", "opentelemetry-sdk; extra == 'otlp'"),
)


def shown(found: Environment) -> str:
    """What is printed."""
    file = io.StringIO()
    show_doctor(console(file), HOST, found)
    return file.getvalue()


def test_the_report_ends_with_what_is_missing() -> None:
    """What is installed, set and recorded comes first; what to do about the rest is last."""
    assert shown(FOUND) == snapshot("""\
this process
  spanwise         0.1.0
  compiled part    in use
  Python           3.12.1 on Linux
  tracer provider  opentelemetry.trace.ProxyTracerProvider (of this process; an app sets its own)
  extra cli        lacks rich: pip install 'spanwise[cli]'
  extra otlp       installed

packages
  opentelemetry-instrumentation-langchain  0.62
  opentelemetry-sdk                        1.45.2

frameworks
  LangChain and LangGraph  langgraph 1.2: opentelemetry-instrumentation-langchain 0.62
  CrewAI                   crewai 1.15: not instrumented; pip install openinference-instrumentation-crewai
  Google ADK               google-adk 2.13.0: built in: set a tracer provider before the agent runs

environment variables
  LANGFUSE_PUBLIC_KEY          not set
  LANGFUSE_SECRET_KEY          set
  LOGFIRE_TOKEN                not set
  OTEL_\\x1b[2J                 set
  OTEL_EXPORTER_OTLP_ENDPOINT  not set
  OTEL_SERVICE_NAME            not set
  SPANWISE_STORE               not set

content (prompts, arguments, results)
  TRACELOOP_TRACE_CONTENT                             not set: content of opentelemetry-instrumentation-langchain is
                                                      recorded
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT  not set: content of Google ADK is not recorded

what is missing
  -  CrewAI (crewai) is not instrumented: pip install openinference-instrumentation-crewai
  -  Google ADK will not record content: set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT
""")


def test_without_the_compiled_part() -> None:
    """Where the compiled part is not there, the report says what that means."""
    file = io.StringIO()
    show_doctor(console(file), replace(HOST, compiled=False), FOUND)
    assert "compiled part    not there: the same results, more slowly\n" in file.getvalue()


def test_nothing_missing_is_said() -> None:
    """Where all is there, the report says so."""
    installed = {"pydantic-ai": "2", "opentelemetry-exporter-otlp": "1"}
    found = look(installed=installed, environ={"OTEL_EXPORTER_OTLP_ENDPOINT": "x"})
    assert "nothing that can be seen from here" in shown(found)


def test_json_has_the_same_findings() -> None:
    """The JSON holds the host and all findings, and no value of a variable."""
    text = to_line(to_doctor(HOST, FOUND))
    document = json.loads(text)
    assert ("spanwise.doctor/1", list(FOUND.missing), False) == (
        document["schema"],
        document["missing"],
        "sk-12345" in text,
    )
