"""OpenInference's messages, calls that were strung together taken apart: OpenAI's client in JavaScript's, BeeAI's."""

from __future__ import annotations

from spanwise.conventions import _openinference_messages
from spanwise.conventions._openinference_definitions import definitions
from spanwise.conventions._strung import apart
from spanwise.model.content import Memo, Message, Messages
from spanwise.model.raw import RawSpan


def messages(span: RawSpan, memo: Memo) -> Messages:
    """The messages of a span."""
    found = _openinference_messages.messages(span, memo)
    return Messages(found.input, _apart(found.output, span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The answer only."""
    return _apart(_openinference_messages.output(span, memo), span, memo)


def _apart(got: tuple[Message, ...] | None, span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    if span.scope.name not in _openinference_messages.STRINGING:
        return got
    return apart(got, lambda: definitions(span, memo))
