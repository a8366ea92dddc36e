"""`spanwise doctor`."""

from __future__ import annotations

import json
from importlib.metadata import version

from tests.cli.command import spanwise


def test_the_environment_is_described() -> None:
    """The installed SDK is listed, and what is set is said to be set without its value."""
    done = spanwise("doctor", LANGFUSE_SECRET_KEY="sk-12345", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1")
    assert (0, "", False) == (done.code, done.err, "sk-12345" in done.out or "127.0.0.1" in done.out)
    assert ["opentelemetry-sdk", version("opentelemetry-sdk")] in [line.split() for line in done.out.splitlines()]
    assert ["LANGFUSE_SECRET_KEY", "set"] in [line.split() for line in done.out.splitlines()]


def test_json_says_the_same() -> None:
    """JSON is one object with the extras of the package and the provider of the process."""
    found = json.loads(spanwise("doctor", "--format", "json").out)
    assert ("spanwise.doctor/1", version("spanwise"), []) == (
        found["schema"],
        found["spanwise"],
        found["extras"]["cli"],
    )
    assert "opentelemetry.trace.ProxyTracerProvider" == found["provider"]
