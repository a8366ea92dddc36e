"""Which runs are scored, by which evaluators: rates, caps, and why a run was not.

One number per trace decides for every evaluator. It is R of W3C Trace Context level 2, the low 56 bits of the trace id,
and an evaluator with rate p sees the traces with R >= (1 - p) * 2**56. So what a dear evaluator sees is part of what
every cheaper one sees, all processes agree without talking, and so do samplers that follow OpenTelemetry's consistent
probability sampling. (The SDK's older `TraceIdRatioBased` looks at other bits and from the other end: a share of its
share is what one gets.)

Nothing here has a clock: the caller passes Unix time in.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal, TypeAlias, cast

from spanwise.errors import ModelError
from spanwise.model.ports import AnyEvaluator
from spanwise.model.raw import STATUS_ERROR
from spanwise.model.trace import Run

Reason: TypeAlias = Literal["rate", "per_minute", "per_day"]

_BITS = 56
_ALL = 1 << _BITS
_DIGITS = _BITS // 4
_S = 1_000_000_000
_DAY_S = 86_400
_SLOTS = 61  # whole seconds that any sixty seconds can touch


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How many runs each evaluator sees.

    Args:
        rates: The share of traces, from 0 to 1, that an evaluator sees, by its name.
        default: The share for an evaluator that is not named.
        keep_on_error: A run with a failed span is given to all evaluators, whatever their rates. Caps hold for it too.
        per_minute: How many runs are scored in any sixty seconds, in this process.
        per_day: How many runs are scored on one day in UTC, in this process.

    Raises:
        ModelError: A rate or a cap is not a number of its range.
    """

    rates: Mapping[str, float] = field(default_factory=dict[str, float])
    default: float = 1.0
    keep_on_error: bool = True
    per_minute: int | None = None
    per_day: int | None = None

    def __post_init__(self) -> None:
        given = cast("object", self.rates)
        if not isinstance(given, Mapping):
            raise ModelError(f"Sampling: rates is {given!r}, expected a mapping of evaluators' names to rates.")
        for name, rate in cast("Mapping[object, object]", given).items():
            if not isinstance(name, str):
                raise ModelError(f"Sampling: rates names {name!r}, expected the name of an evaluator.")
            _check_rate(f"rates[{name!r}]", rate)
        _check_rate("default", self.default)
        _check_cap("per_minute", self.per_minute)
        _check_cap("per_day", self.per_day)
        object.__setattr__(self, "rates", dict(self.rates))

    def rate_of(self, name: str) -> float:
        """The share of traces that an evaluator sees."""
        return self.rates.get(name, self.default)


def _check_rate(where: str, rate: object) -> None:
    number = isinstance(rate, int | float) and not isinstance(rate, bool) and math.isfinite(rate)
    if not number or not 0.0 <= cast("float", rate) <= 1.0:
        raise ModelError(f"Sampling: {where} is {rate!r}, expected a number from 0 to 1.")


def _check_cap(where: str, cap: object) -> None:
    if cap is not None and (not isinstance(cap, int) or isinstance(cap, bool) or cap < 1):
        raise ModelError(f"Sampling: {where} is {cap!r}, expected a whole number of at least 1, or None for no cap.")


def randomness(trace_id: str) -> int:
    """The number of a trace, uniform below 2**56: the low 56 bits of its id. Of what is no hex id, those of a hash."""
    tail = trace_id[-_DIGITS:]
    if len(tail) == _DIGITS and tail.isascii() and tail.isalnum():
        try:
            return int(tail, 16)
        except ValueError:
            pass
    return int.from_bytes(blake2b(trace_id.encode(errors="replace"), digest_size=_BITS // 8).digest(), "big")


def _passes(number: int, rate: float) -> bool:
    return number >= _ALL - round(rate * _ALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What becomes of a run. `reason` is empty if it is scored, else why it is not."""

    sampling: Sampling
    number: int
    reason: Reason | Literal[""] = ""
    kept: bool = False
    """All evaluators see the run, whatever their rates: it failed."""

    def wants(self, name: str) -> bool:
        """Whether the evaluator of this name may see the run."""
        return not self.reason and (self.kept or _passes(self.number, self.sampling.rate_of(name)))

    def weight_of(self, name: str) -> float:
        """How many runs this one stands for among those that an evaluator sees: 1 / rate; 0 if it may not see it.

        A run that was kept because it failed stands for itself. Caps are not in the weight.
        """
        if not self.wants(name):
            return 0.0
        return 1.0 if self.kept else 1.0 / self.sampling.rate_of(name)

    @property
    def weight(self) -> float:
        """The weight of the run for the evaluators with the default rate."""
        return self.weight_of("")


class Admission:
    """Decides run by run, and counts in `counts` why runs were not scored. Not thread-safe: one owner calls it.

    `evaluators` are the names of those there are; a run that none of them would see does not use up a cap. Without
    them, every evaluator is taken to be possible.
    """

    def __init__(self, sampling: Sampling, evaluators: Collection[str] = ()) -> None:
        self.sampling = sampling
        self.counts: dict[str, int] = {}
        self.admitted = 0
        names = tuple(evaluators)
        self._highest = max(map(sampling.rate_of, names) if names else (sampling.default, *sampling.rates.values()))
        self._slots = [0] * _SLOTS
        self._minute = 0
        self._second = -1
        self._day = -1
        self._today = 0

    def admit(self, run_or_trace_id: str, *, failed: bool, now_ns: int, again: bool = False) -> Decision:
        """Whether a run is scored, and by whom.

        Args:
            run_or_trace_id: The trace's id as hex text, so that all runs and all processes of a trace agree.
            failed: A span of the run failed, or its root did.
            now_ns: Unix time; a clock that was set back stands still until it has caught up.
            again: A later revision of a run that was asked for before: caps are neither used up nor looked at.
        """
        number = randomness(run_or_trace_id)
        kept = failed and self.sampling.keep_on_error
        reason: Reason | Literal[""] = ""
        if not kept and not _passes(number, self._highest):
            reason = "rate"
        elif not again:
            reason = self._capped(now_ns)
        if reason:
            self.counts[reason] = self.counts.get(reason, 0) + 1
        else:
            self.admitted += 1
        return Decision(sampling=self.sampling, number=number, reason=reason, kept=kept)

    def _capped(self, now_ns: int) -> Reason | Literal[""]:
        """The cap that refuses a run now; if none does, the run is counted."""
        per_minute, per_day = self.sampling.per_minute, self.sampling.per_day
        if per_minute is None and per_day is None:
            return ""
        self._advance(max(now_ns // _S, self._second))
        if per_day is not None and self._today >= per_day:
            return "per_day"
        if per_minute is not None and self._minute >= per_minute:
            return "per_minute"
        self._slots[self._second % _SLOTS] += 1
        self._minute += 1
        self._today += 1
        return ""

    def _advance(self, second: int) -> None:
        # Counts of whole seconds hold the cap in every window of a minute; a bucket of tokens lets twice as many
        # through in the first one.
        for passed in range(max(self._second + 1, second - _SLOTS + 1), second + 1):
            slot = passed % _SLOTS
            self._minute -= self._slots[slot]
            self._slots[slot] = 0
        self._second = second
        if second // _DAY_S != self._day:
            self._day, self._today = second // _DAY_S, 0


def has_failed(run: Run) -> bool:
    """A span of the run ended with an error, recovered from or not."""
    return any(span.raw.status_code == STATUS_ERROR for span in run.spans)


class Gate:
    """Gives a run to the evaluators that its sampling lets see it: what a pipeline asks before it scores.

    Args:
        admission: Decides and counts.
        wall_offset_ns: What is added to the pipeline's time to make it Unix time, which days are counted by.
    """

    def __init__(self, admission: Admission, *, wall_offset_ns: int = 0) -> None:
        self.admission = admission
        self._offset_ns = wall_offset_ns

    def admit(self, run: Run, evaluators: Mapping[str, AnyEvaluator], now_ns: int, /) -> Mapping[str, AnyEvaluator]:
        """The evaluators that see the run; none if it is not scored."""
        decision = self.admission.admit(
            run.trace.trace_id,
            failed=self.admission.sampling.keep_on_error and has_failed(run),
            now_ns=now_ns + self._offset_ns,
            again=run.trace.revision > 1,
        )
        if decision.reason:
            return {}
        return {name: evaluator for name, evaluator in evaluators.items() if decision.wants(name)}
