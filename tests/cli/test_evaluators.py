"""`spanwise evaluators`."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from spanwise.catalog import CLASSIC, EVALUATORS, JUDGES
from spanwise.cli.main import app


def test_json_has_one_object_per_evaluator() -> None:
    """Each evaluator of the catalogue is an object with name, question, value and parameters."""
    result = CliRunner().invoke(app, ["evaluators", "--format", "json"])
    found = [json.loads(line) for line in result.output.splitlines()]
    own = [one for one in found if one["origin"] == "built-in"]
    assert (0, [*EVALUATORS, "overall", *JUDGES]) == (result.exit_code, [one["name"] for one in own])
    assert {("name", "question", "value", "parameters", "origin", "problem", "kind")} == {tuple(one) for one in found}


def test_judges_are_a_group_of_their_own() -> None:
    """Judges are told apart, ask a question, and have the parameters that a user can set, in any profile."""
    for profile in ("default", "classic"):
        told = CliRunner().invoke(app, ["evaluators", "--format", "json", "--profile", profile]).output
        found = [json.loads(line) for line in told.splitlines()]
        judges = {one["name"]: one for one in found if one["kind"] == "judge"}
        assert list(JUDGES) == list(judges)
        assert all(one["question"].endswith("?") and one["value"] for one in judges.values())
        assert ["after", "skip", "panel"] == [one["name"] for one in judges["goal"]["parameters"]]
        assert {"criteria", "scale", "threshold"} <= {one["name"] for one in judges["rubric"]["parameters"]}
    table = CliRunner().invoke(app, ["evaluators"]).output
    above, _, below = table.partition("Judges ask a language model")
    assert [] == [name for name in JUDGES if f"{name} " not in below or f" {name} " in above]


def test_the_table_lists_every_evaluator() -> None:
    """Each evaluator of the catalogue has its row."""
    result = CliRunner().invoke(app, ["evaluators"])
    assert (0, []) == (result.exit_code, [name for name in EVALUATORS if f"{name} " not in result.output])


def test_a_profile_can_be_named() -> None:
    """The evaluators of the classic profile are listed when asked for; a profile that is not there is an error."""
    result = CliRunner().invoke(app, ["evaluators", "--format", "json", "--profile", "classic"])
    names = [json.loads(line)["name"] for line in result.output.splitlines()]
    assert [*CLASSIC, "overall"] == names[: len(CLASSIC) + 1]
    assert 2 == CliRunner().invoke(app, ["evaluators", "--profile", "odd"]).exit_code
