"""Which offered tool a call means: to models CrewAI offers "Search the web" as `search_the_web`, or in small."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from spanwise.model.content import ToolDefinition

_UNSPOKEN = re.compile(r"[^a-z0-9]+")


def by_name(tools: Sequence[ToolDefinition], called: Iterable[str]) -> Mapping[str, ToolDefinition]:
    """The tools by their names, and by those of the called names that say the same in other letters."""
    offered = {tool.name: tool for tool in tools}
    strange = {name for name in called if name not in offered}
    if strange:
        spoken = {_spoken(tool.name): tool for tool in tools}
        offered |= {name: spoken[said] for name in strange if (said := _spoken(name)) in spoken}
    return offered


def _spoken(name: str) -> str:
    return _UNSPOKEN.sub("_", name.lower())
