"""What is let out: how much content a sink gets, and no secrets in it. One stage, before any sink.

A secret is found by its form: the patterns here, regexes and functions of the user's own. Each becomes
`[masked: KIND]`, and whatever stands around it stays. Text is untrusted, so the time that a pattern
takes grows with the text only: repeats are bounded, or begin where no other match could. What is masked already is
never looked at again, so that masking twice is masking once.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from msgspec import structs

from spanwise.errors import SpecError
from spanwise.model.ports import Content, Mask
from spanwise.model.result import RunResult
from spanwise.model.score import Evidence, Score
from spanwise.patterns import compile_finder
from spanwise.secret_kinds import BUILT_IN, FIELD, Finder, has, may_hold

__all__ = ["CONTENT", "DEFAULT", "KINDS", "Content", "Mask", "Masking", "masked", "shown"]

CONTENT: tuple[Content, ...] = ("none", "evidence", "all")
_DEPTH = 64
_SEAM, _AT_ONCE = "\n", 20_000
"""What stands between texts that are looked at together: no secret's form asks for anything else beside it. And how
long they may be together."""
_BITS = 256
_ROUNDS = 4
_DONE = re.compile(r"(\[masked: [^\[\]\n]{1,40}\])")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9 _-]{0,29}")
_TYPE = re.compile(r"([A-Za-z_][A-Za-z0-9_.]{0,79})(?::|\Z)")
_log = logging.getLogger("spanwise")

KINDS: tuple[str, ...] = tuple(BUILT_IN)
"""The built-in kinds of secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Masking:
    """Secrets in a text become `[masked: KIND]`; the value itself is called with a text.

    Args:
        kinds: The built-in patterns in use; all of `KINDS` where not given.
        patterns: Regexes of your own, by the kind that is shown. They run under RE2, and need google-re2.
        functions: Called first, each with the whole text. One must leave as it is what it, or a pattern, has masked. If
            it raises, or gives no text, the whole text is masked.
        allow: Texts that are never masked by a pattern, as they stand.
        allow_patterns: Regexes of such texts; one that is matched as a whole is allowed.

    Raises:
        SpecError: A kind is not known, its name cannot be shown, or a regex cannot be used.
    """

    kinds: Collection[str] = KINDS
    patterns: Mapping[str, str] = field(default_factory=dict[str, str])
    functions: Sequence[Mask] = ()
    allow: Collection[str] = ()
    allow_patterns: Sequence[str] = ()
    _finders: tuple[tuple[str, tuple[str, ...], Finder], ...] = field(init=False, repr=False, compare=False)
    _allowed: frozenset[str] = field(init=False, repr=False, compare=False)
    _allowing: tuple[Finder, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.kinds if kind not in BUILT_IN]
        if unknown:
            raise SpecError(f"unknown kind of secret {unknown[0]!r}; known: {', '.join(KINDS)}")
        odd = [name for name in self.patterns if _NAME.fullmatch(name) is None]
        if odd:
            raise SpecError(f"read {odd[0]!r}, expected a name of at most 30 letters, digits, spaces, _ and -")
        own = [(name, (), compile_finder(text)) for name, text in self.patterns.items()]
        built_in = [(kind, *one) for kind, one in BUILT_IN.items() if kind in self.kinds]
        object.__setattr__(self, "_finders", (*built_in, *own))
        object.__setattr__(self, "_allowed", frozenset(self.allow))
        object.__setattr__(self, "_allowing", tuple(compile_finder(rf"\A(?:{one})\z") for one in self.allow_patterns))

    def __call__(self, text: str, /) -> str:
        """The text without its secrets."""
        for function in self.functions:
            text = _called(function, text)
        for _ in range(_ROUNDS):
            found = self._once(text)
            if found == text:
                return text
            text = found
        # Masking one secret uncovers the next, over and over: a regex of the user's own that knows no end.
        return "[masked: all]"

    def clears(self, texts: Iterable[str], /) -> bool:
        """Whether all of these texts would stay as they are, as far as one look at them together tells."""
        text = _SEAM.join(texts)
        if self.functions or self.patterns or len(text) > _AT_ONCE or "[masked: " in text:
            return False
        return not may_hold(text) or not any(
            any(True for _ in finder(text)) for _, marks, finder in self._finders if not marks or has(marks, text)
        )

    def of_field(self, name: str, value: str, /) -> str:
        """The value of a field, which is masked as a whole where the field's name is that of a secret."""
        hides = "password" in self.kinds and value and FIELD.fullmatch(name) is not None
        if hides and not self._is_allowed(value) and _DONE.fullmatch(value) is None:
            return "[masked: password]"
        return self(value)

    def _once(self, text: str) -> str:
        for kind, marks, finder in self._finders:
            if not marks or has(marks, text):
                text = self._without(text, kind, finder)
        return text

    def _without(self, text: str, kind: str, finder: Finder) -> str:
        if "[masked: " in text:
            pieces = _DONE.split(text)
            return "".join(one if at % 2 else self._cut(one, kind, finder) for at, one in enumerate(pieces))
        return self._cut(text, kind, finder)

    def _cut(self, text: str, kind: str, finder: Finder) -> str:
        spots = finder(text)
        if spots == ():
            return text
        out: list[str] = []
        end = 0
        for begun, ended in spots:
            if begun >= end and ended > begun and not self._is_allowed(text[begun:ended]):
                out += (text[end:begun], f"[masked: {kind}]")
                end = ended
        return "".join((*out, text[end:])) if out else text

    def _is_allowed(self, text: str) -> bool:
        return text in self._allowed or any(True for finder in self._allowing for _ in finder(text))


def _called(function: Mask, text: str) -> str:
    """What a function of the user's own makes of a text; nothing of the text, where it cannot."""
    try:
        made = cast("object", function(text))
    except Exception:  # noqa: BLE001  (anybody's function; what it did not mask must not get out)
        _log.debug("a function that masks text failed", exc_info=True)
        return "[masked: failed]"
    return made if isinstance(made, str) else "[masked: failed]"


DEFAULT = Masking()
"""All built-in patterns."""


def masked(value: object, mask: Mask) -> object:
    """A value of JSON, masked: texts, whole numbers and keys. What lies below 64 levels is the name of its type."""
    return _masked(value, mask, 0)


def _masked(value: object, mask: Mask, depth: int) -> object:
    if isinstance(value, str):
        return mask(value)
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        text = str(value) if value.bit_length() <= _BITS else ""
        return value if (found := mask(text)) == text else found
    if isinstance(value, bytes):
        return mask(value.decode("utf-8", "replace"))
    if depth < _DEPTH:
        if isinstance(value, Mapping):
            return _table(cast("Mapping[object, object]", value), mask, depth)
        if isinstance(value, list | tuple):
            return [_masked(item, mask, depth + 1) for item in cast("Sequence[object]", value)]
    return f"<{type(value).__name__}>"


def _table(table: Mapping[object, object], mask: Mask, depth: int) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, value in table.items():
        name = free = mask(str(key))
        while free in made:
            free += "\N{PRIME}"
        if isinstance(value, str) and isinstance(mask, Masking):
            made[free] = mask.of_field(name, value)
        else:
            made[free] = _masked(value, mask, depth + 1)
    return made


# What a sink is given


def shown(
    result: RunResult,
    *,
    content: Content,
    masking: Mask | None = DEFAULT,
    pause: Callable[[], None] | None = None,
) -> RunResult:
    """The result as a sink may let it out: scores with as much content as asked for, their secrets masked.

    At `none` reasons, issues, recommendations and quotes are empty, but for the type of an exception; names, values,
    labels, ids of spans and evaluators stay. The run is the same object: it still holds what was captured. `pause` is
    called before each text that is masked.
    """
    if content == "none":
        return replace(result, scores=tuple(map(_bare, result.scores)))
    if masking is None:
        return result
    if pause is not None:
        pause()
    if isinstance(masking, Masking) and masking.clears(_texts(result.scores)):
        return result
    mask = masking if pause is None else _paced(masking, pause)
    scores = tuple(_masked_score(score, mask) for score in result.scores)
    return result if scores == result.scores else replace(result, scores=scores)


def _texts(scores: Iterable[Score]) -> list[str]:
    """All that scores say in words."""
    found: list[str] = []
    for score in scores:
        found.append(score.reason)
        found += score.issues
        found += score.recommendations
        found += [one.quote for one in score.evidence]
    return found


def _paced(masking: Mask, pause: Callable[[], None]) -> Mask:
    def masked(text: str, /) -> str:
        pause()
        return masking(text)

    return masked


def _bare(score: Score) -> Score:
    error = _TYPE.match(score.reason) if score.status == "error" else None
    return structs.replace(
        score,
        reason=error[1] if error else "",
        evidence=tuple(Evidence(span_id=one.span_id) for one in score.evidence),
        issues=(),
        recommendations=(),
    )


def _masked_score(score: Score, mask: Mask) -> Score:
    reason, issues = mask(score.reason), tuple(map(mask, score.issues))
    recommendations = tuple(map(mask, score.recommendations))
    evidence = tuple(
        one if (quote := mask(one.quote)) == one.quote else Evidence(span_id=one.span_id, quote=quote)
        for one in score.evidence
    )
    same = (score.reason, score.issues, score.recommendations, score.evidence)
    if (reason, issues, recommendations, evidence) == same:
        return score
    return structs.replace(score, reason=reason, issues=issues, recommendations=recommendations, evidence=evidence)
