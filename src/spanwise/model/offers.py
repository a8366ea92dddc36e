"""Which offered tool a call means: to models CrewAI offers "Search the web" as `search_the_web`, or in small."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from spanwise.model.content import ToolDefinition

_UNSPOKEN = re.compile(r"[^a-z0-9]+")
_UNSAYABLE = re.compile(r"[^A-Za-z0-9_-]")
"""What no model's API takes in the name of a tool: who has it in one offers the tool by another."""


def by_name(
    tools: Sequence[ToolDefinition], ran: Collection[str], idle: Iterable[str] = ()
) -> Mapping[str, ToolDefinition]:
    """The tools by their names, and by those of the called names that say the same in other letters.

    A framework knew the calls that ran. Of those that did not, a name that a model may well have made up means no
    offered tool: `Calculator` is not `calculator`.
    """
    offered = {tool.name: tool for tool in tools}
    strange = {name for name in (*ran, *idle) if name not in offered}
    if strange:
        known, spoken = set(ran), {_spoken(tool.name): tool for tool in tools}
        for name in strange:
            tool = spoken.get(_spoken(name))
            if tool is not None and (name in known or _UNSAYABLE.search(name + tool.name)):
                offered[name] = tool
    return offered


def _spoken(name: str) -> str:
    return _UNSPOKEN.sub("_", name.lower())
