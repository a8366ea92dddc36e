"""What a convention reads from one span: small records in which None means that the span does not say."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, cast

import msgspec

from spanwise.model.canonical import canonical
from spanwise.model.span import Span

ContentState: TypeAlias = Literal["present", "absent", "redacted", "truncated"]


class Part(msgspec.Struct, gc=False, rename={"text": "content", "value": "arguments"}):
    """One part of a message. A tool call carries `id`, `name`, `value` (arguments); a tool result `id`, `value`.

    Where a message tells the result behind the call, that is the call's `text`.

    In JSON the fields have the names of GenAI's message parts, so that those decode into parts as they are.
    """

    type: str
    text: str = ""
    id: str | None = None
    name: str | None = None
    value: object = None
    error: bool = False


class Message(msgspec.Struct, gc=False):
    """One message of a conversation with a model."""

    role: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The text parts, joined by line breaks."""
        return "\n".join(part.text for part in self.parts if part.type == "text" and part.text)


class Messages(msgspec.Struct, gc=False):
    """What went into a model call and what came out; None where the span does not record it."""

    input: tuple[Message, ...] | None = None
    output: tuple[Message, ...] | None = None


class ToolFields(msgspec.Struct, gc=False):
    """What a tool span says. `arguments` and `result` are values, or JSON text not decoded yet."""

    name: str | None = None
    arguments: object = None
    result: object = None
    call_id: str | None = None
    failed: bool = False
    retry: bool = False
    message: str = ""
    uncertain: bool = False
    """The dialect leaves failures unmarked and no whole result tells: neither success nor failure is known."""
    paused: bool = False
    """The call waits for somebody outside the run, and did neither succeed nor fail, whatever the span's status."""
    bare: bool = False
    """An uncertain call whose result is no value that tools return in this dialect: a failure if it reads like one."""
    control: bool = False
    """The call only gave the run its output, whatever the tool is called."""


class LLMFields(msgspec.Struct, gc=False):
    """What a model span says of the model and of what it used. Input tokens include cached ones."""

    model: str | None = None
    provider: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    whole: bool = False
    """What is None here is not known: what other dialects find on the span is not about this call alone."""
    ttft_ms: float | None = None
    """The time to the first token or chunk of a streamed answer."""
    overcounted: bool = False
    """The totals are not those of the run: more than it used is in them, or not all of it."""
    own: bool = False
    """The totals are those of the span's own calls: what agents below it used is not in them."""


class ModelCall(msgspec.Struct, gc=False):
    """A model call that an agent's span holds, without a span of its own; when it was over, 0 if not said."""

    usage: LLMFields
    end_ns: int = 0
    failed: bool = False


class AgentFields(msgspec.Struct, gc=False):
    """What an agent or workflow span says."""

    name: str | None = None
    query: str | None = None
    answer: str | None = None


class Document(msgspec.Struct, gc=False):
    """A retrieved document. `score` is as recorded, whatever its range."""

    id: str | None = None
    score: float | None = None
    content: str | None = None
    names: tuple[str, ...] = ()
    """Its title, address or file, as far as they are recorded beside the id."""


class RetrievalFields(msgspec.Struct, gc=False):
    """What a retrieval span says."""

    query: str | None = None
    documents: tuple[Document, ...] | None = None


class HandoffFields(msgspec.Struct, gc=False):
    """Control passed from one agent to another."""

    source: str | None = None
    target: str | None = None


class ContextFields(msgspec.Struct, gc=False):
    """Whose request this was."""

    session_id: str | None = None
    user_id: str | None = None
    request_id: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] | None = None


class ToolDefinition(msgspec.Struct, gc=False):
    """A tool that the model was offered."""

    name: str
    description: str = ""
    schema: Mapping[str, object] | None = None
    hints: Mapping[str, object] | None = None


REDACTED = (
    *("__REDACTED__", "<REDACTED>", "[REDACTED]", "[Scrubbed due to", "Error details are redacted"),
    "HIDDEN:non-empty",  # Koog's
)

_MASKS = frozenset({"***", "[re"})
"""How text begins that may be nothing but a mask."""


def is_redacted(value: object) -> bool:
    """The value stands for content that somebody removed on purpose."""
    if not isinstance(value, str) or len(value) >= 400:
        return False
    return any(mark in value for mark in REDACTED) or (value[:3] in _MASKS and is_mask(value))


def is_blank(value: object) -> bool:
    """The value is text of which a mask left nothing: whatever it said of itself is gone, too."""
    return isinstance(value, str) and (is_mask(value.strip()) or value.startswith(_SCRUBBED))


_SCRUBBED = "[Scrubbed due to"
MASKED = ("__RED", "<RED", "[RED", "[red", "***", "[Scrub", "HIDDEN")
"""How text begins of which a mask may have left nothing."""


def is_mask(text: str) -> bool:
    """The text is nothing but what a mask put in the place of another: asterisks, or `[REDACTED]` alone."""
    return text in REDACTED or text == "[redacted]" or (text[:3] == "***" and not text.strip("*"))


def is_cut(text: str) -> bool:
    """The text is JSON that was cut in the middle: what is open at its end was never closed."""
    return text[:2] in _OPENINGS and (text.count("{") > text.count("}") or text.count("[") > text.count("]"))


_OPENINGS = frozenset({'{"', "[{", '["'})
TRUNCATED = "[truncated]"
"""How text ends that was cut and says so."""


def state_of(recorded: object, value: object) -> ContentState:
    """What became of a recorded value: text that says it was cut is truncated, and so is JSON cut in the middle."""
    if recorded is None:
        return "absent"
    if isinstance(value, str):
        if is_redacted(value):
            return "redacted"
        if value.endswith(TRUNCATED) or (value[:2] in _OPENINGS and value[-1] not in "}]"):
            return "truncated"
    return "present"


_LEAST, _ROUND = 32, 50
_BEGINNINGS = frozenset('{["-0123456789tfn ')
"""What JSON text begins with. To look is cheap; to look long prose up in a table is not."""
_NAMES = ("true", "false", "null")
_PRINTED = ("{'", "[{'", "['", "[[", "[(")
_PRINTED_LIMIT = 100_000


def _printed(text: str) -> object:
    """The list or mapping that Python printed as this text, or the text."""
    try:
        return cast("object", ast.literal_eval(text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


DECODE: Callable[[str], object] = msgspec.json.Decoder().decode


class _Offered(dict[Hashable, tuple[ToolDefinition, ...] | None]):
    """Tool definitions by what was recorded of them: an app offers the same ones in run after run."""

    most = 1_000_000
    """So many characters of recorded definitions are held; then all are let go."""

    def __init__(self) -> None:
        self._held = 0

    def hold(self, recorded: Hashable, found: tuple[ToolDefinition, ...] | None) -> None:
        """Hold what was read, unless it alone is too much."""
        size = len(recorded) if isinstance(recorded, str) else len(repr(recorded))
        if size * 4 > self.most:
            return
        if self._held + size > self.most:
            self.clear()
            self._held = 0
        self._held += size
        self[recorded] = found


_OFFERED = _Offered()


def _cut_at(spans: Iterable[Span]) -> int:
    longest, held = _LEAST, set[str]()
    for span in spans:
        for value in span.attributes.values():
            if isinstance(value, str) and len(value) >= longest:
                if len(value) > longest:
                    longest = len(value)
                    held.clear()
                held.add(value)
    return longest if len(held) > 1 and any(map(is_cut, held)) else 0


class Memo:
    """JSON text decoded once per trace. One text is often recorded on several spans."""

    __slots__ = ("_canonical", "_json", "_limit", "_spans")

    def __init__(self, spans: Sequence[Span] = ()) -> None:
        self._spans = spans
        self._limit: int | None = None
        self._json: dict[str, object] = {}
        self._canonical: dict[str, bytes] = {}

    def look_for_limit(self, spans: Iterable[Span], /) -> int:
        """At how many characters the values of the trace's spans were cut; 0 where they were not.

        As far as can be seen: then several different ones are as long, none is longer, and what was JSON is none.
        """
        if self._limit is None:
            self._limit = _cut_at(spans)
        return self._limit

    def is_as_long_as_limit(self, text: str, /) -> bool:
        """Whether text was most likely cut, which prose does not show: it is as long as the values that were.

        Limits are round numbers or powers of two, so that most traces are not looked at.
        """
        size = len(text)
        is_round = size >= _LEAST and (size % _ROUND == 0 or size & (size - 1) == 0)
        return is_round and self.look_for_limit(self._spans) == size

    def json(self, value: object) -> object:
        """The decoded value of JSON text that holds an object, array, string or number; else the value as it is.

        Lists and mappings that Python printed are read too, for frameworks pass tool results on as `str(result)`.
        Text that does not parse stays text: a tool may well return a sentence.
        """
        if not isinstance(value, str) or value[:1] not in _BEGINNINGS:
            return value
        if value[0] in "tfn" and not value.startswith(_NAMES):
            return value
        found = self._json.get(value, self)
        if found is not self:
            return found
        decoded: object = value
        try:
            decoded = DECODE(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            decoded = _printed(value) if value.startswith(_PRINTED) and len(value) <= _PRINTED_LIMIT else value
        except TypeError:  # text of an app's own type, which is not decoded as it is
            decoded = self.json(str.__str__(value))
        self._json[value] = decoded
        return decoded

    def tools(
        self, recorded: Hashable, read: Callable[[], tuple[ToolDefinition, ...] | None]
    ) -> tuple[ToolDefinition, ...] | None:
        """The tool definitions that `read` takes from what was recorded; every model call records them anew."""
        found = _OFFERED.get(recorded, self)
        if isinstance(found, Memo):
            found = read()
            _OFFERED.hold(recorded, found)
        return found

    def canonical(self, value: object) -> bytes:
        """The canonical bytes of a value, or of the value that JSON text holds."""
        if not isinstance(value, str):
            return canonical(value)
        found = self._canonical.get(value)
        if found is None:
            found = self._canonical[value] = canonical(self.json(value))
        return found
