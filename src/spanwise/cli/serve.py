"""`spanwise serve`: take spans by OTLP, score them, and send the scores on."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from spanwise.cli.guard import FINE
from spanwise.config import load
from spanwise.errors import SinkError, SpecError
from spanwise.evals.foreign import adapting


class LogFormat(StrEnum):
    """How log lines look."""

    TEXT = "text"
    JSON = "json"


class Fsync(StrEnum):
    """When the disk has to have the write-ahead log."""

    ALWAYS = "always"
    INTERVAL = "interval"
    NEVER = "never"


def _address(flag: str, words: str) -> typer.models.OptionInfo:
    return typer.Option(flag, metavar="HOST:PORT", help=words, show_default=False)


def _url(flag: str, words: str) -> typer.models.OptionInfo:
    return typer.Option(flag, metavar="URL", help=words, show_default=False)


def _file(flag: str, words: str) -> typer.models.OptionInfo:
    return typer.Option(flag, metavar="FILE", help=words, show_default=False)


def _number(flag: str, words: str) -> typer.models.OptionInfo:
    return typer.Option(flag, metavar="N", help=words, show_default=False)


def serve(
    *,
    grpc: Annotated[str | None, _address("--grpc", "Receive OTLP/gRPC here [127.0.0.1:4317]; off for nowhere.")] = None,
    http: Annotated[
        str | None,
        _address("--http", "Receive OTLP/HTTP here, and tell health and metrics [127.0.0.1:4318]; off for nowhere."),
    ] = None,
    token_file: Annotated[
        str | None, _file("--token-file", "The token that senders must show; needed to listen beyond this machine.")
    ] = None,
    tls_cert: Annotated[str | None, _file("--tls-cert", "A certificate (PEM), to receive by TLS.")] = None,
    tls_key: Annotated[str | None, _file("--tls-key", "Its key (PEM).")] = None,
    scores_to: Annotated[
        str | None, _url("--scores-to", "Send scores as log events to this OTLP/HTTP receiver.")
    ] = None,
    spans_to: Annotated[
        str | None, _url("--spans-to", "Forward spans to this OTLP/HTTP receiver, with the scores on the root.")
    ] = None,
    handoff_to: Annotated[
        str | None, _url("--handoff-to", "At SIGTERM give unfinished traces to this OTLP/HTTP receiver.")
    ] = None,
    handoff_headers: Annotated[
        str | None,
        typer.Option(
            "--handoff-headers",
            metavar="NAME=VALUE,...",
            help="What requests to it carry; secrets better by environment, since others see the flags of a process.",
            show_default=False,
        ),
    ] = None,
    handoff_token: Annotated[
        str | None,
        typer.Option(
            "--handoff-token",
            metavar="TOKEN",
            help="The token that it wants; better --handoff-token-file, since others see the flags of a process.",
            show_default=False,
        ),
    ] = None,
    handoff_token_file: Annotated[
        str | None, _file("--handoff-token-file", "The token that it wants, in a file.")
    ] = None,
    handoff_ca_file: Annotated[
        str | None, _file("--handoff-ca-file", "Certificates (PEM) that vouch for it; the system's otherwise.")
    ] = None,
    wal_folder: Annotated[
        str | None,
        typer.Option(
            "--wal-folder",
            metavar="FOLDER",
            help="The write-ahead log, one folder for each process [~/.local/state/spanwise/wal].",
            show_default=False,
        ),
    ] = None,
    wal_max_mb: Annotated[int | None, _number("--wal-max-mb", "How large it may become [1024].")] = None,
    wal_fsync: Annotated[
        Fsync | None,
        typer.Option(
            "--wal-fsync", help="Sync it before each answer, every second [interval], or never.", show_default=False
        ),
    ] = None,
    no_wal: Annotated[
        bool, typer.Option("--no-wal", help="Keep no log: a killed process then loses the traces it holds.")
    ] = False,
    grace_s: Annotated[float | None, _number("--grace-s", "Score a trace so long after its root ended [3].")] = None,
    idle_s: Annotated[
        float | None, _number("--idle-s", "Score a trace without an ended root when nothing came for so long [300].")
    ] = None,
    late_s: Annotated[float | None, _number("--late-s", "Score again for spans that come so late [30].")] = None,
    judges_s: Annotated[
        float | None, _number("--judges-s", "Keep a trace in the log so long for its judges' verdicts [600].")
    ] = None,
    max_traces: Annotated[int | None, _number("--max-traces", "Unfinished traces at once [100000].")] = None,
    max_spans: Annotated[int | None, _number("--max-spans", "Spans of these [1000000].")] = None,
    max_mb: Annotated[int | None, _number("--max-mb", "About how much memory these may take [1024].")] = None,
    max_trace_spans: Annotated[int | None, _number("--max-trace-spans", "Spans of one trace [200000].")] = None,
    queue: Annotated[int | None, _number("--queue", "Spans that may wait to be assembled [50000].")] = None,
    drain_s: Annotated[float | None, _number("--drain-s", "How long the end may take after SIGTERM [20].")] = None,
    profile: Annotated[
        str | None,
        typer.Option("--profile", metavar="NAME", help="The evaluators of this profile: default or classic."),
    ] = None,
    config: Annotated[
        Path | None,
        _file("--config", "Settings; the nearest spanwise.toml or pyproject.toml otherwise."),
    ] = None,
    log_format: Annotated[
        LogFormat, typer.Option("--log-format", help="Log lines for people, or JSON.")
    ] = LogFormat.TEXT,
) -> int:
    """Take spans by OTLP from apps or a Collector, score every run when it is finished, and send the scores on.

    What was accepted stands in a write-ahead log until its scores are safe, so that no restart loses it. A sender that
    comes when there is no room is told to come again. SIGTERM takes no more, finishes what is finished, hands off the
    rest, and ends; a second signal ends at once. Each option can also stand in the table `serve` of the settings
    (grpc = "...", wal = { folder = "..." }) or in the environment (SPANWISE_SERVE_GRPC, SPANWISE_SERVE_WAL_FOLDER).
    """
    flags: dict[str, object] = {
        "grpc": grpc, "http": http, "token_file": token_file, "tls_cert": tls_cert, "tls_key": tls_key,
        "scores_to": scores_to, "spans_to": spans_to, "handoff_to": handoff_to,
        "handoff_headers": handoff_headers, "handoff_token": handoff_token, "handoff_token_file": handoff_token_file,
        "handoff_ca_file": handoff_ca_file, "wal_folder": wal_folder,
        "wal_max_mb": wal_max_mb, "wal_fsync": None if wal_fsync is None else wal_fsync.value,
        "no_wal": no_wal or None, "grace_s": grace_s, "idle_s": idle_s, "late_s": late_s, "judges_s": judges_s,
        "max_traces": max_traces,
        "max_spans": max_spans, "max_mb": max_mb, "max_trace_spans": max_trace_spans, "queue": queue,
        "drain_s": drain_s,
    }  # fmt: skip
    try:
        return _serve(flags, config=config, profile=profile or "", as_json=log_format is LogFormat.JSON)
    except SinkError as error:  # a package is not there
        raise SpecError(str(error)) from error
    except OSError as error:
        raise SpecError(f"the service cannot listen: {error.strerror or error}") from error


def _serve(flags: Mapping[str, object], *, config: Path | None, profile: str, as_json: bool) -> int:
    from spanwise.service.server import Server, log_to, plan
    from spanwise.service.settings import serve_settings

    project = load(config, profile=profile, adapt=adapting)
    settings = serve_settings(project.serve, os.environ, flags, source=project.source)
    log_to(sys.stderr, as_json=as_json)
    asyncio.run(Server(plan(settings, config=config, profile=profile), say=_say).run())
    return FINE


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
