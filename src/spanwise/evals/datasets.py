"""A dataset of pydantic-evals made of runs: what was asked, what was answered, and what was done, as expectations.

What is written is what was observed, to be edited: a call that failed, or that repeats an earlier one, is no
expectation; and the answer is the one that was given, not the right one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from pydantic_evals import Case, Dataset

from spanwise.errors import SpecError
from spanwise.evals.expectations import CALLS, DOCUMENTS, HANDOFFS, ORDER, TOOLS
from spanwise.model.calls import ToolCall
from spanwise.model.expectation import unseen
from spanwise.model.trace import Run

RunDataset: TypeAlias = Dataset[object, object, dict[str, object]]
_FORMATS = (".yaml", ".yml", ".json")


def dataset_of(runs: Iterable[Run], *, name: str = "traces") -> RunDataset:
    """A case for each run: its query as inputs, its answer as expected output, its tools as expectations."""
    cases: dict[str, Case[object, object, dict[str, object]]] = {}
    for run in runs:
        called = _free(f"{run.trace.trace_id[:8]}-{run.run_id[:8]}".rstrip("-"), cases)
        cases[called] = Case(name=called, inputs=run.query, expected_output=run.answer, metadata=observed(run))
    return RunDataset(name=name, cases=list(cases.values()))


def observed(run: Run) -> dict[str, object]:
    """What a run did, in the keys in which a case says what is expected, and where it was seen."""
    doubles = {id(again) for _, again in run.repeats.duplicates}
    done = [call for call in run.work if not call.failed and id(call) not in doubles]
    found: dict[str, object] = {"trace_id": run.trace.trace_id, "span_id": run.run_id}
    if done or not (run.tool_calls or unseen(run)):
        found[TOOLS] = list(dict.fromkeys(call.name for call in done))
        found[ORDER] = [call.name for call in done]
    known = [call for call in done if call.arguments_state == "present" and isinstance(call.arguments, Mapping)]
    if done and len(known) == len(done):
        found[CALLS] = [_expected(call) for call in known]
    if run.handoffs and all(one.target for one in run.handoffs):
        found[HANDOFFS] = [[one.source, one.target] if one.source else one.target for one in run.handoffs]
    documents = [document.id for one in run.retrievals for document in one.documents or () if document.id]
    if documents:
        found[DOCUMENTS] = list(dict.fromkeys(documents))
    return found


def _expected(call: ToolCall) -> dict[str, object]:
    return {"tool": call.name, "arguments": call.arguments}


def _free(name: str, taken: Mapping[str, object]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def save(dataset: RunDataset, path: Path) -> None:
    """Write a dataset as YAML or JSON, with its JSON schema beside it; `spanwise.evals.ALL` may be used in it.

    Raises:
        SpecError: The name does not end in one of those formats, or the file cannot be written.
    """
    from spanwise.evals.classes import ALL

    if path.suffix.lower() not in _FORMATS:
        raise SpecError(f"read {str(path)!r}, expected a file that ends in {', '.join(_FORMATS)}")
    try:
        dataset.to_file(path, custom_evaluator_types=ALL)
    except OSError as error:
        raise SpecError(f"{path}: cannot be written: {error.strerror}") from error
