"""Scores: what an evaluator says about one run, and when it says that it cannot know."""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

import msgspec

from spanwise.errors import ModelError

Status: TypeAlias = Literal["scored", "not_applicable", "not_measurable", "error"]
Label: TypeAlias = Literal["ok", "warn", "alert"]

VERSION = "1"
"""The version of evaluators that do not say theirs."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A place in the trace: a span and a verbatim excerpt of what it recorded (empty where content is off).

    Where it is known, `start` and `end` say where in the recorded text the excerpt stands.
    """

    span_id: str
    quote: str = ""
    start: int | None = None
    end: int | None = None


class Score(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One answer to one question about one run. `msgspec.structs.replace` makes one that differs.

    A value without a unit lies in [0, 1] and 1 is always good. Only `scored` carries a value; `not_applicable` means
    that the question does not arise, `not_measurable` that the trace lacks the data (the reason names the switch that
    would record it), `error` that the evaluator broke. None of the three is ever 0.
    """

    name: str
    value: float | None = None
    unit: str = ""
    label: str = ""
    status: Status = "scored"
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    issues: tuple[str, ...] = ()
    recommendations: tuple[str, ...] = ()
    evaluator: str = ""
    version: str = VERSION
    config_hash: str = ""
    revision: int = 1

    def __post_init__(self) -> None:
        if (self.status == "scored") != (self.value is not None):
            raise ModelError(f"Score {self.name!r}: a value belongs to status 'scored' and to no other.")
        # The comparison is False for NaN, so NaN is refused with the values outside the range.
        if self.value is not None and not self.unit and not 0.0 <= self.value <= 1.0:
            raise ModelError(f"Score {self.name!r}: {self.value!r} has no unit and lies outside [0, 1].")


def not_applicable(name: str, reason: str, *, unit: str = "") -> Score:
    """The question does not arise for this run."""
    return Score(name=name, unit=unit, status="not_applicable", reason=reason)


def not_measurable(name: str, reason: str, *, unit: str = "") -> Score:
    """The trace lacks the data; `reason` names what would record it."""
    return Score(name=name, unit=unit, status="not_measurable", reason=reason)


def score_id(*, trace_id: str, run_id: str, name: str) -> str:
    """The same id for the same question about the same run, whichever door the trace came through."""
    return hashlib.sha256(f"{trace_id}/{run_id}/{name}".encode()).hexdigest()[:32]
