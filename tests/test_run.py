"""Applying evaluators to one run."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from spanwise import run as run_module
from spanwise.model.score import Score, not_measurable
from spanwise.model.trace import Run
from spanwise.run import config_hash, evaluate, label_of
from tests.making import agent, run_of, trace_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Says:
    """An evaluator that always says the same."""

    value: float = 1.0
    name: str = "x"
    extra: object = None

    def __call__(self, run: Run, /) -> Score:
        return Score(name=self.name, value=self.value)


def fails(run: Run, /) -> Score:
    """An evaluator that breaks."""
    raise ValueError(f"no {run.run_id}")


def gives(value: object) -> object:
    """An evaluator that returns something."""
    return lambda run: value


def scores(**evaluators: object) -> Sequence[Score]:
    """The scores of a small run."""
    return evaluate(run_of(agent(1)), evaluators).scores


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was logged in another test was not logged here."""
    monkeypatch.setattr(run_module, "_told", set())


def test_scores_in_order() -> None:
    """Each evaluator is asked once, in order, and its score bears its name, its configuration and the revision."""
    trace = trace_of(agent(1))
    trace.source = "file.json"
    (run,) = trace.runs
    result = evaluate(run, {"b": Says(), "a": Says(name="y")}, revision=3)
    assert (run, "file.json", 3) == (result.run, result.source, result.revision)
    assert [("x", "b", 3, config_hash(Says())), ("y", "a", 3, config_hash(Says(name="y")))] == [
        (score.name, score.evaluator, score.revision, score.config_hash) for score in result.scores
    ]


def test_what_an_evaluator_says_of_itself_stays() -> None:
    """Name, configuration and label that an evaluator set are not written over."""
    said = Score(name="x", value=0.1, label="fine", evaluator="mine", config_hash="abc")
    (score,) = scores(x=gives(said))
    assert ("fine", "mine", "abc") == (score.label, score.evaluator, score.config_hash)


def test_several_scores_of_one_evaluator() -> None:
    """An evaluator may give several scores, or none."""
    pair = [Score(name="x", value=1.0), not_measurable("y", "why")]
    assert [("x", "ok"), ("y", "")] == [(s.name, s.label) for s in scores(pair=gives(pair), none=gives([]))]


@pytest.mark.parametrize(
    ("value", "unit", "label"), [(0.95, "", "ok"), (0.7, "", "warn"), (0.5, "", "alert"), (0.5, "USD", "")]
)
def test_labels(value: float, unit: str, label: str) -> None:
    """A share is labelled by its thresholds; an amount is not."""
    assert [label] == [s.label for s in scores(x=gives(Score(name="x", value=value, unit=unit)))]


@pytest.mark.parametrize(
    ("name", "value", "label"),
    [
        ("redundancy", 0.95, "ok"),
        ("redundancy", 0.9499, "warn"),
        ("redundancy", 0.85, "warn"),
        ("redundancy", 0.8499, "alert"),
        ("recovery", 0.5, "warn"),
        ("recovery", 0.49, "alert"),
        ("anything", 0.8, "ok"),
        ("anything", 0.6, "warn"),
        ("anything", 0.59, "alert"),
    ],
)
def test_thresholds(name: str, value: float, label: str) -> None:
    """A value at the first number is ok, one below the second an alert; a name without numbers has the usual ones."""
    assert label == label_of(name, value)


def test_thresholds_of_ones_own() -> None:
    """Thresholds can be given."""
    result = evaluate(run_of(agent(1)), {"x": Says(value=0.5)}, thresholds={"x": (0.5, 0.4)})
    assert ["ok"] == [score.label for score in result.scores]


def broken_off() -> Iterator[Score]:
    """Scores that break off."""
    yield Score(name="x", value=1.0)
    raise RuntimeError("broken off")


@pytest.mark.parametrize(
    ("evaluator", "reason"),
    [
        (fails, "ValueError: no 0000000000000001"),
        (lambda run: broken_off(), "RuntimeError: broken off"),
        (gives(None), "TypeError: 'NoneType' object is not iterable"),
        (gives(0.5), "TypeError: 'float' object is not iterable"),
        (gives([1.0]), "TypeError: an evaluator returns Scores, this one [1.0]"),
        (lambda run: Score(name="x", value=2.0), "ModelError: Score 'x': 2.0 has no unit and lies outside [0, 1]."),
    ],
)
def test_a_broken_evaluator_is_a_result(evaluator: object, reason: str) -> None:
    """Whatever an evaluator does wrong is an `error` score with the reason; the others are asked all the same."""
    broken, whole = scores(broken=evaluator, whole=Says())
    assert ("broken", "error", reason, None) == (broken.name, broken.status, broken.reason, broken.value)
    assert ("x", 1.0) == (whole.name, whole.value)


def test_interrupts_are_not_swallowed() -> None:
    """Ctrl-C during an evaluator interrupts."""

    def interrupted(run: Run, /) -> Score:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scores(x=interrupted)


def test_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """A failure is logged with its traceback the first time, and no more for that evaluator and kind."""
    for _ in range(3):
        scores(broken=fails)
    scores(other=fails)
    assert ["broken", "other"] == [record.args[0] for record in caplog.records if record.exc_info]


def test_times_are_logged_where_there_is_a_clock(caplog: pytest.LogCaptureFixture) -> None:
    """With a clock the time that each evaluator took goes into the debug log; without one none is read."""
    caplog.set_level(logging.DEBUG, logger="spanwise")
    evaluate(run_of(agent(1)), {"x": Says()})
    assert [] == caplog.messages
    ticks = iter([100, 142])
    evaluate(run_of(agent(1)), {"x": Says()}, clock=lambda: next(ticks))
    assert ["x took 42 ns"] == caplog.messages


# The hash of a configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Another evaluator with the same parameters."""

    value: float = 1.0
    name: str = "x"
    extra: object = None


@dataclass(frozen=True, kw_only=True)
class Configured:
    """Parameters of every kind."""

    names: frozenset[str] = frozenset({"alpha", "beta", "gamma", "delta"})
    weights: Mapping[str, object] = field(default_factory=lambda: {"b": 1, "a": {"x", "y", "z"}})
    order: tuple[str, ...] = ("b", "a")
    compare: object = len


def test_equal_configurations() -> None:
    """Equal parameters of one evaluator have one hash, different ones or those of another evaluator have another."""
    hashes = [config_hash(one) for one in (Says(), Says(value=0.5), Says(name="y"), Other(), fails, label_of)]
    assert config_hash(Says()) == hashes[0]
    assert (6, 12) == (len(set(hashes)), len(hashes[0]))


def test_how_parameters_are_written_does_not_matter() -> None:
    """The order of a mapping's keys makes no other configuration; the order of a sequence does."""
    assert config_hash(Configured(weights={"a": 1, "b": 2})) == config_hash(Configured(weights={"b": 2, "a": 1}))
    assert config_hash(Configured(order=("a", "b"))) != config_hash(Configured(order=("b", "a")))
    assert config_hash(Configured(compare=len)) != config_hash(Configured(compare=repr))


def test_the_same_in_every_process() -> None:
    """A hash is the same in a process that hashes text otherwise."""
    code = (
        "from tests.test_run import Configured; from spanwise.run import config_hash; print(config_hash(Configured()))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ".:src"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2", "3")
    }
    assert 1 == len(told)
