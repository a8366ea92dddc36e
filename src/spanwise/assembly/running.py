"""Model calls whose spans count the tokens of the calls before them: each made to count its own.

In a loop of calls and tools such a library adds each answer's usage to the sum so far. The calls of a loop stand below
one span; of a stream each stands inside the one before it, and all of them record the last sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from spanwise import conventions
from spanwise.model.calls import LLMCall
from spanwise.model.trace import Run

_LOOP = "advisor"
"""Spring AI's kind of span below which a model is called once by the app, and again only by its own loop."""


class _Sum(msgspec.Struct, gc=False):
    """What was counted up to a call, and the input of that call alone."""

    sent: int
    got: int
    own: int


def take_apart(run: Run, calls: Sequence[LLMCall]) -> list[LLMCall]:
    """The calls whose counts changed, each counting its own tokens; of a stream's calls only the last can."""
    spans = run.trace.spans
    sums: dict[int, _Sum] = {}
    by_span = {call.span: call for call in calls}
    changed: list[LLMCall] = []
    for call in calls:
        span, used = spans[call.span], call.usage
        sent, got = used.input_tokens, used.output_tokens
        if span.dialect not in conventions.SUMMING or sent is None or got is None:
            continue
        outer = by_span.get(span.holder)
        if outer is not None:
            outer.usage.input_tokens = outer.usage.output_tokens = None
            changed.append(outer)
            continue
        before = sums.get(span.parent)
        sums[span.parent] = now = _Sum(sent, got, sent)
        if before is None or span.parent < 0:
            continue
        in_loop = spans[span.parent].attributes.get("spring.ai.kind") == _LOOP
        more = sent - before.sent
        if got >= before.got and more >= (0 if in_loop else before.own):
            used.input_tokens, used.output_tokens = more, got - before.got
            now.own = more
            changed.append(call)
    return changed
