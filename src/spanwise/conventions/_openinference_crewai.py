"""CrewAI under OpenInference before 1.1: spans of the methods of a task and of the use of a tool.

The use of a tool was given the model's words and, printed, the call that was read from them. It returns what the model
is told: a failure in CrewAI's own words, and now and then a reminder of the tools behind what the tool returned.
"""

from __future__ import annotations

import re

from spanwise.conventions._crewai import told
from spanwise.conventions._openinference_tools import outcome
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import Memo, ToolFields
from spanwise.model.raw import RawSpan

TASK = "Task._execute_core"
USE = "._use"
"""How the span of the use of a tool ends: `ToolUsage._use`, from 0.1.16 on `{tool}._use`."""
_ROLE = re.compile(r" role='([^'\\]+)' goal=")


def agent_name(span: RawSpan) -> str | None:
    """The role of the agent that worked on a task, which is printed into what the task was given."""
    found = _ROLE.search(text_of(span.attributes.get("input.value")) or "")
    return found.group(1) if found is not None else None


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments and result of a use of a tool, and whether CrewAI says that it failed."""
    attributes = span.attributes
    given = mapping_of(memo.json(attributes.get("input.value"))) or {}
    printed = (first_text(given, "calling") or "").partition(" arguments=")[2]
    returned = attributes.get("output.value")
    failed = False
    if isinstance(returned, str):
        returned, failed = told(returned)
    return ToolFields(
        text_of(attributes.get("tool.name")),
        mapping_of(read_repr(printed)) if printed else None,
        outcome(returned, memo).value,
        failed=failed,
        message=returned.strip() if failed and isinstance(returned, str) else "",
    )
