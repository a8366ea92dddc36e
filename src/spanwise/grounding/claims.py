"""An answer as claims: sentences, list items and rows of tables, each where it stands, and whether it claims anything.

Questions, greetings, offers, instructions, guesses and what an agent says of itself claim nothing that evidence could
bear out; they are kept, and not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from spanwise.grounding.chatter import why_not
from spanwise.grounding.words import STARTERS, STOP

MOST = 200
"""So many claims of an answer are judged; the score's reason says when there were more."""
_LONG = 2_000

_LINE = re.compile(r"[^\n]+")
_MARK = re.compile(r"\s*(?:[-*+\u2022\u2023\u25aa\u25cf>]\s+|\(?\d{1,2}[.)]\s+|[a-z][.)]\s+|#{1,6}\s+)?")
_STOPS = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026]++[\"'\u201d\u2019)\]*_]*+(?=\s|$)|[\u3002\uff01\uff1f\uff0e]+[\u300d\u300f\"\u201d]*"
)
_OWN_LIMIT = re.compile(
    r"(?:;\s(?:but |however,? )?|,\sbut )(?=(?:I|we) (?:(?:could|can|was|were|am|are|do|did)(?: not|n['\u2019]t)"
    r"|cannot|(?:was|am|were|are) unable)\b)"
)
"""Behind it the agent says what it does not know; what stands before may well be a claim."""
_OF_ITSELF = re.compile(r"\s*(?:I|we)\b", re.IGNORECASE)
_ABBREVIATED = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|no|vs|approx|ca|cf|e\.g|i\.e|etc|inc|ltd|co|corp|jr|sr|fig|jan|feb|mar|apr|jun|jul|aug"
    r"|sep|sept|oct|nov|dec|u\.s|u\.k|a\.m|p\.m|mio|mrd)|(?-i:\b[A-Z]))$",
    re.IGNORECASE,
)
_RULE = re.compile(r"[\s|:=+_*-]+")
_CODE = re.compile(r"^\s*(?:```|~~~)")
_PATCH = re.compile(r"^(?:@@ .*@@|\+\+\+ |--- [ab]/|diff --git )", re.MULTILINE)
_MARKS_OF_PATCH = ("@@ ", "+++ ", "--- ", "diff --git ")
_EMPHASIS = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|(?<!\w)__?(?=\w)|(?<=\w)__?(?!\w)")

_PRONOUN = re.compile(r"(?:It|He|She|They|Its|His|Her|Their|This|That)\b")
_NAMED = re.compile(r"(?:[A-Z][\w'\u2019-]+)(?:\s+(?:(?:of|the|de|van|von|and|&)\s+)?[A-Z][\w'\u2019-]+)*")


class Claim(NamedTuple):
    """What an answer says in one place. `subject` is what its pronoun stands for, where that is plain."""

    text: str
    start: int
    end: int
    checkable: bool = True
    why: str = ""
    subject: str = ""

    @property
    def sought(self) -> str:
        """The claim with its subject in front."""
        return f"{self.subject}: {self.text}" if self.subject else self.text


def claims_of(answer: str) -> list[Claim]:
    """The claims of an answer, at most `MOST` and one more."""
    return list(claims_in(answer))


def claims_in(answer: str) -> Iterator[Claim]:
    """The same one by one."""
    if any(mark in answer for mark in _MARKS_OF_PATCH) and _PATCH.search(answer):
        return
    subject = ""
    for text, start, end, head in islice(_parts(answer), MOST + 1):
        why = why_not(text)
        named = head or (subject if _PRONOUN.match(text) else "")
        yield Claim(text, start, end, not why, why, named)
        met = _subject(text)
        subject = met or (subject if _PRONOUN.match(text) else "")


def _subject(text: str) -> str:
    """The name that a sentence begins with, or the only one in it."""
    names = [met for met in _NAMED.finditer(text) if met.group().lower() not in STOP | STARTERS]
    if not names or _PRONOUN.match(text):
        return ""
    first = names[0]
    if first.start() < 12 and (" " in first.group() or not first.start() or len(names) == 1):
        return first.group()
    return first.group() if len(names) == 1 else ""


def _parts(answer: str) -> Iterator[tuple[str, int, int, str]]:
    """The sentences, items and rows, with their places, and for a row of a table the names of its columns."""
    fenced = False
    head: list[str] = []
    for met in _LINE.finditer(answer):
        line, at = met.group(), met.start()
        if _CODE.match(line):
            fenced = not fenced
            continue
        if fenced or _RULE.fullmatch(line):
            continue
        if line.lstrip().startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not head:
                head = cells
                continue
            start = at + len(line) - len(line.lstrip())
            said = "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(head, cells, strict=False))
            yield _EMPHASIS.sub("", said), start, at + len(line.rstrip()), ""
            continue
        head = []
        mark = _MARK.match(line)
        begun = mark.end() if mark else 0
        if line.lstrip().startswith("#"):
            continue
        yield from ((*one, "") for one in _sentences(answer, at + begun, at + len(line)))


def _sentences(answer: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    begun = start
    for met in _STOPS.finditer(answer, start, end):
        if met.group()[0] == "." and _ABBREVIATED.search(answer, max(begun, met.start() - 12), met.start()):
            continue
        yield from _clauses(answer, begun, met.end())
        begun = met.end()
    yield from _clauses(answer, begun, end)


def _clauses(answer: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """A sentence, in two where it tells a number first, and then what the agent does not know."""
    met = _OWN_LIMIT.search(answer, start, end)
    if met is not None:
        said = answer[start : met.start()]
        if any(map(str.isdecimal, said)) and not _OF_ITSELF.match(said):
            yield from _trimmed(answer, start, met.start())
            start = met.end()
    yield from _trimmed(answer, start, end)


def _trimmed(answer: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    end = min(end, start + _LONG)
    said = answer[start:end]
    start += len(said) - len(said.lstrip())
    said = said.strip()
    if said and any(map(str.isalnum, said)):
        yield _EMPHASIS.sub("", said), start, start + len(said)
