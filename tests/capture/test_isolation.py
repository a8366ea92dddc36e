"""Others' evaluators in a process of their own: whatever they do, the app gets scores, errors or counts."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from spanwise.capture.isolation import ByPath, Helper, RunKey
from spanwise.errors import ModelError
from spanwise.model.score import Score
from spanwise.model.trace import Run
from spanwise.run import evaluate
from tests.capture import misbehaving
from tests.capture.processes import gone
from tests.making import agent, chat, run_of, says, tool, user

RUN = run_of(
    agent(1),
    chat(2, parent=1, sent=[user("How far?")], got=[says("Far.")]),
    tool(3, parent=1, arguments={"q": "x"}, result=[1]),
)


@pytest.fixture
def made() -> Iterator[Callable[..., Helper]]:
    """Makes helpers, and closes them."""
    helpers: list[Helper] = []

    def make(evaluators: Mapping[str, Any], **settings: Any) -> Helper:
        helpers.append(Helper(evaluators, **settings))
        return helpers[-1]

    yield make
    for helper in helpers:
        helper.close(0.0)


def scores_of(helper: Helper, run: Run = RUN, timeout_s: float = 40.0) -> dict[str, Score]:
    """The scores of one run."""
    helper.submit(run)
    assert helper.wait(timeout_s)
    ((key, scores),) = helper.poll()
    assert RunKey(run.trace.trace_id, run.run_id, 1) == key
    return {score.name: score for score in scores}


def test_scores_are_those_of_the_app_itself(made: Callable[..., Helper]) -> None:
    """Names, values, labels, evidence, hashes and revision are what they are without a helper process."""
    evaluators = {"calls": misbehaving.Calls(most=2), "fine": misbehaving.fine}
    found = scores_of(made(evaluators))
    here = {score.name: score for score in evaluate(RUN, evaluators).scores}
    assert os.getpid() != found.pop("calls_pid").value
    del here["calls_pid"]
    assert here == found
    assert ("How far? -> Far.", "3".zfill(16)) == (found["calls"].reason, found["calls"].evidence[0].span_id)


def test_one_process_serves_many_runs(made: Callable[..., Helper]) -> None:
    """Runs are answered in their order, by one process, each under its own key, with the evaluators asked for."""
    helper = made({"calls": misbehaving.Calls(), "fine": ByPath(path="tests.capture.misbehaving:fine")})
    for revision in range(1, 31):
        helper.submit(RUN, revision, ["fine"] if revision == 30 else None)
    assert helper.wait(40)
    found = helper.poll()
    assert list(range(1, 31)) == [key.revision for key, _ in found]
    assert 1 == len({score.value for _, scores in found for score in scores if score.unit == "pid"})
    assert ["fine"] == [score.name for score in found[-1][1]]
    assert {30} == {score.revision for score in found[-1][1]}
    assert {} == helper.counts


@pytest.mark.parametrize(
    ("evaluator", "reason", "counts"),
    [
        (misbehaving.raises, "ValueError: no good", {}),
        (misbehaving.exits, "SystemExit: 4", {}),
        (misbehaving.eats_memory, "MemoryError: ", {}),
        (
            misbehaving.ends_process,
            "the helper process did not survive: it exited with code 3",
            {"isolated_crashes": 1, "isolated_restarts": 1},
        ),
        (
            misbehaving.segfaults,
            "the helper process did not survive: it was ended by SIGSEGV",
            {"isolated_crashes": 1, "isolated_restarts": 1},
        ),
        (
            misbehaving.hangs,
            "time budget of 0.5 s exceeded; the helper process was ended",
            {"isolated_timeouts": 1, "isolated_restarts": 1},
        ),
        (
            misbehaving.hangs_in_c,
            "time budget of 0.5 s exceeded; the helper process was ended",
            {"isolated_timeouts": 1, "isolated_restarts": 1},
        ),
    ],
)
def test_one_that_misbehaves_costs_its_own_score(
    made: Callable[..., Helper], evaluator: object, reason: str, counts: dict[str, int]
) -> None:
    """It gets an error that says what happened, the others their scores, and the process is replaced."""
    helper = made({"before": misbehaving.fine, "bad": evaluator, "behind": misbehaving.fine}, budget_s=0.5)
    found = scores_of(helper)
    assert {"before": "scored", "bad": "error", "behind": "scored"} == {n: one.status for n, one in found.items()}
    assert reason == found["bad"].reason
    assert counts == helper.counts


def test_after_three_processes_an_evaluator_rests(made: Callable[..., Helper], caplog: Any) -> None:
    """The fourth run is not given to an evaluator that ended three processes; the others go on."""
    helper = made({"bad": misbehaving.ends_process, "fine": misbehaving.fine})
    for revision in range(1, 6):
        helper.submit(RUN, revision)
    assert helper.wait(60)
    found = [{score.name: score.reason for score in scores} for _, scores in helper.poll()]
    assert 5 == len([one for one in found if "fine" in one])
    assert 2 == len([one for one in found if one["bad"].startswith("not asked: 3 helper processes ended with it")])
    assert {"isolated_crashes": 3, "isolated_restarts": 3, "isolated_rested": 2} == helper.counts
    assert 1 == len(caplog.records)


def test_scores_of_the_wrong_kind(made: Callable[..., Helper]) -> None:
    """A number of another type is taken, a score that cannot travel is an error, and the process goes on."""
    helper = made({"counts": misbehaving.counts, "mumbles": misbehaving.mumbles, "fine": misbehaving.fine})
    found = scores_of(helper)
    assert (1.0, ("one",)) == (found["counts"].value, found["counts"].issues)
    assert ("error", "scored") == (found["mumbles"].status, found["fine"].status)
    assert found["mumbles"].reason.startswith("ValidationError: ")
    assert {} == helper.counts


def test_what_it_prints_does_not_disturb(made: Callable[..., Helper], capfd: Any) -> None:
    """Output goes to standard error, input is empty."""
    found = scores_of(made({"prints": misbehaving.prints}))
    assert ("scored", "''") == (found["prints"].status, found["prints"].reason)
    out, err = capfd.readouterr()
    assert "" == out
    assert "printed by an evaluator\nwritten by an evaluator\n" == err


def test_what_it_started_ends_with_it(made: Callable[..., Helper], capfd: Any) -> None:
    """Ending a process for its time ends those that it started."""
    helper = made({"bad": misbehaving.starts_a_process}, budget_s=1.0)
    assert "error" == scores_of(helper)["bad"].status
    assert gone(int(capfd.readouterr().err.split()[1]))


def test_too_many_runs_are_dropped_and_counted(made: Callable[..., Helper]) -> None:
    """At the bound of runs or spans a run is not taken, submit does not wait, and what was not polled counts too."""
    helper = made({"slow": misbehaving.Slow(seconds=0.7)}, max_runs=3)
    begun = time.monotonic()
    for _ in range(10):
        helper.submit(RUN)
    assert time.monotonic() - begun < 0.6
    assert {"isolated_dropped": 7} == helper.counts
    assert helper.wait(40)
    helper.submit(RUN)
    assert {"isolated_dropped": 8} == helper.counts
    assert 3 == len(helper.poll())
    helper.submit(RUN)
    assert (1, {"isolated_dropped": 8}) == (helper.pending, helper.counts)
    narrow = made({"slow": misbehaving.Slow()}, max_spans=5)
    narrow.submit(RUN)
    narrow.submit(RUN)
    assert (1, {"isolated_dropped": 1}) == (narrow.pending, narrow.counts)


def test_close_finishes_what_it_can(made: Callable[..., Helper]) -> None:
    """With time enough all is done and can be polled afterwards; later runs are dropped and counted."""
    helper = made({"slow": misbehaving.Slow()})
    for revision in (1, 2, 3):
        helper.submit(RUN, revision)
    assert helper.close(40)
    helper.submit(RUN)
    assert [1, 2, 3] == [key.revision for key, _ in helper.poll()]
    assert {"isolated_dropped": 1} == helper.counts


def test_close_keeps_its_deadline(made: Callable[..., Helper]) -> None:
    """With a hanging evaluator it comes back in time, ends the process, and counts what was not done."""
    helper = made({"fine": misbehaving.fine, "bad": misbehaving.hangs}, budget_s=60)
    helper.submit(RUN, 1, ["fine"])
    assert helper.wait(40)
    assert helper._process is not None
    pid = helper._process.pid
    for revision in (2, 3):
        helper.submit(RUN, revision)
    begun = time.monotonic()
    assert not helper.close(0.5)
    assert time.monotonic() - begun < 2.5
    assert gone(pid)
    assert ([1], {"isolated_unfinished": 2}) == ([key.revision for key, _ in helper.poll()], helper.counts)


def test_close_without_runs_is_quick(made: Callable[..., Helper]) -> None:
    """A helper that was given nothing starts nothing, and closes at once, twice."""
    helper = made({"fine": misbehaving.fine})
    assert (True, True, None, None) == (helper.close(5), helper.close(5), helper._process, helper._thread)


def test_ready_is_told(made: Callable[..., Helper], caplog: Any) -> None:
    """The function is called for each run; one that fails is logged and called no more."""
    ready = threading.Event()
    helper = made({"fine": misbehaving.fine}, on_ready=ready.set)
    helper.submit(RUN)
    assert ready.wait(40)
    assert 1 == len(helper.poll())
    broken = made({"fine": misbehaving.fine}, on_ready=lambda: 1 / 0)
    broken.submit(RUN, 1)
    broken.submit(RUN, 2)
    assert broken.close(40)
    assert (2, 1) == (len(broken.poll()), len(caplog.records))


def test_one_that_cannot_be_made_there_says_so(made: Callable[..., Helper]) -> None:
    """An evaluator that the helper process cannot load gives errors with the reason; the others are asked."""
    helper = made(
        {
            "picky": misbehaving.Picky(),
            "typo": ByPath(path="tests.capture.misbehaving:Typo"),
            "extra": ByPath(path="tests.capture.misbehaving:Calls", parameters={"least": 1}),
            "fine": misbehaving.fine,
        }
    )
    found = scores_of(helper)
    assert {"picky": "error", "typo": "error", "extra": "error", "fine": "scored"} == {
        name: score.status for name, score in found.items()
    }
    assert found["picky"].reason.endswith("RuntimeError: only in the app")
    assert "has no attribute 'Typo'" in found["typo"].reason
    assert "unexpected keyword argument 'least'" in found["extra"].reason
    assert {} == helper.counts


@pytest.mark.parametrize(
    ("evaluator", "said"),
    [
        (lambda run: [], "lambda"),
        (threading.Lock(), "pickle"),
        (ByPath(path="no path"), "expected a path such as 'acme.checks:Refund'"),
        (ByPath(path="no_such_package.checks:Refund"), "there is no module 'no_such_package'"),
    ],
)
def test_one_that_cannot_be_sent_is_refused_at_once(evaluator: Any, said: str) -> None:
    """The error names the evaluator, says why it cannot be sent, and what to do."""
    with pytest.raises(ModelError) as caught:
        Helper({"mine": evaluator})
    message = str(caught.value)
    assert message.startswith("Evaluator 'mine' cannot be sent to a helper process: ")
    assert said in message
    assert message.endswith("or give its path, as in ByPath(path='acme.checks:Refund').")


@pytest.mark.parametrize("budget", [0, -1, float("inf"), float("nan")])
def test_a_budget_is_a_time(budget: float) -> None:
    """Nothing but a finite time above nothing is a budget."""
    with pytest.raises(ModelError, match="expected a number of seconds above 0"):
        Helper({}, budget_s=budget)


def test_a_python_that_does_not_start(made: Callable[..., Helper]) -> None:
    """Where no helper process can be started every evaluator gets an error with the reason, and it is counted."""
    found = scores_of(made({"fine": misbehaving.fine}, executable="/no/such/python"))
    assert (
        "the helper process did not start: [Errno 2] No such file or directory: '/no/such/python'"
        == found["fine"].reason
    )
    mute = made({"fine": misbehaving.fine}, executable="/bin/sleep")
    assert scores_of(mute)["fine"].reason.startswith("the helper process did not start: it exited with code 1")
    assert {"isolated_crashes": 1} == mute.counts


def test_one_that_is_gone_meanwhile_is_replaced(made: Callable[..., Helper]) -> None:
    """A process that something else ended between two runs costs no score."""
    helper = made({"fine": misbehaving.fine})
    assert "scored" == scores_of(helper)["fine"].status
    assert helper._process is not None
    os.kill(helper._process.pid, signal.SIGKILL)
    assert gone(helper._process.pid)
    assert "scored" == scores_of(helper)["fine"].status
    assert {"isolated_crashes": 1, "isolated_restarts": 1} == helper.counts


def test_a_frozen_process_is_replaced(made: Callable[..., Helper]) -> None:
    """A process that is stopped is ended after the budget, however much is being sent to it."""
    helper = made({"fine": misbehaving.fine, "slow": misbehaving.Slow(seconds=0.5)}, budget_s=1.0)
    assert "scored" == scores_of(helper)["fine"].status
    assert helper._process is not None
    pid = helper._process.pid
    helper.submit(RUN, 2, ["slow"])
    time.sleep(0.2)
    os.kill(pid, signal.SIGSTOP)
    assert helper.wait(40)
    assert ["time budget of 1 s exceeded; the helper process was ended"] == [
        score.reason for _, scores in helper.poll() for score in scores
    ]
    assert gone(pid)


def test_threads_may_submit_at_once(made: Callable[..., Helper]) -> None:
    """Runs from many threads are each answered once or counted."""
    helper = made({"fine": misbehaving.fine}, max_runs=20)
    found: list[tuple[RunKey, Sequence[Score]]] = []

    def submit(part: int) -> None:
        for number in range(50):
            helper.submit(RUN, part * 50 + number)
            if part == 0:
                found.extend(helper.poll())
            time.sleep(0.001)

    threads = [threading.Thread(target=submit, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert helper.wait(40)
    found.extend(helper.poll())
    revisions = [key.revision for key, _ in found]
    assert len(set(revisions)) == len(revisions)
    assert 200 == len(revisions) + helper.counts.get("isolated_dropped", 0)
