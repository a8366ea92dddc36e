"""What a server said to what was sent, and what that means for what waits. Nothing here raises."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from opentelemetry import context as otel_context

if TYPE_CHECKING:
    from collections.abc import Generator

Verdict: TypeAlias = Literal["taken", "refused", "too_large", "other_form", "later", "denied", "lost"]
LONGEST_WAIT_S = 3_600.0
TEXT = 300
"""So much of a server's reason is kept."""
_SUPPRESS = str(getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation"))


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of what was sent.

    Of those `refused`, `parts` says which by their places, where the server does, with its reasons; None stands for
    some or all of them. `after_s` is how long the server asks to be left alone. `rejected` is how many of those
    `taken` the server threw away without saying which.
    """

    verdict: Verdict
    reason: str = ""
    after_s: float | None = None
    status: int = 0
    parts: Mapping[int, str] | None = None
    rejected: int = 0


@contextmanager
def unseen() -> Generator[None]:
    """Keep an instrumentation of the HTTP client from making spans of our own requests."""
    yes = True
    context = otel_context.set_value(_SUPPRESS, yes, otel_context.set_value("suppress_instrumentation", yes))
    token = otel_context.attach(context)
    try:
        yield
    finally:
        otel_context.detach(token)


def wait_of(headers: Mapping[str, str]) -> float | None:
    """How long the server asks to be left alone: Retry-After, or the rest of the minute where its limit is used up."""
    asked = headers.get("retry-after")
    wait_s: float | None = None
    if asked is not None:
        try:
            wait_s = float(asked)
        except ValueError:
            try:
                wait_s = email.utils.parsedate_to_datetime(asked).timestamp() - time.time()
            except ValueError:
                wait_s = None
    elif headers.get("x-ratelimit-remaining") == "0":
        try:
            wait_s = float(headers.get("x-ratelimit-reset", "")) - time.time()
        except ValueError:
            wait_s = None
    # The comparison is False for NaN too.
    return min(wait_s, LONGEST_WAIT_S) if wait_s is not None and wait_s > 0 else None
