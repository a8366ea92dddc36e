"""The evidence of a run: what its agents had seen when they answered, in order of time, each text once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import count
from typing import Literal, NamedTuple, TypeAlias, cast

import msgspec

from spanwise.grounding.steps import Steps, finish
from spanwise.grounding.words import STOP
from spanwise.model.calls import ToolCall
from spanwise.model.content import is_redacted
from spanwise.model.trace import Run

Kind: TypeAlias = Literal["tool", "document", "query", "context"]
KINDS: tuple[Kind, ...] = ("tool", "document", "query", "context")
"""Results of tools, retrieved documents, what the user asked, and what else the first model call was given."""

SOURCES: frozenset[Kind] = frozenset({"tool", "document"})
"""What an answer may be asked to rest on; the question and the instructions are no research."""


_LONG, _TELLING = 100_000, 200
_BARE = re.compile(r"\s{0,4}[$\u20ac\u00a3]?[+-]?\d[\d.,]{0,20}\s?[%\w\u00b0]{0,8}\s{0,4}")
_HUMP = re.compile(r"[_.-]|(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"\w+")
_WORDY = re.compile(r"[^\d\n]{1,80}")


class Piece(NamedTuple):
    """One text of evidence: of what kind, which span recorded it, and from when on it was known."""

    text: str
    kind: Kind
    span_id: str = ""
    at_ns: int = 0
    heading: str = ""
    """What the text is about, where it alone does not say: for a bare number the words of the call that returned it."""
    named: frozenset[str] = frozenset()
    """What the call named in its arguments, in lower case: the number is about one of these, if there are any."""

    def is_about(self, claim: str) -> bool:
        """Whether what a claim says may rest on this: on a bare number only a number, and one of nothing else."""
        if not self.heading:
            return True
        words = frozenset(_WORD.findall(claim.lower()))
        if not any(word[0].isdigit() for word in words):
            return False
        if not self.named or not self.named.isdisjoint(words):
            return True
        return words <= STOP.union(_WORD.findall(f"{self.heading} {self.text}".lower()))


class Pool:
    """Texts of evidence by time. A text that was seen twice counts from when it was first seen."""

    def __init__(self, pieces: Collection[Piece] = ()) -> None:
        first: dict[object, Piece] = {}
        for piece in sorted(pieces, key=lambda one: one.at_ns):
            if piece.text and not piece.text.isspace():
                first.setdefault(_key_of(piece.heading + piece.text, first), piece)
        self.pieces = tuple(first.values())
        self.given = sum(len(piece.text) for piece in pieces)

    def before(self, at_ns: int) -> Pool:
        """What had been seen by then."""
        return Pool([piece for piece in self.pieces if piece.at_ns <= at_ns])

    @property
    def size(self) -> int:
        """How many signs of text there are."""
        return sum(len(piece.text) for piece in self.pieces)

    @property
    def repeats(self) -> float:
        """How often each sign of text was recorded, on average."""
        return self.given / (self.size or 1)


def _key_of(text: str, known: Mapping[object, Piece]) -> object:
    """What tells a text from all others that are known. A long one is compared with those alike, and not hashed."""
    if len(text) < _LONG:
        return text
    for number in count():
        key = (len(text), text[:_TELLING], text[-_TELLING:], number)
        held = known.get(key)
        if held is None or held.heading + held.text == text:
            return key
    raise AssertionError


def pool_of(run: Run, kinds: Collection[Kind] = KINDS) -> Pool:
    """The evidence of a run, of some kinds."""
    return finish(pooling(run, kinds))


def pooling(run: Run, kinds: Collection[Kind] = KINDS) -> Steps[Pool]:
    """The same in steps."""
    found: list[Piece] = []
    for piece in _pieces(run):
        if piece.kind in kinds:
            found.append(piece)
        yield
    return Pool(found)


def _pieces(run: Run) -> Iterator[Piece]:
    if run.query and not is_redacted(run.query):
        yield Piece(run.query, "query", run.run_id, run.start_ns)
    relayed = _relayed(run)
    for call in run.work:
        text = result_text(call)
        if text and call.span not in relayed:
            yield Piece(text, "tool", call.span_id, call.end_ns, *_heading(call, text))
    for one in run.retrievals:
        documents = one.documents or ()
        for document in documents:
            if document.content and not is_redacted(document.content):
                yield Piece(document.content, "document", one.span_id, one.end_ns)
        named = " ".join(document.id for document in documents if document.id)  # an answer may cite them
        yield Piece(named, "document", one.span_id, one.end_ns)
    for given in run.given:
        if not is_redacted(given.text):
            yield Piece(given.text, "tool" if given.role == "tool" else "context", given.span_id, given.start_ns)


def _relayed(run: Run) -> set[int]:
    """The tools whose result is what a sub-agent made of tools of its own: its answer is no evidence, those are."""
    out: set[int] = set()
    for call in run.work:
        if call.span < 0 or call.raw_result is None:
            continue
        agent = False
        for above in run.trace.ancestors(call.span):
            if above.kind == "tool" and agent:
                out.add(above.index)
            agent = agent or above.kind == "agent"
            if above.index == run.root:
                break
    return out


def _heading(call: ToolCall, text: str) -> tuple[str, frozenset[str]]:
    """Of a call that returned a bare number its name and what it was asked in words: alone it says nothing of what.

    Numbers among the arguments are the model's own, and no evidence.
    """
    if call.failed or _BARE.fullmatch(text) is None:
        return "", frozenset()
    given = call.arguments
    fields = cast("Mapping[object, object]", given) if isinstance(given, Mapping) else {"": given}
    said = [(key, value) for key, value in fields.items() if isinstance(value, str) and _WORDY.fullmatch(value)]
    asked = [f"{key}: {value}" if key else value for key, value in said]
    named = frozenset(word for _, value in said for word in _WORD.findall(value.lower()))
    return f"{', '.join([_HUMP.sub(' ', call.name), *asked])} = ", named


def result_text(call: ToolCall) -> str:
    """What a tool returned, or how it failed, as text; signs that JSON escapes are themselves."""
    recorded = call.raw_result
    if recorded is None:
        return call.error.message if call.error else ""
    if is_redacted(recorded):
        return ""
    if isinstance(recorded, str):
        if "\\" not in recorded and recorded[:1] != '"':
            return recorded
        value = call.result
        if isinstance(value, str):
            return value
        if "\\u" not in recorded:
            return recorded
        recorded = value
    try:
        return msgspec.json.encode(recorded).decode()
    except (TypeError, ValueError, RecursionError):
        return str(recorded)
