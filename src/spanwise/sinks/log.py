"""One log line per run, for apps that chose no other destination."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from spanwise.model.ports import Content
from spanwise.model.result import RunResult
from spanwise.sinks._line import line_of

_log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSink:
    """Logs each run at INFO under the name `spanwise`: its overall score, the worst one and why, time and cost."""

    emits: ClassVar[Content] = "all"
    inline: ClassVar[bool] = True

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Log the runs."""
        for result in results:
            _log.info("%s", line_of(result))

    def close(self) -> None:
        """Nothing is open."""
