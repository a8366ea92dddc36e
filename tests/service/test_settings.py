"""The settings of the service come from a file, the environment and flags, each before the one before it."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
import typer

from spanwise.errors import SpecError
from spanwise.service.handoff import HandOff
from spanwise.service.settings import ServeSettings, serve_settings, variable_of


def test_the_last_word_is_the_flags() -> None:
    """Flags go before the environment, that before the file, and that before what is usual."""
    table = {"grace_s": 1, "idle_s": 60, "late_s": 10, "wal": {"folder": "a", "max_mb": 5}}
    environ = {
        "SPANWISE_SERVE_IDLE_S": "70",
        "SPANWISE_SERVE_LATE_S": " 20 ",
        "SPANWISE_SERVE_NO_WAL": "yes",
        "HOME": "x",
    }
    found = serve_settings(table, environ, {"late_s": 30.0, "queue": None})
    assert ServeSettings(grace_s=1, idle_s=70, late_s=30, wal_folder="a", wal_max_mb=5, no_wal=True) == found


def test_variables_of_kubernetes_are_passed_over() -> None:
    """What is set in every container beside a service of this name is no mistake."""
    environ = {"SPANWISE_SERVE_PORT": "tcp://10.0.0.1:4317", "SPANWISE_SERVE_PORT_4317_TCP": "x"}
    environ |= {"SPANWISE_SERVE_SERVICE_HOST": "10.0.0.1", "SPANWISE_SERVE_SERVICE_PORT_OTLP": "4317"}
    assert ServeSettings() == serve_settings({}, environ, {})


def test_a_log_can_be_left_out() -> None:
    """`wal = false` in the file keeps none."""
    assert serve_settings({"wal": False}, {}, {}).no_wal


def test_all_errors_at_once() -> None:
    """Every mistake is a line that names its place, what was read, and what was expected."""
    table = {"grcp": "x", "wal": {"fsync": "sometimes"}, "drain_s": -1}
    environ = {"SPANWISE_SERVE_MAX_SPANS": "lots", "SPANWISE_SERVE_NO_WAL": "perhaps"}
    with pytest.raises(SpecError) as caught:
        serve_settings(table, environ, {}, source="spanwise.toml")
    lines = str(caught.value).splitlines()
    assert "SPANWISE_SERVE_MAX_SPANS: read 'lots', expected a whole number" in lines
    assert "SPANWISE_SERVE_NO_WAL: read 'perhaps', expected true or false" in lines
    assert any(line.startswith("spanwise.toml, serve.grcp: unknown key") for line in lines)
    assert any("wal_fsync" in line and "sometimes" in line for line in lines)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"grpc": "off", "http": "off"}, "there is nothing to serve"),
        ({"grpc": "nowhere"}, "is not host:port"),
        ({"http": "0.0.0.0:4318"}, "can be reached from other machines"),
        ({"tls_cert": "c.pem"}, "tls_cert and tls_key go together"),
        ({"token_file": "missing"}, "cannot be read"),
        ({"scores_to": "localhost:4318"}, "expected the address of an OTLP/HTTP receiver"),
        ({"spans_to": "http://localhost:4318"}, "set scores_to, too"),
        ({"queue": 0}, "expected a number of at least 1"),
        ({"drain_s": -1.0}, "expected a number of at least 0"),
        ({"handoff_token": "x"}, "handoff_to: not set"),
        ({"handoff_to": "http://a:1", "handoff_token": "x", "handoff_token_file": "y"}, "are both set"),
        ({"handoff_to": "http://a:1", "handoff_token_file": "missing"}, "handoff_token_file 'missing' cannot be read"),
        ({"handoff_to": "http://a:1", "handoff_ca_file": "missing"}, "handoff_ca_file 'missing' cannot be used"),
        ({"handoff_to": "http://a:1", "handoff_headers": "x=a\nb"}, "the header 'x' cannot be sent"),
    ],
)
def test_values_are_checked(flags: dict[str, object], words: str) -> None:
    """A value of the right type that cannot be used is told."""
    with pytest.raises(SpecError, match=re.escape(words)):
        serve_settings({}, {}, flags)


def test_a_token_opens_other_addresses(tmp_path: Path) -> None:
    """With a token the service may listen to other machines."""
    token = tmp_path / "token"
    token.write_text("a-long-secret\n")
    found = serve_settings({}, {}, {"grpc": "0.0.0.0:4317", "token_file": str(token)})
    assert b"a-long-secret" == found.access().token


def test_headers_of_the_hand_off(tmp_path: Path) -> None:
    """They are a table in the file, and name=value elsewhere; the token stands among them, from a file or not."""
    wanted = {"x-tenant": "a b", "authorization": "Bearer one"}
    to = {"handoff_to": "http://127.0.0.1:1"}
    table = {**to, "handoff_headers": {"X-Tenant": "a b"}, "handoff_token": "one"}
    assert (wanted, None) == serve_settings(table, {}, {}).handoff_access()
    environ = {"SPANWISE_SERVE_HANDOFF_HEADERS": "X-Tenant=a%20b", "SPANWISE_SERVE_HANDOFF_TOKEN": "one"}
    assert (wanted, None) == serve_settings(to, environ, {}).handoff_access()
    token = tmp_path / "token"
    token.write_text("one\n")
    flags = {"handoff_headers": "x-tenant=a b,", "handoff_token_file": str(token)}
    assert (wanted, None) == serve_settings(to, {}, flags).handoff_access()


def test_secrets_are_not_shown() -> None:
    """Neither errors nor what settings look like show a token or a header."""
    table = {"handoff_to": "http://127.0.0.1:1", "handoff_token": ["s3cret"], "handoff_headers": {"a": ["s3cret"]}}
    for told in (table, {**table, "handoff_token": "s3cret\n1", "handoff_headers": "s3cret"}):
        with pytest.raises(SpecError) as caught:
            serve_settings(told, {}, {})
        assert "handoff_headers: expected a table of texts" in str(caught.value)
        assert "s3cret" not in str(caught.value)
    with pytest.raises(SpecError, match="the header 'authorization' cannot be sent") as caught:
        serve_settings({**table, "handoff_token": "s3cret\n1", "handoff_headers": {}}, {}, {})
    assert "s3cret" not in str(caught.value)
    fine = serve_settings({**table, "handoff_token": "s3cret", "handoff_headers": {"a": "s3cret"}}, {}, {})
    headers, ca_file = fine.handoff_access()
    assert "s3cret" not in repr(fine) + repr(HandOff(fine.handoff_to, headers, ca_file))


def test_each_setting_is_a_flag_and_on_the_page(root: Path) -> None:
    """Every setting has its flag, and its row on the page with its variable and its default."""
    from spanwise.cli.main import app

    command = vars(typer.main.get_command(app))["commands"]["serve"].load()
    flags = {option for parameter in command.params for option in parameter.opts}
    page = (root / "docs" / "service.md").read_text(encoding="utf-8")
    for one in fields(ServeSettings):
        flag = f"--{one.name.replace('_', '-')}"
        assert flag in flags
        row = next((line for line in page.splitlines() if f"`{flag}`" in line and line.startswith("|")), "")
        assert variable_of(one.name) in row
        assert isinstance(one.default, bool) or one.default is MISSING or str(one.default) in row, row
