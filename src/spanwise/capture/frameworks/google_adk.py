"""Google's Agent Development Kit: records its runs itself, and their content when a variable says so."""

from __future__ import annotations

import os

from opentelemetry.sdk.trace import TracerProvider

from spanwise.capture.frameworks._framework import Enabled, Framework
from spanwise.capture.frameworks._global import records_itself
from spanwise.capture.frameworks._instrumentor import CAPTURE_CONTENT

NAME = "google-adk"


def _turn_on(target: object, provider: TracerProvider) -> Enabled:
    del target
    on_spans = os.environ.get(CAPTURE_CONTENT, "").strip().upper() in {"SPAN_ONLY", "SPAN_AND_EVENT"}
    old_schema = os.environ.get("ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN", "").strip() == "1"
    content = f"{NAME}: set {CAPTURE_CONTENT}=SPAN_ONLY to record content."
    missing = () if on_spans or old_schema else (content,)
    return records_itself(NAME, provider, instruments=frozenset((NAME,)), missing=missing)


FRAMEWORK = Framework(
    name=NAME,
    title="Google ADK",
    modules=("google.adk",),
    marker="google.adk",
    package=NAME,
    turn_on=_turn_on,
)
