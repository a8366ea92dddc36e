"""What the tests of `spanwise.evals` share."""

from tests.loops import no_loop_is_left

__all__ = ["no_loop_is_left"]
