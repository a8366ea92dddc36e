"""Smolagents: instrumented by OpenInference, the only package that does."""

from __future__ import annotations

from spanwise.capture.frameworks._framework import Framework
from spanwise.capture.frameworks._instrumentor import Plan, openinference

_PLAN = Plan(
    name="smolagents",
    instruments=frozenset(("smolagents",)),
    choices=(openinference("smolagents", "SmolagentsInstrumentor"),),
)

FRAMEWORK = Framework(
    name="smolagents",
    title="smolagents",
    modules=("smolagents",),
    marker="smolagents",
    package="smolagents",
    turn_on=_PLAN.enable,
)
