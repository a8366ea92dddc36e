"""The forms of secrets: what keys, passwords, tokens, addresses and cards look like in a text.

Text is untrusted, so the time that a pattern takes grows with the text only: repeats are bounded, or begin where no
other match could.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from spanwise.native import core

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
FIELD = re.compile(rf"{_FIELDS}|pwd", re.IGNORECASE)
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


Finder = Callable[[str], Iterable[tuple[int, int]]]
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
    if ("=" in text or ":" in text) and has(_HINTS, text.lower()):
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
BUILT_IN: Mapping[str, tuple[tuple[str, ...], Finder]] = {
    "private key": (("-----BEGIN ",), partial(_matches, _PRIVATE_KEY)),
    "password": (("://", "=", ":"), _passwords),
    "token": (("earer", "EARER", "uthorization", "UTHORIZATION", "eyJ"), _tokens),
    "api key": ((), _keys),
    "email": (("@",), partial(_matches, _EMAIL)),
    "card": ((), _cards),
}


_EXACT = (
    *(mark for mark, _ in _KEYS),
    *("://", "@"),
    *(mark for kind in ("private key", "token") for mark in BUILT_IN[kind][0]),
)
_ROW = re.compile(r"(?:[0-9][ -]?){7}[0-9]")
_MARKS = None if core is None else core.Marks(_EXACT, _HINTS, 8)


def may_hold(text: str) -> bool:
    """Whether anything stands in the text without which no built-in kind of secret does."""
    return _may_hold(text) if _MARKS is None else _MARKS.among(text)


def _may_hold(text: str) -> bool:
    return has(_EXACT, text) or has(_HINTS, text.lower()) or _ROW.search(text) is not None


def has(marks: tuple[str, ...], text: str) -> bool:
    """One of the marks stands in the text."""
    for mark in marks:  # noqa: SIM110  (any() takes three times as long, and this runs for every text)
        if mark in text:
            return True
    return False
