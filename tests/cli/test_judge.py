"""`spanwise judge audit`, and judges in `spanwise score`, against a provider's stand-in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spanwise.report.contract import SCHEMA
from tests.cli.command import Done, spanwise
from tests.judges.standin import MODEL, Standin, failure, serve, verdict

RECORDING = "pydantic-ai__builtin.json"
PLAIN = "French cheese"
"""What a tool of this recording returned, and none of the other."""


@pytest.fixture
def standin(require: Callable[[str], str]) -> Iterator[Standin]:
    """A stand-in for the command to ask."""
    require("pydantic_ai")
    require("openai")
    with serve() as running:
        yield running


@pytest.fixture
def run(standin: Standin, recordings: Path, tmp_path: Path) -> Callable[..., Done]:
    """Runs the command in an empty folder, with the stand-in as its provider."""

    def command(*arguments: str | Path, **more: str) -> Done:
        known = {"OPENAI_BASE_URL": standin.url, "OPENAI_API_KEY": "not-a-key", "SPANWISE_JUDGE_MODEL": MODEL}
        return spanwise(*arguments, cwd=tmp_path, **{**known, **more})

    return command


def test_a_judge_scores_files(run: Callable[..., Done], standin: Standin, recordings: Path) -> None:
    """`--evaluator goal` asks the judge about each run; its score is one of the contract."""
    standin.script(verdict(2))
    done = run("score", recordings / RECORDING, "--evaluator", "goal", "--format", "json")
    (line,) = done.out.splitlines()
    (score,) = json.loads(line)["scores"]
    assert (0, SCHEMA) == (done.code, json.loads(line)["schema"])
    assert ("goal", 2 / 3, "warn", "scored") == (score["name"], score["value"], score["label"], score["status"])


def test_a_gate_sees_what_a_judge_says(run: Callable[..., Done], standin: Standin, recordings: Path) -> None:
    """A judge's alert fails a gate, its error is an infrastructure error, and without a model there is no answer."""
    arguments = ("score", recordings / RECORDING, "--evaluator", "goal", "--fail-on", "alert")
    standin.script(verdict(0))
    assert 1 == run(*arguments).code
    standin.script(failure(404))
    assert 3 == run(*arguments).code
    done = run(*arguments, SPANWISE_JUDGE_MODEL="")
    assert (3, True) == (done.code, "SPANWISE_JUDGE_MODEL" in done.err)


def test_an_audit_without_labels_needs_calibration(run: Callable[..., Done], recordings: Path) -> None:
    """What people say is missing, which the verdict says; the exit code is 1."""
    done = run("judge", "audit", recordings / RECORDING, "--judge", "goal")
    assert (1, True) == (done.code, done.out.startswith("goal: NEEDS CALIBRATION\n"))
    assert "have a hand label; 20 are needed" in done.out


def test_an_audit_as_json(run: Callable[..., Done], standin: Standin, recordings: Path, tmp_path: Path) -> None:
    """A judge that says what people say, on both sides, is trustworthy: exit 0, and one object with what was found."""
    one, other = RECORDING, "langgraph__openinference.json"
    standin.choose(lambda body: verdict(3 if PLAIN in str(body["messages"][-1]) else 0))
    rows = []
    for name, label in ((one, "pass"), (other, "fail")):
        (line,) = run("score", recordings / name, "--evaluator", "loops", "--format", "json").out.splitlines()
        rows.append(f"{json.loads(line)['trace_id']},{label}")
    labels = tmp_path / "labels.csv"
    labels.write_text("trace_id,label\n" + "\n".join(rows) + "\n")
    done = run(
        "judge", "audit", recordings / one, recordings / other,
        "--judge", "goal", "--format", "json", "--labels", labels, "--least-labels", "2",
    )  # fmt: skip
    found = json.loads(done.out)
    assert (0, "TRUSTWORTHY", "spanwise.judge_audit/1") == (done.code, found["verdict"], found["schema"])
    assert (1.0, 2, 0) == (found["kappa"]["value"], found["kappa"]["n"], found["flips"]["count"])
    assert ([MODEL], 4) == (found["models"], len(standin.requests))


def test_an_audit_compares_with_a_check(run: Callable[..., Done], standin: Standin, recordings: Path) -> None:
    """`--check` names what the judge is held against; a judge that denies what rules know is unreliable."""
    standin.script(verdict(0))
    done = run("judge", "audit", recordings / RECORDING, "--judge", "goal", "--check", "loops")
    assert (1, True) == (done.code, "goal: UNRELIABLE" in done.out)
    assert "the judge says fail, rules say pass" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--judge", "nope"), 2, "unknown evaluator 'nope'"),
        (("--judge", "redundancy"), 2, "asks no model"),
        (("--judge", "goal", "--labels", "nowhere.csv"), 2, "nowhere.csv: cannot be read"),
        (("--judge", "goal", "--model", "nope:x"), 3, "no model that can be asked"),
        (("--judge", "goal", "--limit", "1"), 2, "of which the question arises"),
    ],
)
def test_what_keeps_an_audit_from_being_made(
    run: Callable[..., Done], recordings: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    """Usage and files are 2, a provider that cannot be asked is 3; each says what is wrong."""
    path = recordings / ("fastmcp__builtin.json" if "--limit" in arguments else RECORDING)
    done = run("judge", "audit", path, *arguments)
    assert (code, True) == (done.code, says in done.err)


def test_no_key_no_model_no_network_no_harm(recordings: Path, tmp_path: Path) -> None:
    """Without any of these everything but judges works, and a judge says which variable to set."""
    names = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SPANWISE_JUDGE_MODEL")
    done = spanwise(
        "judge", "audit", recordings / RECORDING, "--judge", "goal", cwd=tmp_path, **dict.fromkeys(names, "")
    )
    assert (3, True) == (done.code, all(name in done.err for name in ("OPENAI_API_KEY", "SPANWISE_JUDGE_MODEL")))
    (tmp_path / "spanwise.toml").write_text('evaluators = ["goal", "redundancy"]')
    scored = spanwise("score", recordings / RECORDING, "--format", "json", cwd=tmp_path, **dict.fromkeys(names, ""))
    found = {score["name"]: score["status"] for score in json.loads(scored.out)["scores"]}
    assert (0, {"goal": "not_measurable", "redundancy": "scored"}) == (scored.code, found)
