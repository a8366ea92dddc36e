"""Where judges ask: votes, what is remembered, budgets, and how much is on its way at a time."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from spanwise.judges import Goal, Panel, desk
from spanwise.judges.desk import Desk
from spanwise.model.score import Score
from tests.judges.runs import asked_and_answered
from tests.judges.standin import Answer, Standin, failure, verdict

MODELS = tuple(f"openai-chat:judge-{name}" for name in "abc")


def by_model(**scores: int | Answer | None) -> object:
    """Answers by the last letter of the model's name."""

    def choose(body: dict) -> Answer:
        found = scores[body["model"][-1]]
        return found if isinstance(found, Answer) else verdict(found, f"{body['model']} says so")

    return choose


def judged(panel: Panel, *, query: str = "What does a return cost?") -> Score:
    """The score of a small run."""
    return Goal(panel=panel)(asked_and_answered(query=query))


def test_the_majority_of_models_decides(standin: Standin, panel: Panel) -> None:
    """Of three models two agree, and the reason is that of one of them; all votes are told."""
    standin.choose(by_model(a=1, b=3, c=3))
    score = judged(replace(panel, models=MODELS))
    assert (1.0, 3) == (score.value, len(standin.requests))
    assert "3 of 0-3, pass: judge-b says so (votes: 2 for 3, 1 for 1)" == score.reason


def test_a_vote_that_changes_nothing_is_not_asked_for(standin: Standin, panel: Panel) -> None:
    """Where the first two of three agree, the third is not asked."""
    standin.choose(by_model(a=2, b=2, c=0))
    assert (2 / 3, 2) == (judged(replace(panel, models=MODELS)).value, len(standin.requests))


@pytest.mark.parametrize(("tie", "value"), [("lower", 0.0), ("median", 1 / 3), ("abstain", None)])
def test_without_a_majority_the_rule_decides(standin: Standin, panel: Panel, tie: str, value: float | None) -> None:
    """Three different votes: the lowest, the median, or no number at all, as it is set."""
    standin.choose(by_model(a=3, b=1, c=0))
    score = judged(replace(panel, models=MODELS, tie=tie))
    assert (value, "scored" if value is not None else "not_measurable") == (score.value, score.status)


def test_who_cannot_tell_does_not_count(standin: Standin, panel: Panel) -> None:
    """A vote of null is dropped; where everybody says so, the score is not measurable."""
    standin.choose(by_model(a=None, b=3, c=3))
    assert 1.0 == judged(replace(panel, models=MODELS)).value
    standin.choose(by_model(a=None, b=None, c=None))
    score = judged(replace(panel, models=MODELS), query="another")
    assert ("not_measurable", True) == (score.status, score.reason.startswith("the judge cannot tell"))


def test_one_voter_may_fail(standin: Standin, panel: Panel) -> None:
    """A model that fails loses its vote; where most fail, the score is an error and no number."""
    standin.choose(by_model(a=failure(404), b=2, c=2))
    assert 2 / 3 == judged(replace(panel, models=MODELS)).value
    standin.choose(by_model(a=failure(404), b=failure(404), c=2))
    assert "error" == judged(replace(panel, models=MODELS), query="another").status


def test_one_model_may_vote_several_times(standin: Standin, panel: Panel) -> None:
    """With `votes` each model is asked as often, and each answer is remembered for itself."""
    standin.script(verdict(1), verdict(3), verdict(3))
    several = replace(panel, votes=3)
    assert [1.0, 1.0] == [judged(several).value, judged(several).value]
    assert 3 == len(standin.requests)


def test_what_was_asked_is_remembered(standin: Standin, panel: Panel) -> None:
    """The same question to the same model is asked once; another question, or a fresh one, is asked again."""
    run = asked_and_answered()
    judge = Goal(panel=panel)
    assert [1.0, 1.0, 1] == [judge(run).value, judge(run).value, len(standin.requests)]
    standin.script(verdict(0))
    assert (0.0, 1.0) == (judge.hear(run, fresh=True).value, judge(run).value)
    assert 0.0 == judge(asked_and_answered(query="another")).value


def test_a_failure_is_not_remembered(standin: Standin, panel: Panel) -> None:
    """After an error the same question is asked again."""
    standin.script(failure(404))
    assert "error" == judged(panel).status
    standin.script(verdict(3))
    assert 1.0 == judged(panel).value


def test_replies_are_kept_on_disk_where_asked(standin: Standin, panel: Panel, tmp_path: Path) -> None:
    """With a folder, a process that starts anew asks nothing that was asked; only its owner may read the files."""
    kept = replace(panel, cache=str(tmp_path / "replies"))
    assert 1.0 == judged(kept).value
    desk.close()
    assert (1.0, 1) == (judged(kept).value, len(standin.requests))
    (reply,) = (tmp_path / "replies").glob("*.json")
    assert (0o600, 0o700) == (reply.stat().st_mode & 0o777, reply.parent.stat().st_mode & 0o777)
    reply.write_text("not a reply")
    desk.close()
    assert (1.0, 2) == (judged(kept).value, len(standin.requests))


def test_a_run_has_a_budget(standin: Standin, panel: Panel) -> None:
    """A request that may cost more than is left for the run is not sent, and the score is not measurable."""
    score = judged(replace(panel, prices=(1.0, 1000.0), run_usd=0.5))
    assert ("not_measurable", 0) == (score.status, len(standin.requests))
    assert "the budget of $0.5 for this run does not suffice" in score.reason


def test_a_day_has_a_budget_for_all(standin: Standin, panel: Panel, tmp_path: Path) -> None:
    """What was spent counts for all runs of the day, in this process and, with a folder, in others."""
    standin.script(verdict(3, tokens=(1000, 100)))
    dear = replace(panel, prices=(100.0, 100.0), run_usd=1.0, day_usd=0.5, cache=str(tmp_path))
    assert 1.0 == judged(dear).value  # 0.11 dollars
    desk.close()
    assert 1.0 == judged(dear, query="second").value
    score = judged(dear, query="third")
    assert ("not_measurable", 2) == (score.status, len(standin.requests))
    assert "the budget of $0.5 a day is used up: $0.2200 are spent" in score.reason


def test_a_budget_needs_a_price(standin: Standin, panel: Panel) -> None:
    """A limit that is set cannot be kept for a model of unknown price; without one such a model is asked."""
    unpriced = replace(panel, models=("openai-chat:home-made",))
    assert 1.0 == judged(unpriced).value
    score = judged(replace(unpriced, day_usd=1.0), query="another")
    assert ("not_measurable", True) == (score.status, "the price of openai-chat:home-made is not known" in score.reason)


def test_so_many_requests_are_on_their_way(standin: Standin, panel: Panel) -> None:
    """However many threads judge, one model is asked so many things at a time."""
    good = verdict(3)
    standin.script(Answer(body=good.body, delay_s=0.1))
    narrow = replace(panel, concurrency=2)
    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda number: judged(narrow, query=str(number)).value, range(8)))
    assert ([1.0] * 8, 8, 2) == (values, len(standin.requests), standin.most)


def test_a_failing_model_is_left_alone_in_between(standin: Standin, panel: Panel) -> None:
    """Attempts are so many, and the pauses between them grow."""
    standin.script(failure(503))
    assert "error" == judged(replace(panel, retries=3)).status
    pauses = [after - before for before, after in zip(standin.at, standin.at[1:], strict=False)]
    assert 3 == len(pauses)
    assert all(pause >= least for pause, least in zip(pauses, (0.25, 0.5, 1.0), strict=True))


def test_no_model_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a model the score is not measurable, and says which variables to set; nothing is imported for it."""
    monkeypatch.delenv("SPANWISE_JUDGE_MODEL", raising=False)
    score = Goal()(asked_and_answered())
    assert "not_measurable" == score.status
    assert all(name in score.reason for name in ("SPANWISE_JUDGE_MODEL", "OPENAI_API_KEY"))


def test_the_variable_names_models(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPANWISE_JUDGE_MODEL names models, with commas between, where the settings do not."""
    monkeypatch.setenv("SPANWISE_JUDGE_MODEL", ", ".join(MODELS))
    standin.choose(by_model(a=3, b=3, c=3))
    assert 1.0 == Goal()(asked_and_answered()).value


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs 'fork', which this platform has not")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_can_ask(standin: Standin, panel: Panel) -> None:
    """A child that was forked while the parent's thread was running asks by a thread of its own."""
    assert 1.0 == judged(panel).value
    child = os.fork()
    if child == 0:
        os._exit(0 if judged(panel, query="in the child").value == 1.0 else 1)
    deadline = time.monotonic() + 30
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.05)
    if done == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert (child, 0) == done


def test_a_desk_closes(standin: Standin, panel: Panel) -> None:
    """A desk that was closed has no thread, and starts anew with the next question."""
    own = Desk()
    questions = Goal(panel=panel).ask(asked_and_answered())
    assert not isinstance(questions, Score)
    assert [3] == [one.number for one in own.hear(questions, panel)]
    assert 1 == judging_threads()
    own.close()
    own.close()
    assert 0 == judging_threads()
    assert [3] == [one.number for one in own.hear(questions, panel)]
    own.close()


def test_what_is_on_its_way_ends_with_the_desk(standin: Standin, panel: Panel) -> None:
    """Who waits for a verdict when the desk closes gets an error at once, and no number."""
    standin.script(Answer(body=verdict(3).body, delay_s=4.0))
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(judged, panel)
        end = time.monotonic() + 10
        while not standin.requests and time.monotonic() < end:
            time.sleep(0.02)
        begun = time.monotonic()
        desk.close()
        score = asked.result(5.0)
    assert time.monotonic() - begun < 3.0
    assert ("error", "UnreachableError: judging was ended before there was a verdict") == (score.status, score.reason)


def judging_threads() -> int:
    """How many threads ask models."""
    return sum(thread.name == "spanwise-judge" for thread in threading.enumerate())
