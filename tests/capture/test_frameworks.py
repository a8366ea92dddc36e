"""The table of frameworks: whose a target is, without importing anything, and what is said and never raised."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from spanwise.capture import frameworks
from spanwise.capture.frameworks import FRAMEWORKS, Enabled, Framework, enable_imported, framework_of
from spanwise.capture.frameworks._holding import held
from spanwise.capture.frameworks._instrumentor import CAPTURE_CONTENT, Choice, Plan
from spanwise.capture.frameworks._remains import take_out, unwrap

BY_NAME = {framework.name: framework for framework in FRAMEWORKS}


def test_each_file_has_its_line() -> None:
    """Every file of frameworks/ is one framework of the table, and no two have a name in common."""
    files = {path.stem for path in Path(str(frameworks.__file__)).parent.glob("[a-z]*.py")}
    assert files == {name.replace("-", "_") for name in BY_NAME}
    assert len(FRAMEWORKS) == len(BY_NAME)


def test_each_framework_is_described(root: Path) -> None:
    """The page of frameworks has a line for each of the table."""
    page = (root / "docs" / "frameworks.md").read_text(encoding="utf-8")
    titles = [framework.title.removeprefix("the ") for framework in FRAMEWORKS]
    assert [] == [title for title in titles if f"| {title}" not in page]


def test_looking_imports_nothing() -> None:
    """The table, a look at a target and what is present load no framework and no instrumentation."""
    code = (
        "import sys; from spanwise.capture.frameworks import *; "
        "framework_of(object()); framework_of(sys); imported(); present(); "
        "tops = {name.partition('.')[0] for name in sys.modules}; "
        "print(sorted(tops & {'pydantic_ai', 'langchain_core', 'agents', 'crewai', 'openinference', 'smolagents'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "[]" == done.stdout.strip()


def test_a_target_is_known_by_its_module_its_class_and_its_bases() -> None:
    """An agent, its class, a class built on it and the module are the framework's; other things are nobody's."""
    import pydantic_ai
    from pydantic_ai import Agent

    class Own(Agent[None, str]):
        pass

    agents: list[object] = [Agent(), Agent, Own(), Own, pydantic_ai, pydantic_ai.models, Agent().run]
    assert ["pydantic-ai"] * 7 == [getattr(framework_of(one), "name", None) for one in agents]
    assert BY_NAME["pydantic-ai"].matches(Own())
    others: list[object] = [3, "pydantic_ai", None, lambda: None, type, sys, TracerProvider(), framework_of]
    assert [None] * 8 == [framework_of(one) for one in others]


def test_a_package_of_the_same_name_is_not_the_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own package `agents` is not the OpenAI Agents SDK, which brings a module that only it has."""
    own: Any = ModuleType("agents")
    own.Helper = type("Helper", (), {"__module__": "agents.helper"})
    monkeypatch.setitem(sys.modules, "agents", own)
    assert [None, None] == [framework_of(own), framework_of(own.Helper())]
    monkeypatch.setitem(sys.modules, "agents.function_schema", ModuleType("agents.function_schema"))
    assert BY_NAME["openai-agents"] is framework_of(own.Helper())


def test_enabling_never_raises() -> None:
    """What a framework's instrumentation raises is a sentence among the missing things."""

    def turn_on(target: object, provider: TracerProvider) -> Enabled:
        raise ImportError("no module of that name")

    broken = Framework(name="x", title="X", modules=("x",), marker="x", package="no-such-package", turn_on=turn_on)
    enabled = broken.enable(None, TracerProvider())
    assert ("X could not be instrumented (ImportError: no module of that name).",) == enabled.missing
    assert () == enabled.did
    enabled.undo()
    assert not broken.installed()


def test_what_is_installed_is_present_before_it_is_imported() -> None:
    """A framework counts as present when it is installed, as imported when the app did so."""
    import pydantic_ai

    assert pydantic_ai
    names = {framework.name for framework in frameworks.present()}
    assert {framework.name for framework in frameworks.imported()} <= names
    assert "pydantic-ai" in names
    assert BY_NAME["pydantic-ai"].installed()


def test_what_is_imported_is_turned_on_together() -> None:
    """Without a target every imported framework is turned on, and one undo is enough."""
    from pydantic_ai import Agent

    enabled = enable_imported(TracerProvider())
    assert "pydantic-ai: instrumented all agents (format 5)" in enabled.did
    enabled.undo()
    assert False is Agent._instrument_default


def test_nothing_to_instrument_with_says_what_to_install() -> None:
    """Where no package is installed, the first choice is named."""
    choice = Choice(package="no-such-instrumentation", path="no_such.module:Instrumentor")
    plan = Plan(name="x", instruments=frozenset(("x",)), choices=(choice,))
    assert ("x: pip install no-such-instrumentation.",) == plan.enable(None, TracerProvider()).missing


def test_an_undo_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Somebody else's undo that raises does not reach the app."""

    def undo() -> None:
        raise RuntimeError("cannot")

    held("failing", TracerProvider(), lambda: Enabled(undo=undo)).undo()
    assert ["the instrumentation of failing could not be turned off"] == [one.getMessage() for one in caplog.records]


def test_one_framework_has_one_provider_at_a_time() -> None:
    """What is on for one provider is not turned on for another, and that is said."""
    undone: list[str] = []
    first = held("shared", TracerProvider(), lambda: Enabled(did=("on",), undo=lambda: undone.append("first")))
    other = TracerProvider()
    second = held("shared", other, lambda: Enabled(did=("on",), undo=lambda: undone.append("second")))
    assert (("shared: left as it is",), 1) == (second.did, len(second.missing))
    second.undo()
    assert [] == undone
    first.undo()
    first.undo()
    assert ["first"] == undone
    held("shared", other, lambda: Enabled(did=("on",), undo=lambda: undone.append("second"))).undo()
    assert ["first", "second"] == undone


def test_what_others_turned_off_is_turned_on_again() -> None:
    """Where somebody has turned it off since, the next target turns it on anew, and the old undo does nothing."""
    state = {"on": 0, "undone": 0}

    def turn_on() -> Enabled:
        state["on"] += 1
        is_second = state["on"] == 2
        return Enabled(undo=lambda: state.update(undone=state["undone"] + 1), is_on=lambda: is_second)

    provider = TracerProvider()
    first, second = held("flaky", provider, turn_on), held("flaky", provider, turn_on)
    first.undo()
    assert {"on": 2, "undone": 0} == state
    second.undo()
    assert {"on": 2, "undone": 1} == state


@pytest.mark.parametrize("name", ["google-adk", "strands"])
def test_what_records_itself_needs_the_global_provider(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A framework that writes to the global provider is not turned on for another one, and that is said."""
    monkeypatch.setenv(CAPTURE_CONTENT, "SPAN_ONLY")
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "")
    provider = TracerProvider()
    told = f"{name}: records to the global tracer provider, which is another one: set_tracer_provider(...) first."
    enabled = BY_NAME[name].enable(None, provider)
    assert ((f"{name}: records its runs itself",), (told,)) == (enabled.did, enabled.missing)
    for current in (provider, SimpleNamespace(provider=provider)):
        monkeypatch.setattr(trace, "get_tracer_provider", lambda current=current: current)
        assert () == BY_NAME[name].enable(None, provider).missing


def test_switches_that_hide_content_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable that keeps content out of spans is named for frameworks that record themselves."""
    provider = TracerProvider()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental,gen_ai_unredacted_attributes=")
    monkeypatch.setenv(CAPTURE_CONTENT, "EVENT_ONLY")
    assert "OTEL_SEMCONV_STABILITY_OPT_IN" in BY_NAME["strands"].enable(None, provider).missing[0]
    assert CAPTURE_CONTENT in BY_NAME["google-adk"].enable(None, provider).missing[0]
    monkeypatch.setenv("ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN", "1")
    assert () == BY_NAME["google-adk"].enable(None, provider).missing


def test_langfuse_and_langsmith_are_left_in_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the app passes Langfuse's handler, or LangSmith exports to OpenTelemetry, nothing is turned on beside."""
    langchain = BY_NAME["langchain"]
    monkeypatch.setitem(sys.modules, "langfuse.langchain", ModuleType("langfuse.langchain"))
    told = langchain.enable(None, TracerProvider())
    assert ("langchain: left alone, Langfuse's CallbackHandler records it",) == told.did
    monkeypatch.delitem(sys.modules, "langfuse.langchain")
    monkeypatch.setenv("LANGSMITH_OTEL_ENABLED", "true")
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    told = langchain.enable(None, TracerProvider())
    assert ("langchain: left alone, LangSmith's OpenTelemetry export records it",) == told.did


def test_what_is_left_behind_is_taken_away() -> None:
    """Wrappers and handlers of one package are taken away; others, and what is not imported, stay."""

    def bare() -> str:
        return "bare"

    def by(module: str) -> Any:
        return type("Wrapper", (), {"__module__": module})()

    module: Any = ModuleType("some_library")
    inner = SimpleNamespace(_self_wrapper=by("acme.tracing"), __wrapped__=bare)
    outer = SimpleNamespace(_self_wrapper=by("acme.tracing.graph"), __wrapped__=inner)
    module.Graph = type("Graph", (), {"run": outer})
    module.other = kept = SimpleNamespace(_self_wrapper=by("acme_other"), __wrapped__=bare)
    sys.modules["some_library"] = module
    try:
        names = ("Graph.run", "other", "absent", "Absent.run")
        unwrap("acme.tracing", [*(("some_library", name) for name in names), ("not_imported", "x")])
    finally:
        del sys.modules["some_library"]
    assert (bare, kept) == (module.Graph.run, module.other)
    handlers = [by("acme.tracing.handlers"), by("acme_other")]
    take_out("acme.tracing", handlers)
    take_out("acme.tracing", None)
    assert ["acme_other"] == [type(one).__module__ for one in handlers]
