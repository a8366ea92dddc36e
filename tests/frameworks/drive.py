"""Runs one framework's sample agent in the environment that holds the frameworks: turned on, run, undone, run again.

    python tests/frameworks/drive.py FRAMEWORK BASE_URL OUT [--without MODULE ...] [--twice] [--before STATEMENT]

Writes the spans of the first run to OUT, as OTLP/JSON, and prints one JSON object: what was said, what the run
answered, and how many spans came after the undo.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import sys
import warnings
from importlib import import_module
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import otlp_file
import session
from spanwise.capture.frameworks import framework_of, imported, present


def main() -> None:
    """Drive one framework once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("framework")
    parser.add_argument("base_url")
    parser.add_argument("out", type=Path)
    parser.add_argument("--without", action="append", default=[], help="a module that is as if not installed")
    parser.add_argument("--twice", action="store_true", help="turn on for two targets, undo the first between the runs")
    parser.add_argument("--before", default="", help="a statement to run when the framework is imported")
    options = parser.parse_args()
    for name in options.without:
        sys.modules[name] = None  # pyright: ignore[reportArgumentType]  # how Python marks what must not be imported
    sys.stdout.write(json.dumps(driven(options)) + "\n")


def driven(options: argparse.Namespace) -> dict[str, object]:
    """What is to be known of the two runs."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    sample = import_module(f"frameworks.{options.framework}")
    exec(options.before, {"provider": provider})
    target = target_in(sample)
    found = framework_of(target)
    assert found is not None, options.framework
    enabled = found.enable(target, provider)
    again = found.enable(target, provider) if options.twice else None
    this = session.Session(
        instrumentation=session.OUTSIDE, variant="standard", base_url=options.base_url, exporter=exporter
    )
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        answers = [sample.main(this, provider)]
        provider.force_flush()
        spans = exporter.get_finished_spans()
        otlp_file.write(options.out, otlp_file.traces_json(spans))
        enabled.undo()
        enabled.undo()
        exporter.clear()
        counts: list[int] = []
        for _ in range(1 + bool(again)):
            answers.append(sample.main(this, provider))
            provider.force_flush()
            counts.append(len(exporter.get_finished_spans()))
            exporter.clear()
            if again is not None:
                again.undo()
    return {
        "framework": found.name,
        "imported": [one.name for one in imported()],
        "present": [one.name for one in present()],
        "did": enabled.did,
        "missing": enabled.missing,
        "again": None if again is None else {"did": again.did, "missing": again.missing},
        "answers": answers,
        "spans": len(spans),
        "after": counts,
    }


def target_in(sample: object) -> object:
    """The first thing that a sample has imported from a framework."""
    return next(value for name, value in vars(sample).items() if not name.startswith("__") and framework_of(value))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of the frameworks among themselves
    logging.basicConfig(stream=sys.stderr)
    main()
