"""The programs whose instructions are counted: each kind of work a few times, and then one of them many times more.

    python -m bench.counted KIND

Imports stand where they are used, for under valgrind they take most of the time.
"""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable

TRACES, TRACE_SPANS = 60, 20
# So many runs that they outweigh what imports cost now more and now less: some 0.2 million of 2,500 million.
RUN_SPANS, RUNS = 100, 60
_WARM = 4


def app(*, captured: bool) -> Callable[[], None]:
    """One trace of an app's thread, with the hooks of live capture or with a processor that does nothing.

    What is captured is kept, as it is until another thread has taken it.
    """
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

    from spanwise.capture.evaluations import stamping
    from spanwise.capture.intake import Intake
    from spanwise.capture.processor import SpanCapture

    def nothing() -> None: ...

    provider = TracerProvider(shutdown_on_exit=False)
    intake = Intake(1_000_000)
    held: list[object] = []
    hooks = SpanCapture(intake, stamp=stamping(), notify=nothing, flush=lambda timeout_s: True, close=nothing)
    provider.add_span_processor(hooks if captured else SpanProcessor())
    tracer = provider.get_tracer("bench")
    text = "word " * 200

    def trace() -> None:
        with tracer.start_as_current_span(
            "invoke_agent helper",
            context=Context(),
            attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"},
        ):
            for step in range(TRACE_SPANS - 1):
                with tracer.start_as_current_span("execute_tool search") as span:
                    span.set_attributes(
                        {
                            "gen_ai.operation.name": "execute_tool",
                            "gen_ai.tool.name": "search",
                            "gen_ai.tool.call.id": f"call_{step}",
                            "gen_ai.tool.call.arguments": f'{{"query": "question {step}"}}',
                            "gen_ai.tool.call.result": f"{step} {text}",
                            "gen_ai.tool.type": "function",
                            "gen_ai.agent.name": "helper",
                            "a": 1,
                            "b": 2.0,
                            "c": True,
                        }
                    )
        held.extend(intake.items)
        intake.items.clear()
        intake.taken()

    return trace


def scoring() -> Callable[[], object]:
    """The tree, the facts and the structural scores of one run after the other, of which no text was looked at."""
    from bench import paths
    from bench.dialects import fresh, spans_of
    from bench.workload import Run, Texts

    spans = spans_of(Run(RUN_SPANS, seed=1, texts=Texts().scaled(0.2)), dialect="genai", number=1)
    runs = [[fresh(span) for span in spans] for _ in range(RUNS + _WARM)]
    return lambda: paths.scores(runs.pop())


def main(kind: str) -> None:
    """Do the kind of work; `capturing` and `scored` are the same without it."""
    gc.disable()
    random.seed(1)
    if kind in {"scored", "scores"}:
        score = scoring()
        for _ in range(_WARM + (RUNS if kind == "scores" else 0)):
            score()
        return
    apps = {"no-op": app(captured=False), "capture": app(captured=True)}
    for one in apps.values():
        for _ in range(_WARM):
            one()
    if kind in apps:
        for _ in range(TRACES):
            apps[kind]()


if __name__ == "__main__":
    main(sys.argv[1])
