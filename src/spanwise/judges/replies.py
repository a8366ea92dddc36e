"""Reading a model's reply: a verdict, or a typed error."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import msgspec

from spanwise.judges.failures import ReplyError
from spanwise.judges.questions import Question
from spanwise.model.score import Evidence
from spanwise.text import excerpt

_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_LONGEST = 100_000
_QUOTES = 5
_REASONS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a model says: a number of the scale, or None where it cannot tell; why; and the places that show it."""

    number: int | None
    reasons: str
    evidence: tuple[Evidence, ...] = ()


def verdict_of(reply: str, question: Question) -> Verdict:
    """The verdict in a reply.

    Quotes that do not stand in the step that they name are left out: a model makes some up.

    Raises:
        ReplyError: There is none in it.
    """
    fields = _object(reply)
    order = [key for key in fields if key in {"reasons", "score"}]
    if order != ["reasons", "score"]:
        raise ReplyError(
            f"read the keys {', '.join(fields) or 'none'}, expected reasons, quotes and score, in this order"
        )
    reasons = fields["reasons"]
    if isinstance(reasons, list):
        reasons = " ".join(str(one) for one in cast("list[object]", reasons))
    if not isinstance(reasons, str) or not reasons.strip():
        raise ReplyError("the reply gives no reasons")
    return Verdict(
        number=_number(fields["score"], question),
        reasons=excerpt(reasons, limit=_REASONS),
        evidence=tuple(_quoted(fields.get("quotes"), question)),
    )


def _object(reply: str) -> Mapping[str, object]:
    fenced = _FENCED.match(reply)
    text = fenced[1] if fenced else reply
    if len(text) > _LONGEST:
        raise ReplyError(f"the reply is {len(text)} characters long")
    try:
        found: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        raise ReplyError(f"the reply is not JSON: {excerpt(text, limit=80)!r}") from None
    if not isinstance(found, dict):
        raise ReplyError(f"the reply is no JSON object: {excerpt(text, limit=80)!r}")
    return cast("Mapping[str, object]", found)


def _number(value: object, question: Question) -> int | None:
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value not in question.scale.numbers:
        scale = question.scale
        raise ReplyError(
            f"read the score {excerpt(value, limit=40)!r}, expected a whole number from {scale.low} to {scale.high}"
        )
    return value


def _quoted(value: object, question: Question) -> Sequence[Evidence]:
    found: list[Evidence] = []
    for one in cast("list[object]", value)[:_QUOTES] if isinstance(value, list) else ():
        if not isinstance(one, Mapping):
            continue
        fields = cast("Mapping[str, object]", one)
        step = question.steps.get(number) if isinstance(number := fields.get("step"), int) else None
        text = fields.get("text")
        if step is None or not isinstance(text, str) or not text.strip():
            continue
        if any(text in held for held in (step.line, *step.texts)):
            found.append(Evidence(span_id=step.span_id, quote=excerpt(text)))
    return found
