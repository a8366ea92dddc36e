"""`spanwise evaluators`."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from spanwise.catalog import CLASSIC, EVALUATORS
from spanwise.cli.main import app


def test_json_has_one_object_per_evaluator() -> None:
    """Each evaluator of the catalogue is an object with name, question, value and parameters."""
    result = CliRunner().invoke(app, ["evaluators", "--format", "json"])
    found = [json.loads(line) for line in result.output.splitlines()]
    own = [one for one in found if one["origin"] == "built-in"]
    assert (0, [*EVALUATORS, "overall"]) == (result.exit_code, [one["name"] for one in own])
    assert {("name", "question", "value", "parameters", "origin", "problem")} == {tuple(one) for one in found}


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
