"""Which steps are open, and which end with another."""

from __future__ import annotations

from spanwise.record.open_steps import OpenSteps


def test_a_step_ends_once_and_ends_what_is_open_below() -> None:
    """The end of a step gives all that is open below it, outermost first; a second end gives nothing."""
    steps = OpenSteps[str]()
    for step, parent in (("run", "nobody"), ("a", "run"), ("b", "run"), ("a1", "a"), ("a2", "a"), ("done", "run")):
        steps.add(step, parent)
    assert [] == steps.end("done", "run")
    assert ["a", "b", "a1", "a2"] == steps.end("run", "nobody")
    assert [None, None, None] == [steps.end(step, "run") for step in ("run", "a", "a1")]


def test_released_steps_stay_open() -> None:
    """A step that was released ends by itself."""
    steps = OpenSteps[str]()
    steps.add("run", "nobody")
    steps.add("block", "run")
    steps.release("block", "run")
    steps.release("run", None)
    assert [] == steps.end("run", None)
    assert [] == steps.end("block", "run")


def test_a_long_chain() -> None:
    """Ten thousand steps within each other end without recursion."""
    steps = OpenSteps[int]()
    for number in range(10_000):
        steps.add(number, number - 1)
    assert list(range(1, 10_000)) == steps.end(0, -1)
