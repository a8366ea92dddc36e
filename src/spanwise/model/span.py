"""One span of a trace: what it is, where it hangs, how it ended."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from spanwise.model.raw import Attributes, RawEvent, RawSpan, Scope, hex_id
from spanwise.native import core

Kind: TypeAlias = Literal[
    "agent", "workflow", "planning", "llm", "generation", "tool", "retrieval", "embedding", "rerank", "guardrail",
    "handoff", "evaluation", "setup", "other",
]  # fmt: skip
SpanStatus: TypeAlias = Literal["ok", "error", "timeout", "unset"]
TIMES = "spanwise.times"
"""On the root of a trace made from something without times, with the value `none`."""

RUN_KINDS = frozenset({"agent", "workflow"})
LLM_KINDS = frozenset({"llm", "generation"})


class Span(msgspec.Struct, gc=False):
    """One span of a trace. Links are indices into the trace's spans, -1 for none.

    `run` is the span's run root, `agent` the agent span that it belongs to (itself, if it is one), `holder` the
    nearest model, tool or retrieval span above it within the same agent.
    """

    raw: RawSpan
    kind: Kind
    dialect: int
    index: int
    parent: int
    run: int = -1
    agent: int = -1
    holder: int = -1

    @property
    def span_id(self) -> str:
        """The id as hex text."""
        return hex_id(self.raw.span_id)

    @property
    def name(self) -> str:
        """The name as recorded."""
        return self.raw.name

    @property
    def start_ns(self) -> int:
        """When it began."""
        return self.raw.start_ns

    @property
    def end_ns(self) -> int:
        """When it ended; its start where no end, or an earlier one, was recorded."""
        return max(self.raw.end_ns, self.raw.start_ns)

    @property
    def is_over(self) -> bool:
        """An end is recorded that is not before the start."""
        return self.raw.end_ns > 0 and self.raw.end_ns >= self.raw.start_ns

    @property
    def duration_ns(self) -> int:
        """How long it took, never negative."""
        return max(self.raw.end_ns - self.raw.start_ns, 0)

    @property
    def attributes(self) -> Attributes:
        """The attributes as recorded, by reference."""
        return self.raw.attributes

    @property
    def events(self) -> tuple[RawEvent, ...]:
        """The span's events and the log events joined to it."""
        return self.raw.events


_ROLES = {**dict.fromkeys(RUN_KINDS, 1), **dict.fromkeys(LLM_KINDS, 2)}
SPANS = None if core is None else core.Spans(raw=RawSpan, span=Span, scope=Scope, roles=_ROLES)
"""What reads the spans of a run in compiled code; None where there is none."""


def is_after(span: Span, above: Span) -> bool:
    """Whether a span above was over when this one began: what failed in it left it the current span.

    Only one scope's spans have surely one clock.
    """
    return above.is_over and span.raw.start_ns > above.raw.end_ns and span.raw.scope.name == above.raw.scope.name


class SpanError(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a failed span says of its failure."""

    type: str = ""
    message: str = ""
