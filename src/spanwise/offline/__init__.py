"""The offline door: files, folders and streams of recorded spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike

from spanwise.catalog import default_evaluators
from spanwise.errors import SourceError
from spanwise.model.ports import Evaluator
from spanwise.model.result import RunResult
from spanwise.model.trace import Trace
from spanwise.offline.reading import Reading
from spanwise.run import evaluate


def score(
    traces: str | PathLike[str] | Iterable[str | PathLike[str] | Trace],
    *,
    evaluators: Mapping[str, Evaluator] | None = None,
) -> list[RunResult]:
    """The scores of every run in some files, folders or traces.

    Args:
        traces: A path, several paths, or traces that are built already.
        evaluators: What to ask, by name; all built-in evaluators with their defaults where not given.

    Raises:
        SourceError: For the first input that cannot be read. `spanwise.offline.reading.Reading` goes on past errors,
            and does not hold all results at once.
    """
    chosen = default_evaluators() if evaluators is None else evaluators
    given = [traces] if isinstance(traces, str | PathLike) else list(traces)
    paths = [str(item) for item in given if not isinstance(item, Trace)]
    results = [
        evaluate(run, chosen, revision=item.revision) for item in given if isinstance(item, Trace) for run in item.runs
    ]
    if paths:
        results += Reading(paths=paths, on_error=_raise).results(chosen)
    return results


def _raise(error: SourceError) -> None:
    raise error
