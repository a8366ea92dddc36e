"""Scores arrive at Langfuse once, whatever its server is like and however it fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path

import pytest

from spanwise.errors import SinkError
from spanwise.model.score import not_measurable
from spanwise.sinks._delivery import TRIES
from spanwise.sinks.langfuse import CLOUD, LangfuseSink
from tests.sinks.langfuse_making import FAST, NAMES, a_result, a_score, five, sink_to, until
from tests.sinks.langfuse_server import PUBLIC, SECRET, Fault, LangfuseServer, serving

VERSIONS = ("4.60.1", "4.16.0", "3.9.0")
KEYS = {"LANGFUSE_PUBLIC_KEY": PUBLIC, "LANGFUSE_SECRET_KEY": SECRET}


@pytest.fixture(autouse=True)
def _needs_the_sdk(require: Callable[[str], str]) -> None:
    require("langfuse")
    require("httpx")


@pytest.fixture
def server() -> Iterator[LangfuseServer]:
    """A server of today."""
    with serving() as running:
        yield running


@pytest.fixture
def outbox(tmp_path: Path) -> Path:
    """Where a sink's outbox can be."""
    return tmp_path / "out.db"


@pytest.mark.parametrize("version", VERSIONS)
def test_every_generation_of_servers(version: str, outbox: Path) -> None:
    """All scores arrive in the form that the server takes, in as few requests as it allows."""
    with serving(version) as server:
        sink = sink_to(server, outbox)
        sink.emit([a_result(number, five()) for number in range(1, 5)])
        assert sink.flush(10)
        sink.close()
        assert 4 * len(NAMES) == len(server.scores) == server.accepted
        posts = [scores for method, _, _, scores in server.asked if method == "POST"]
        assert {"4.60.1": [15, 5], "4.16.0": [1] * 20, "3.9.0": [15, 5]}[version] == posts
        assert (20, 20, 0, {}) == (
            sink.stats().taken,
            sink.stats().delivered,
            sink.stats().waiting,
            sink.stats().dropped,
        )


@pytest.mark.parametrize(
    ("version", "told"),
    [
        *((version, told) for version in VERSIONS for told in (None, "of today", "4.60.1", "4.16.0")),
        ("3.9.0", "3.9.0"),
    ],
)
def test_a_version_that_is_not_so(version: str, told: str | None, outbox: Path) -> None:
    """Where the server tells no version or a wrong one, the right form is found by what it answers."""
    with serving(version) as server:
        server.told_version = told
        sink = sink_to(server, outbox)
        sink.emit([a_result(number, five()) for number in range(1, 5)])
        assert sink.flush(10)
        sink.close()
        assert (20, {}) == (len(server.scores), sink.stats().dropped)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", [429, 500, 502, 503, 408, "hang", "drop", "drop_after"])
def test_failures_that_pass(kind: int | str, version: str, outbox: Path) -> None:
    """Whatever fails for a while is sent again: nothing is lost, and nothing is there twice."""
    with serving(version) as server:
        server.hang_s = 0.4
        server.faults.extend([Fault(kind)] * 3)
        sink = sink_to(server, outbox, pace=FAST if kind != "hang" else _impatient())
        sink.emit([a_result(number, five()) for number in range(1, 3)])
        assert until(lambda: sink.stats().waiting == 0)
        sink.close()
        assert (10, 10, {}) == (len(server.scores), sink.stats().delivered, sink.stats().dropped)
        assert sink.stats().retries >= 3


def _impatient() -> object:
    from dataclasses import replace

    return replace(FAST, timeout_s=0.1)


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "0.5"},
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "{time}"},
        {"Retry-After": "{date}"},
    ],
)
def test_the_server_says_when(headers: dict[str, str], server: LangfuseServer, outbox: Path) -> None:
    """After a 429, nothing is asked before the time that the server names in seconds, as a date, or as a reset."""
    again = time.time() + 1.2
    said = {name: text.format(time=again, date=formatdate(again + 1, usegmt=True)) for name, text in headers.items()}
    sink = sink_to(server, outbox)
    server.faults.append(Fault(429, said))
    begun = time.monotonic()
    sink.emit([a_result()])
    assert until(lambda: bool(server.scores))
    assert 0.4 < time.monotonic() - begun < 4
    assert until(lambda: [429, 202] == [status for method, _, status, _ in server.asked if method == "POST"])
    sink.close()


def test_a_plan_with_few_requests(server: LangfuseServer, outbox: Path) -> None:
    """A limit of requests per minute slows delivery down, and costs nothing."""
    server.per_minute, server.seconds_per_minute = 3, 0.5
    sink = sink_to(server, outbox)
    sink.emit([a_result(number, five()) for number in range(1, 31)])
    assert until(lambda: len(server.rows) == 150, 20)
    sink.close()
    assert {} == sink.stats().dropped
    assert len([status for _, _, status, _ in server.asked if status == 429]) <= 8


@pytest.mark.parametrize("version", VERSIONS)
def test_a_bad_score_costs_only_itself(version: str, outbox: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What the server refuses is singled out, dropped and counted with the server's reason; its neighbours arrive."""
    with serving(version) as server:
        sink = sink_to(server, outbox, scores="all")
        sink.emit([a_result(number, [*five(), a_score("")] if number == 2 else five()) for number in range(1, 4)])
        assert sink.flush(10)
        sink.close()
        assert 15 == len(server.scores)
        assert (16, 15) == (sink.stats().taken, sink.stats().delivered)
        ((reason, count),) = sink.stats().dropped.items()
        assert (True, 1) == ("expected a non-empty id and name" in reason or "Invalid request data" in reason, count)
    assert 1 == sum("refused a score" in record.message for record in caplog.records)


def test_a_batch_that_is_all_bad(server: LangfuseServer, outbox: Path) -> None:
    """Where the server refuses every score of a batch, none of them is asked about again."""
    sink = sink_to(server, outbox, scores="all")
    sink.emit([a_result(number, [a_score("")]) for number in range(1, 11)])
    assert sink.flush(10)
    assert (10, 1) == (sum(sink.stats().dropped.values()), sum(method == "POST" for method, *_ in server.asked))
    sink.close()


def test_too_large_a_request(server: LangfuseServer, outbox: Path) -> None:
    """A request that is too large is halved until it fits; a score that alone is too large is dropped."""
    server.max_bytes = 1_200
    sink = sink_to(server, outbox, scores="all")
    sink.emit([a_result(1, [*five(), a_score("long", reason="x" * 1_000)])])
    assert sink.flush(10)
    sink.close()
    assert (set(NAMES), 1) == ({row["name"] for row in server.scores.values()}, sum(sink.stats().dropped.values()))
    assert "413" in next(iter(sink.stats().dropped))


@pytest.mark.parametrize("status", [401, 403])
def test_refused_keys(status: int, server: LangfuseServer, outbox: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Scores are kept while the keys are refused; one warning names the variables."""
    server.faults.extend([Fault(status)] * 3)
    sink = sink_to(server, outbox)
    sink.emit([a_result()])
    assert until(lambda: bool(server.scores))
    sink.close()
    (warning,) = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert "LANGFUSE_PUBLIC_KEY" in warning
    assert SECRET not in caplog.text


def test_a_host_without_langfuse(server: LangfuseServer, outbox: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A host that has no score API costs no score; one warning names the variable."""
    server.fail = lambda bodies: Fault(404)
    sink = sink_to(server, outbox)
    sink.emit([a_result()])
    assert until(lambda: "LANGFUSE_BASE_URL" in caplog.text)
    server.fail = lambda bodies: None
    assert until(lambda: bool(server.scores))
    sink.close()


def test_a_score_that_the_server_breaks_on(server: LangfuseServer, outbox: Path) -> None:
    """A score on which the server always fails does not keep the others; it is given up at last."""
    server.fail = lambda bodies: Fault(500) if any(body["name"] == "latency" for body in bodies) else None
    sink = sink_to(server, outbox)
    sink.emit([a_result(1, five())])
    assert until(lambda: len(server.rows) == 4)
    for number in range(2, TRIES + 8):
        sink.emit([a_result(number)])
        assert until(lambda number=number: len(server.rows) == 3 + number)
        time.sleep(0.06)
    assert until(lambda: sink.stats().waiting == 0)
    assert {"HTTP 500": 1} == {reason[:8]: count for reason, count in sink.stats().dropped.items()}
    sink.close()


def test_a_later_revision(server: LangfuseServer, outbox: Path) -> None:
    """A new revision takes the place of the old one: values change, what is gone is deleted, nothing is there twice."""
    sink = sink_to(server, outbox, scores="all")
    gone = a_score("gone", 0.5)
    sink.emit([a_result(1, [a_score("overall", 0.5), gone, a_score("later", 0.5)])])
    assert sink.flush(10)
    sink.emit([a_result(1, [a_score("overall", 0.7), not_measurable("later", "why")], revision=2)])
    assert sink.flush(10)
    sink.close()
    rows = {row["name"]: row for row in server.scores.values()}
    assert {"overall": 0.7, "later.status": "not_measurable"} == {name: row["value"] for name, row in rows.items()}
    assert {2} == {row["metadata"]["spanwise.score.revision"] for row in rows.values()}
    assert 2 == sum(method == "DELETE" for method, *_ in server.asked)


def test_a_revision_before_delivery(server: LangfuseServer, outbox: Path) -> None:
    """Of revisions that wait, only the last is sent."""
    server.down()
    sink = sink_to(server, outbox)
    for revision in (1, 2, 3):
        sink.emit([a_result(1, [a_score("overall", revision / 10)], revision=revision)])
    server.up()
    assert until(lambda: sink.stats().waiting == 0)
    (row,) = server.scores.values()
    assert (0.3, 1, 2) == (row["value"], server.accepted, sink.stats().replaced)
    sink.close()


def test_sessions(server: LangfuseServer, outbox: Path) -> None:
    """Where asked for, a session has the mean of its runs' overall scores; a revision replaces its run's part."""
    sink = sink_to(server, outbox, session_scores=True)
    told = {"gen_ai.conversation.id": "s-1"}
    sink.emit([a_result(number, [a_score("overall", number / 10)], **told) for number in (2, 4)])
    sink.emit([a_result(2, [a_score("overall", 0.6)], revision=2, **told), a_result(9, [a_score()])])
    assert sink.flush(10)
    sink.close()
    (row,) = [row for row in server.scores.values() if "sessionId" in row]
    assert ("s-1", 0.5, 2) == (row["sessionId"], row["value"], row["metadata"]["spanwise.session.runs"])


def test_variables() -> None:
    """The variables of Langfuse's SDK are read in its order; the base URL goes before the host."""
    sink = LangfuseSink.from_environment(
        {**KEYS, "LANGFUSE_HOST": "http://old", "LANGFUSE_BASE_URL": "http://new"}, outbox=None
    )
    assert "http://new" == sink._api._host
    sink = LangfuseSink.from_environment({**KEYS, "LANGFUSE_HOST": "http://old/"}, outbox=None)
    assert "http://old" == sink._api._host
    sink = LangfuseSink.from_environment({**KEYS, "LANGFUSE_TRACING_ENVIRONMENT": "prod"}, outbox=None)
    assert (CLOUD, "prod") == (sink._api._host, sink._environment)
    named = {**KEYS, "LANGFUSE_TRACING_ENVIRONMENT": "prod"}
    assert "dev" == LangfuseSink.from_environment(named, environment="dev", outbox=None)._environment


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY"),
        ({"LANGFUSE_PUBLIC_KEY": "pk"}, "need LANGFUSE_SECRET_KEY"),
        ({**KEYS, "LANGFUSE_BASE_URL": "cloud.langfuse.com"}, "expected a URL"),
        ({**KEYS, "LANGFUSE_TRACING_ENVIRONMENT": "Production"}, "expected an environment"),
    ],
)
def test_variables_that_cannot_be_used(variables: dict[str, str], said: str) -> None:
    """What is missing or wrong is told at once, by its name."""
    with pytest.raises(SinkError, match=said):
        LangfuseSink.from_environment(variables, outbox=None)


def test_a_choice_that_is_none() -> None:
    """A word that is no choice is refused."""
    with pytest.raises(SinkError, match="'default', 'all', or a list"):
        LangfuseSink(public_key="p", secret_key="s", scores="some", outbox=None)  # type: ignore[arg-type]  # wrong on purpose


def test_without_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without httpx the error says what to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SinkError, match=r"pip install 'spanwise\[langfuse\]'"):
        LangfuseSink.from_environment(KEYS, outbox=None)
