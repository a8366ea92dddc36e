"""Telling evaluators of pydantic-evals apart from others, without loading it for those others."""

from __future__ import annotations

from spanwise.evals.versions import require


def is_foreign(found: object) -> bool:
    """The value, or the class, is an evaluator of pydantic-evals."""
    kind = found if isinstance(found, type) else type(found)
    return any(
        base.__module__.startswith("pydantic_evals.evaluators") and base.__name__ == "Evaluator"
        for base in kind.__mro__
    )


def adapting(found: object, /) -> object:
    """What was found, made an evaluator of runs where it is one of pydantic-evals, or a class of them.

    Raises:
        SpecError: It is one of a version that cannot be served.
    """
    if not is_foreign(found):
        return found
    require()
    from spanwise.evals.adapter import adapted

    return adapted(found)
