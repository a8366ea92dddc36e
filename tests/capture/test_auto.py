"""Scoring without a line of code: `opentelemetry-instrument`, and the declarative configuration file."""

import logging
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from spanwise.capture.auto import SpanwiseInstrumentor

LAUNCH = "from opentelemetry.instrumentation.auto_instrumentation import run; run()"
AGENT = """
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

Agent.instrument_all()


def model(messages, info):
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("search", {"query": "capital"})])
    return ModelResponse(parts=[TextPart("Paris")])


agent = Agent(FunctionModel(model), name="helper")


@agent.tool_plain
def search(query: str) -> str:
    return "Paris"


if __name__ == "__main__":
    print(agent.run_sync("What is the capital of France?").output)
"""
APP = """
from opentelemetry.trace import get_tracer

if __name__ == "__main__":
    span = get_tracer("app").start_as_current_span
    helper = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    with span("invoke_agent helper", attributes=helper):
        asked = {"gen_ai.tool.name": "search", "gen_ai.tool.call.arguments": '{"query": "capital"}'}
        with span("execute_tool search", attributes={"gen_ai.operation.name": "execute_tool", **asked}) as tool:
            tool.set_attribute("gen_ai.tool.call.result", "Paris")
    print("Paris")
"""
LOGGED = "import logging\nlogging.basicConfig(level=logging.INFO, format='%(name)s %(levelname)s %(message)s')\n"


@pytest.fixture
def launch(require: Callable[[str], str], tmp_path: Path) -> Callable[..., tuple[str, list[str]]]:
    """Runs a script under `opentelemetry-instrument`, without exporters; gives what it printed, and our lines."""
    if find_spec("opentelemetry.instrumentation") is None:
        require("opentelemetry-instrument")

    def run(code: str = APP, **variables: str) -> tuple[str, list[str]]:
        (tmp_path / "app.py").write_text(code)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPANWISE_", "OTEL_"))}
        exporters = {f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}
        done = subprocess.run(
            [sys.executable, "-c", LAUNCH, sys.executable, "app.py"],
            cwd=tmp_path,
            env={**kept, **exporters, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert 0 == done.returncode, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout.strip(), [line for line in done.stderr.splitlines() if "spanwise" in line]

    return run


@pytest.fixture
def off() -> Iterator[None]:
    """Scoring is off again afterwards."""
    yield
    SpanwiseInstrumentor().uninstrument()


def test_the_entry_point_is_announced() -> None:
    """The package announces the instrumentor under the name that variables and files use."""
    assert ["spanwise.capture.auto:SpanwiseInstrumentor"] == [
        point.value for point in entry_points(group="opentelemetry_instrumentor") if point.name == "spanwise"
    ]


def test_a_variable_turns_it_on(launch: Callable[..., tuple[str, list[str]]], require: Callable[[str], str]) -> None:
    """With SPANWISE_CONSOLE an app that knows nothing of Spanwise prints a line per run."""
    require("pydantic_ai")
    out, lines = launch(AGENT, SPANWISE_CONSOLE="true")
    assert "Paris" == out
    assert 1 == len(lines), lines
    assert lines[0].startswith("spanwise  helper: overall 1.00 ok")


def test_the_log_line_is_the_apps_to_show(launch: Callable[..., tuple[str, list[str]]]) -> None:
    """With SPANWISE_ENABLED alone each run is a line at level INFO, where the app shows that level."""
    assert ("Paris", []) == launch(SPANWISE_ENABLED="true")
    out, lines = launch(LOGGED + APP, SPANWISE_ENABLED="true")
    assert "Paris" == out
    assert any(line.startswith("spanwise INFO") and "overall 1.00 ok" in line for line in lines), lines


def test_without_a_variable_it_stays_off(launch: Callable[..., tuple[str, list[str]]]) -> None:
    """That the package is installed scores nothing, and SPANWISE_ENABLED=false holds against the others."""
    code = APP + "    import sys\n    print('spanwise.capture.instrument' in sys.modules)\n"
    assert ("Paris\nFalse", []) == launch(code)
    assert ("Paris\nFalse", []) == launch(code, SPANWISE_ENABLED="false", SPANWISE_CONSOLE="true")


def test_evaluators_and_samples_are_chosen(launch: Callable[..., tuple[str, list[str]]]) -> None:
    """Named evaluators run alone; of a sample of nothing, nothing is scored."""
    assert ("Paris", []) == launch(SPANWISE_CONSOLE="true", SPANWISE_SAMPLE="0")
    _, lines = launch(SPANWISE_CONSOLE="true", SPANWISE_EVALUATORS="cost")
    assert ["not measurable: cost" in line and "redundancy" not in line for line in lines] == [True]


def test_what_is_not_usable_stops_nothing(launch: Callable[..., tuple[str, list[str]]]) -> None:
    """The app runs on; the log says what was read and what was expected."""
    out, lines = launch(SPANWISE_CONSOLE="true", SPANWISE_SAMPLE="much")
    assert ("Paris", "spanwise: SPANWISE_SAMPLE: read 'much', expected a number from 0 to 1") == (out, lines[0])
    assert lines[1].startswith("spanwise  helper: overall")
    out, lines = launch(SPANWISE_EVALUATORS="redundance")
    assert ("Paris", 1) == (out, len(lines))
    assert lines[0].startswith("spanwise: nothing is scored: evaluators: unknown evaluator 'redundance'; known: ")


def test_a_configuration_file_turns_it_on(launch: Callable[..., tuple[str, list[str]]], tmp_path: Path) -> None:
    """Listed in the SDK's declarative file, with options, it needs no variable of its own."""
    if find_spec("opentelemetry.configuration") is None:
        pytest.skip("needs 'opentelemetry-configuration', which SDKs before 1.45 do not have")
    (tmp_path / "otel.yaml").write_text(
        textwrap.dedent(
            """
            file_format: "1.0"
            tracer_provider:
              processors:
                - simple: {exporter: {console: {}}}
            instrumentation/development:
              python:
                spanwise: {console: true, evaluators: [redundancy, overall], sampel: 1}
            """
        )
    )
    out, lines = launch(OTEL_CONFIG_FILE=str(tmp_path / "otel.yaml"))
    assert "Paris" == out.splitlines()[-1]
    assert "invoke_agent helper" in out
    assert "spanwise: sampel: unknown option; known: console, store, profile, evaluators, sample" == lines[0]
    assert lines[1].startswith("spanwise  helper: overall 1.00 ok")


def test_it_has_the_shape_that_loaders_expect(off: None, monkeypatch: Any) -> None:
    """There is one state; what is on stays on; nothing has to be installed; off twice is off."""
    monkeypatch.delenv("SPANWISE_ENABLED", raising=False)
    one, two = SpanwiseInstrumentor(), SpanwiseInstrumentor()
    one.instrument(skip_dep_check=True, raise_exception_on_conflict=True)
    assert not two.is_instrumented_by_opentelemetry
    one.instrument(console=False)
    handle = SpanwiseInstrumentor.handle
    two.instrument()
    assert (True, handle, ()) == (
        two.is_instrumented_by_opentelemetry,
        SpanwiseInstrumentor.handle,
        two.instrumentation_dependencies(),
    )
    two.uninstrument()
    one.uninstrument()
    assert not one.is_instrumented_by_opentelemetry


def test_an_error_is_logged_once(off: None, caplog: Any) -> None:
    """What instrument refuses is one line of the log, and scoring is off."""
    with caplog.at_level(logging.WARNING):
        SpanwiseInstrumentor().instrument(profile="nope")
    assert 1 == len(caplog.records)
    assert caplog.messages[0].startswith("spanwise: nothing is scored: ")
    assert not SpanwiseInstrumentor().is_instrumented_by_opentelemetry


def test_a_helper_process_is_not_instrumented(monkeypatch: Any) -> None:
    """A process that holds isolated evaluators scores nothing itself."""
    monkeypatch.setenv("SPANWISE_ISOLATED", "1")
    SpanwiseInstrumentor().instrument(console=True)
    assert SpanwiseInstrumentor.handle is None
