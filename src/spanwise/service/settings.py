"""What the service is told: in the file of settings, by variables of the environment, and by flags, the last first."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Literal, cast

from spanwise.assembly.assembler import SERVICE, AssemblySettings
from spanwise.errors import SinkError, SpecError
from spanwise.parameters import built
from spanwise.service.access import Access, Tls, check_listening, read_token
from spanwise.service.pressure import Bounds
from spanwise.sinks._otlp_http import checked_headers, read_headers

PREFIX = "SPANWISE_SERVE_"
OFF = "off"
_MB = 1 << 20
_S = 1_000_000_000
_WAL = ("folder", "max_mb", "fsync")
_LINK = re.compile(r"SPANWISE_SERVE(_SERVICE_HOST|_SERVICE_PORT.*|_PORT(_.*)?)")
"""What Kubernetes sets in every container beside a service of this name."""
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """How the service runs.

    Args:
        grpc: Where OTLP/gRPC is received; `off` for nowhere.
        http: Where OTLP/HTTP is received, and health and metrics are told; `off` for nowhere.
        token_file: A file with the token that senders must show.
        tls_cert: A PEM file with the certificate.
        tls_key: A PEM file with its key.
        wal_folder: Where the write-ahead log is; among the user's own state where not said.
        wal_max_mb: How large it may become.
        wal_fsync: When the disk must have it.
        no_wal: Keep no log: a process that is killed then loses what it holds.
        scores_to: An OTLP/HTTP receiver for score events.
        spans_to: One for the spans, with their scores on the root.
        handoff_to: One for unfinished traces at the end.
        handoff_headers: What requests to that one carry.
        handoff_token: The token that it wants to be shown.
        handoff_token_file: A file with that token.
        handoff_ca_file: A PEM file with the certificates that vouch for it; the system's where not said.
        grace_s: How long a trace is waited for after its topmost root ended.
        idle_s: When a trace without such a root is finished, since nothing came.
        late_s: How long a finished trace is held for late spans.
        judges_s: How long a trace stays in the log for what judges say of it.
        max_traces: Unfinished traces at once.
        max_spans: Their spans.
        max_mb: About how much memory they may take.
        max_trace_spans: Spans of one trace; a larger one is given up.
        queue: Spans that may wait for the thread that scores.
        drain_s: How long the end may take.
    """

    grpc: str = "127.0.0.1:4317"
    http: str = "127.0.0.1:4318"
    token_file: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    wal_folder: str = ""
    wal_max_mb: int = 1024
    wal_fsync: Literal["always", "interval", "never"] = "interval"
    no_wal: bool = False
    scores_to: str = ""
    spans_to: str = ""
    handoff_to: str = ""
    handoff_headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    handoff_token: str = field(default="", repr=False)
    handoff_token_file: str = ""
    handoff_ca_file: str = ""
    grace_s: float = 3.0
    idle_s: float = 300.0
    late_s: float = 30.0
    judges_s: float = 600.0
    max_traces: int = 100_000
    max_spans: int = 1_000_000
    max_mb: int = 1024
    max_trace_spans: int = 200_000
    queue: int = 50_000
    drain_s: float = 20.0

    def assembly(self) -> AssemblySettings:
        """When a trace is finished, and how much is held of traces, finished ones among them."""
        return replace(
            SERVICE,
            grace_ns=round(self.grace_s * _S),
            idle_ns=round(self.idle_s * _S),
            late_ns=round(self.late_s * _S),
            max_traces=self.max_traces,
            max_spans=self.max_spans,
            max_bytes=self.max_mb * _MB,
            max_trace_spans=self.max_trace_spans,
        )

    def bounds(self) -> Bounds:
        """Past what senders have to come again."""
        return Bounds(queue=self.queue, traces=self.max_traces, spans=self.max_spans, bytes=self.max_mb * _MB)

    def access(self) -> Access:
        """What senders must show, and are shown.

        Raises:
            SpecError: A file cannot be used.
        """
        token = read_token(Path(self.token_file).expanduser()) if self.token_file else None
        tls = None
        if self.tls_cert or self.tls_key:
            if not (self.tls_cert and self.tls_key):
                raise SpecError("tls_cert and tls_key go together; one of them is not set")
            tls = Tls(cert=Path(self.tls_cert).expanduser(), key=Path(self.tls_key).expanduser())
            tls.check()
        return Access(token=token, tls=tls)

    def handoff_access(self) -> tuple[Mapping[str, str], str | None]:
        """The headers that requests with unfinished traces carry, and the certificates that vouch for who takes them.

        Raises:
            SpecError: One of them cannot be used.
        """
        given = self.handoff_headers, self.handoff_token, self.handoff_token_file, self.handoff_ca_file
        if any(given) and not self.handoff_to:
            raise SpecError("handoff_to: not set, but something else of it is; set the receiver of unfinished traces")
        token = self.handoff_token or None
        if self.handoff_token_file:
            if token is not None:
                raise SpecError("handoff_token and handoff_token_file are both set; set one of them")
            path = Path(self.handoff_token_file).expanduser()
            token = read_token(path, called="handoff_token_file").decode()
        try:
            headers = checked_headers(self.handoff_headers, token)
        except SinkError as error:
            raise SpecError(f"handoff_headers, handoff_token: {error}") from None
        if not self.handoff_ca_file:
            return headers, None
        vouching = str(Path(self.handoff_ca_file).expanduser())
        try:
            ssl.create_default_context(cafile=vouching)
        except OSError as error:
            words = error.strerror or "it holds no certificates"
            raise SpecError(f"handoff_ca_file {vouching!r} cannot be used: {words}") from error
        return headers, vouching

    def folder(self) -> Path:
        """Where the write-ahead log is."""
        if self.wal_folder:
            return Path(self.wal_folder).expanduser()
        state = os.environ.get("XDG_STATE_HOME", "")
        home = Path(state) if state and Path(state).is_absolute() else Path("~/.local/state").expanduser()
        return home / "spanwise" / "wal"


def variable_of(name: str) -> str:
    """The variable of the environment for a setting."""
    return PREFIX + name.upper()


def serve_settings(
    table: Mapping[str, object], environ: Mapping[str, str], flags: Mapping[str, object], *, source: str = ""
) -> ServeSettings:
    """The settings of a file's table, of the environment before it, and of flags before both.

    Args:
        table: The table `serve`.
        environ: The environment.
        flags: What was said on the command line; None says nothing.
        source: The file, which errors name.

    Raises:
        SpecError: Something of it cannot be used; all of it is told at once.
    """
    errors: list[str] = []
    place = f"{source}, serve" if source else "serve"
    given = dict(_flat(table, place, errors))
    given |= _from_environment(environ, errors)
    given |= {name: value for name, value in flags.items() if value is not None}
    _hide(given, place, errors)
    found = cast("ServeSettings | None", built(ServeSettings, given, place, errors))
    if found is not None:
        errors += _problems(found)
    if errors or found is None:
        raise SpecError("\n".join(errors))
    return found


def _flat(table: Mapping[str, object], place: str, errors: list[str]) -> Mapping[str, object]:
    """The table with the one of the log within it spread out."""
    found = {name: value for name, value in table.items() if name != "wal"}
    wal = table.get("wal", {})
    if isinstance(wal, Mapping):
        for name, value in cast("Mapping[str, object]", wal).items():
            if name in _WAL:
                found[f"wal_{name}"] = value
            else:
                errors.append(f"{place}.wal.{name}: unknown key; known: {', '.join(_WAL)}")
    elif wal is False:
        found["no_wal"] = True
    else:
        errors.append(f"{place}.wal: read {wal!r}, expected a table ({', '.join(_WAL)}) or false")
    return found


def _from_environment(environ: Mapping[str, str], errors: list[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    known = {
        variable_of(one.name): (one.name, "" if one.default is MISSING else one.default)
        for one in fields(ServeSettings)
    }
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or _LINK.fullmatch(variable):
            continue
        if variable not in known:
            errors.append(f"{variable}: unknown variable; known: {', '.join(known)}")
            continue
        name, default = known[variable]
        try:
            found[name] = _read(text.strip(), default)
        except ValueError:
            words = "true or false" if isinstance(default, bool) else "a number"
            words = "a whole number" if isinstance(default, int) and not isinstance(default, bool) else words
            errors.append(f"{variable}: read {text!r}, expected {words}")
    return found


def _read(text: str, default: object) -> object:
    if isinstance(default, bool):
        if text.lower() not in (*_TRUE, *_FALSE):
            raise ValueError(text)
        return text.lower() in _TRUE
    if isinstance(default, int):
        return int(text)
    return float(text) if isinstance(default, float) else text


def _hide(given: dict[str, object], place: str, errors: list[str]) -> None:
    """Read what may be a secret, and take out what cannot be read: errors do not show it."""
    if not isinstance(given.get("handoff_token", ""), str):
        del given["handoff_token"]
        errors.append(f"{place}.handoff_token: expected text")
    told = given.get("handoff_headers", {})
    headers, is_usable = read_headers(told) if isinstance(told, str) else (told, isinstance(told, Mapping))
    if is_usable and all(isinstance(one, str) for one in cast("Mapping[str, object]", headers).values()):
        given["handoff_headers"] = headers
        return
    del given["handoff_headers"]
    errors.append(f"{place}.handoff_headers: expected a table of texts, or name=value with commas between")


def _problems(settings: ServeSettings) -> list[str]:
    """What is wrong with values that have the right types."""
    found: list[str] = []
    for one in fields(settings):
        value = getattr(settings, one.name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        least = 0 if one.name in {"grace_s", "late_s", "drain_s"} else 1 if isinstance(value, int) else 1e-3
        if not least <= value < 1e12:
            found.append(f"{one.name}: read {value!r}, expected a number of at least {least}")
    addresses = [one for one in (settings.grpc, settings.http) if one != OFF]
    if not addresses:
        found.append("grpc and http are both off: there is nothing to serve")
    for name in ("scores_to", "spans_to", "handoff_to"):
        address = cast("str", getattr(settings, name))
        if address and not address.startswith(("http://", "https://")):
            found.append(f"{name}: read {address!r}, expected the address of an OTLP/HTTP receiver, http://HOST:4318")
    if settings.spans_to and not settings.scores_to:
        found.append("spans_to: set scores_to, too; spans are forwarded beside their scores")
    _tried(settings.handoff_access, found)
    access = Access()

    def accessed() -> None:
        nonlocal access
        access = settings.access()

    is_usable = _tried(accessed, found)
    for address in addresses if is_usable else ():
        _tried(lambda address=address: check_listening(address, access), found)
    return found


def _tried(check: Callable[[], object], errors: list[str]) -> bool:
    try:
        check()
    except SpecError as error:
        errors.append(str(error))
        return False
    return True
