"""Which tools change the world: by their annotations, else by the verbs in their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

CONTROL_NAMES = frozenset(
    {"final_answer", "finalanswer", "finalanswertool", "finish", "final_result", "submit_answer"}
    | {"strands_structured_output", "structuredoutput"}  # the latter is Claude Code's
)
CONTROL_PREFIXES = ("transfer_to_", "transfer_back_to_", "handoff_to", "handoff")
_OUTPUT_PREFIX = "final_result_"
"""Behind it Pydantic AI writes the type of the output, where there are several."""
_TAKEN = ("Returning structured response", "Final result processed")
"""What LangChain and Pydantic AI tell a model whose output they took, whatever the output tool is called."""
_UNUSED = ("Output tool not used", "Result tool not used", "Tool not executed")

_EFFECT_VERBS = frozenset(
    """add append apply approve archive assign book buy cancel charge close commit copy create delete deploy disable
    drop edit enable execute exchange grant insert install invite kill merge modify move order patch pay place post
    publish purchase push put refund register reject remove rename replace reply reserve reset restart revoke save
    schedule send set start stop submit terminate transfer trigger uninstall unsubscribe update upload upsert
    write""".split()
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@lru_cache(maxsize=4096)
def is_control(name: str) -> bool:
    """The tool steers the run (ends it, hands it over) and does no work of its own."""
    lowered = name.lower()
    return lowered in CONTROL_NAMES or lowered.startswith((*CONTROL_PREFIXES, _OUTPUT_PREFIX))


def is_output(name: str) -> bool:
    """The tool takes the output of a Pydantic AI agent, by the name that it has unless it is given another."""
    return name == "final_result" or name.startswith(_OUTPUT_PREFIX)


def says_output_taken(result: object) -> bool:
    """The result of a call says that its arguments are the run's output: the tool did no work of its own."""
    return isinstance(result, str) and result.lstrip('"').startswith(_TAKEN)


def says_output_unused(result: object) -> bool:
    """The result of a call says that another one had given the run's output already."""
    return isinstance(result, str) and result.lstrip('"').startswith(_UNUSED)


@lru_cache(maxsize=4096)
def passes_control(name: str) -> bool:
    """The tool hands the run over to another agent."""
    return name.lower().startswith(CONTROL_PREFIXES)


@lru_cache(maxsize=4096)
def name_has_effect(name: str) -> bool:
    """A verb that changes something leads the name, or stands in it behind a prefix such as a server's name."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return any(word in _EFFECT_VERBS for word in words[:2])


def has_effect(name: str, hints: Mapping[str, object] | None = None) -> bool:
    """The tool changes something: MCP's annotations decide where they are recorded, else its name."""
    if hints:
        read_only = hints.get("readOnlyHint")
        if isinstance(read_only, bool):
            return not read_only
        destructive = hints.get("destructiveHint")
        if destructive is True:
            return True
    return name_has_effect(name)
