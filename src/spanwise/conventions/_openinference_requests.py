"""What an OpenInference model asked for, where its answer is written in the plainest way: one flattened message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from spanwise.conventions._fields import below
from spanwise.conventions._openinference_messages import (
    OUTPUT,
    OWN_ANSWERS,
    asked_call,
    by_index,
    trusts_flattened,
)
from spanwise.conventions._values import text_of
from spanwise.model.content import Memo, Part
from spanwise.model.raw import RawSpan

_PLAIN_CALL = re.compile(
    re.escape(f"{OUTPUT}0.message.tool_calls.") + r"(\d{1,3})\.tool_call\.(function\.name|function\.arguments|id)"
)
_FIRST_ROLE = f"{OUTPUT}0.message.role"
_FIRST_TEXT = f"{OUTPUT}0.message.content"
_PLAIN_LEAVES = frozenset({_FIRST_ROLE, _FIRST_TEXT})


def _is_plain(span: RawSpan) -> bool:
    """The model's answer is one flattened message."""
    attributes = span.attributes
    if span.scope.name in OWN_ANSWERS or "gen_ai.output.messages" in attributes or not trusts_flattened(span):
        return False
    return attributes.get(_FIRST_ROLE) == "assistant" and isinstance(attributes.get(_FIRST_TEXT, ""), str)


def call_ids(span: RawSpan) -> Sequence[str] | None:
    """The ids of the calls that the model asked for, where its answer is written in the plainest way."""
    if not _is_plain(span):
        return None
    attributes = span.attributes
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
    return calls if len(ids) == len(calls) and None not in ids else None


@lru_cache(maxsize=1024)
def _plain_leaf(key: str) -> tuple[int, str]:
    """Which call of the first message a leaf belongs to, and what it is of it; -1 for any other leaf."""
    found = _PLAIN_CALL.fullmatch(key)
    return (int(found.group(1)), found.group(2)) if found is not None else (-1, "")
