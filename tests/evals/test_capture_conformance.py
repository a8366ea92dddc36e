"""pydantic-evals' evaluators inside `Dataset.evaluate`, on spans that instrumentations emit while the task runs.

Recordings of several instrumentations are emitted again by the task, below whatever is there. What is right is written
down beside each; every evaluator is asked in a way that has it say yes, and in one that has it say no.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

import pytest
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext
from pydantic_evals.lifecycle import CaseLifecycle

from spanwise.evals.capture import Capture
from tests.corpus.facts import expected
from tests.evals.conformance import EVALUATORS
from tests.evals.replay import provider_of, replay, traces_of

NAMES = (
    "langgraph__openinference",
    "smolagents__openinference",
    "openai-agents__openinference__handoff",
    "langgraph__traceloop",
    "openai-agents__traceloop",
    "strands__builtin",
    "pydantic-ai__builtin_v2",
)


class Asking(Evaluator[object, object, object]):
    """Asks every evaluator, and keeps what it says that is not right."""

    def __init__(self, facts: Mapping[str, object]) -> None:
        self.facts = facts
        self.asked = 0
        self.wrong: list[str] = []

    async def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> dict[str, bool]:
        for ask in EVALUATORS.values():
            for question, right in ask(self.facts):
                said = await question.evaluate_async(ctx)
                told = said.value if isinstance(said, EvaluationReason) else said
                self.asked += 1
                if told != right:
                    self.wrong.append(f"{question!r}: {said!r}")
        return {}


def asked(name: str, trace_id: str, facts: Mapping[str, object], lifecycle: type[CaseLifecycle]) -> Asking:
    """What the evaluators say of a task that emits a recording."""
    provider, _ = provider_of(name)
    asking = Asking(facts)
    dataset = Dataset(name="recordings", cases=[Case(name=name, inputs=None)], evaluators=[asking])

    async def task(_: object) -> None:
        await asyncio.to_thread(replay, name, provider, only=trace_id)

    given = partial(Capture, provider=provider) if lifecycle is Capture else lifecycle
    report = asyncio.run(dataset.evaluate(task, lifecycle=given, progress=False))
    assert [] == report.failures
    return asking


@pytest.mark.parametrize("name", NAMES)
def test_verdicts_are_right(name: str) -> None:
    """Every verdict on the spans of the task is what it is to be."""
    facts: Sequence[Mapping[str, object]] = expected(name, logs=False)
    (trace_id,) = traces_of(name)
    asking = asked(name, trace_id, facts[0], Capture)
    assert ([], True) == (asking.wrong, asking.asked > 10)


def test_without_the_capture_they_are_not() -> None:
    """The same task under pydantic-evals' own capture: most verdicts on OpenInference spans are wrong."""
    name = NAMES[0]
    asking = asked(name, *traces_of(name), expected(name, logs=False)[0], CaseLifecycle)
    assert len(asking.wrong) > asking.asked / 3
