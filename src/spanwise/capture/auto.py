"""Scoring without a line of code: the entry point that `opentelemetry-instrument` and a configuration file load.

It has the shape of OpenTelemetry's `BaseInstrumentor` and needs nothing of it, so the package that brings that class is
no dependency.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, ClassVar, cast

from spanwise.capture._mark import is_isolated

if TYPE_CHECKING:
    from spanwise.capture.handle import Handle

_log = logging.getLogger("spanwise")
# What `opentelemetry-instrument` passes, and a configuration file does not.
_LOADER = ("skip_dep_check", "raise_exception_on_conflict")


class SpanwiseInstrumentor:
    """Turns scoring on and off for the process. There is one state, whoever makes a value of this class."""

    handle: ClassVar[Handle | None] = None
    """What `instrument` gave, while scoring is on."""

    @property
    def is_instrumented_by_opentelemetry(self) -> bool:
        """Scoring is on."""
        return SpanwiseInstrumentor.handle is not None

    def instrumentation_dependencies(self) -> Collection[str]:
        """No package has to be there."""
        return ()

    def instrument(self, **options: object) -> None:
        """Turn scoring on as the environment and the options ask for; never raises.

        A loader of all instrumentations turns it on only if a `SPANWISE_*` variable asks for it; anybody else who
        calls this has asked.
        """
        if self.is_instrumented_by_opentelemetry or is_isolated():
            return
        try:
            SpanwiseInstrumentor.handle = _instrumented(options)
        except Exception as error:  # noqa: BLE001  (the app must start)
            _log.error("spanwise: nothing is scored: %s", error)
            _log.debug("spanwise: the error above", exc_info=True)

    def uninstrument(self, **_: object) -> None:
        """Turn scoring off, if it is on; never raises."""
        handle, SpanwiseInstrumentor.handle = SpanwiseInstrumentor.handle, None
        if handle is None:
            return
        try:
            handle.uninstrument()
        except Exception:  # noqa: BLE001  (the app must go on)
            _log.warning("spanwise: what was instrumented could not be undone", exc_info=True)


def _instrumented(options: dict[str, object]) -> Handle | None:
    from spanwise.capture.environment import asked

    explicit = not any(name in options for name in _LOADER)
    found = asked(
        os.environ, {name: value for name, value in options.items() if name not in _LOADER}, explicit=explicit
    )
    for problem in found.problems:
        _log.warning("spanwise: %s", problem)
    if not found.enabled:
        return None
    from spanwise.capture.instrument import instrument

    return cast("Callable[..., Handle]", instrument)(None, **found.arguments)
