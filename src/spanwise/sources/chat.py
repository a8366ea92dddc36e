"""Chat transcripts: the messages of a conversation with tools, as applications and fine-tuning files keep them.

A transcript is one run, however many turns it has: what was asked is the first message of the user, what was answered
the last message of the assistant, unless that one asks for a tool. It becomes a trace of an agent span, a model span
for each message of the assistant, and a tool span for each call that has a result; a call without one has no span.

A transcript has no times. Starts and ends only count up, so that the order is kept, and the root and the resource say
so: `spanwise.times` is `none`. Ids are made from the content, so the same transcript always has the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spanwise.assembly.verdicts import asks_again
from spanwise.conventions._genai_scopes import TRANSCRIPT
from spanwise.model.content import Part
from spanwise.model.raw import EMPTY, STATUS_ERROR, STATUS_UNSET, RawSpan, Scope
from spanwise.model.span import TIMES
from spanwise.sources._chat_messages import Turn, is_message, turns_of
from spanwise.sources._chat_shapes import usage_of
from spanwise.sources._open import Input
from spanwise.sources._outline import ITEM, Path, below, outline
from spanwise.sources._records import Fields, Found, fields_of, id_of, list_of, records, text_of
from spanwise.sources._source import Intake, Record, Source

NO_TIMES = "none"
SCOPE = Scope(TRANSCRIPT, "1", {TIMES: NO_TIMES})
_WINDOW = 100
"""How many earlier messages a model span holds at most, so that long transcripts do not grow with their square."""
_LISTS = ("messages", "input", "contents")
_FRAMED = tuple(map(frozenset, (("lc", "kwargs"), ("type", "additional_kwargs"), ("type", "data"), ("parts", "kind"))))
"""What messages of LangChain's and of Pydantic AI's have instead of a role."""
_ITEM_KEYS = frozenset({"call_id", "role", "summary"})
# Keys of formats that keep conversations inside records of their own.
_OTHERS = frozenset({"traceId", "startTime", "start_time", "span_id", "span_kind", "observations", "htmlPath"})
_SUM = ("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")
_DETAILS = (
    ("cache_read.input_tokens", ("prompt_tokens_details", "input_tokens_details"), ("cached_tokens",)),
    ("reasoning.output_tokens", ("completion_tokens_details", "output_tokens_details"), ("reasoning_tokens",)),
)


def sniff(head: bytes, name: str) -> bool:
    """Whether the text is JSON with messages: of one transcript, of a list of them, or of one on each line."""
    del name
    paths = outline(head)
    return any(_is_transcript(paths, prefix) for prefix in ((), (ITEM,), (ITEM, ITEM)))


def _is_transcript(paths: frozenset[Path], prefix: Path) -> bool:
    keys = below(paths, *prefix)
    if keys & _OTHERS:
        return False
    if "role" in keys or ("type" in keys and keys & _ITEM_KEYS):
        return True
    if any(marks <= keys for marks in _FRAMED):
        return True
    for name in (*_LISTS, "output"):
        inner = below(paths, *prefix, name, ITEM)
        if "role" in inner or ("type" in inner and inner & _ITEM_KEYS):
            return True
    return "messages" in keys and (*prefix, "messages", ITEM) in paths


def read(data: Input, /, *, intake: Intake) -> Iterator[Record]:
    """The spans of every transcript."""
    reader = _Reader(intake)
    loose: list[object] = []
    first = Found(None, "")
    for found in records(data, intake=intake):
        fields = fields_of(found.value)
        if fields is not None and is_message(fields):
            if loose and found.in_list != first.in_list:
                yield from reader.transcript({"messages": loose}, first.place)
                loose = []
            if not loose:
                first = found
            loose.append(fields)
        else:
            yield from reader.value(found)
    if loose:
        yield from reader.transcript({"messages": loose}, first.place)


class _Reader:
    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._seen: dict[str, int] = {}

    def value(self, found: Found) -> Iterator[Record]:
        """The spans of a value that is a transcript, or a list of messages."""
        listed = list_of(found.value)
        fields = fields_of(found.value) if listed is None else {"messages": listed}
        if fields is None or not any(fields.get(name) for name in (*_LISTS, "output")):
            self._intake.refuse("this is no chat transcript: it has no messages", place=found.place)
            return
        yield from self.transcript(fields, found.place)

    def transcript(self, fields: Fields, place: str) -> Iterator[Record]:
        """The spans of one transcript."""
        items = _items(fields)
        strange = sum(1 for item in items if not isinstance(item, dict | str))
        if strange:
            self._intake.repair("message that is no object: left out", count=strange)
        turns = list(turns_of(items))
        if not turns:
            self._intake.refuse("this is no chat transcript: it has no messages", place=place)
            return
        spans = _Transcript(fields=fields, turns=turns, digest=self._digest(fields)).spans()
        self._intake.keep(len(spans))
        yield from spans

    def _digest(self, fields: Fields) -> str:
        """A hash of the content; of one that was met before in this input, of its number too."""
        text = json.dumps(fields, sort_keys=True, default=str)
        digest = hashlib.sha256(text.encode()).hexdigest()
        number = self._seen[digest] = self._seen.get(digest, 0) + 1
        return digest if number == 1 else hashlib.sha256(f"{digest}/{number}".encode()).hexdigest()


def _items(fields: Fields) -> list[object]:
    """Everything that was said, in order: instructions, what went in, what came out."""
    said = [fields[key] for key in ("system", "instructions") if fields.get(key)]
    items: list[object] = [{"role": "system", "content": content} for content in said]
    gemini = (fields_of(fields.get(key)) for key in ("systemInstruction", "system_instruction"))
    items += [{**content, "role": "system"} for content in gemini if content is not None]
    for key in (*_LISTS, "output"):
        held = fields.get(key)
        if isinstance(held, str):
            items.append({"role": "assistant" if key == "output" else "user", "content": held})
        items += list_of(held) or ()
    for key, part in (("choices", "message"), ("candidates", "content")):
        given = list_of(fields.get(key))
        message = fields_of((fields_of(given[0]) or EMPTY).get(part)) if given else None
        if message is not None:
            items.append(message)
    return items


class _Asked(NamedTuple):
    """A call, its place in the order of calls, and the place behind the last call that was asked for with it.

    Those ran side by side: none of them was made in answer to another's result.
    """

    call: Part
    at: int
    until: int


@dataclass(slots=True, kw_only=True)
class _Transcript:
    """One transcript while its spans are made."""

    fields: Fields
    turns: Sequence[Turn]
    digest: str
    made: list[RawSpan] = field(default_factory=list[RawSpan])
    waiting: list[_Asked] = field(default_factory=list["_Asked"])
    """The calls without a result so far."""
    places: int = 0
    latest: int = 0
    """The place of the first call of the latest message that holds any."""

    def spans(self) -> list[RawSpan]:
        """The agent span, and below it models and tools in the order of the messages."""
        said: list[dict[str, object]] = []
        for turn in self.turns:
            if turn.message.role == "assistant":
                self._add(f"chat {self._model(turn)}".strip(), self._answered(turn, said), at=self._next())
                self._asks(turn.calls)
            for result in turn.results:
                found = self._call_of(result)
                if found is not None:
                    self.waiting.remove(found)
                    self._ran(found, result)
            said.append(turn.genai)
        return [self._root(said), *sorted(self.made, key=lambda span: span.start_ns)]

    @property
    def _trace_id(self) -> str:
        return id_of(self.fields.get("trace_id")) or id_of(self.fields.get("id")) or self.digest[:32]

    def _id(self, number: int) -> str:
        return hashlib.sha256(f"{self.digest}/{number}".encode()).hexdigest()[:16]

    def _asks(self, calls: Sequence[Part]) -> None:
        if calls:
            self.latest = self.places + 1
        until = self.places + len(calls) + 1
        self.waiting += [_Asked(call, self._next(), until) for call in calls]

    def _next(self) -> int:
        self.places += 1
        return self.places

    def _add(
        self,
        name: str,
        attributes: dict[str, object],
        *,
        at: int,
        until: int = 0,
        status: int = STATUS_UNSET,
        message: str = "",
    ) -> None:
        ids = self._trace_id, self._id(at), self._id(0)
        span = RawSpan(*ids, name, at, until or at, status, message, attributes, (), SCOPE, (), 1)
        self.made.append(span)

    def _root(self, said: Sequence[Mapping[str, object]]) -> RawSpan:
        asked = next((at for at, turn in enumerate(self.turns) if _is_question(turn)), None)
        answer = next((turn for turn in reversed(self.turns) if turn.message.role == "assistant"), None)
        attributes: dict[str, object] = {"gen_ai.operation.name": "invoke_agent", TIMES: NO_TIMES}
        attributes["gen_ai.input.messages"] = [] if asked is None else [said[asked]]
        if answer is not None and not answer.calls and answer.message.text:
            attributes["gen_ai.output.messages"] = [answer.genai]
        for name, key in (("gen_ai.conversation.id", "session_id"), ("user.id", "user_id")):
            if id_of(self.fields.get(key)):
                attributes[name] = id_of(self.fields.get(key))
        if fields_of(self.fields.get("metadata")):
            attributes["metadata"] = self.fields["metadata"]
        if self._answers() != 1:
            attributes.update(usage_attributes(usage_of(self.fields)))
        end = self.places + 1
        return RawSpan(
            self._trace_id, self._id(0), None, "invoke_agent", 0, end, STATUS_UNSET, "", attributes, (), SCOPE, (), 1
        )

    def _answers(self) -> int:
        return sum(turn.message.role == "assistant" for turn in self.turns)

    def _model(self, turn: Turn) -> str:
        return turn.model or text_of(self.fields.get("model"))

    def _answered(self, turn: Turn, said: Sequence[Mapping[str, object]]) -> dict[str, object]:
        """The attributes of a model span. Usage of a whole transcript is that of its only model call, if it is one."""
        passed_over = len(said) - _WINDOW
        system = [said[0]] if passed_over > 0 and self.turns[0].message.role == "system" else []
        attributes: dict[str, object] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": [*system, *said[max(0, passed_over) :]],
            "gen_ai.output.messages": [turn.genai],
        }
        if self._model(turn):
            attributes["gen_ai.request.model"] = self._model(turn)
        tools = list_of(self.fields.get("tools")) or list_of(self.fields.get("functions"))
        if tools:
            attributes["gen_ai.tool.definitions"] = tools
        whole = usage_of(self.fields) if self._answers() == 1 else None
        attributes.update(usage_attributes(turn.usage or whole))
        return attributes

    def _call_of(self, result: Part) -> _Asked | None:
        """The call that a result answers: by its id; where one of them has none, the first of the latest that fits."""
        if result.id is not None:
            exact = next((item for item in self.waiting if item.call.id == result.id), None)
            if exact is not None:
                return exact
        latest = (item for item in self.waiting if item.at >= self.latest)
        loose = (item for item in latest if result.id is None or item.call.id is None)
        return next((item for item in loose if result.name is None or item.call.name == result.name), None)

    def _ran(self, asked: _Asked, result: Part) -> None:
        call = asked.call
        attributes: dict[str, object] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.call.arguments": call.value,
            # What asks for another try is judged where the model is told of it.
            "gen_ai.tool.call.result": None if asks_again(result.value) else result.value,
        }
        self._add(
            f"execute_tool {call.name or ''}".strip(),
            {key: value for key, value in attributes.items() if value is not None},
            at=asked.at,
            until=asked.until,
            status=STATUS_ERROR if result.error else STATUS_UNSET,
            message=text_of(result.value) if result.error else "",
        )


def _is_question(turn: Turn) -> bool:
    return turn.message.role == "user" and bool(turn.message.text)


def usage_attributes(usage: Fields | None) -> dict[str, object]:
    """The token counts that OpenAI's or Anthropic's usage says, in GenAI's names: input includes cached tokens."""
    out: dict[str, object] = {}
    if usage is None:
        return out
    for name, keys in zip(("input_tokens", "output_tokens"), _SUM, strict=True):
        count = _count(usage, keys)
        if count is not None:
            out[f"gen_ai.usage.{name}"] = count
    for name, holders, keys in _DETAILS:
        counts = (_count(held, keys) for holder in holders if (held := fields_of(usage.get(holder))) is not None)
        count = next((count for count in counts if count is not None), None)
        if count is not None:
            out[f"gen_ai.usage.{name}"] = count
    # Anthropic counts cached tokens apart.
    read, written = _count(usage, ("cache_read_input_tokens",)), _count(usage, ("cache_creation_input_tokens",))
    sent = out.get("gen_ai.usage.input_tokens")
    if isinstance(sent, int) and (read is not None or written is not None):
        out["gen_ai.usage.input_tokens"] = sent + (read or 0) + (written or 0)
        out["gen_ai.usage.cache_read.input_tokens"] = read or 0
        out["gen_ai.usage.cache_write.input_tokens"] = written or 0
    return out


def _count(fields: Fields, keys: Sequence[str]) -> int | None:
    found = (fields.get(key) for key in keys)
    return next((n for n in found if isinstance(n, int) and not isinstance(n, bool) and n >= 0), None)


SOURCE = Source(name="chat", title="chat transcript", sniff=sniff, read=read)
