"""What people, models and tools wrote leaves by Logfire's annotations at no level that does not ask for it.

Logfire is configured for a whole process, so this is one of its own: `logfire.configure`, with a real exporter to a
server on the loopback instead of Logfire's own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping

import pytest

from tests.sinks.test_privacy import SECRETS, told_in

APP = """
import json, sys, tempfile
from pathlib import Path
import logfire
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from spanwise.sinks.logfire import LogfireSink
from tests.sinks.otlp_server import OtlpServer
from tests.sinks.outlets import Local
from tests.sinks.test_parity import deliver
from tests.sinks.test_privacy import SECRETS, recorded

class Logfire(Local):
    def open(self, folder):
        self.sink = LogfireSink(scores="all")
        return self.sink

gone = {}
with OtlpServer() as server:
    processor = SimpleSpanProcessor(OTLPSpanExporter(endpoint=server.url + "/v1/traces"))
    logfire.configure(
        send_to_logfire=False, console=False, additional_span_processors=[processor], inspect_arguments=False
    )
    for level in (None, "none", "evidence", "all"):
        for kind, extra in (("", ""), ("secret ", " ".join(SECRETS))):
            server.received.requests.clear()
            outlet, result = Logfire(), recorded(extra)
            deliver(outlet, "logfire", [result], Path(tempfile.gettempdir()), level=level)
            assert outlet.sink.sent == len(result.scores) == len(server.received.spans)
            gone[f"{kind}{level}"] = "".join(str(request) for _, _, request in server.received.requests)
print(json.dumps(gone))
"""


@pytest.fixture(scope="module")
def gone(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """All that was exported, by the level of content."""
    require: Callable[[str], str] = request.getfixturevalue("require")
    require("logfire")
    done = subprocess.run([sys.executable, "-c", APP], capture_output=True, text=True, check=False, timeout=100)
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("level", ["None", "none"])
def test_at_none_no_content_leaves(gone: Mapping[str, str], level: str) -> None:
    """No piece of any content is in the annotations, neither at level none nor where no level was given."""
    assert "logfire.feedback.name" in gone[level]
    assert {} == told_in(gone[level])


def test_at_evidence_reasons_leave(gone: Mapping[str, str]) -> None:
    """What an evaluator quotes leaves where it is asked for."""
    assert "argument" in told_in(gone["evidence"])


@pytest.mark.parametrize("level", ["none", "evidence", "all"])
def test_secrets_never_leave(gone: Mapping[str, str], level: str) -> None:
    """Keys, tokens, addresses and cards leave at no level; a text that held one is scrubbed by Logfire as a whole."""
    assert [] == [secret for secret in SECRETS if secret in gone[f"secret {level}"]]
    assert (level != "none") == ("[Scrubbed due to" in gone[f"secret {level}"])
