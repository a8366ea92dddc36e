"""Failures that pass by themselves, and those that stay: told by the exception's type, status codes, and words.

A failure is transient if the same call may well succeed a moment later (a timeout, a lost connection, HTTP 408, 425,
429, 5xx), permanent if the same call will fail again (a value that is refused, a thing that is not there, no rights,
any other 4xx), and unknown where nothing tells. Only so much of a text is read, and it is read once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from spanwise.model.calls import ToolCall
from spanwise.text import excerpt

FailureKind: TypeAlias = Literal["transient", "permanent", "unknown"]

_READ = 400
_HALF = _READ // 2
_WORDS = re.compile(r"[a-z]+|[0-9]+")
_CODES = frozenset(str(code) for code in range(400, 600))
_TRANSIENT_CODES = frozenset({"408", "425", "429"})
_BEFORE_A_CODE = frozenset({"http", "status", "statuscode", "code", "errorcode", "error"})

_TRANSIENT_TYPES = (
    "timeout", "timedout", "connect", "ratelimit", "toomanyrequests", "unavailable", "temporar", "throttl", "overload",
    "internalserver", "servererror", "deadline", "resourceexhausted", "badgateway", "network", "brokenpipe",
    "transport",
)  # fmt: skip
_PERMANENT_TYPES = (
    "validation", "notfound", "permission", "forbidden", "unauthorized", "unauthenticated", "authentication",
    "authorization", "autherror", "invalid", "badrequest", "unprocessable", "denied", "unsupported", "notimplemented",
    "contextlength", "contextwindow", "syntaxerror", "valueerror", "typeerror", "keyerror", "indexerror", "lookuperror",
    "nameerror", "attributeerror", "assertionerror", "zerodivision", "arithmetic", "overflowerror", "unicode", "decode",
    "parseerror", "schema", "recursionerror", "isadirectory", "notadirectory", "fileexists", "importerror",
)  # fmt: skip
_TRANSIENT_PHRASES = (
    "timed out", "timeout", "time out", "deadline exceeded", "rate limit", "rate limited", "rate limits", "ratelimit",
    "too many requests", "temporarily", "temporary failure", "temporary error", "again later", "retry later",
    "retry after", "service unavailable", "unavailable", "overloaded", "connection refused", "connection reset",
    "connection error", "connection aborted", "connection closed", "connection lost", "network error",
    "network is unreachable", "bad gateway", "internal server error", "throttled", "throttling", "broken pipe",
    "econnreset", "econnrefused", "etimedout", "server is busy", "server busy", "timeouterror", "connectionerror",
)  # fmt: skip
_PERMANENT_PHRASES = (
    "not found", "no such", "does not exist", "doesn t exist", "invalid", "not valid", "unknown", "unsupported",
    "not supported", "missing required", "field required", "is required", "must be", "permission denied", "forbidden",
    "unauthorized", "unauthorised", "access denied", "not allowed", "not permitted", "authentication failed",
    "bad request", "division by zero", "syntax error", "cannot parse", "can t parse", "could not parse", "parse error",
    "validation error", "validation errors", "malformed", "out of range", "unexpected keyword", "unexpected token",
    "not implemented", "valueerror", "typeerror", "keyerror", "indexerror", "zerodivisionerror", "attributeerror",
    "filenotfounderror", "permissionerror", "validationerror", "assertionerror", "nameerror", "syntaxerror",
)  # fmt: skip


def _by_first_word() -> Mapping[str, Sequence[tuple[str, FailureKind]]]:
    """The phrases, each between spaces and with its kind, by the word that it begins with."""
    out: dict[str, list[tuple[str, FailureKind]]] = {}
    kinds: Sequence[tuple[FailureKind, Sequence[str]]] = (
        ("transient", _TRANSIENT_PHRASES),
        ("permanent", _PERMANENT_PHRASES),
    )
    for kind, phrases in kinds:
        for phrase in phrases:
            out.setdefault(phrase.partition(" ")[0], []).append((f" {phrase} ", kind))
    return out


_PHRASES = _by_first_word()


def failure_of(call: ToolCall) -> FailureKind:
    """What kind of failure a failed call met: by what its error says, else by what it returned."""
    if call.error is not None:
        kind = kind_of(call.error.type[:_READ], _read(call.error.message))
        if kind != "unknown":
            return kind
    returned = call.raw_result
    if returned is None:
        return "unknown"
    return kind_of("", _read(returned if isinstance(returned, str) else excerpt(returned, limit=_READ)))


@lru_cache(maxsize=4096)
def kind_of(type_: str, message: str) -> FailureKind:
    """The kind of a failure of this exception type and with these words; either may be empty."""
    return _by_type(type_) or _by_words(_WORDS.findall(message.casefold())) or "unknown"


def _read(text: str) -> str:
    """The part of a text that is read: all of a short one, else its beginning and its end, where tracebacks tell."""
    return text if len(text) <= _READ else f"{text[:_HALF]} {text[-_HALF:]}"


@lru_cache(maxsize=1024)
def _by_type(type_: str) -> FailureKind | None:
    name = type_.rpartition(".")[2].casefold().replace("_", "")
    if name.isascii() and name.isdigit():
        return _by_code(name)
    if any(part in name for part in _TRANSIENT_TYPES):
        return "transient"
    return "permanent" if any(part in name for part in _PERMANENT_TYPES) else None


def _by_code(digits: str) -> FailureKind | None:
    if digits not in _CODES:
        return None
    return "transient" if digits[0] == "5" or digits in _TRANSIENT_CODES else "permanent"


def _by_words(words: Sequence[str]) -> FailureKind | None:
    """By a status code that is called one, else by phrases; one that is transient decides."""
    if not _CODES.isdisjoint(words):
        for at, word in enumerate(words):
            if at and word in _CODES and (words[at - 1] in _BEFORE_A_CODE or _is_http(words, at)):
                return _by_code(word)
    begun = _PHRASES.keys() & words
    if not begun:
        return None
    text = f" {' '.join(words)} "
    kinds = {kind for word in begun for phrase, kind in _PHRASES[word] if phrase in text}
    return "transient" if "transient" in kinds else "permanent" if kinds else None


def _is_http(words: Sequence[str], at: int) -> bool:
    """The word stands behind `HTTP/1.1` or the like."""
    return "http" in words[max(at - 3, 0) : at] and all(len(word) == 1 for word in words[max(at - 2, 0) : at])
