"""What a convention is: who recognises a span, what kind it is, and how its content is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import msgspec

from spanwise.conventions._fields import Field
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    HandoffFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    ModelCall,
    Part,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind, SpanError

T = TypeVar("T")
Reader: TypeAlias = Callable[[RawSpan, Memo], T]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlainKind:
    """What a span is that names its kind with one word, where nothing else is to be seen: what `kind` gives, too."""

    kind: Kind
    scopes: frozenset[str]
    """The scopes that call their spans what they are not."""
    needs: str = ""
    """The attribute that must hold text."""
    unlike: str = ""
    """What must not stand in the span's name."""
    without: str = ""
    """The attribute that must not be there: it may say otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlainTools:
    """Which spans of tools are so plain that the compiled part reads them, and how: it gives what `tool` gives.

    A plain span has ended, and has no events unless it failed; nothing that is named here is about it.
    """

    fields: tuple[Field, ...]
    """The name, what was passed and returned, the id; what follows is false or empty on a plain span."""
    scopes: frozenset[str] = frozenset()
    """The scopes that write them otherwise."""
    names: frozenset[str] = frozenset()
    """What is no tool's own name."""
    ids: frozenset[str] = frozenset()
    """What is no call's id."""
    titles: tuple[str, ...] = ()
    """How the names of spans end that are read otherwise."""
    beginnings: tuple[str, ...] = ()
    """How results begin that may be more than what the tool returned, at once or behind white space."""
    result: Callable[[str, Memo], object] | None = None
    """What the tool returned, of such a result; None for one that is not plain. Without it none of them is."""
    odd_failure: Callable[[RawSpan], bool] | None = None
    """Whether a span whose status is an error takes a closer look. Without it each does."""
    keys: frozenset[str] | None = None
    """Arguments that may be none, of objects. None: what was passed is not looked into."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlainModels:
    """The same of the spans of models, of which the compiled part reads what `llm` gives."""

    fields: tuple[Field, ...]
    """What the model and its use are, in their order."""
    scopes: frozenset[str] = frozenset()
    absent: tuple[str, ...] = ()
    """The attributes of spans that are read otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlainAnswers:
    """The same of models' answers, in which the compiled part looks for what `answer_text` or `call_ids` gives."""

    text: str = ""
    """The attribute that holds the answer as JSON text."""
    leaves: tuple[str, ...] = ()
    """Of flattened answers how the names of all attributes begin; then, behind that, what names the speaker, and the
    speaker's name; the text; how calls begin, what stands behind a call's number, and there its id, name, arguments."""
    scopes: frozenset[str] = frozenset()
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Convention:
    """One dialect of span attributes.

    A span speaks the dialect if its scope is one of `scopes` or it has one of `keys`; `kind` then says what it is, or
    None where the span is not this dialect's after all. A reader that is None, or a field that a reader leaves None,
    is read by the next dialect that the span speaks, at last by the generic GenAI convention. No reader raises,
    whatever the attributes hold.
    """

    name: str
    title: str
    kind: Callable[[RawSpan], Kind | None]
    scopes: tuple[str, ...] = ()
    kinds: Mapping[str, Kind] | None = None
    """The kinds by the value of the first key, where that value alone tells; `kind` is asked about all other spans."""
    plain_kinds: Mapping[str, PlainKind] | None = None
    """The same where it tells with little else."""
    keys: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    """Keys that tell the dialect once no key of any dialect does: the attribute limit drops the telling ones first."""
    tool: Reader[ToolFields] | None = None
    plain_tools: PlainTools | None = None
    several: Reader[tuple[ToolFields, ...] | None] | None = None
    """The calls of a tool span that runs several at once; None for a span that is one call."""
    llm: Reader[LLMFields] | None = None
    plain_models: PlainModels | None = None
    model_calls: Reader[tuple[ModelCall, ...]] | None = None
    """The model calls of an agent's span that have no spans of their own."""
    messages: Reader[Messages] | None = None
    output: Reader[tuple[Message, ...] | None] | None = None
    """Only what the model answered: inputs repeat the conversation so far and are long. None: taken from `messages`."""
    told: Reader[tuple[Message, ...] | None] | None = None
    """The messages that a model was sent, of each no more than the results in it: texts are long. None: to tell that
    would take more, so that it is taken from `messages`; only where those have the same results in as many messages."""
    record: Reader[tuple[Message, ...] | None] | None = None
    """All that an agent's span holds of its run, for what no model was told any more. None: taken from `messages`."""
    requests: Reader[Sequence[Part] | None] | None = None
    """Only the tool calls that the model asked for. None: taken from `output`."""
    tells_requests: bool = True
    """False: a recorded answer is the text alone, and what was asked for beside it stands in front of the next one."""
    asked: Reader[Part | None] | None = None
    """The call that a model asked for, where each such call has a span of its own below the model's."""
    answer_text: Callable[[RawSpan], str | None] | None = None
    """The JSON text in which the model's answer stands and each call that it asks for is a part of type `tool_call`.

    Lets assembly see without decoding that every requested call has a span.
    """
    call_ids: Callable[[RawSpan], Sequence[str] | None] | None = None
    """The same for a dialect without such a text: the ids of the calls that the model asked for, in order, no id twice;
    None where to tell that would take more."""
    plain_answers: PlainAnswers | None = None
    agent: Reader[AgentFields] | None = None
    agent_name: Callable[[RawSpan], str | None] | None = None
    """Only the name of an agent: question and answer are long. None, or none found: taken from `agent`."""
    agent_name_tells_all: bool = False
    """Where `agent_name` finds no name, `agent` has none either."""
    retrieval: Reader[RetrievalFields] | None = None
    handoff: Reader[HandoffFields | None] | None = None
    definitions: Reader[tuple[ToolDefinition, ...] | None] | None = None
    context: Reader[ContextFields] | None = None
    error: Callable[[RawSpan], SpanError | None] | None = None
    failed: Callable[[RawSpan], bool] | None = None
    """Whether the span failed, for dialects that mark failures elsewhere than in the status code."""
    borrowed: Callable[[RawSpan], bool] | None = None
    """Whether a span's error status is that of another span."""
    sums: bool = False
    """A model call counts the tokens of its loop so far: of the calls before it below the same span, and inside it."""
    strings_texts: bool = False
    """What an agent answered is recorded as the texts of all its steps, strung together."""
    content_switch: str = ""
    """The setting that makes this instrumentation record content, as an instruction: 'Set X=true.'"""
    records_all: bool = False
    """It records all content that it can, or none: where some is recorded the setting is on."""


def kinds_of(one: Convention) -> dict[str, Kind | tuple[Kind, frozenset[str], str, str, str]]:
    """The kinds by the value of a convention's first key, some with what else they take."""
    plain = (one.plain_kinds or {}).items()
    rules: dict[str, tuple[Kind, frozenset[str], str, str, str]] = {
        said: (it.kind, it.scopes, it.needs, it.unlike, it.without) for said, it in plain
    }
    return {**(one.kinds or {}), **rules}


def fill(fields: msgspec.Struct, more: msgspec.Struct) -> bool:
    """Take from `more` what `fields` leaves open; whether anything is still open."""
    still_open = False
    for name in fields.__struct_fields__:
        if getattr(fields, name) in (None, ()):  # no tags are none said
            value = getattr(more, name)
            if value is None:
                still_open = True
            else:
                setattr(fields, name, value)
        elif getattr(more, name) is True:  # one dialect's word that a call failed is enough
            setattr(fields, name, True)
    return still_open
