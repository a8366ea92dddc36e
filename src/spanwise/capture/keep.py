"""Which traces are exported, by what their runs scored."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from spanwise.capture.sampling import has_failed, randomness
from spanwise.errors import ModelError
from spanwise.model.result import RunResult

WEIGHT = "spanwise.sample.weight"
"""On a run's root span: how many runs it stands for among those of which a sample is exported."""
_ALL = 1 << 56
_log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Every run that stands out is exported, and a share of the others.

    Args:
        alerts: A run with a score labelled `alert` stands out.
        errors: A run with a failed span, or with an evaluator that broke, stands out.
        unmeasurable: A run with something that could not be measured stands out.
        sample: The share, from 0 to 1, of the traces in which no run stands out. The trace's id decides, so that all
            processes agree; each stands for 1 / `sample` traces.

    Raises:
        ModelError: `sample` is no number of its range.
    """

    alerts: bool = True
    errors: bool = True
    unmeasurable: bool = True
    sample: float = 0.1

    def __post_init__(self) -> None:
        if not math.isfinite(self.sample) or not 0.0 <= self.sample <= 1.0:
            raise ModelError(f"Keep: sample is {self.sample!r}, expected a number from 0 to 1.")

    def __call__(self, result: RunResult, /) -> bool:
        """Whether the run stands out."""
        if self.alerts and any(score.label == "alert" for score in result.scores):
            return True
        statuses = {score.status for score in result.scores}
        if self.unmeasurable and "not_measurable" in statuses:
            return True
        return self.errors and ("error" in statuses or has_failed(result.run))

    def weight_of(self, trace_id: str) -> float:
        """How many traces this one stands for if nothing in it stands out: 1 / `sample`; 0 if it is not exported."""
        return 1.0 / self.sample if randomness(trace_id) >= _ALL - round(self.sample * _ALL) else 0.0


Keeping: TypeAlias = Keep | Callable[[RunResult], bool]


class Keeper:
    """Asks what the app chose; what it cannot answer is exported."""

    def __init__(self, keep: Keeping | None) -> None:
        self._keep = keep
        self.failures = 0

    @property
    def chooses(self) -> bool:
        """Some traces are not exported."""
        return self._keep is not None

    def weight(self, results: Sequence[RunResult]) -> float | None:
        """What a trace stands for: 0 if it is not exported, None where nobody can tell."""
        keep = self._keep
        if keep is None:
            return None
        try:
            if any(keep(result) for result in results):
                return 1.0 if isinstance(keep, Keep) else None
        except Exception:  # noqa: BLE001  (the app's own function; the trace is exported)
            self.failures += 1
            if self.failures == 1:
                _log.warning("ScoredExporter: `keep` failed; such traces are exported, not logged again", exc_info=True)
            return None
        return keep.weight_of(results[0].run.trace.trace_id) if isinstance(keep, Keep) else 0.0
