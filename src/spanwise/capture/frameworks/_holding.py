"""Instrumentation is on while at least one target needs it: turned on by the first, turned off after the last."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from opentelemetry.sdk.trace import TracerProvider

from spanwise.capture.frameworks._framework import Enabled, nothing

_log = logging.getLogger("spanwise")
_lock = threading.RLock()


@dataclass(slots=True)
class _Hold:
    provider: TracerProvider
    enabled: Enabled
    users: set[object] = field(default_factory=set[object])


_holds: dict[str, _Hold] = {}


def held(name: str, provider: TracerProvider, turn_on: Callable[[], Enabled]) -> Enabled:
    """What `turn_on` gave, now or for an earlier target; its undo takes effect when the last target is undone.

    Args:
        name: What is turned on, once in a process.
        provider: Where its spans go.
        turn_on: Turns it on; it is called only where it is off.
    """
    with _lock:
        hold = _holds.get(name)
        if hold is not None and not hold.enabled.is_on():
            del _holds[name]
            hold = None
        if hold is None:
            enabled = turn_on()
            if enabled.undo is nothing:
                return enabled
            hold = _holds[name] = _Hold(provider, enabled)
        elif hold.provider is not provider:
            told = f"{name}: on for another tracer provider, to which its spans go; turn that off first."
            return Enabled(did=(f"{name}: left as it is",), missing=(told,))
        user = object()
        hold.users.add(user)
        return replace(hold.enabled, undo=lambda: _release(name, hold, user))


def _release(name: str, hold: _Hold, user: object) -> None:
    with _lock:
        if user not in hold.users:
            return
        hold.users.remove(user)
        if hold.users or _holds.get(name) is not hold:
            return
        del _holds[name]
        if not hold.enabled.is_on():
            return
        try:
            hold.enabled.undo()
        except Exception:  # noqa: BLE001  (somebody else's library; the app goes on)
            _log.warning("the instrumentation of %s could not be turned off", name, exc_info=True)
