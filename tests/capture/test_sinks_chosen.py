"""Which sinks an app gets, and what each of them is shown: by name, by settings, by the environment."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spanwise.capture.instrument import instrument
from spanwise.capture.settings import Destinations, sinks_of
from spanwise.errors import SpecError
from spanwise.masking import DEFAULT, Masking
from spanwise.model.result import RunResult
from spanwise.sinks.callback import CallbackSink
from spanwise.sinks.jsonl import JsonLinesSink
from spanwise.sinks.log import LogSink
from spanwise.store.sink import StoreSink
from tests.capture.app import App, make

__all__ = ["make"]


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable asks for a sink, and no settings are near."""
    for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "LOGFIRE_TOKEN", "SPANWISE_STORE", "SPANWISE_JSONL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def kinds(found: Destinations) -> dict[str, str]:
    """The names of sinks, and of their classes."""
    return {name: type(sink).__name__ for name, sink in found.sinks.items()}


def test_names_sinks_and_functions() -> None:
    """Sinks are named, given, or functions; each has a name of its own, a built-in that of the catalogue."""
    found = sinks_of(["log", JsonLinesSink("x.jsonl"), JsonLinesSink("y.jsonl"), print, LogSink(), "jsonl"])
    assert {
        "log": "LogSink",
        "jsonl": "JsonLinesSink",
        "jsonl_2": "JsonLinesSink",
        "print": "CallbackSink",
        "log_2": "LogSink",
        "jsonl_3": "JsonLinesSink",
    } == kinds(found)
    assert {"mine": "LogSink", "own": "CallbackSink"} == kinds(sinks_of({"mine": "log", "own": CallbackSink(print)}))


def test_without_any() -> None:
    """Where nothing asks for a sink there is a log line; what is asked for beside it stands alone."""
    assert {"log": "LogSink"} == kinds(sinks_of(None)) == kinds(sinks_of([]))
    assert {"console": "ConsoleSink"} == kinds(sinks_of(None, console=True))
    assert {"log": "LogSink", "console": "ConsoleSink"} == kinds(sinks_of(["log"], console=True))


def test_the_environment_asks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, require: Callable[[str], str]) -> None:
    """Variables ask for sinks where neither code nor settings name any."""
    require("sqlalchemy")
    monkeypatch.setenv("SPANWISE_JSONL", str(tmp_path / "x.jsonl"))
    monkeypatch.setenv("SPANWISE_STORE", str(tmp_path / "runs.db"))
    assert {"jsonl": "JsonLinesSink", "store": "StoreSink"} == kinds(sinks_of(None))
    assert {"log": "LogSink", "store": "StoreSink"} == kinds(sinks_of(["log"]))
    assert {"log": "LogSink"} == kinds(sinks_of(["log"], store=False))
    (tmp_path / "spanwise.toml").write_text('sinks = ["console"]', encoding="utf-8")
    assert {"console": "ConsoleSink"} == kinds(sinks_of(None, store=False))


def test_otlp_without_a_logger_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """An OTLP endpoint alone asks for no events, if the app emits no log records."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    assert {"log": "LogSink"} == kinds(sinks_of(None))


def test_otlp_with_a_logger_provider(root: Path) -> None:
    """With a logger provider of the SDK it does."""
    script = (
        "from opentelemetry._logs import set_logger_provider\n"
        "from opentelemetry.sdk._logs import LoggerProvider\n"
        "set_logger_provider(LoggerProvider())\n"
        "from spanwise.capture.settings import sinks_of\n"
        "print(*sinks_of(None).sinks)"
    )
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "PYTHONPATH": str(root / "src")}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60, check=True
    )
    assert "otel_events\n" == done.stdout


def test_a_sink_of_the_environment_that_cannot_be_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told and left out, and the app starts; the same sink, named in code, is an error."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SPANWISE_JSONL", "~nobody-of-that-name/x.jsonl")
    with caplog.at_level(logging.WARNING, logger="spanwise"):
        assert {"log": "LogSink"} == kinds(sinks_of(None))
    assert "SPANWISE_JSONL is set, but sinks.jsonl" in caplog.text
    with pytest.raises(SpecError, match="whose home folder is not known"):
        sinks_of(["jsonl"])


def test_levels_of_content(tmp_path: Path) -> None:
    """A level goes to every sink, or to those named; before that of the settings, which goes before the sink's own."""
    (tmp_path / "spanwise.toml").write_text('[sinks]\njsonl = {content = "evidence", to = "x"}\nlog = true\n')
    assert {"jsonl": "evidence"} == sinks_of(None).delivery.content
    found = sinks_of(None, emit_content={"jsonl": "none", "langfuse": "all"})
    jsonl = found.sinks["jsonl"]
    assert isinstance(jsonl, JsonLinesSink)
    assert ({"jsonl": "none"}, "none", tmp_path / "x") == (found.delivery.content, jsonl.emits, jsonl.path)
    everywhere = {"jsonl": "none", "log": "none", "scored_exporters": "none"}
    assert everywhere == sinks_of(None, emit_content="none").delivery.content
    assert {"jsonl": "evidence", "scored_exporters": "all"} == sinks_of(
        None, emit_content={"scored_exporters": "all"}
    ).delivery.content


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ("some", "emit_content: read 'some', expected 'none' or 'evidence' or 'all'"),
        ({"log": "some"}, "emit_content: read 'some', expected"),
        ({"lgo": "none"}, "emit_content: unknown sink 'lgo'; there are: log"),
    ],
)
def test_levels_that_are_none(level: object, message: str) -> None:
    """A level that is not known, or for a sink that is nowhere, is refused: a wrong letter must let nothing out."""
    with pytest.raises(SpecError) as caught:
        sinks_of(["log"], emit_content=level)
    assert message in str(caught.value)


def test_a_store_that_is_made_already(tmp_path: Path, require: Callable[[str], str]) -> None:
    """Its level is set where it is made: a lower one here could not be kept."""
    require("sqlalchemy")
    store = StoreSink.open(tmp_path / "runs.db")
    with pytest.raises(SpecError, match=r"StoreSink\.open\(content='none'\)"):
        sinks_of([store], emit_content="none")
    assert "all" == sinks_of({"store": store}, emit_content="all").delivery.content["store"]


def test_what_is_no_sink() -> None:
    """A number is none."""
    with pytest.raises(SpecError, match=r"sinks: read 3, expected a name, a sink \(`emit`, `close`\) or a function"):
        sinks_of([3])


def test_masks(tmp_path: Path) -> None:
    """The mask is that given in code, a function before the built-in patterns, else the settings', else the default."""
    assert DEFAULT == sinks_of(None).delivery.mask
    (tmp_path / "spanwise.toml").write_text('[masking]\nkinds = ["email"]\nallow = ["a@b.test"]\n', encoding="utf-8")
    assert Masking(kinds=("email",), allow=("a@b.test",)) == sinks_of(None).delivery.mask
    assert Masking(kinds=()) == sinks_of(None, masking=Masking(kinds=())).delivery.mask
    mask = sinks_of(None, masking=lambda text: text.replace("Jane", "N")).delivery.mask
    assert mask is not None
    assert "N [masked: email]" == mask("Jane a@b.test")


def test_in_an_app(make: Callable[..., App], tmp_path: Path) -> None:
    """An app's results arrive at all sinks, each with its level and without secrets, once it is flushed."""
    path = tmp_path / "runs.jsonl"
    app = make()
    app.handle.uninstrument()
    with instrument(app.provider, sinks=[JsonLinesSink(path), app.results.append], on_first="silent") as handle:
        with app.agent():
            for _ in range(2):
                with app.tool("search", "mail jane@acme.test"):
                    pass
        assert handle.flush(10)
        (line,) = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        assert [{"q": "mail [masked: email]"}] * 2 == [call["arguments"] for call in line["tool_calls"]]
        assert "acme" not in json.dumps(line)
        assert [score.reason for score in app.results[0].scores] == [score["reason"] for score in line["scores"]]
        assert ({}, {}) == (handle.stats().sink_failures, handle.stats().sink_drops)


def test_a_function_that_hangs(make: Callable[..., App]) -> None:
    """While a function of the app's hangs, the other sinks get every result; what is too much for it is dropped."""
    app, gate = make(), threading.Event()
    app.handle.uninstrument()
    stuck: list[RunResult] = []
    sinks = {"stuck": lambda result: gate.wait(10) and stuck.append(result), "other": app.results.append}
    with instrument(app.provider, sinks=sinks, on_first="silent") as handle:
        for _ in range(1100):
            with app.agent():
                pass
        assert not handle.flush(2.0)
        until = time.monotonic() + 20
        while len(app.results) < 1100 and time.monotonic() < until:
            time.sleep(0.01)
        assert (1100, 0) == (len(app.results), len(stuck))
        gate.set()
        assert handle.flush(10)
        stats = handle.stats()
    assert {"stuck": {"queue": 1100 - len(stuck)}} == stats.sink_drops
    assert 1000 <= len(stuck) < 1100
