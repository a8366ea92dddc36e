"""When a trace is finished, how much may be held of traces, and what became of every record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from spanwise.errors import ModelError
from spanwise.model.trace import Trace

Finish: TypeAlias = Literal["local_root", "top_root", "end"]
Refusal: TypeAlias = Literal["traces", "spans_per_trace", "spans", "bytes", "unfinished", "queue", "doubtful"]

_S = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblySettings:
    """When a trace is finished, and how much may be held. None switches a limit off.

    `records` has finished traces keep the records that they were built from, for those who send them on as they came.
    """

    finish: Finish = "end"
    grace_ns: int = 0
    idle_ns: int | None = None
    late_ns: int = 0
    max_age_ns: int | None = None
    max_traces: int | None = None
    max_trace_spans: int | None = None
    max_spans: int | None = None
    max_bytes: int | None = None
    max_tombstones: int = 10_000
    unit: Literal["run", "trace"] = "run"
    records: bool = False

    def __post_init__(self) -> None:
        for name in ("grace_ns", "idle_ns", "late_ns", "max_age_ns"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ModelError(f"AssemblySettings: {name} is {value!r}; a time span cannot be negative.")
        for name in ("max_traces", "max_trace_spans", "max_spans", "max_bytes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ModelError(f"AssemblySettings: {name} is {value!r}; use None for no bound.")


OFFLINE = AssemblySettings()
LIVE = AssemblySettings(
    finish="local_root", late_ns=5 * _S, max_age_ns=3600 * _S, max_traces=10_000,
    max_trace_spans=100_000, max_spans=200_000, max_bytes=512 << 20
)  # fmt: skip
SERVICE = AssemblySettings(
    finish="top_root", grace_ns=3 * _S, idle_ns=300 * _S, late_ns=30 * _S, max_traces=100_000,
    max_trace_spans=200_000, max_spans=1_000_000
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class AssemblyStats:
    """What became of every record. received = held + released + doubled + late + refused, at any moment."""

    received: int = 0
    doubled: int = 0
    late: int = 0
    released: int = 0
    refused: dict[str, int] = field(default_factory=dict[str, int])
    refused_traces: dict[str, int] = field(default_factory=dict[str, int])
    finished: int = 0
    again: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A finished trace. `reason` tells why it is held finished, `revision` how often it was handed out."""

    trace: Trace
    revision: int
    reason: str
