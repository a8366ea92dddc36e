"""The engine takes what there is room for, and what it took is scored, whatever ends in between."""

from __future__ import annotations

import asyncio
import shutil
from itertools import count
from pathlib import Path

import pytest

from spanwise.service.engine import Bounds, Refusal
from spanwise.service.wal import Wal
from tests.service.engines import Kept, Life, adds_up, batch_of, started
from tests.service.traffic import plan, spans_request


def ended(life: Life) -> None:
    """Drain an engine; it ends in time."""
    assert life.engine.drain(10.0)
    assert life.engine.state == "stopped"


def test_traces_are_scored_and_marked(tmp_path: Path) -> None:
    """Each trace is scored once, whole, and is done in the log when the sink has its scores."""
    life = started(tmp_path)
    traces = plan(5)
    for trace in traces:
        assert life.offer(batch_of(trace)) is None
    life.wait(lambda: life.engine.ledger.counts.done == 5)
    assert sorted((one.hex_id, 1, 20) for one in traces) == sorted(life.sink.seen())
    assert life.engine.wal is not None
    assert 0 == life.engine.wal.undone()
    life.wait(lambda: adds_up(life.engine))
    ended(life)


def test_a_mark_waits_for_the_sink(tmp_path: Path) -> None:
    """Nothing is done while a sink is busy with it, or holds it in memory only."""
    sink = Kept(held=1)
    sink.gate.clear()
    life = started(tmp_path, sink)
    assert life.offer(batch_of(plan(1)[0])) is None
    life.wait(lambda: life.engine.pipeline.stats.scored == 1)
    sink.gate.set()
    life.wait(lambda: sink.results)
    assert 0 == life.engine.ledger.counts.done
    assert 1 == life.engine.ledger.waiting
    sink.held = 0
    life.wait(lambda: life.engine.ledger.counts.done == 1)
    ended(life)


def test_a_failing_sink_does_not_keep_the_log(tmp_path: Path) -> None:
    """What a sink raises for is counted as its failure, and done."""
    life = started(tmp_path, Kept(fails=True))
    assert life.offer(batch_of(plan(1)[0])) is None
    life.wait(lambda: life.engine.ledger.counts.done == 1)
    assert {"kept": 1} == life.engine.pipeline.stats.sink_failures
    ended(life)


def test_a_killed_engine_loses_nothing(tmp_path: Path) -> None:
    """What was accepted and not done is scored by the next process, whole; what was done is not scored again."""
    traces = plan(12)
    life = started(tmp_path)
    for trace in traces[:4]:
        assert life.offer(batch_of(trace)) is None
    life.wait(lambda: life.engine.ledger.counts.done == 4)
    for trace in traces[4:8]:
        assert life.offer(batch_of(trace, 0, 10)) is None
    life.killed()
    again = started(tmp_path)
    for trace in traces[4:8]:
        assert again.offer(batch_of(trace, 10)) is None
    again.wait(lambda: again.engine.ledger.counts.done == 4)
    assert sorted((one.hex_id, 1, 20) for one in traces[4:8]) == sorted(again.sink.seen())
    again.wait(lambda: adds_up(again.engine))
    ended(again)


def test_revisions_go_on_after_a_restart(tmp_path: Path) -> None:
    """A span that comes after the restart scores its trace again, under the next revision, with its older spans."""
    trace = plan(1)[0]
    life = started(tmp_path)
    assert life.offer(batch_of(trace, 1)) is None
    life.wait(lambda: life.engine.ledger.counts.done == 1)
    ended(life)
    again = started(tmp_path)
    assert again.offer(batch_of(trace, 0, 1)) is None
    again.wait(lambda: again.sink.results)
    assert [(trace.hex_id, 2, 20)] == again.sink.seen()
    again.wait(lambda: again.engine.ledger.counts.done == 1)
    again.killed()
    third = started(tmp_path)
    assert [] == third.sink.seen()
    assert third.engine.wal is not None
    assert 2 == getattr(third.engine.wal.mark_of(trace.trace_id), "revision", 0)
    ended(third)


def test_no_revision_says_two_things(tmp_path: Path) -> None:
    """What a sink may have heard before a kill is said again as it was; with spans that came since it is the next."""
    as_it_was, more = plan(2)
    life = started(tmp_path, Kept(held=1))
    for trace in (as_it_was, more):
        assert life.offer(batch_of(trace, 1)) is None
    life.wait(lambda: len(life.sink.results) == 2)
    life.stalled()
    assert life.offer(batch_of(more, 0, 1)) is None
    life.killed()
    again = started(tmp_path)
    again.wait(lambda: len(again.sink.results) == 2)
    assert sorted([(as_it_was.hex_id, 1, 19), (more.hex_id, 2, 20)]) == sorted(again.sink.seen())
    late = {str(one.run.trace.trace_id): one.run.trace.late for one in again.sink.results}
    assert {as_it_was.hex_id: None, more.hex_id: {span.span_id for span in more.spans}} == late
    assert again.offer(batch_of(as_it_was, 0, 1)) is None
    again.wait(lambda: len(again.sink.results) == 3)
    assert (as_it_was.hex_id, 2, 20) == again.sink.seen()[-1]
    ended(again)


def test_a_drained_engine_leaves_open_traces_in_the_log(tmp_path: Path) -> None:
    """At the end finished traces are scored without waiting for their grace; open ones stay for the next process."""
    finished, unfinished = plan(2)
    life = started(tmp_path, grace_s=30.0)
    assert life.offer(batch_of(finished)) is None
    assert life.offer(batch_of(unfinished, 0, 5)) is None
    ended(life)
    assert [(finished.hex_id, 1, 20)] == life.sink.seen()
    assert 1 == life.engine.left
    refusal = life.offer(batch_of(unfinished, 5))
    assert refusal is not None
    assert ("draining", False) == (refusal.reason, refusal.overload)
    again = started(tmp_path)
    assert again.offer(batch_of(unfinished, 5)) is None
    again.wait(lambda: again.sink.results)
    assert [(unfinished.hex_id, 1, 20)] == again.sink.seen()
    ended(again)


def test_late_spans_are_done_with(tmp_path: Path) -> None:
    """A span that comes when its trace is no longer held is counted as late, and keeps nothing in the log."""
    trace = plan(1)[0]
    life = started(tmp_path, late_s=0.0)
    assert life.offer(batch_of(trace, 1)) is None
    life.wait(lambda: life.engine.pipeline.assembler.stats.released)
    assert life.offer(batch_of(trace, 0, 1)) is None
    life.wait(lambda: life.engine.pipeline.assembler.stats.late == 1)
    assert life.engine.wal is not None
    life.wait(lambda: life.engine.wal is not None and life.engine.wal.undone() == 0)
    life.wait(lambda: adds_up(life.engine))
    ended(life)


def test_pressure_lets_open_traces_end(tmp_path: Path) -> None:
    """Past the soft mark new traces come again and open ones may end; past the hard mark all come again."""
    first, second, third = plan(3)
    life = started(tmp_path, bounds=Bounds(spans=40, retry_after_s=7.0))
    assert life.offer(batch_of(first, 0, 17)) is None
    assert life.offer(batch_of(second, 0, 17)) is None
    life.wait(lambda: life.engine.queued == 0)
    refusal = life.offer(batch_of(third, 0, 1))
    assert refusal is not None
    assert ("spans", 7.0, True) == (refusal.reason, refusal.retry_after_s, refusal.overload)
    assert life.offer(batch_of(first, 17)) is None
    life.wait(lambda: life.engine.queued == 0)
    hard = life.offer(batch_of(second, 0))
    assert hard is not None
    life.wait(lambda: life.sink.results)
    assert life.offer(batch_of(second, 17)) is None
    life.wait(lambda: len(life.sink.results) == 2)
    assert {"spans": 21} == life.engine.counts.refused
    life.wait(lambda: adds_up(life.engine))
    ended(life)


@pytest.mark.parametrize(
    ("bounds", "reason"), [(Bounds(traces=4), "traces"), (Bounds(bytes=20_000), "bytes"), (Bounds(queue=30), "queue")]
)
def test_each_bound_refuses(tmp_path: Path, bounds: Bounds, reason: str) -> None:
    """Far more than there is room for: the refusals name the bound, and the counters add up."""
    sink = Kept()
    sink.gate.clear()
    life = started(tmp_path, sink, bounds=bounds, most=2)
    for trace in plan(60):
        life.offer(batch_of(trace, 0, 19 if reason != "queue" else None))
    more = (trace for seed in count(2) for trace in plan(20, seed=seed))  # the thread may have taken all by now
    life.wait(lambda: reason in life.engine.counts.refused or life.offer(batch_of(next(more))))
    assert {reason} == set(life.engine.counts.refused)
    assert life.engine.counts.accepted + sum(life.engine.counts.refused.values()) >= 60 * 19
    sink.gate.set()
    life.wait(lambda: life.engine.queued == 0)
    life.wait(lambda: adds_up(life.engine))
    ended(life)


def test_a_slow_sink_holds_senders_up_and_loses_nothing(tmp_path: Path) -> None:
    """While a sink stands still, senders are refused in the end; when it goes on, every accepted trace is scored."""
    sink = Kept()
    sink.gate.clear()
    life = started(tmp_path, sink, bounds=Bounds(queue=200), most=10)
    traces = plan(100)
    taken = [trace for trace in traces if life.offer(batch_of(trace)) is None]
    life.wait(lambda: life.engine.pipeline.delivery.backlog > 5)
    taken += [trace for trace in plan(100, seed=2) if life.offer(batch_of(trace)) is None]
    assert len(taken) < 200
    assert life.engine.is_alive
    sink.gate.set()
    life.wait(lambda: len(sink.results) == len(taken))
    assert {} == life.engine.pipeline.delivery.drops()
    ended(life)


def test_a_full_log_is_told(tmp_path: Path) -> None:
    """A log without room refuses by its name, and the service says that it is not ready."""
    life = started(tmp_path)
    assert life.engine.wal is not None
    life.engine.wal.max_bytes = 6000
    answers = [life.offer(batch_of(trace, 0, 10)) for trace in plan(30)]
    assert {"wal"} == {answer.reason for answer in answers if answer is not None}
    life.wait(lambda: adds_up(life.engine))
    ended(life)


def test_without_a_log(tmp_path: Path) -> None:
    """An engine without a log scores all the same."""
    life = started(None)
    trace = plan(1)[0]
    assert life.offer(batch_of(trace)) is None
    life.wait(lambda: life.sink.results)
    assert [(trace.hex_id, 1, 20)] == life.sink.seen()
    ended(life)


def test_an_answer_waits_for_the_disk(tmp_path: Path) -> None:
    """With `always`, many requests at once are each answered after the disk has them."""
    life = started(tmp_path, fsync="always")

    async def offered() -> list[Refusal | None]:
        return await asyncio.gather(*(life.engine.offer(batch_of(trace)) for trace in plan(30)))

    assert [None] * 30 == asyncio.run(offered())
    life.wait(lambda: life.engine.ledger.counts.done == 30)
    ended(life)


def test_a_log_that_cannot_be_written_is_no_overload(tmp_path: Path) -> None:
    """Where the log is gone, senders have to come again, and the service says why it is not ready."""
    life = started(tmp_path / "wal")
    shutil.rmtree(tmp_path / "wal")
    refusal = life.offer(batch_of(plan(1)[0]))
    assert refusal is not None
    assert ("wal", False) == (refusal.reason, refusal.overload)
    assert ["the write-ahead log cannot be written: No such file or directory"] == life.engine.unready()
    ended(life)


def test_a_log_that_is_mostly_done_is_replayed(tmp_path: Path) -> None:
    """Files that turn out to hold nothing of use go while the rest is taken again."""
    traces = plan(40)
    wal = Wal(tmp_path, segment_bytes=4000)
    for trace in traces:
        seq = wal.append("traces", "protobuf", spans_request(trace.spans), [trace.trace_id])
        if trace is not traces[-1]:
            wal.mark(trace.trace_id, "scored", 1, seq)
    wal.close()
    life = started(tmp_path, bounds=Bounds(spans=100))
    life.wait(lambda: life.sink.results)
    assert [(traces[-1].hex_id, 1, 20)] == life.sink.seen()
    assert 0 == life.engine.counts.errors
    ended(life)


def test_what_is_no_request_is_passed_over_in_the_log(tmp_path: Path) -> None:
    """A request of the log that cannot be read is counted, and the others are taken."""
    trace = plan(1)[0]
    wal = Wal(tmp_path)
    wal.append("traces", "json", b"not json", [bytes(15) + b"x"])
    wal.append("traces", "protobuf", spans_request(trace.spans), [trace.trace_id])
    wal.close()
    life = started(tmp_path)
    life.wait(lambda: life.sink.results)
    assert (1, 20) == (life.engine.counts.unreadable, life.engine.counts.replayed)
    life.wait(lambda: life.engine.wal is not None and life.engine.wal.undone() == 0)
    ended(life)
