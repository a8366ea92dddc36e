"""Loose JSON of a request, read safely: the helpers that every wire format of the stand-in shares."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import playbook
import scenario

Json = dict[str, object]

_counter = itertools.count(1)


def next_id(prefix: str) -> str:
    """A fresh id; numbers rise over the life of the server, so recordings of one run never repeat an id."""
    return f"{prefix}{next(_counter):06d}"


def mapping(value: object) -> Mapping[str, object]:
    """The value as an object, or an empty one."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def items(value: object) -> Sequence[object]:
    """The value as a list, or an empty one."""
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def parameter_names(schema: object) -> tuple[str, ...]:
    """The names of the parameters that a tool's JSON schema declares."""
    return tuple(mapping(mapping(schema).get("properties")))


def text_of(content: object) -> str:
    """The plain text of message content given as a string or as typed parts."""
    if isinstance(content, str):
        return content
    return "".join(str(mapping(part).get("text", "")) for part in items(content))


def tokens(value: object) -> int:
    """A synthetic token count: one per four characters of the JSON, as models roughly have it."""
    return max(1, len(json.dumps(value, ensure_ascii=False)) // 4)


def split_model(model: str, *, default: str) -> tuple[str, str]:
    """The model's own name and the variant that a suffix such as `gpt-4o-mini--parallel` asks for."""
    name, _, variant = model.partition("--")
    return name, variant if variant in playbook.VARIANTS else default


def served_model(name: str) -> str:
    """The dated name under which a provider reports the model it used."""
    return "gpt-4o-mini-2024-07-18" if name == scenario.MODEL else name


def pieces(text: str, size: int = 24) -> Iterator[str]:
    """The text in the small pieces in which a stream delivers it."""
    for start in range(0, len(text), size):
        yield text[start : start + size]
