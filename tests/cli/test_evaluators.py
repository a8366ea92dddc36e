"""`spanwise evaluators`."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from spanwise.catalog import EVALUATORS
from spanwise.cli.main import app


def test_json_has_one_object_per_evaluator() -> None:
    """Each evaluator of the catalogue is an object with name, question, value and parameters."""
    result = CliRunner().invoke(app, ["evaluators", "--format", "json"])
    found = [json.loads(line) for line in result.output.splitlines()]
    assert (0, list(EVALUATORS)) == (result.exit_code, [one["name"] for one in found])
    assert {("name", "question", "value", "parameters")} == {tuple(one) for one in found}


def test_the_table_lists_every_evaluator() -> None:
    """Each evaluator of the catalogue has its row."""
    result = CliRunner().invoke(app, ["evaluators"])
    assert (0, []) == (result.exit_code, [name for name in EVALUATORS if f"{name} " not in result.output])
