"""What keeps a judge from giving a score.

JudgeError
├── UnaskedError            nobody could be asked: no model, key or package, or the budget is used up
└── UnjudgedError           somebody was asked, or could have been, and there is no verdict
    ├── ContextOverflowError    the run does not fit what the models can read, in as many parts as are allowed
    ├── UnreachableError        the provider could not be reached, refused the request, or was too slow
    └── ReplyError              the reply is no verdict
        ├── TruncatedError          it ends in the middle
        └── RefusedError            the model would not answer

A judge turns the first kind into `not_measurable` and the second into `error`; none of them is ever a number.
"""

from __future__ import annotations

from spanwise.errors import SpanwiseError


class JudgeError(SpanwiseError):
    """A judge gives no score."""


class UnaskedError(JudgeError):
    """Nobody could be asked; the message names what to set."""


class UnjudgedError(JudgeError):
    """There is no verdict."""


class ContextOverflowError(UnjudgedError):
    """The run does not fit what the models can read."""


class UnreachableError(UnjudgedError):
    """The provider did not answer the request.

    Args:
        message: What happened.
        again: The same request may well succeed later.
        after_s: How long the provider asked to wait.
    """

    def __init__(self, message: str, *, again: bool = False, after_s: float | None = None) -> None:
        super().__init__(message)
        self.again = again
        self.after_s = after_s


class ReplyError(UnjudgedError):
    """The reply is no verdict."""


class TruncatedError(ReplyError):
    """The reply ends in the middle."""


class RefusedError(ReplyError):
    """The model would not answer."""
