"""What a case expects of a run, read out of its metadata or its expected output by one convention.

    metadata:
      expected_tools: [search, calculator]      # which tools; [] says that none is needed
      expected_order: [search, calculator]      # which calls, one after the other
      expected_calls:                           # which calls with which arguments
        - {tool: search, arguments: {query: France}}
      forbidden_tools: [delete_user]
      expected_handoffs: [billing, "triage -> billing"]
      expected_documents: [doc-1]               # ids or titles of documents that are to be found

The same keys count in an `expected_output` that is a mapping; those of the metadata go before them, and what an
evaluator was constructed with goes before both. Metadata and output may also be objects with such attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from spanwise.errors import SpecError
from spanwise.model.expected_call import ExpectedCall, expected_calls

TOOLS = "expected_tools"
ORDER = "expected_order"
CALLS = "expected_calls"
FORBIDDEN = "forbidden_tools"
HANDOFFS = "expected_handoffs"
DOCUMENTS = "expected_documents"
KEYS = (TOOLS, ORDER, CALLS, FORBIDDEN, HANDOFFS, DOCUMENTS)
Target: TypeAlias = str | tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What a case says is to be done; None for what it says nothing of, empty for an explicit nothing."""

    tools: tuple[str, ...] | None = None
    order: tuple[str, ...] | None = None
    calls: tuple[ExpectedCall, ...] | None = None
    forbidden: tuple[str, ...] | None = None
    handoffs: tuple[Target, ...] | None = None
    documents: tuple[str, ...] | None = None


def expectations_of(metadata: object = None, expected_output: object = None) -> Expectations:
    """What the metadata of a case, and its expected output, say is to be done.

    Where only the order or the calls are given, the expected tools are those named there, as often as they are.

    Raises:
        SpecError: A key has a value of another form; the message names the key and what was read.
    """
    order = _names(ORDER, metadata, expected_output)
    listed = _found(CALLS, metadata, expected_output)
    calls = None if listed is None else expected_calls(listed, f"case: {CALLS}")
    tools = _names(TOOLS, metadata, expected_output)
    if tools is None:
        tools = order if order is not None or calls is None else tuple(call.tool for call in calls)
    return Expectations(
        tools=tools,
        order=order,
        calls=calls,
        forbidden=_names(FORBIDDEN, metadata, expected_output),
        handoffs=_targets(_found(HANDOFFS, metadata, expected_output)),
        documents=_names(DOCUMENTS, metadata, expected_output),
    )


def _found(key: str, *places: object) -> object:
    for place in places:
        if isinstance(place, Mapping):
            value = cast("Mapping[object, object]", place).get(key)
        else:
            value = getattr(place, key, None)
        if value is not None:
            return value
    return None


def _names(key: str, *places: object) -> tuple[str, ...] | None:
    value = _found(key, *places)
    if value is None:
        return None
    listed = cast("Sequence[object]", value) if isinstance(value, list | tuple) else None
    if listed is None or not all(isinstance(item, str) and item for item in listed):
        raise SpecError(f"case: {key}: read {value!r}, expected a list of names")
    return tuple(cast("Sequence[str]", listed))


def _targets(value: object) -> tuple[Target, ...] | None:
    if value is None:
        return None
    listed = cast("Sequence[object]", value) if isinstance(value, list | tuple) else None
    targets = [] if listed is None else [_target(item) for item in listed]
    if listed is None or None in targets:
        raise SpecError(
            f"case: {HANDOFFS}: read {value!r}, expected a list of agents, or of pairs of the one that hands over and "
            "the one that is handed to"
        )
    return tuple(target for target in targets if target is not None)


def _target(item: object) -> Target | None:
    if isinstance(item, str) and item:
        return item
    pair = cast("Sequence[object]", item) if isinstance(item, list | tuple) else ()
    if len(pair) == 2 and all(isinstance(name, str) and name for name in pair):
        return cast("str", pair[0]), cast("str", pair[1])
    return None
