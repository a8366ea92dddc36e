"""Where a store is: a path, `sqlite:///path`, or the URL of a Postgres database.

What is shown of a place never holds a password: of a URL only the driver, the user, the host and the database.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from spanwise.errors import SinkError

VARIABLE = "SPANWISE_STORE"
_ON = frozenset({"1", "true", "yes", "on"})
_OFF = frozenset({"", "0", "false", "no", "off"})
_EXPECTED = "expected a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE"
_POSTGRES = ("postgresql", "postgres")
_SECRET = re.compile("pass|key|secret|token", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place: the path of an SQLite file, else the URL of a Postgres database. `str()` of it is safe to log."""

    path: Path | None = None
    url: str = ""
    shown: str = ""
    secrets: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return f"Location({self.shown!r})"

    def masked(self, text: str) -> str:
        """The text with every secret of the URL taken out."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def asked_for(environ: Mapping[str, str]) -> bool:
    """True when the variable SPANWISE_STORE asks for a store."""
    return environ.get(VARIABLE, "").strip().lower() not in _OFF


def locate(where: str | Path | None = None, *, environ: Mapping[str, str] | None = None) -> Location:
    """The place that is named, else the one that SPANWISE_STORE names, else the user's own file.

    `true` and its like name the user's own file too, as they do in the variable.

    Raises:
        SinkError: What is named is neither a path nor the URL of a database that can hold a store.
    """
    variables = os.environ if environ is None else environ
    if where is None:
        named = variables.get(VARIABLE, "").strip()
        where = named if named.lower() not in _OFF else "true"
    if isinstance(where, str) and where.strip().lower() in _ON:
        return _file(default_path(variables))
    if isinstance(where, str) and where.strip().lower() in _OFF:
        raise SinkError(f"read {where!r}, {_EXPECTED}")
    if isinstance(where, Path) or "://" not in where:
        return _file(Path(where))
    scheme = where.partition("://")[0]
    if scheme == "sqlite":
        return _file(_sqlite_path(where))
    if scheme.partition("+")[0] in _POSTGRES:
        return _postgres(where)
    raise SinkError(f"read a URL that begins with {scheme!r}, {_EXPECTED}")


def default_path(environ: Mapping[str, str]) -> Path:
    """The user's own store: `spanwise/runs.db` in XDG_STATE_HOME, else in ~/.local/state."""
    state = environ.get("XDG_STATE_HOME", "")
    try:
        folder = Path(state) if state and Path(state).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        raise SinkError(f"this user has no home folder for a store; name a path in {VARIABLE}") from None
    return folder / "spanwise" / "runs.db"


def _sqlite_path(url: str) -> Path:
    named = unquote(url.removeprefix("sqlite://").partition("?")[0])
    if not named.startswith("/") or named in {"/", "/:memory:"}:
        raise SinkError(f"read {url!r}, which names no file; expected sqlite:///PATH")
    return Path(named[1:])


def _file(path: Path) -> Location:
    if not path.name or "\0" in str(path):
        raise SinkError(f"read {str(path)!r}, {_EXPECTED}")
    try:
        whole = path.expanduser().absolute()
    except RuntimeError:
        raise SinkError(f"read {str(path)!r}, whose home folder is not known; {_EXPECTED}") from None
    return Location(path=whole, shown=str(whole))


def _postgres(url: str) -> Location:
    try:
        parts = urlsplit(url)
        host = _host(parts)
    except ValueError:
        raise SinkError(f"read a URL of Postgres that cannot be understood; {_EXPECTED}") from None
    kind, _, driver = parts.scheme.partition("+")
    del kind
    database = parts.path.lstrip("/")
    shown = f"postgresql://{unquote(parts.username or '')}{'@' if parts.username else ''}{host}/{database}"
    options = (option.partition("=") for option in parts.query.split("&"))
    held = [parts.password or "", *(value for name, _, value in options if _SECRET.search(name))]
    secrets = {text for value in held if value for text in (value, unquote(value))}
    return Location(
        url=f"postgresql+{driver or 'psycopg'}://{url.partition('://')[2]}",
        shown=shown,
        secrets=tuple(sorted(secrets, key=len, reverse=True)),
    )


def _host(parts: SplitResult) -> str:
    name = parts.hostname or ""
    return f"{name}:{parts.port}" if parts.port else name
