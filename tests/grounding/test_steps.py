"""Work in steps."""

from __future__ import annotations

from spanwise.grounding.steps import Steps, finish


def counted(most: int) -> Steps[str]:
    """Some steps, and what came of them."""
    for _ in range(most):
        yield
    return f"{most} steps"


def test_finish() -> None:
    """The steps are gone through, and what they return is the result."""
    assert ("0 steps", "3 steps") == (finish(counted(0)), finish(counted(3)))
