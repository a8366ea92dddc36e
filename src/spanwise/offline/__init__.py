"""The offline door: files, folders and streams of recorded spans."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from os import PathLike

from spanwise.errors import ModelError, SourceError
from spanwise.evals.given import Evaluators, by_name, on_runs
from spanwise.evaluators.overall import Overall
from spanwise.extensions import EXPECTED, problem_of
from spanwise.model.ports import AnyEvaluator
from spanwise.model.result import RunResult
from spanwise.model.trace import Trace
from spanwise.offline.reading import Reading
from spanwise.run import evaluate


def score(
    traces: str | PathLike[str] | Iterable[str | PathLike[str] | Trace],
    *,
    evaluators: Evaluators | None = None,
    profile: str = "",
    overall: Overall | None = None,
) -> list[RunResult]:
    """The scores of every run in some files, folders or traces.

    Args:
        traces: A path, several paths, or traces that are built already.
        evaluators: What to ask: names, values, or a mapping of both, evaluators of pydantic-evals among them; all of
            the profile with their defaults where not given.
        profile: `default` or `classic`: which evaluators, and how their scores are weighed.
        overall: How to weigh the scores into one, where it is not as the profile does.

    Raises:
        SourceError: For the first input that cannot be read. `spanwise.offline.reading.Reading` goes on past errors,
            and does not hold all results at once.
        ModelError: There is no such profile, or evaluators are given beside it, or what is given is no evaluator.
        SpecError: A single name is given in the place of a list.
    """
    chosen, overall = _chosen(evaluators, profile, overall)
    given = [traces] if isinstance(traces, str | PathLike) else list(traces)
    paths = [str(item) for item in given if not isinstance(item, Trace)]
    results = [
        evaluate(run, chosen, revision=item.revision, overall=overall)
        for item in given
        if isinstance(item, Trace)
        for run in item.runs
    ]
    if paths:
        results += Reading(paths=paths, overall=overall, on_error=_raise).results(chosen)
    return results


def _chosen(
    evaluators: Evaluators | None, profile: str, overall: Overall | None
) -> tuple[Mapping[str, AnyEvaluator], Overall | None]:
    if evaluators is not None:
        if profile:
            raise ModelError(f"Both evaluators and the profile {profile!r} are given; expected one of them.")
        made = on_runs(by_name(evaluators, _built_in))
        for called, evaluator in made.items():
            problem = problem_of(evaluator)
            if problem:
                raise ModelError(f"{called!r} is no evaluator, {problem}; expected {EXPECTED}.")
        return made, overall
    # Whoever only reads, such as `spanwise inspect`, needs none of the built-ins.
    from spanwise.catalog import PROFILES, default_evaluators

    name = profile or "default"
    if name not in PROFILES:
        raise ModelError(f"There is no profile {name!r}; known: {', '.join(PROFILES)}.")
    return default_evaluators(name), overall or PROFILES[name].overall


def _built_in(names: Collection[str]) -> Mapping[str, AnyEvaluator]:
    """The evaluators of these names, with their defaults."""
    from spanwise.selection import Selection

    selection = Selection(profile="default")
    found = selection.by_name(names, "evaluators")
    if selection.errors:
        raise ModelError("\n".join(selection.errors))
    return found


def _raise(error: SourceError) -> None:
    raise error
