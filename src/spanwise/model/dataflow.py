"""What became of the results of tool calls: which later argument, query or answer has something of them.

The texts are gone through from the end, each once. What of a result is looked for are numbers, and words of four
letters and more that carry meaning, unless they stand in the query or in the call's own arguments: what was known
before proves nothing. A number is found again by its value or by its digits, rounded or not: 6840000.0 in `6.84
million`. A result is called unread only if it holds something telling (a number of three digits, a word of six
letters), and nothing of it is found again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from spanwise.model.abstention import has_arguments
from spanwise.model.calls import Retrieval, ToolCall
from spanwise.model.content import state_of
from spanwise.model.trace import Run

Fate: TypeAlias = Literal["read", "unread", "plain", "unknown"]
"""`plain`: the result holds nothing that could be found again, as `ok`; `unknown`: some content is not recorded."""

_READ = 20_000
_NUMBERS = 100
# Scripts that put no space between words, or glue particles to them, have no words that could be found again.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"\d++(?:[.,]\d++)*+(?![^\W_{_UNSPACED}])|[^\W_{_UNSPACED}]++")
# What divides words in ASCII text; points and commas may stand inside numbers.
_PIECES = "".join(sign if sign.isalnum() or sign in ".," else " " for sign in map(chr, range(128)))
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})++(?:\.\d++)?")
_SPACES = re.compile(r"\\[nrt]")

# Words that stand in any text, and those that results are wrapped in.
_COMMON = frozenset(
    """about above after again against also another available because been before being below between both call called
    cannot code common completed content could data default description detail details does done during each either
    else empty error every false field fields final finished first following found from further function have having
    here however info information input into item items just kind last later least less like list made main make many
    message messages metadata more most much must name names need next none nothing number object once only other others
    output over page performed please provided query range request requested required response result results return
    returned returns same search second should some status string success successful successfully such table text than
    thank thanks that their them then there these they thing this those through time title today together tool total
    true type under unknown until used user using value values very want well were what when where whether which while
    will with within without would your null undefined processed received redacted scrubbed""".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What became of one call's result: the later call or retrieval that has `word` of it, None for the answer."""

    call: ToolCall
    fate: Fate
    reader: ToolCall | Retrieval | None = None
    word: str = ""


def flows_of(run: Run, calls: Collection[ToolCall], *, deaf: Collection[int] = ()) -> tuple[Flow, ...]:
    """What became of the results of some calls, by start.

    Calls whose `id` is in `deaf` read nothing: a repeated call asks what was asked before.
    """
    asked = {id(call) for call in calls}
    forms = _Forms()
    known = frozenset(forms.of(run.query or ""))
    places: dict[str, ToolCall | Retrieval | None] = dict.fromkeys(forms.of(run.answer or ""))
    hidden = run.answer is None
    out: list[Flow] = []
    for step in reversed(_steps(run)):
        if isinstance(step, Retrieval):
            places.update(dict.fromkeys(forms.of(step.query or ""), step))
            hidden = hidden or step.query is None
            continue
        own = forms.of(_text(step.raw_arguments, step)[:_READ]) if step.raw_arguments is not None else ()
        if id(step) in asked:
            out.append(_flow(step, forms, places, known.union(own), hidden=hidden))
        if id(step) not in deaf:
            places.update(dict.fromkeys(own, step))
            hidden = hidden or not has_arguments(step)
    out.reverse()
    return tuple(out)


def _steps(run: Run) -> Sequence[ToolCall | Retrieval]:
    """All that has arguments or a query, by start, control tools among them."""
    if not run.retrievals:
        return run.tool_calls
    return sorted([*run.tool_calls, *run.retrievals], key=lambda step: step.start_ns)


def _flow(
    call: ToolCall,
    forms: _Forms,
    places: Mapping[str, ToolCall | Retrieval | None],
    known: Collection[str],
    *,
    hidden: bool,
) -> Flow:
    """What became of a result, given where the words of later texts stand."""
    if call.raw_result is None:
        return Flow(call=call, fate="unknown")
    text = _text(call.raw_result, call)
    words = forms.of(text[:_READ])
    found = _found(words, places, known)
    if found:
        return Flow(call=call, fate="read", reader=places[found], word=found.lstrip("="))
    if hidden or len(text) > _READ or state_of(call.raw_result, call.raw_result) != "present":
        return Flow(call=call, fate="unknown")
    telling = any(word not in known and _is_telling(word, known) for word in words)
    return Flow(call=call, fate="unread" if telling else "plain")


def _found(words: Sequence[str], places: Collection[str], known: Collection[str]) -> str:
    """What stands somewhere and was not known: a telling word, any word, a number rounded; empty where nothing does."""
    met = [word for word in words if word in places and word not in known]
    if met:
        return next((word for word in met if _is_telling(word, known)), met[0])
    numbers = [word for word in words if word[0] < "a" and len(word) > 2 and word.isdecimal()][:_NUMBERS]
    return next((one for word in numbers for one in _rounded(word) if one in places and one not in known), "")


def _text(recorded: object, call: ToolCall) -> str:
    """Recorded content as text, what JSON escapes in it as it was."""
    if isinstance(recorded, str) and "\\" not in recorded:
        return recorded
    value = call.memo.json(recorded) if call.memo else recorded
    if isinstance(value, str):
        return value
    try:
        return _SPACES.sub(" ", msgspec.json.encode(value).decode())
    except (TypeError, ValueError, RecursionError):
        return recorded if isinstance(recorded, str) else ""


class _Forms(dict[str, tuple[str, ...]]):
    """What the words in a piece of text are looked for as, worked out once for each piece."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        forms = self[piece] = tuple(form for word in _WORD.findall(piece) for form in _forms(word))
        return forms

    def of(self, text: str) -> list[str]:
        """The words of a text in their forms, in order, each piece once."""
        lowered = text.lower()
        pieces = lowered.translate(_PIECES).split() if lowered.isascii() else lowered.split()
        return [form for piece in dict.fromkeys(pieces) for form in self[piece]]


def _forms(word: str) -> Sequence[str]:
    """A word as it is looked for: itself, nothing for one that stands everywhere, a number by value and digits."""
    number = word[0].isdecimal()
    if number and (word.isdecimal() or not word.isalnum()):
        return _numbers(word)
    says = (len(word) > 3 and word not in _COMMON) or number or word[-1].isdecimal()
    return (word,) if says else ()


def _numbers(number: str) -> list[str]:
    """The value of a number, as `=12.5`, and the digits that count; of one with commas, maybe a list, each part too."""
    if number.isdecimal():
        return [f"={number}", number.strip("0") or "0"]
    if "," not in number:
        return [f"={number.rstrip('0').rstrip('.')}", number.replace(".", "").strip("0") or "0"]
    parts = [form for part in number.split(",") for form in _numbers(part)]
    whole = number.replace(",", "" if _THOUSANDS.fullmatch(number) else ".")
    return parts + _numbers(whole)


def _rounded(digits: str) -> Iterable[str]:
    """The digits of a number rounded to two and more places."""
    for places in range(2, min(len(digits), 9)):
        yield str(int(digits[:places]) + (digits[places] >= "5")).rstrip("0")


def _is_telling(word: str, known: Collection[str]) -> bool:
    """A word or number that hardly stands in a text by chance."""
    if word[0] == "=":
        digits = word[1:].replace(".", "")
        return len(digits) >= 3 and (digits.strip("0") or "0") not in known
    return len(word) >= 6 and not word.isdecimal()
