"""Sinks of other packages: by entry point, by dotted path, in code and in settings."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider

from spanwise import extensions
from spanwise.capture.instrument import instrument
from spanwise.catalog import make_sink
from spanwise.config import SinkSettings, load
from spanwise.errors import SpecError
from spanwise.extensions import EXPECTED_SINK, announced, load_sink
from tests.third_party.acme import install_sinks


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path with the package, which announces two sinks, a broken one, and a built-in's name."""
    folder = tmp_path / "site"
    folder.mkdir()
    points = {"ledger": "acme_ledger:LedgerSink", "gone": "acme_ledger:Gone", "log": "acme_ledger:LedgerSink"}
    install_sinks(folder, points)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("acme_ledger", None)


def entries(sinks: object, **options: object) -> list[tuple[str, str, float | None, str]]:
    """What the ledger holds when an app with these sinks has run an agent."""
    provider = TracerProvider(shutdown_on_exit=False)
    with instrument(provider, sinks=sinks, evaluators=["redundancy"], on_first="silent", **options):
        fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
        with provider.get_tracer("app").start_as_current_span("invoke_agent", attributes=fields):
            pass
    return list(sys.modules["acme_ledger"].ENTRIES)


def test_by_its_announced_name() -> None:
    """A name that a package announces is a sink's name like any other, and its own level of content holds."""
    assert [("main", name, None, "") for name in ("redundancy", "overall")] == entries(["ledger"])


def test_by_a_path() -> None:
    """A dotted path leads to a class, a function that makes one, or a sink that is there."""
    for use, book in (("LedgerSink", "main"), ("ledger", "of 10 pages"), ("READY", "ready")):
        assert book == entries([f"acme_ledger:{use}"])[-1][0]


def test_in_settings(tmp_path: Path) -> None:
    """Settings name sinks of other packages, with their options and a level of content, by any name."""
    path = tmp_path / "spanwise.toml"
    mine = 'mine = {use = "acme_ledger:LedgerSink", book = "b", content = "all"}'
    path.write_text(f'[sinks]\n{mine}\nledger = {{book = "c"}}\nlog = false\n', encoding="utf-8")
    assert {
        "mine": SinkSettings(use="acme_ledger:LedgerSink", content="all", options={"book": "b"}),
        "ledger": SinkSettings(use="ledger", options={"book": "c"}),
    } == load(path).sinks
    told = {book: reason for book, _, _, reason in entries(None, config=path)}
    assert {"b": True, "c": False} == {book: bool(reason) for book, reason in told.items()}


def test_what_a_door_has() -> None:
    """One that takes a level of content, a mask or a way to spell runs is given them."""
    assert "none True True" == entries({"wordy": "acme_ledger:Wordy"}, emit_content="none")[-1][0]


@pytest.mark.parametrize(
    ("use", "options", "message"),
    [
        ("nowhere", {}, "sinks: unknown sink 'nowhere'; known: log, console,"),
        ("gone", {}, "'acme_ledger:Gone' cannot be loaded: AttributeError"),
        ("acme_missing:X", {}, "'acme_missing:X' cannot be loaded: ModuleNotFoundError"),
        ("acme ledger:X", {}, "read 'acme ledger:X', expected a path such as 'acme.ledger:LedgerSink'"),
        ("acme_ledger:Mute", {}, f"'acme_ledger:Mute' is no sink; expected {EXPECTED_SINK}"),
        ("acme_ledger:NUMBER", {}, f"'acme_ledger:NUMBER' is no sink; expected {EXPECTED_SINK}"),
        ("acme_ledger:odd", {}, f"sinks: 'acme_ledger:odd' made 3, expected {EXPECTED_SINK}"),
        ("acme_ledger:READY", {"book": "x"}, "sinks: 'acme_ledger:READY' has no parameters; read book"),
        ("ledger", {"book": 3, "more": 1}, "sinks.book: read 3, expected text\nsinks.more: unknown key; known: book"),
        ("ledger", {"book": ""}, "sinks: ValueError: a ledger needs a book"),
        ("callback", {}, "sinks.callback: missing, expected a "),
    ],
)
def test_what_is_wrong_with_a_sink(use: str, options: dict[str, object], message: str) -> None:
    """Whatever is wrong is told with its place: no such name, nothing there, no sink, other options."""
    with pytest.raises(SpecError) as caught:
        make_sink(use, options)
    assert message in str(caught.value)


def test_nothing_is_loaded_that_is_not_named() -> None:
    """Announced sinks are known by name before their package is loaded; built-ins go before them."""
    assert ["gone", "ledger", "log"] == list(announced(extensions.SINKS))
    make_sink("log", {})
    assert "acme_ledger" not in sys.modules
    assert "LedgerSink" == getattr(load_sink("acme_ledger:LedgerSink"), "__name__", "")
