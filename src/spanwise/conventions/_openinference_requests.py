"""What an OpenInference model asked for and which results it was told, where both are written in the plainest way.

Its answer is one flattened message, its input has a role and a text for each message. Then the text of most messages
need not be decoded, which is most of what a span holds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from spanwise.conventions._fields import below, is_text, may_hold
from spanwise.conventions._messages import ROLES
from spanwise.conventions._openinference_envelopes import FAILURE_WORDS, complete, refuses, tells_failure
from spanwise.conventions._openinference_messages import (
    HAYSTACK,
    INPUT,
    LANGCHAIN,
    OUTPUT,
    OWN_ANSWERS,
    asked_call,
    by_index,
    is_model,
    result_of,
    trusts_flattened,
    with_empty,
)
from spanwise.conventions._values import text_of
from spanwise.model.content import Memo, Message, Part
from spanwise.model.raw import Attributes, RawSpan

_PLAIN_CALL = re.compile(
    re.escape(f"{OUTPUT}0.message.tool_calls.") + r"(\d{1,3})\.tool_call\.(function\.name|function\.arguments|id)"
)
_FIRST_ROLE = f"{OUTPUT}0.message.role"
_FIRST_TEXT = f"{OUTPUT}0.message.content"
_PLAIN_INPUT = re.compile(re.escape(INPUT) + r"(0|[1-9]\d{0,8})\.message\.(role|content)")
_OWN_INPUTS = OWN_ANSWERS | {HAYSTACK}
_PLAIN_LEAVES = frozenset({_FIRST_ROLE, _FIRST_TEXT})


def _is_plain(span: RawSpan) -> bool:
    """The model's answer is one flattened message."""
    attributes = span.attributes
    if span.scope.name in OWN_ANSWERS or "gen_ai.output.messages" in attributes or not trusts_flattened(span):
        return False
    if attributes.get(_FIRST_ROLE) != "assistant" or (span.scope.name in LANGCHAIN and refuses(attributes)):
        return False
    return _FIRST_TEXT not in attributes or is_text(attributes, _FIRST_TEXT)


def call_ids(span: RawSpan) -> Sequence[str] | None:
    """The ids of the calls that the model asked for, where its answer is written in the plainest way."""
    if not _is_plain(span):
        return None
    attributes, bare = span.attributes, span.scope.name in LANGCHAIN
    ids: dict[int, object] = {}
    named: list[int] = []
    for key in below(attributes, OUTPUT):
        if key not in _PLAIN_LEAVES:
            at, name = _plain_leaf(key)
            if at < 0:
                return None
            if name == "id":
                ids[at] = attributes[key]
            elif name == "function.name" and text_of(attributes[key]) is not None:
                named.append(at)
            elif bare and '"{' in str(attributes[key]):  # LangChain's lone argument is written bare, JSON text like all
                return None
    if not ids:
        return None if named else ()
    found = [text for at in sorted(ids) if (text := text_of(ids[at])) is not None]
    return found if len(set(found)) == len(ids) and ids.keys() == set(named) else None


def requests(span: RawSpan, memo: Memo) -> Sequence[Part] | None:
    """The tool calls that the model asked for, where its answer is written in the plainest way; None for any other."""
    if not _is_plain(span):
        return None
    attributes = span.attributes
    held: dict[int, dict[str, object]] = {}
    for key in below(attributes, OUTPUT):
        if key not in _PLAIN_LEAVES:
            at, name = _plain_leaf(key)
            if at < 0:
                return None
            held.setdefault(at, {})[name] = attributes[key]
    if not held:
        return ()
    calls = [call for fields in by_index(held) if (call := asked_call(fields, memo)) is not None]
    ids = {call.id for call in calls}
    if len(ids) < len(calls) or None in ids:
        return None
    complete((Message("assistant", tuple(calls)),), attributes, memo)
    return calls


def told(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The messages that a model was sent, but only the results in them; None where to tell that would take more."""
    attributes = span.attributes
    if span.scope.name in _OWN_INPUTS or "gen_ai.input.messages" in attributes or not is_model(attributes):
        return None
    roles = _plain_roles(attributes)
    if not roles:
        return None
    out = [_only_results(attributes, at, roles[at], memo) for at in sorted(roles)]
    with_empty(out, span)
    results = [part for message in out for part in message.parts]
    if any(part.id is None for part in results) or all(message.role == "system" for message in out):
        return None
    if not results:
        return None if "tool-call" in roles.values() else tuple(out)
    may_tell = may_hold(attributes, "input.value", FAILURE_WORDS)
    return None if may_tell and tells_failure(attributes.get("input.value")) else tuple(out)


def _plain_roles(attributes: Attributes) -> dict[int, str]:
    """The role of each message, as it is written; none unless all of the input is roles and texts."""
    roles: dict[int, str] = {}
    if INPUT[:-1] in attributes:
        return roles
    for key in below(attributes, INPUT):
        at, leaf = _input_leaf(key)
        if at < 0 or (leaf == "content" and not is_text(attributes, key)):
            return {}
        if leaf == "role":
            roles[at] = text_of(attributes[key]) or ""
        else:
            roles.setdefault(at, "")
    return roles


def _only_results(attributes: Attributes, at: int, written: str, memo: Memo) -> Message:
    role = ROLES.get(written, written) or "assistant"
    if role != "tool":
        return Message(role, ())
    return result_of({"role": written, "content": attributes.get(f"{INPUT}{at}.message.content")}, memo)


@lru_cache(maxsize=4096)
def _input_leaf(key: str) -> tuple[int, str]:
    """Which message a leaf belongs to, and what it is of it; -1 for any but its role and its text."""
    found = _PLAIN_INPUT.fullmatch(key)
    return (int(found.group(1)), found.group(2)) if found is not None else (-1, "")


@lru_cache(maxsize=1024)
def _plain_leaf(key: str) -> tuple[int, str]:
    """Which call of the first message a leaf belongs to, and what it is of it; -1 for any other leaf."""
    found = _PLAIN_CALL.fullmatch(key)
    return (int(found.group(1)), found.group(2)) if found is not None else (-1, "")
