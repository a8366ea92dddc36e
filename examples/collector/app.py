"""An app that knows nothing of Spanwise's scorers: it sends its spans to a Collector, and looks what came of them.

python examples/collector/app.py          # with examples/collector/start running
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

HERE = Path(os.environ.get("SPANWISE_EXAMPLE_DIR", ".build/collector-example"))
QUESTIONS = {"Which of Quito and Hanoi is larger?": ["Quito", "Hanoi", "Quito"], "How large is Oslo?": ["Oslo"]}
INHABITANTS = {"Quito": 2_011_000, "Hanoi": 8_500_000, "Oslo": 718_000}

provider = TracerProvider(resource=Resource.create({"service.name": "cities"}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint="http://127.0.0.1:4318/v1/traces")))
tracer = provider.get_tracer("cities")


def answer(question: str) -> str:
    """An agent of a few lines, instrumented by hand as the GenAI conventions say; its trace id."""
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "cities"}
    with tracer.start_as_current_span("invoke_agent cities", attributes=agent) as span:
        for city in QUESTIONS[question]:
            tool = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "inhabitants",
                "gen_ai.tool.call.arguments": json.dumps({"city": city}),
                "gen_ai.tool.call.result": json.dumps(INHABITANTS[city]),
            }
            with tracer.start_as_current_span("execute_tool inhabitants", attributes=tool):
                time.sleep(0.01)
        return f"{span.get_span_context().trace_id:032x}"


def scores(trace_id: str) -> Iterator[tuple[str, float]]:
    """The scores of a trace that have reached the backend."""
    path = HERE / "logs.jsonl"
    for line in path.read_text().splitlines() if path.exists() else ():
        for resource in json.loads(line)["resourceLogs"]:
            for record in (one for scope in resource["scopeLogs"] for one in scope["logRecords"]):
                told = {one["key"]: one["value"] for one in record["attributes"]}
                if record["traceId"] == trace_id and "gen_ai.evaluation.score.value" in told:
                    name, value = told["gen_ai.evaluation.name"], told["gen_ai.evaluation.score.value"]
                    yield name["stringValue"], value["doubleValue"]


if __name__ == "__main__":
    asked = {question: answer(question) for question in QUESTIONS}
    provider.shutdown()
    deadline = time.monotonic() + 30
    while not all(dict(scores(trace_id)) for trace_id in asked.values()) and time.monotonic() < deadline:
        time.sleep(0.2)
    for question, trace_id in asked.items():
        told = " ".join(f"{name}={value:.2f}" for name, value in sorted(scores(trace_id)) if name != "latency_ms")
        print(question, told or "nothing arrived", sep="\n  ")
