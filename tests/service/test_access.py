"""Who may send, and where the service may listen."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.errors import SpecError
from spanwise.service.access import Access, Tls, check_listening, host_and_port, is_loopback, read_token
from tests.service.certificates import certificate


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:4317",
        "127.9.9.9:1",
        "localhost:0",
        "LocalHost:4317",
        "[::1]:4317",
        "::1",
        "127.0.0.1",
        "[::ffff:127.0.0.1]:1",
    ],
)
def test_loopback(address: str) -> None:
    """These addresses nobody outside the machine reaches."""
    assert is_loopback(address)
    if address.count(":") != 0 and address != "::1":
        check_listening(address, Access())


@pytest.mark.parametrize(
    "address", ["0.0.0.0:4317", "[::]:4317", "192.168.0.1:1", "example.com:4317", "localhost.a.com:1"]
)
def test_elsewhere(address: str) -> None:
    """These addresses others may reach, so that a token is needed there; the error says what to set."""
    assert not is_loopback(address)
    check_listening(address, Access(token=b"secret"))
    with pytest.raises(SpecError, match="set token_file"):
        check_listening(address, Access())


@pytest.mark.parametrize("address", ["", "4317", "localhost", "a:b", "127.0.0.1:70000", "::1:4317", ":4317", "a:-1"])
def test_no_address(address: str) -> None:
    """What is not host:port is told so."""
    with pytest.raises(SpecError, match="is not host:port"):
        host_and_port(address)


def test_a_token_file(tmp_path: Path) -> None:
    """The token is the file's text without the blanks around it; a file without one, or none, is told."""
    file = tmp_path / "token"
    with pytest.raises(SpecError, match="cannot be read"):
        read_token(file)
    file.write_text("  s3cret\n", encoding="utf-8")
    assert b"s3cret" == read_token(file)
    for text in ("", "\n", "two words", "caf\u00e9", "x" * 5000):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(SpecError, match="holds no"):
            read_token(file)


def test_the_token_is_not_shown() -> None:
    """The token stands in no text that a log might have."""
    assert "secret" not in repr(Access(token=b"secret"))


def test_without_a_token_everybody_may() -> None:
    """Where no token is set, none is asked for."""
    assert Access().allows(None)
    assert Access().allows("Bearer anything")
    assert not Access(token=b"secret").allows(None)
    assert Access(token=b"secret").allows(b"BEARER  secret ")


def test_files_for_tls(tmp_path: Path) -> None:
    """A certificate and a key that are missing, or do not belong together, are told in one sentence."""
    cert, key = certificate(tmp_path)
    Tls(cert=cert, key=key).check()
    (tmp_path / "other").mkdir()
    _, other = certificate(tmp_path / "other")
    for wrong in (Tls(cert=cert, key=other), Tls(cert=cert, key=tmp_path / "none"), Tls(cert=key, key=key)):
        with pytest.raises(SpecError, match="cannot be used"):
            wrong.check()
