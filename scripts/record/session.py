"""What a framework's script is told on its command line, and where its spans go."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter

import otlp_file
import scenario

# The instrumentation's name where whoever runs the script has turned one on, or wants none.
OUTSIDE = "outside"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One recording to make."""

    instrumentation: str
    variant: str
    base_url: str
    exporter: SpanExporter

    @property
    def openai_url(self) -> str:
        """The base URL that an OpenAI client expects."""
        return f"{self.base_url}/v1"

    @property
    def query(self) -> str:
        """The user's question in this variant."""
        return scenario.query_for(self.variant)


def run(main: Callable[[Session, TracerProvider], object], /, *, framework: str) -> None:
    """`main` has run with providers that record, and the files are written even if it raised."""
    parser = argparse.ArgumentParser(prog=framework)
    parser.add_argument("--instrumentation", required=True)
    parser.add_argument("--variant", default="standard")
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    with otlp_file.recording(options.out, service=f"{framework}-sample") as (provider, exporter):
        session = Session(
            instrumentation=options.instrumentation,
            variant=options.variant,
            base_url=options.base_url.rstrip("/"),
            exporter=exporter,
        )
        print(main(session, provider))
