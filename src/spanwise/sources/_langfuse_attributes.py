"""The fields of Langfuse's traces and observations, as the attributes that its SDK writes on spans."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from spanwise.model.raw import EMPTY, Scope
from spanwise.sources._json_text import decode
from spanwise.sources._records import Fields, fields_of, list_of, text_of

_PREFIX = "langfuse.observation."
_SNAKE = re.compile(r"_([a-z])")
# What the server itself puts into metadata, of spans that came to it over OpenTelemetry.
_ATTRIBUTES, _RESOURCE, _SCOPE, _SCOPE_ATTRIBUTES = "attributes", "resourceAttributes", "scope", "scopeAttributes"
_SERVERS = frozenset({_ATTRIBUTES, _RESOURCE, _SCOPE, _SCOPE_ATTRIBUTES})
_TOKENS = frozenset({"", "TOKENS"})
_USAGE = (
    ("input", ("input", "promptTokens", "inputUsage")),
    ("output", ("output", "completionTokens", "outputUsage")),
    ("total", ("total", "totalTokens", "totalUsage")),
)
_COST = (
    ("input", ("calculatedInputCost", "inputCost")),
    ("output", ("calculatedOutputCost", "outputCost")),
    ("total", ("calculatedTotalCost", "totalCost")),
)
# The server takes input and output out of the attributes of other instrumentations; here they go back.
_TAKEN_OUT: Mapping[str, tuple[str, str]] = {
    "openinference.span.kind": ("input.value", "output.value"),
    "traceloop.span.kind": ("traceloop.entity.input", "traceloop.entity.output"),
}
_MESSAGES = ("gen_ai.input.messages", "gen_ai.output.messages")
_CALL = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")


def camel(fields: Fields) -> Fields:
    """The fields under the names of the REST API: blob storage exports and older SDKs write them in snake_case."""
    return {_SNAKE.sub(lambda found: found[1].upper(), key) if "_" in key else key: fields[key] for key in fields}


def trace_attributes(trace: Fields, decoded: Callable[[object], object]) -> dict[str, object]:
    """What the trace itself says, as attributes of its root."""
    out = _context(trace)
    _put(out, "langfuse.trace.name", trace.get("name"))
    _put(out, "langfuse.trace.input", trace.get("input"))
    _put(out, "langfuse.trace.output", trace.get("output"))
    _put_metadata(out, "langfuse.trace.metadata", decoded(trace.get("metadata")))
    return out


def observation_attributes(fields: Fields, metadata: object) -> dict[str, object]:
    """What an observation says, in Langfuse's names or in those of the instrumentation that sent it to Langfuse."""
    out = _context(fields)
    _put(out, "langfuse.trace.name", fields.get("traceName"))
    _put(out, f"{_PREFIX}level", fields.get("level"))
    _put(out, f"{_PREFIX}status_message", fields.get("statusMessage"))
    _put(out, f"{_PREFIX}cost_details", _cost(fields))
    theirs = fields_of((fields_of(metadata) or EMPTY).get(_ATTRIBUTES)) or EMPTY
    keys = _keys_of(theirs)
    out.update(theirs)
    if keys is not None:
        _put(out, keys[0], fields.get("input"))
        _put(out, keys[1], fields.get("output"))
        return out
    out[f"{_PREFIX}type"] = text_of(fields.get("type")).lower() or "span"
    _put(out, f"{_PREFIX}input", fields.get("input"))
    _put(out, f"{_PREFIX}output", fields.get("output"))
    _put(out, f"{_PREFIX}model.name", fields.get("model") or fields.get("providedModelName"))
    _put(out, f"{_PREFIX}model.parameters", fields.get("modelParameters"))
    _put(out, f"{_PREFIX}usage_details", _usage(fields))
    _put(out, f"{_PREFIX}completion_start_time", fields.get("completionStartTime"))
    _put(out, f"{_PREFIX}prompt.name", fields.get("promptName"))
    _put(out, f"{_PREFIX}prompt.version", fields.get("promptVersion"))
    _put(out, "gen_ai.tool.definitions", _definitions(fields.get("toolDefinitions")))
    _put_metadata(out, f"{_PREFIX}metadata", metadata)
    return out


def scope_of(metadata: Fields) -> Scope:
    """The scope that the server keeps in metadata; that of Langfuse's SDK where it keeps none."""
    scope = fields_of(metadata.get(_SCOPE)) or EMPTY
    resource = fields_of(metadata.get(_RESOURCE)) or EMPTY
    return Scope(text_of(scope.get("name")) or "langfuse-sdk", text_of(scope.get("version")), resource)


def _context(fields: Fields) -> dict[str, object]:
    out: dict[str, object] = {}
    _put(out, "user.id", fields.get("userId"))
    _put(out, "session.id", fields.get("sessionId"))
    _put(out, "langfuse.trace.tags", fields.get("tags") or fields.get("traceTags"))
    for name in ("environment", "release", "version"):
        _put(out, f"langfuse.{name}", fields.get(name))
    return out


def _put(out: dict[str, object], key: str, value: object) -> None:
    """Set an attribute, unless there is nothing to set: rows write what was never recorded as null or as nothing."""
    if value is not None and value not in ("", [], {}):
        out[key] = value


def _put_metadata(out: dict[str, object], prefix: str, metadata: object) -> None:
    fields = fields_of(metadata)
    if fields is None:
        _put(out, prefix, metadata)
        return
    for key, value in fields.items():
        if key not in _SERVERS or fields_of(value) is None:
            _put(out, f"{prefix}.{key}", value)


def _keys_of(theirs: Fields) -> tuple[str, str] | None:
    """Where another instrumentation writes input and output; None where the span is Langfuse's own."""
    for mark, keys in _TAKEN_OUT.items():
        if mark in theirs:
            return keys
    operation = theirs.get("gen_ai.operation.name")
    if operation is None:
        return None
    return _CALL if operation == "execute_tool" else _MESSAGES


def _usage(fields: Fields) -> object:
    details = fields_of(fields.get("usageDetails"))
    if details:
        return details
    usage = fields_of(fields.get("usage")) or EMPTY
    if text_of(usage.get("unit")) not in _TOKENS:
        return None
    found = _numbers({**fields, "input": None, "output": None, **usage}, _USAGE)
    return found if any(found.values()) else None  # zeros stand for what was not counted


def _cost(fields: Fields) -> object:
    details = fields_of(fields.get("costDetails")) or {}
    known = _numbers({**fields, **(fields_of(fields.get("usage")) or EMPTY)}, _COST)
    if not details:
        return known if any(known.values()) else None
    return details if "total" in details or "total" not in known else {**details, "total": known["total"]}


def _numbers(fields: Fields, names: tuple[tuple[str, tuple[str, ...]], ...]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, keys in names:
        for key in keys:
            value = fields.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool):
                found.setdefault(name, value)
    return found


def _definitions(value: object) -> object:
    """Tool definitions from the object that keeps them by name, each as the text of an object."""
    by_name = fields_of(value)
    if by_name is None:
        return list_of(value)
    return [{"name": name, **_definition(held)} for name, held in by_name.items()]


def _definition(held: object) -> Fields:
    text = text_of(held)
    return fields_of(decode(text.encode()) if text.startswith("{") else held) or {"description": text}
