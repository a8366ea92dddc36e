"""The provider that stands in: unset for whoever looks, until somebody sets one or uses this one."""

from __future__ import annotations

import json
import subprocess
import sys

CODE = """
import json, logging, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
import spanwise

lines, results = [], []
class Lines(logging.Handler):
    def emit(self, record): lines.append(f"{record.levelname} {record.getMessage()}")
for name in ("spanwise", "opentelemetry"):
    logging.getLogger(name).addHandler(Lines())
    logging.getLogger(name).setLevel("INFO")
kept = InMemorySpanExporter()
def run(tracer, name):
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    with tracer.start_as_current_span(name, attributes=agent):
        tracer.start_span(name + " child").end()
def theirs(**options):
    provider = TracerProvider(**options)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    return provider
original = trace.set_tracer_provider
handle = spanwise.instrument(sinks=[lambda result: results.append(result.run.agents[0].name)], **OPTIONS)
current = trace.get_tracer_provider()
tracer = trace.get_tracer("app")
told = {}
BODY
handle.flush(10)
names = [span.name for span in kept.get_finished_spans()]
told |= {"results": results, "exported": names, "lines": [line for line in lines if "attached" not in line]}
told["patched"] = trace.set_tracer_provider is not original
told["unset"] = isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
told["sdk"] = isinstance(trace.get_tracer_provider(), TracerProvider)
handle.uninstrument()
print(json.dumps(told))
"""


def told(body: str, options: str = "{}") -> dict[str, object]:
    """What a process of its own says, since a global provider is set once."""
    code = CODE.replace("BODY", body).replace("OPTIONS", options)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_it_passes_for_unset() -> None:
    """As long as nobody sets or uses a provider, there is none for whoever looks, and runs are scored all the same."""
    assert {
        "results": ["a"], "exported": [], "lines": [], "patched": True, "unset": True, "sdk": False,
    } == told("run(tracer, 'a')")  # fmt: skip


def test_it_gives_way() -> None:
    """Tracers that were handed out before go along with the provider that is set, and a second one is refused."""
    said = told(
        "run(tracer, 'a'); trace.set_tracer_provider(theirs()); run(tracer, 'b'); run(trace.get_tracer('x'), 'c')"
        "; trace.set_tracer_provider(theirs()); run(tracer, 'd')"
    )
    assert ["a", "b", "c", "d"] == said["results"]
    assert ["b child", "b", "c child", "c", "d child", "d"] == said["exported"]
    assert ["WARNING Overriding of current TracerProvider is not allowed"] == said["lines"]
    assert (False, False, True) == (said["patched"], said["unset"], said["sdk"])


def test_an_open_span_stays_where_it_began() -> None:
    """A run that is under way when a provider is set is scored whole."""
    said = told(
        "agent = {'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'a'}\n"
        "with tracer.start_as_current_span('a', attributes=agent):\n"
        "    trace.set_tracer_provider(theirs())\n"
        "    tracer.start_span('a child').end()\n"
        "handle.flush(10)\n"
        "told['spans'] = [len(one.run.spans) for one in handle.last()]"
    )
    assert (["a"], [2], ["a child"]) == (said["results"], said["spans"], said["exported"])


def test_who_adds_a_processor_has_taken_it() -> None:
    """With a processor of the app's on it, it is the app's provider: OpenTelemetry refuses another one."""
    said = told(
        "current.add_span_processor(SimpleSpanProcessor(kept)); run(tracer, 'a')"
        "; trace.set_tracer_provider(theirs()); run(tracer, 'b')"
    )
    assert (["a", "b"], ["a child", "a", "b child", "b"]) == (said["results"], said["exported"])
    assert ["WARNING Overriding of current TracerProvider is not allowed"] == said["lines"]
    assert (False, False, True) == (said["patched"], said["unset"], said["sdk"])


def test_a_provider_that_takes_no_processors() -> None:
    """It is set all the same, and that nothing more is scored is said."""
    said = told("trace.set_tracer_provider(trace.NoOpTracerProvider()); run(tracer, 'a')")
    assert ([], []) == (said["results"], said["exported"])
    (line,) = said["lines"]
    assert line.startswith("WARNING spanwise: nothing more is scored: the provider that the app has set is a NoOp")


def test_it_does_not_give_way_to_itself() -> None:
    """To set the global provider once more changes nothing."""
    said = told("trace.set_tracer_provider(current); run(tracer, 'a')")
    assert (["a"], True) == (said["results"], said["unset"])


def test_a_global_provider_that_was_taken_away() -> None:
    """Where something else is the global provider by now, it is left alone."""
    said = told(
        "trace._TRACER_PROVIDER = None; trace._TRACER_PROVIDER_SET_ONCE._done = False"
        "; trace.set_tracer_provider(theirs()); run(trace.get_tracer('x'), 'a')"
    )
    assert ([], ["a child", "a"], False) == (said["results"], said["exported"], said["patched"])


def test_it_gives_way_after_the_undo() -> None:
    """Uninstrumented it still makes room, and is attached to no more."""
    said = told("handle.uninstrument(); trace.set_tracer_provider(theirs()); run(tracer, 'a')")
    assert ([], ["a child", "a"], []) == (said["results"], said["exported"], said["lines"])


def test_unsampled_spans_are_scored_on_a_later_provider() -> None:
    """`score_unsampled` holds for the provider that is set later too."""
    setting = "from opentelemetry.sdk.trace.sampling import ALWAYS_OFF as OFF"
    said = told(
        f"{setting}; trace.set_tracer_provider(theirs(sampler=OFF)); run(tracer, 'a')", "{'score_unsampled': True}"
    )
    assert (["a"], []) == (said["results"], said["exported"])
