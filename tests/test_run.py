"""Applying evaluators to one run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from msgspec import structs

from spanwise import run as run_module
from spanwise.evaluators.overall import Overall
from spanwise.evaluators.redundancy import Redundancy
from spanwise.model.expectation import Rule, Rules
from spanwise.model.score import Evidence, Score, not_measurable
from spanwise.model.trace import Run
from spanwise.run import THRESHOLDS, config_hash, evaluate, label_of, name_of
from tests.making import agent, chat, run_of, tool, trace_of, user


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
    monkeypatch.setattr(run_module, "_hashes", {})


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


def test_times_are_told_where_there_is_a_clock() -> None:
    """With a clock it is told what each evaluator took; without one nothing is."""
    told: list[tuple[str, int]] = []
    took = lambda name, ns: told.append((name, ns))  # noqa: E731  (short, and used twice)
    evaluate(run_of(agent(1)), {"x": Says()}, took=took)
    assert [] == told
    ticks = iter([100, 142])
    evaluate(run_of(agent(1)), {"x": Says()}, clock=lambda: next(ticks), took=took)
    assert [("x", 42)] == told


# Names


def test_two_configurations_have_two_names() -> None:
    """Scores named as the evaluator's class get the name that it runs under, which may have thresholds of its own."""
    run = run_of(
        agent(1), *(tool(n, parent=1, name=name, arguments={}) for n, name in enumerate("aabcdefghi", start=2))
    )
    result = evaluate(run, {"redundancy": Redundancy(), "redundancy_strict": Redundancy()})
    assert [("redundancy", "warn"), ("redundancy_strict", "warn")] == [(s.name, s.label) for s in result.scores]
    own = evaluate(run, {"strict": Redundancy()}, thresholds={"strict": (0.5, 0.1), **THRESHOLDS})
    assert [("strict", "ok", "strict")] == [(s.name, s.label, s.evaluator) for s in own.scores]


@dataclass(frozen=True)
class ToolTime:
    """An evaluator with a further score."""

    def __call__(self, run: Run, /) -> Sequence[Score]:
        return [Score(name=name, value=1.0) for name in ("tool_time", "tool_time_ms", "tool_timely")]


def brief(run: Run, /) -> Score:
    """An evaluator that is a function."""
    return Score(name="brief", value=1.0)


def test_further_scores_are_renamed_too() -> None:
    """A score with the evaluator's own name in front is renamed in front; another name is left as it is."""
    found = scores(quick=ToolTime(), short=brief)
    assert ["quick", "quick_ms", "tool_timely", "short"] == [score.name for score in found]
    assert ["tool_time", "brief", "redundancy"] == [name_of(one) for one in (ToolTime(), brief, Redundancy())]


def test_a_name_is_given_once() -> None:
    """A second score of a name is an error under a name of its own, which says who gave the first one."""
    found = scores(a=Says(), b=Says(), twice=gives([Score(name="y", value=1.0), Score(name="y", value=0.5)]))
    assert [
        ("x", "scored", ""),
        ("b", "error", "a second score named 'x': evaluator 'a' gave one already"),
        ("y", "scored", ""),
        ("twice", "error", "a second score named 'y': it gave one already"),
    ] == [(score.name, score.status, score.reason) for score in found]
    third = scores(b=gives([Score(name="b", value=1.0), Score(name="b", value=1.0), Score(name="b", value=1.0)]))
    assert ["b", "b_2", "b_3"] == [score.name for score in third]


# Taken together


def test_the_overall_score_comes_last() -> None:
    """The scores are weighed into one, which is labelled and numbered like the others."""
    overall = Overall(weights={"x": 1.0, "y": 3.0}, known=("x", "y"))
    evaluators = {"x": Says(), "y": Says(name="y", value=0.0)}
    result = evaluate(run_of(agent(1)), evaluators, overall=overall, revision=2)
    last = result.scores[-1]
    assert ("overall", 0.25, "alert", 2, config_hash(overall)) == (
        last.name,
        last.value,
        last.label,
        last.revision,
        last.config_hash,
    )


def test_an_evaluator_may_not_call_its_score_overall() -> None:
    """Where an evaluator gives a score of that name, the one that all are weighed into is the second."""
    result = evaluate(
        run_of(agent(1)), {"x": Says(name="overall")}, overall=Overall(weights={"overall": 1.0}, known=("overall",))
    )
    assert ["scored", "error"] == [score.status for score in result.scores]


RULES = Rules((Rule(name="weather", words=("rain",)), Rule(name="all", words=("will",))))


@pytest.mark.parametrize(
    ("query", "rules", "kind"),
    [
        ("Will it rain?", RULES, "weather"),
        ("Will it?", RULES, "all"),
        ("Why?", RULES, ""),
        (None, RULES, ""),
        ("Will it rain?", Rules(), ""),
        ("Will it rain?", None, ""),
    ],
)
def test_the_type_of_a_query(query: str | None, rules: Rules | None, kind: str) -> None:
    """The first rule that matches the query names its type; where none does, or no query is recorded, there is none."""
    sent = [user(query)] if query else None
    run = run_of(agent(1), chat(2, parent=1, sent=sent))
    assert kind == evaluate(run, {}, rules=rules).query_type


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


def test_a_hash_is_computed_once() -> None:
    """A frozen evaluator's hash is kept; one whose parameters may change is hashed anew; the number kept is bounded."""
    held = Says()
    assert config_hash(held) == config_hash(held)
    changing = Changing()
    before = config_hash(changing)
    changing.limit = 2
    assert before != config_hash(changing)
    many = [Says(value=n / 300) for n in range(300)]
    assert 300 == len({config_hash(one) for one in many})
    assert len(run_module._hashes) <= 256


@dataclass
class Changing:
    """An evaluator whose parameters can be set anew."""

    limit: int = 1


def test_a_score_is_handed_on_whole() -> None:
    """Whatever an evaluator says in a score is in the result: only the label, and who gave it, are filled in."""
    said = Score(
        name="mine", value=2.5, unit="s", label="own", reason="why", evidence=(Evidence(span_id="1", quote="q"),),
        issues=("i",), recommendations=("r",), evaluator="me", version="7", config_hash="c", revision=1,
    )  # fmt: skip
    assert {field.name for field in structs.fields(Score) if getattr(said, field.name) == field.default} == {
        "status",
        "revision",
    }
    (given,) = evaluate(run_of(agent(1)), {"mine": lambda run: said}).scores
    assert said == given
