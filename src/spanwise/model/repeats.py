"""Which calls repeat an earlier one, and which only look as if they did.

Every call is compared with every other through keys, so that the work grows with the number of calls and not with its
square. The compiled part first leaves out the calls that surely ask nothing that another asks, which is mostly all of
them. The arguments of the others are decoded and encoded together; where nothing repeats, no two keys are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import msgspec

from spanwise.model.calls import ToolCall, canonical_of
from spanwise.model.canonical import canonical
from spanwise.model.content import REDACTED
from spanwise.model.lazy import lazy
from spanwise.model.tally import Tally, tally_of
from spanwise.native import core

Key: TypeAlias = tuple[str, bytes]
Pair: TypeAlias = tuple[ToolCall, ToolCall]

_decode_lines = msgspec.json.Decoder(dict).decode_lines
_encode_lines = msgspec.json.Encoder(order="deterministic").encode_lines

# What tells near-duplicates apart at first glance: letters and digits, whatever stands between them.
_GLANCED_OVER = bytes(code for code in range(256) if code > 127 or (not chr(code).isalnum() and code != 10))
_LOWERED = bytes(range(256)).lower()
_QUOTES = "\"'()[]\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb"
_ENDS = ".,;:?\u2026"
_PLACES = frozenset(
    """after before bookmark continuation continuationtoken cursor endcursor next nextcursor nextpage nextpagetoken
    nexttoken offset page pagetoken scrollid start startcursor startingafter token""".split()
)
_ESCAPES: Mapping[str, str] = {"\\\\": "\ufffe", '\\"': "\u201d", "\\n": " ", "\\t": " ", "\\r": " "}
_MASKS = tuple(mark.encode() for mark in REDACTED)


class Asked:
    """What those calls of a run asked for that may ask the same: the tool's name and the arguments' canonical bytes.

    `places` are theirs among all the calls; no other call asks even nearly the same as any. The bytes are None where
    the arguments are not recorded whole, or differ at most in what was masked: such a call equals no other. `untold`
    names the tools of such calls that were called more than once. `glances` are those of the bytes, where they are
    known.
    """

    def __init__(
        self,
        calls: Sequence[ToolCall] = (),
        places: Sequence[int] = (),
        given: Sequence[bytes | None] = (),
        untold: tuple[str, ...] = (),
        glances: Sequence[bytes] = (),
    ) -> None:
        self.calls = calls
        self.places = places
        self.given = given
        self.untold = untold
        self.glances = glances

    @lazy
    def keys(self) -> Sequence[Key | None]:
        """Equal for the same tool and arguments; None for a call that equals no other."""
        return [None if one is None else (call.name, one) for call, one in zip(self.calls, self.given, strict=True)]

    @lazy
    def distinct(self) -> bool:
        """No two of the calls are the same, and of none it is unknown. Mostly the arguments alone tell."""
        if self.untold:
            return False
        count = len(self.given)
        return not count or len(set(self.given)) == count or len(set(self.keys)) == count


_NONE_ALIKE = Asked()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """The duplicates of a run, each with the call that it repeats, and the calls that count neither way."""

    duplicates: tuple[tuple[ToolCall, ToolCall], ...] = ()
    exempt: tuple[ToolCall, ...] = ()


_NOTHING = Repeats()


def asked_of(calls: Sequence[ToolCall], tally: Tally | None = None) -> Asked:
    """What each of the calls asked for; `tally` is theirs, where it is known."""
    told = tally_of(calls) if tally is None else tally
    names, recorded = told.names, told.arguments
    places = core.alike(names, recorded) if core is not None else None
    if places is None:
        return _asked(calls, range(len(calls)), recorded, names)
    if not places:
        return _NONE_ALIKE
    return _asked([calls[at] for at in places], places, [recorded[at] for at in places], names)


def _asked(calls: Sequence[ToolCall], places: Sequence[int], recorded: Sequence[object], names: Sequence[str]) -> Asked:
    """The same by what the arguments hold; `names` are those of all calls."""
    together = _together(recorded)
    if together is not None:
        values, encoded = together
        glances = () if _has_wholes(encoded) else _glances(encoded[:-1])
        if len(set(glances)) == len(calls):
            return _NONE_ALIKE
        if not _is_masked(encoded):
            lines = encoded.split(b"\n")[:-1]
            if not _is_canonical(encoded):
                glances = ()
                pairs = zip(lines, values, strict=True)
                lines = [line if _is_canonical(line) else canonical(value) for line, value in pairs]
            return Asked(calls, places, lines, glances=glances)
    keys = [(call.name, canonical_of(call)) if call.arguments_state == "present" else None for call in calls]
    count = Counter(call.name for call in calls)
    bare = {call.name for call, key in zip(calls, keys, strict=True) if key is None and count[call.name] > 1}
    masked = {key for key, times in Counter(keys).items() if key is not None and times > 1 and _is_masked(key[1])}
    bare.update(name for name, _ in masked)
    untold = tuple(name for name in dict.fromkeys(names) if name in bare) if bare else ()
    return Asked(calls, places, [None if key is None or key in masked else key[1] for key in keys], untold)


def _together(texts: Sequence[object]) -> tuple[Sequence[object], bytes] | None:
    """Texts that each hold one JSON object on one line, or mappings: decoded, and encoded again; None for all else."""
    try:
        if texts and type(texts[0]) is str:
            lines = "\n".join(cast("Sequence[str]", texts))
            if lines.count("\n") >= len(texts):
                return None
            values = _decode_lines(lines)
            if len(values) != len(texts):
                return None
        elif set(map(type, texts)) == {dict}:
            values = texts
        else:
            return None
        return values, _encode_lines(values)
    except (TypeError, ValueError, msgspec.DecodeError, RecursionError):
        return None


# `find`, for `in` first takes bytes for a number, which takes longer than all the rest.


def _has_wholes(encoded: bytes) -> bool:
    """Some number may be a whole one that is written as a fraction: then the same is not the same at first glance."""
    return encoded.find(b".") >= 0 and encoded.find(b".0") >= 0


def _is_canonical(encoded: bytes) -> bool:
    return not _has_wholes(encoded) and encoded.find(b'" ') < 0 and encoded.find(b' "') < 0


def _is_masked(encoded: bytes) -> bool:
    return any(encoded.find(mark) >= 0 for mark in _MASKS)


def repeats_of(calls: Sequence[ToolCall], asked: Asked, acting: Callable[[], Collection[str]]) -> Repeats:
    """The repeats among calls, by start.

    A duplicate equals an earlier call that succeeded (same tool, same canonical arguments) with no call of a tool with
    side effects in between. A call after failed ones only is a retry, and a repeated read whose result changed is
    polling: both are exempt. `acting` names the tools that change something; it is asked only if something repeats.
    """
    if asked.distinct:
        return _NOTHING
    return _repeats(calls, asked.places, asked.keys, acting())


def near_repeats_of(
    calls: Sequence[ToolCall], asked: Asked, repeats: Repeats, acting: Callable[[], Collection[str]]
) -> tuple[Pair, ...]:
    """Calls that ask nearly the same as an earlier one, each with it; exact duplicates are not among them.

    Texts in the arguments are compared word by word: case, space, and punctuation and quotes at the ends of words make
    no difference. All else must be the same: numbers, words that hold more than letters (ids, paths, formulas), and the
    places where a page begins, so that going through pages is never a repeat. What makes a duplicate otherwise holds
    here too: the earlier call succeeded, nothing was changed in between, and the result is not known to be another.
    """
    if not asked.places:
        return ()
    told = [one or b"" for one in asked.given]
    seen = asked.glances or _glances(b"\n".join(told))
    if len(seen) != len(told):  # a digest stands for what is nested beyond reason, and may hold any byte
        seen = told
    keys = asked.keys
    glances = [None if key is None else (key[0], glance or b"") for key, glance in zip(keys, seen, strict=True)]
    if len(set(glances)) == len(set(keys)):
        return ()
    differing: dict[Key | None, set[Key]] = {}
    for key, glance in zip(keys, glances, strict=True):
        if key is not None:
            differing.setdefault(glance, set()).add(key)
    near = {key: (key[0], _words_of(key[1])) for alike in differing.values() if len(alike) > 1 for key in alike}
    alike = [near.get(key, key) if key is not None else None for key in keys]
    found = _repeats(calls, asked.places, alike, acting())
    known = {id(again) for _, again in repeats.duplicates}
    known.update(id(call) for call in repeats.exempt)
    return tuple(pair for pair in found.duplicates if id(pair[1]) not in known)


def _repeats(
    calls: Sequence[ToolCall], places: Sequence[int], keys: Sequence[Hashable], effecting: Collection[str]
) -> Repeats:
    """The repeats among the calls at some places; of the others only those that change something matter."""
    keyed = dict(zip(places, keys, strict=True))
    if effecting:
        places = [at for at, call in enumerate(calls) if at in keyed or call.name in effecting]
    done: dict[Hashable, tuple[ToolCall, int]] = {}
    failed: set[Hashable] = set()
    duplicates: list[Pair] = []
    exempt: list[ToolCall] = []
    effects = 0
    for at in places:
        call, key = calls[at], keyed.get(at)
        before = done.get(key) if key is not None else None
        fresh = before is None or before[1] != effects
        if before is not None and not fresh:
            if call.name not in effecting and _changed(before[0], call):
                exempt.append(call)
                fresh = True
            else:
                duplicates.append((before[0], call))
        elif before is None and failed and key in failed:
            exempt.append(call)
        if call.failed:
            if key is not None:
                failed.add(key)
            continue
        if call.name in effecting:
            effects += 1
        if key is not None:
            done[key] = (call if before is None or fresh else before[0], effects)
    return Repeats(duplicates=tuple(duplicates), exempt=tuple(exempt))


def _changed(first: ToolCall, again: ToolCall) -> bool:
    if first.raw_result == again.raw_result:
        return False
    if first.result_state != "present" or again.result_state != "present" or again.failed:
        return False
    return first.result != again.result


def _glances(lines: bytes) -> Sequence[bytes]:
    """For each line what is equal for those that are nearly the same, found for all of them at once."""
    if lines.isascii() and lines.find(b"\\") < 0:
        return lines.translate(_LOWERED, _GLANCED_OVER).split(b"\n")
    text = lines.decode(errors="ignore")
    if "\\" in text:
        for escape in _ESCAPES:
            text = text.replace(escape, " ")
    return text.casefold().encode().translate(None, _GLANCED_OVER).split(b"\n")


def _words_of(encoded: bytes) -> str:
    """Canonical arguments with the texts in them reduced to their words.

    Quotation marks divide encoded JSON into what is text and what is not, once the escaped ones are replaced.
    """
    text = encoded.decode(errors="replace")
    for escape, sign in _ESCAPES.items():
        text = text.replace(escape, sign)
    pieces = text.split('"')
    member = ""
    for at in range(1, len(pieces) - 1, 2):
        if pieces[at + 1][:1] == ":":
            member = pieces[at].lower().replace("_", "")
        elif member not in _PLACES:
            pieces[at] = " ".join(word for word in map(_word, pieces[at].split()) if word)
    return '"'.join(pieces)


def _word(word: str) -> str:
    bare = word.strip(_QUOTES).rstrip(_ENDS + _QUOTES)
    letters = bare.rstrip("!")
    joined = letters.replace("-", "").replace("'", "").replace("\u2019", "")
    return letters.casefold() if joined.isalpha() else bare
