"""What is told of a recording without content holds no word that a person, a model or a tool wrote."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from spanwise.catalog import default_evaluators
from spanwise.model.trace import Run
from spanwise.report.contract import to_contract
from spanwise.report.encode import to_line
from spanwise.report.spans import to_inspected
from spanwise.report.terminal import console
from spanwise.report.tree import show_run
from spanwise.run import evaluate
from tests.corpus.facts import NAMES, runs_of

EVALUATORS = default_evaluators()


def words(value: object) -> Iterator[str]:
    """The texts in a value that are long enough to be nobody's name, in pieces that survive any escaping."""
    if isinstance(value, dict):
        for item in value.values():
            yield from words(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from words(item)
    elif isinstance(value, str) and len(value) > 12 and " " in value:
        yield from (part for part in value.replace('"', "\n").replace("\\", "\n").split("\n") if len(part) > 12)


def said(run: Run) -> set[str]:
    """What was asked, answered, given to tools and returned by them."""
    errors = [call.error.message for call in run.tool_calls if call.error is not None]
    calls = [(call.arguments, call.result) for call in run.tool_calls if not call.control]
    return set(words([run.query, run.answer, calls, errors]))


@pytest.mark.parametrize("name", NAMES)
def test_no_word_is_told_without_content(name: str) -> None:
    """Neither scores nor tree quote a question, an answer, an argument, a result or an error."""
    for run in runs_of(name, logs=True):
        file = io.StringIO()
        show_run(console(file, width=1000), run=run, content=False, everything=True)
        scored = to_line(to_contract(evaluate(run, EVALUATORS), content=False))
        told = scored + to_line(to_inspected(run, content=False)) + file.getvalue()
        assert [] == [text for text in said(run) if text in told]
