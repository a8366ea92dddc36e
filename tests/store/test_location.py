"""Where a store is."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.errors import SinkError
from spanwise.store.location import asked_for, default_path, locate

HOME = {"HOME": "/nobody"}


def test_the_default_is_the_users_own_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any name the store is in XDG_STATE_HOME, which counts only if absolute, else in ~/.local/state."""
    monkeypatch.setenv("HOME", "/nobody")
    assert Path("/state/spanwise/runs.db") == locate(environ={"XDG_STATE_HOME": "/state"}).path
    expected = Path("/nobody/.local/state/spanwise/runs.db")
    assert expected == locate(environ={}).path == default_path({"XDG_STATE_HOME": "state"})


@pytest.mark.parametrize("value", ["1", "true", "Yes", " on ", "", "0", "off"])
def test_a_variable_that_only_switches_names_no_place(value: str) -> None:
    """SPANWISE_STORE=1 and its like mean the default place."""
    environ = {"SPANWISE_STORE": value, "XDG_STATE_HOME": "/state"}
    assert Path("/state/spanwise/runs.db") == locate(environ=environ).path


def test_the_variable_asks_for_a_store() -> None:
    """SPANWISE_STORE asks for a store unless it is empty or says no."""
    values = ("", "0", "off", "False", "no", "1", "yes", "runs.db", "postgresql://h/d")
    found = [asked_for({"SPANWISE_STORE": value}) for value in values]
    assert ([False] * 5 + [True] * 4, False) == (found, asked_for({}))


def test_paths_and_sqlite_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path, a relative one, one below the home folder, and sqlite:/// URLs name files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tmp_path / "a.db" == locate("a.db").path == locate("~/a.db").path == locate("sqlite:///a.db").path
    assert Path("/x/a b.db") == locate("sqlite:////x/a%20b.db").path == locate(Path("/x/a b.db")).path
    assert tmp_path / "named.db" == locate(environ={"SPANWISE_STORE": "named.db"}).path


def test_postgres_urls_get_a_driver() -> None:
    """A URL of Postgres is spoken to by psycopg unless it names another driver; what is shown has no password."""
    for scheme in ("postgres", "postgresql", "postgresql+psycopg"):
        found = locate(f"{scheme}://ann:s3cret@db:5433/runs?sslpassword=t0p")
        assert "postgresql+psycopg://ann:s3cret@db:5433/runs?sslpassword=t0p" == found.url
        assert "postgresql://ann@db:5433/runs" == str(found) == found.shown
        assert "Location('postgresql://ann@db:5433/runs')" == repr(found)
    assert locate("postgresql+pg8000://db/runs").url.startswith("postgresql+pg8000://")


def test_secrets_are_masked_however_they_are_spelt() -> None:
    """A text with the password, as in the URL or decoded, is shown without it."""
    found = locate("postgresql://ann:p%40ss@db/runs?sslpassword=t0p&connect_timeout=5")
    assert "5 and ***, ***, ***" == found.masked("5 and p@ss, p%40ss, t0p")


def test_true_means_the_users_own_file() -> None:
    """A place that is only switched on is the default one."""
    environ = {"XDG_STATE_HOME": "/state"}
    assert Path("/state/spanwise/runs.db") == locate("true", environ=environ).path == locate("1", environ=environ).path


@pytest.mark.parametrize(
    "where",
    [
        "",
        "false",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite://host/x.db",
        "mysql://u:s3cret@h/d",
        "postgresql://u:s3cret@h:port/d",
        "postgresql://u:s3cret@[h/d",
        "/x/\0.db",
    ],
)
def test_what_is_no_place_is_refused_without_its_password(where: str) -> None:
    """A name that is no place is one clear error that repeats no password."""
    with pytest.raises(SinkError) as caught:
        locate(where)
    assert ("s3cret" in str(caught.value), caught.value.__cause__) == (False, None)


def test_without_a_home_there_is_no_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a home folder is told which variable names a place."""

    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(SinkError, match="SPANWISE_STORE"):
        locate(environ={})
