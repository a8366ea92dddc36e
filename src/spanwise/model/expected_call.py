"""A call that was expected of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from spanwise.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """A tool and the arguments that it was to be called with."""

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        tool, arguments = cast("object", self.tool), cast("object", self.arguments)
        if not isinstance(tool, str) or not tool:
            raise ModelError(f"ExpectedCall: tool: read {tool!r}, expected the name of a tool")
        if not isinstance(arguments, Mapping):
            raise ModelError(f"ExpectedCall of {tool!r}: arguments: read {arguments!r}, expected a mapping by name")


def expected_calls(given: object, place: str) -> tuple[ExpectedCall, ...]:
    """Expected calls, of which each may be written as a mapping with `tool` and `arguments`, as JSON and YAML do.

    Raises:
        ModelError: Something is no expected call.
    """
    if not isinstance(given, list | tuple):
        raise ModelError(f"{place}: read {given!r}, expected a list of calls, each with tool and arguments")
    return tuple(_expected_call(one, place) for one in cast("Sequence[object]", given))


def _expected_call(given: object, place: str) -> ExpectedCall:
    if isinstance(given, ExpectedCall):
        return given
    fields = cast("Mapping[str, object]", given if isinstance(given, Mapping) else {})
    if "tool" not in fields or not fields.keys() <= {"tool", "arguments"}:
        raise ModelError(f"{place}: read {given!r}, expected a mapping with the keys tool and arguments")
    tool, arguments = cast("str", fields["tool"]), cast("Mapping[str, object]", fields.get("arguments", {}))
    return ExpectedCall(tool=tool, arguments=arguments)
