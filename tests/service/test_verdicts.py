"""What judges say is not lost with the process: a trace is done when it was heard, or had its time."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spanwise.assembly.assembler import Finished
from spanwise.assembly.tree import build_trace
from spanwise.delivery import Receipts
from spanwise.service.ledger import Ledger
from spanwise.service.wal import Wal
from tests.judges.standin import MODEL, Answer, Standin, serve, verdict
from tests.making import agent
from tests.servers import wait_for
from tests.service.serving import Service
from tests.service.traffic import Planned, logs_request, plan, post, spans_request
from tests.sinks.otlp_server import OtlpServer

SETTINGS = f'[judge]\nmodels = ["{MODEL}"]\n[evaluators]\ngoal = true\n'


@pytest.fixture
def model(require: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    """A provider's stand-in, which services ask."""
    for package in ("grpc", "uvicorn", "pydantic_ai", "openai"):
        require(package)
    with serve() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
        yield running


def slow(seconds: float) -> Answer:
    """A verdict that takes so long."""
    said = verdict(1)
    return Answer(body=said.body, delay_s=seconds)


def send(service: Service, trace: Planned) -> None:
    """Send a whole trace."""
    assert 200 == post(f"http://{service.http}", "logs", logs_request([trace.event]))
    assert 200 == post(f"http://{service.http}", "traces", spans_request(trace.spans))


def verdicts(service: Service) -> list[tuple[object, object, object]]:
    """The trace, the revision and the value of each verdict in the file."""
    return [
        (run["trace_id"], run["revision"], score["value"])
        for run in service.runs()
        for score in told(run["scores"])
        if score["name"] == "goal"
    ]


def told(scores: object) -> list[dict[str, object]]:
    """The scores of a run; each says its revision itself."""
    assert isinstance(scores, list)
    return scores


def is_unheard(service: Service, model: Standin) -> bool:
    """The scores are out, and the judge is asked."""
    metrics = service.metrics()
    return bool(model.requests) and metrics["spanwise_serve_unheard"] == 1 == len(service.runs())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_verdict_under_way_outlives_its_process(tmp_path: Path, model: Standin, number: signal.Signals) -> None:
    """Ended while a judge is asked, the next process asks it again, under the same revision; no span goes on twice."""
    trace = plan(1)[0]
    model.script(slow(60.0), verdict(3))
    with OtlpServer() as backend:
        flags = ("--grace-s", "0.2", "--drain-s", "2", "--scores-to", backend.url, "--spans-to", backend.url)
        with Service(tmp_path, *flags, settings=SETTINGS) as service:
            send(service, trace)
            assert wait_for(lambda: is_unheard(service, model), timeout_s=30), service.log()
            assert 0 == service.metrics()["spanwise_serve_done_total"]
            assert wait_for(lambda: not service.undelivered())
            service.end(number)
            assert [] == verdicts(service)
            service.start()
            assert wait_for(lambda: verdicts(service), timeout_s=30), service.log()
            assert [(trace.hex_id, 1, 1.0)] == verdicts(service)
            assert {1} == {run["revision"] for run in service.runs()}
            assert wait_for(lambda: service.metrics()["spanwise_serve_done_total"] == 1)
            assert 0 == service.metrics()["spanwise_serve_unsettled"]
            asked = len(model.requests)
            service.end(number)
            service.start()
            assert 0 == service.metrics()["spanwise_serve_unsettled"]
        assert asked == len(model.requests)
        assert sorted(span.span_id.hex() for span in trace.spans) == sorted(
            one.span_id for one in backend.received.spans
        )


def test_a_verdict_is_not_waited_for_without_end(tmp_path: Path, model: Standin) -> None:
    """When its time is over the trace is done without it, and counted; the verdict is given out when it comes."""
    model.script(slow(3.0))
    with Service(tmp_path, "--grace-s", "0.2", "--judges-s", "0.5", settings=SETTINGS) as service:
        send(service, plan(1)[0])
        assert wait_for(lambda: service.metrics()["spanwise_serve_overdue_total"] == 1, timeout_s=30), service.log()
        assert (0, 0) == (service.metrics()["spanwise_serve_unsettled"], len(verdicts(service)))
        assert wait_for(lambda: len(verdicts(service)) == 1, timeout_s=20), service.log()
        assert 1 == service.metrics()["spanwise_serve_done_total"]


class Given:
    """A ledger with a log of one trace in one request, and the receipts of its revisions."""

    def __init__(self, folder: Path, *, wait_s: float = 60.0) -> None:
        self.trace = bytes(15) + b"\x07"
        self.wal = Wal(folder)
        self.ledger = Ledger(self.wal, wait_s=wait_s)
        self.request()

    def request(self) -> None:
        """Another request with a part of it."""
        seq = self.wal.append("traces", "protobuf", b"x", [self.trace])
        self.ledger.taken([self.trace], seq)

    def finished(self, revision: int = 1) -> Receipts:
        """It is finished."""
        trace = build_trace(self.trace, [agent(1)])
        return self.ledger.receipts(Finished(trace=trace, revision=revision, reason=""))

    def mark(self) -> tuple[str, int, bool]:
        """What the log says of it, under which revision, and whether it is done."""
        self.ledger.settle()
        mark = self.wal.mark_of(self.trace)
        return ("", 0, False) if mark is None else (mark.how, mark.revision, self.wal.is_done(self.trace))

    def reopened(self, folder: Path) -> tuple[str, int, bool]:
        """What the log says after a restart."""
        self.wal.close()
        self.wal = Wal(folder)
        mark = self.wal.mark_of(self.trace)
        return ("", 0, False) if mark is None else (mark.how, mark.revision, self.wal.is_done(self.trace))


def test_a_trace_is_told_and_then_done(tmp_path: Path) -> None:
    """About to be scored it is begun, with its scores safe told, with all safe done; its segment goes when released."""
    given = Given(tmp_path)
    assert "" == given.mark()[0]
    receipts = given.finished()
    assert ("begun", 1, False) == given.mark()
    receipts.scores.done()
    assert ("told", 1, False) == given.mark()
    given.ledger.gone(given.trace, "released")
    assert (1, 1, 1) == (given.ledger.unheard, given.ledger.waiting, given.wal.undone())
    assert ("told", 1, False) == given.reopened(tmp_path)
    given.ledger._wal = given.wal
    receipts.later.done()
    assert ("scored", 1, True) == given.mark()
    assert (0, 0, 1) == (given.ledger.unheard, given.ledger.waiting, given.ledger.counts.done)


def test_what_needs_no_judge_is_done_at_once(tmp_path: Path) -> None:
    """In whichever order the receipts come, nothing is waited for that was there."""
    given = Given(tmp_path)
    receipts = given.finished()
    receipts.later.done()
    assert ("begun", 1, False) == given.mark()
    receipts.scores.done()
    assert ("scored", 1, True) == given.mark()
    assert 2 == given.wal.stats.marks


def test_what_a_sink_lost_is_not_done(tmp_path: Path) -> None:
    """Scores or verdicts that a sink lost leave the trace in the log, to be scored again after a restart."""
    given = Given(tmp_path)
    receipts = given.finished()
    receipts.scores.done()
    receipts.later.done(lost=True)
    assert ("told", 1, False) == given.mark()
    given.request()
    receipts = given.finished(2)
    receipts.scores.done(lost=True)
    receipts.later.done()
    assert ("begun", 2, False) == given.mark()
    assert (0, 2, 0) == (given.ledger.counts.done, given.ledger.counts.unsafe, given.ledger.waiting)


def test_a_later_revision_goes_before(tmp_path: Path) -> None:
    """A verdict on an earlier revision does not undo what is known of the later one."""
    given = Given(tmp_path)
    first = given.finished()
    first.scores.done()
    given.request()
    second = given.finished(2)
    second.scores.done()
    assert ("told", 2, False) == given.mark()
    first.later.done()
    assert ("told", 2, False) == given.mark()
    second.later.done()
    assert ("scored", 2, True) == given.mark()
    assert ("scored", 2, True) == given.reopened(tmp_path)


def test_late_spans_do_not_cut_off_a_verdict(tmp_path: Path) -> None:
    """Spans that come when the trace is let go are done with, and the verdict that is under way is waited for."""
    given = Given(tmp_path)
    receipts = given.finished()
    receipts.scores.done()
    given.ledger.settle()
    given.ledger.gone(given.trace, "released")
    given.request()
    given.ledger.end(given.trace, "given_up")
    assert ("told", 1, False) == given.mark()
    receipts.later.done()
    assert ("scored", 1, True) == given.mark()


def test_an_overdue_verdict_changes_nothing_more(tmp_path: Path) -> None:
    """When the time is over the trace is done, once, and the receipt that comes afterwards is passed over."""
    given = Given(tmp_path, wait_s=0.0)
    receipts = given.finished()
    receipts.scores.done()
    assert ("scored", 1, True) == given.mark()
    receipts.later.done()
    assert ("scored", 1, True) == given.mark()
    counts = given.ledger.counts
    assert (1, 1, 0, 0) == (counts.overdue, counts.done, counts.unsafe, given.ledger.waiting)
