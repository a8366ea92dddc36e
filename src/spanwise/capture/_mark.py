"""How a helper process is told from an app, who scores what, and what an evaluator does itself.

It is loaded with every app that has zero-code scoring, so it is small.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

MARK = "SPANWISE_ISOLATED"
"""Set in the environment of a helper process, so that what it imports starts no further one."""
_SCORED_BELOW: ContextVar[int | None] = ContextVar("spanwise.scored_below", default=None)
_JUDGING: ContextVar[bool] = ContextVar("spanwise.judging", default=False)


class Entered:
    """Whether anything that is written on spans as they begin was ever entered in this process."""

    __slots__ = ("ever",)

    def __init__(self) -> None:
        self.ever = False


ENTERED = Entered()


def is_isolated() -> bool:
    """Whether this is a helper process, which holds evaluators for an app."""
    return os.environ.get(MARK) == "1"


@contextmanager
def scored_here() -> Generator[None]:
    """The runs that begin inside are scored by the caller, and so not by the capture, which counts them.

    For the task of a `Dataset.evaluate`: what is looked at is the runs in one.
    """
    from opentelemetry import trace

    ENTERED.ever = True
    token = _SCORED_BELOW.set(trace.get_current_span().get_span_context().span_id)
    try:
        yield
    finally:
        _SCORED_BELOW.reset(token)


def scored_below() -> int | None:
    """The id of the span in which `scored_here` was entered, 0 if in none; None outside of it."""
    return _SCORED_BELOW.get()


@contextmanager
def judging() -> Generator[None]:
    """The runs that begin inside are an evaluator's own, and never scored: it would be asked about itself for ever."""
    ENTERED.ever = True
    token = _JUDGING.set(True)
    try:
        yield
    finally:
        _JUDGING.reset(token)


def is_judging() -> bool:
    """Whether an evaluator is asked here."""
    return _JUDGING.get()
