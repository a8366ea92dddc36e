"""Strands Agents: records its runs itself, content included."""

from __future__ import annotations

import os

from opentelemetry.sdk.trace import TracerProvider

from spanwise.capture.frameworks._framework import Enabled, Framework
from spanwise.capture.frameworks._global import records_itself

NAME = "strands"
_OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
_REDACTING = "gen_ai_unredacted_attributes="


def _turn_on(target: object, provider: TracerProvider) -> Enabled:
    del target
    redacts = any(word.strip().startswith(_REDACTING) for word in os.environ.get(_OPT_IN, "").split(","))
    advice = f"{NAME}: {_OPT_IN} redacts content; take {_REDACTING}... out of it to record content."
    return records_itself(
        NAME, provider, instruments=frozenset(("strands-agents",)), missing=(advice,) if redacts else ()
    )


FRAMEWORK = Framework(
    name=NAME,
    title="Strands Agents",
    modules=("strands",),
    marker="strands.event_loop",
    package="strands-agents",
    turn_on=_turn_on,
)
