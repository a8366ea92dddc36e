"""What a run did: calls of tools and models, retrievals, hand-offs, each counted once however many spans it left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from spanwise.model.canonical import canonical
from spanwise.model.content import ContentState, Document, LLMFields, Memo, state_of
from spanwise.model.raw import Key, hex_id
from spanwise.model.span import SpanError

CallStatus: TypeAlias = Literal["ok", "error", "retry", "not_run", "unknown"]
Origin: TypeAlias = Literal["span", "message"]
FAILED: frozenset[CallStatus] = frozenset({"error", "retry"})
"""A call that failed, whether or not the tool asked for another try."""


class ToolCall(msgspec.Struct, gc=False):
    """One logical tool call. `span` is an index into the trace's spans, -1 for a call known from messages only.

    What was passed and returned is kept as recorded and decoded when it is read: `arguments` and `result` are values.
    """

    name: str
    status: CallStatus = "unknown"
    span: int = -1
    agent: int = -1
    start_ns: int = 0
    end_ns: int = 0
    call_id: str | None = None
    control: bool = False
    origin: Origin = "span"
    raw_arguments: object = None
    raw_result: object = None
    memo: Memo | None = None
    span_key: Key | None = None
    error: SpanError | None = None

    @property
    def arguments(self) -> object:
        """The arguments as a value; None where not recorded."""
        return self.memo.json(self.raw_arguments) if self.memo else self.raw_arguments

    @property
    def result(self) -> object:
        """The result as a value; None where not recorded."""
        return self.memo.json(self.raw_result) if self.memo else self.raw_result

    @property
    def arguments_state(self) -> ContentState:
        """Whether the arguments are recorded whole."""
        held = self.raw_arguments
        if type(held) is str and held[:1] == "{" and held[-1:] == "}":
            return "present"
        return state_of(self.raw_arguments, self.arguments)

    @property
    def result_state(self) -> ContentState:
        """Whether the result is recorded whole."""
        held = self.raw_result
        if isinstance(held, str) and self.memo is not None and self.memo.is_as_long_as_limit(held):
            return "truncated"
        return state_of(held, self.result)

    @property
    def span_id(self) -> str:
        """The id of the call's span as hex text; empty for a call that left none."""
        return hex_id(self.span_key)

    @property
    def failed(self) -> bool:
        """The call failed, whether or not the tool asked for another try."""
        return self.status in FAILED

    @property
    def duration_ns(self) -> int:
        """How long the call took; 0 for a call that left no span."""
        return max(self.end_ns - self.start_ns, 0)


def canonical_of(call: ToolCall) -> bytes:
    """The call's arguments in canonical form: equal for calls that ask the same."""
    return call.memo.canonical(call.raw_arguments) if call.memo else canonical(call.raw_arguments)


class Tokens(msgspec.Struct, frozen=True, gc=False):
    """Tokens used, by kind; None where never recorded. Input includes what was read from or written to a cache."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


class LLMCall(msgspec.Struct, gc=False):
    """One logical model call; `usage` is what its spans say of the model and of what it used."""

    usage: LLMFields
    cost_usd: float | None = None
    cost_estimated: bool = False
    failed: bool = False
    span: int = -1
    agent: int = -1
    start_ns: int = 0
    end_ns: int = 0
    span_key: Key | None = None

    @property
    def model(self) -> str | None:
        """The model that answered, else the one that was asked."""
        return self.usage.model

    @property
    def provider(self) -> str | None:
        """Who serves the model."""
        return self.usage.provider

    @property
    def came_to_nothing(self) -> bool:
        """The call failed and records neither tokens nor a cost, as one that the server refused."""
        used = self.usage
        return self.failed and (self.cost_usd, used.input_tokens, used.output_tokens) == (None, None, None)

    @property
    def tokens(self) -> Tokens:
        """The tokens that this call used."""
        used = self.usage
        return Tokens(
            used.input_tokens,
            used.output_tokens,
            used.cache_read_tokens,
            used.cache_write_tokens,
            used.reasoning_tokens,
        )

    @property
    def span_id(self) -> str:
        """The id of the call's outermost span as hex text."""
        return hex_id(self.span_key)


class Said(msgspec.Struct, gc=False):
    """What a model said in one call: the text of its answer and of its thoughts, without the tools it asked for.

    `text` is empty where it said nothing, and None where no span records what it answered.
    """

    text: str | None
    span: int = -1
    agent: int = -1
    start_ns: int = 0
    end_ns: int = 0
    span_key: Key | None = None

    @property
    def span_id(self) -> str:
        """The id of the call's outermost span as hex text."""
        return hex_id(self.span_key)


class Told(msgspec.Struct, gc=False):
    """What a model was told in one call, all of it as text; `asked` is the latest text of a user in it."""

    text: str
    asked: str


class Retrieval(msgspec.Struct, kw_only=True):
    """One logical retrieval. `documents` is None where the spans do not record them."""

    query: str | None = None
    documents: tuple[Document, ...] | None = None
    failed: bool = False
    span: int = -1
    span_id: str = ""
    start_ns: int = 0
    end_ns: int = 0


class Given(msgspec.Struct, kw_only=True):
    """What a run's first model call was given besides the question: `role` says by whom."""

    role: str
    text: str
    span: int = -1
    span_id: str = ""
    start_ns: int = 0


class Handoff(msgspec.Struct, kw_only=True):
    """Control passed from one agent to another."""

    source: str | None = None
    target: str | None = None
    span: int = -1
    span_id: str = ""


class Agent(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One logical agent of a run, named once however many spans carry it."""

    name: str
    spans: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completeness:
    """Whether the whole tree was seen; the reasons say what is missing."""

    complete: bool = True
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A field that the spans do not carry, why, and the switch that would record it."""

    field: str
    why: str
    switch: str = ""

    def __str__(self) -> str:
        return f"{self.why} {self.switch}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """Whose request a run served."""

    session_id: str | None = None
    user_id: str | None = None
    request_id: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] | None = None
