"""What is let out: how much content a sink gets, and no secrets in it. One stage, before any sink.

A secret is found by its form: the patterns here, regexes and functions of the user's own. Each becomes
`[masked: KIND]`, and whatever stands around it stays. Text is untrusted, so the time that a pattern
takes grows with the text only: repeats are bounded, or begin where no other match could. What is masked already is
never looked at again, so that masking twice is masking once.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from msgspec import structs

from spanwise.errors import SpecError
from spanwise.model.ports import Content, Mask
from spanwise.model.result import RunResult
from spanwise.model.score import Evidence, Score
from spanwise.patterns import compile_finder

__all__ = ["CONTENT", "DEFAULT", "KINDS", "Content", "Mask", "Masking", "masked", "shown"]

CONTENT: tuple[Content, ...] = ("none", "evidence", "all")
_DEPTH = 64
_BITS = 256
_ROUNDS = 4
_DONE = re.compile(r"(\[masked: [^\[\]\n]{1,40}\])")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9 _-]{0,29}")
_TYPE = re.compile(r"([A-Za-z_][A-Za-z0-9_.]{0,79})(?::|\Z)")
_log = logging.getLogger("spanwise")

# The built-in patterns. `(?<!...)` in front of a repeat without bound lets it begin once per run of its characters.

_LEFT, _RIGHT = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
    r".*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----|\Z)",
    re.DOTALL,
)
_URL = re.compile(r"(?<=://)([^\s/@:\"'?#\[\]]{0,200}:)([^\s/\"'?#\[\]]{1,200})(?=@)")
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){1,4}")
_BEARER = re.compile(
    r"(authorization\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?(?:bearer|basic|token)[ \t]{1,4})"
    r"([A-Za-z0-9._~+/=-]{6,})"
    rf"|({_LEFT}bearer[ \t]{{1,4}})(?=[A-Za-z._~+/=-]{{0,200}}[0-9])([A-Za-z0-9._~+/=-]{{16,}})",
    re.IGNORECASE,
)
_KEY_PREFIXES = (
    ("sk-", r"sk-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{16,}"),  # OpenAI, Anthropic, OpenRouter, Langfuse
    ("sk_", r"sk_(?:live|test)_[A-Za-z0-9]{10,}"),  # Stripe
    ("rk_", r"rk_(?:live|test)_[A-Za-z0-9]{10,}"),
    ("whsec_", r"whsec_[A-Za-z0-9+/=]{16,}"),
    ("AKIA", rf"AKIA[A-Z0-9]{{16}}{_RIGHT}"),  # AWS
    ("ASIA", rf"ASIA[A-Z0-9]{{16}}{_RIGHT}"),
    *((f"gh{one}_", rf"gh{one}_[A-Za-z0-9]{{30,}}") for one in "pousr"),  # GitHub
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
    ("glpat-", r"glpat-[A-Za-z0-9_-]{16,}"),  # GitLab
    ("xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),  # Slack
    ("xapp-", r"xapp-[A-Za-z0-9-]{10,}"),
    ("AIza", r"AIza[A-Za-z0-9_-]{30,}"),  # Google
    ("ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("hf_", r"hf_[A-Za-z0-9]{30,}"),  # Hugging Face
    ("npm_", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi-", r"pypi-[A-Za-z0-9_-]{30,}"),
    ("SG.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),  # SendGrid
    ("gsk_", r"gsk_[A-Za-z0-9]{30,}"),  # Groq
    ("xai-", r"xai-[A-Za-z0-9]{30,}"),
    ("pplx-", r"pplx-[A-Za-z0-9]{30,}"),  # Perplexity
    ("tvly-", r"tvly-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{16,}"),  # Tavily
    ("r8_", r"r8_[A-Za-z0-9]{30,}"),  # Replicate
    ("dapi", rf"dapi[0-9a-f]{{32}}{_RIGHT}"),  # Databricks
    ("lsv2_", r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{20,}"),  # LangSmith
    ("pylf_", r"pylf_v[0-9]{1,3}_[A-Za-z0-9_]{16,}"),  # Logfire
)
_KEYS = tuple((mark, re.compile(rf"(?<![A-Za-z0-9_])(?:{pattern})")) for mark, pattern in _KEY_PREFIXES)
_FIELDS = (
    r"(?:[a-z0-9]{1,20}[_-]){0,3}"
    r"(?:password|passwd|passphrase|api[_-]?key|secret|secret[_-]?key|private[_-]?key"
    r"|(?:access|auth|refresh|bearer|session|id|api)[_-]?token)"
)
_FIELD = re.compile(rf"{_FIELDS}|pwd", re.IGNORECASE)
# A value behind such a name: in JSON, in Python's own spelling, in JSON within JSON, quoted, and without quotes.
_NAMED = re.compile(
    rf"(?<![A-Za-z0-9_-]){_FIELDS}(?:"
    r"\"\s?:\s?\"((?:[^\"\\\n]|\\.){1,2000})"
    r"|'\s?:\s?'((?:[^'\\\n]|\\.){1,2000})"
    r"|\\{1,3}\"\s?:\s?\\{1,3}\"([^\"\\]{1,2000})"
    r"|\s?[=:]\s?\"([^\"\n]{1,2000})"
    r"|\s?[=:]\s?'([^'\n]{1,2000})"
    r"|=([^\s\"'&;,]{4,500}))"
    r"|(?<![A-Za-z0-9_-])(?:pwd=|x-api-key:\s?)([^\s\"'&;,]{4,500})"
    r"|(?<=[?&])(?:token|sig|signature)=([^\s\"'&;,]{8,500})",
    re.IGNORECASE,
)
_HINTS = (
    *("passw", "passphrase", "pwd", "secret", "api_key", "api-key", "apikey", "private", "sig"),
    *("_token", "-token", "token=", "sstoken", "htoken", "ntoken", "itoken", "rtoken", "dtoken"),
)
_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])(?!git@)[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,24}"
    + _RIGHT
)
_DIGITS = re.compile(r"[0-9][0-9]{3}[ -]?[0-9]{4}")
_CARD = re.compile(
    r"(?<![A-Za-z0-9_])(?<![0-9]\.)"
    r"(?:[0-9]{13,19}|[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?|[0-9]{4}([ -])[0-9]{6}\2[0-9]{4,5})"
    r"(?![A-Za-z0-9_])(?!\.[0-9])"
)
# First digits and lengths of the cards that there are; a time in nanoseconds, which begins with 1, is none.
_ISSUED = (
    (re.compile(r"4"), {13, 16, 19}),
    (re.compile(r"5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)"), {16}),
    (re.compile(r"3[47]"), {15}),
    (re.compile(r"3(?:0[0-5]|[68])"), {14}),
    (re.compile(r"6(?:011|4[4-9]|5)|35(?:2[89]|[3-8])"), {16, 19}),
    (re.compile(r"62"), {16, 17, 18, 19}),
)


def _is_card(text: str) -> bool:
    """The digits are those of a card that could have been issued, and their check digit is right."""
    digits = text.replace(" ", "").replace("-", "")
    if not any(len(digits) in lengths and begun.match(digits) for begun, lengths in _ISSUED):
        return False
    odd, even = digits[-1::-2], digits[-2::-2]
    return (sum(map(int, odd)) + sum(sum(divmod(2 * int(one), 10)) for one in even)) % 10 == 0


_Finder = Callable[[str], Iterable[tuple[int, int]]]
"""Where the secrets are in a text, from left to right, none over another."""


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Where a pattern matches: its last group that took part, else all of it."""
    for found in pattern.finditer(text):
        yield found.span(found.lastindex) if found.lastindex else found.span()


def _apart(spots: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spots from left to right, of those that begin at one place the longest, without what lies over another."""
    end = 0
    for begun, ended in sorted(spots, key=lambda spot: (spot[0], -spot[1])):
        if begun >= end:
            yield begun, ended
            end = ended


def _keys(text: str) -> Iterable[tuple[int, int]]:
    found = [span for mark, pattern in _KEYS if mark in text for span in _matches(pattern, text)]
    return _apart(found) if found else ()


def _passwords(text: str) -> Iterable[tuple[int, int]]:
    """Passwords in URLs, and values of what is named a password, a key, a secret or a token."""
    spots = list(_matches(_URL, text)) if "://" in text else []
    if ("=" in text or ":" in text) and _has(_HINTS, text.lower()):
        spots += _matches(_NAMED, text)
    return _apart(spots) if spots else ()


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    spots = list(_matches(_JWT, text)) if "eyJ" in text else []
    return _apart([*spots, *_matches(_BEARER, text)])


def _cards(text: str) -> Iterable[tuple[int, int]]:
    glimpse = _DIGITS.search(text)  # every number of a card begins so, and this takes a sixth of the time
    found = None if glimpse is None else _CARD.search(text, glimpse.start())
    if found is None:
        return ()
    return [one.span() for one in _CARD.finditer(text, found.start()) if _is_card(one.group())]


# In this order: what holds another comes first.
_BUILT_IN: Mapping[str, tuple[tuple[str, ...], _Finder]] = {
    "private key": (("-----BEGIN ",), partial(_matches, _PRIVATE_KEY)),
    "password": (("://", "=", ":"), _passwords),
    "token": (("earer", "EARER", "uthorization", "UTHORIZATION", "eyJ"), _tokens),
    "api key": ((), _keys),
    "email": (("@",), partial(_matches, _EMAIL)),
    "card": ((), _cards),
}
KINDS: tuple[str, ...] = tuple(_BUILT_IN)
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
    _finders: tuple[tuple[str, tuple[str, ...], _Finder], ...] = field(init=False, repr=False, compare=False)
    _allowed: frozenset[str] = field(init=False, repr=False, compare=False)
    _allowing: tuple[_Finder, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.kinds if kind not in _BUILT_IN]
        if unknown:
            raise SpecError(f"unknown kind of secret {unknown[0]!r}; known: {', '.join(KINDS)}")
        odd = [name for name in self.patterns if _NAME.fullmatch(name) is None]
        if odd:
            raise SpecError(f"read {odd[0]!r}, expected a name of at most 30 letters, digits, spaces, _ and -")
        own = [(name, (), compile_finder(text)) for name, text in self.patterns.items()]
        built_in = [(kind, *one) for kind, one in _BUILT_IN.items() if kind in self.kinds]
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

    def of_field(self, name: str, value: str, /) -> str:
        """The value of a field, which is masked as a whole where the field's name is that of a secret."""
        hides = "password" in self.kinds and value and _FIELD.fullmatch(name) is not None
        if hides and not self._is_allowed(value) and _DONE.fullmatch(value) is None:
            return "[masked: password]"
        return self(value)

    def _once(self, text: str) -> str:
        for kind, marks, finder in self._finders:
            if not marks or _has(marks, text):
                text = self._without(text, kind, finder)
        return text

    def _without(self, text: str, kind: str, finder: _Finder) -> str:
        if "[masked: " in text:
            pieces = _DONE.split(text)
            return "".join(one if at % 2 else self._cut(one, kind, finder) for at, one in enumerate(pieces))
        return self._cut(text, kind, finder)

    def _cut(self, text: str, kind: str, finder: _Finder) -> str:
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


def _has(marks: tuple[str, ...], text: str) -> bool:
    for mark in marks:  # noqa: SIM110  (any() takes three times as long, and this runs for every text)
        if mark in text:
            return True
    return False


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


def shown(result: RunResult, *, content: Content, masking: Mask | None = DEFAULT) -> RunResult:
    """The result as a sink may let it out: scores with as much content as asked for, their secrets masked.

    At `none` reasons, issues, recommendations and quotes are empty, but for the type of an exception; names, values,
    labels, ids of spans and evaluators stay. The run is the same object: it still holds what was captured.
    """
    if content == "none":
        return replace(result, scores=tuple(map(_bare, result.scores)))
    if masking is None:
        return result
    scores = tuple(_masked_score(score, masking) for score in result.scores)
    return result if scores == result.scores else replace(result, scores=scores)


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
