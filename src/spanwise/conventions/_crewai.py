"""What CrewAI counts for a crew as a whole, and whether that is what this run used.

CrewAI counts on the model objects, for as long as those live, and adds up the counts of its agents: of two agents with
one model object each brings the use of both, and a second kickoff brings that of the first once more. It counts the
requests alike, so a total is the run's own where as many requests are counted as the tasks' conversations hold answers
of a model. Where no conversation is recorded, a crew of one agent is taken at its word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from spanwise.conventions._messages import items
from spanwise.conventions._values import first_int, mapping_of
from spanwise.model.content import LLMFields, Message, Part

FAILED = "Error executing tool"
"""How the text begins that the model is told of a tool that raised."""
_FAILED = "I encountered an error while trying to use the tool. This was the error: "
"""The same of a model that asks for tools in words."""
_REMINDER = "\n\nYou ONLY have access to the following tools, and should NEVER make up tools that are not listed here"
_IN_WORDS = re.compile(r"(?s)(.*?)\bAction:[ \t]*([^\n]+)\nAction Input:[ \t]*(.*?)\nObservation:(.*)")


def told(text: str) -> tuple[str, bool]:
    """What a tool returned, or its failure, without the reminder of the tools that CrewAI puts behind it at times."""
    failed = text.lstrip().startswith(_FAILED)
    return (text if failed else text.partition(_REMINDER)[0].rstrip("\n")), failed


def in_words(message: Message) -> Message:
    """What a model asked for in words, and what it was told, which CrewAI writes behind its words."""
    said = _IN_WORDS.fullmatch(message.parts[0].text) if len(message.parts) == 1 else None
    if said is None:
        return message
    thought, name, given, returned = said.groups()
    result, failed = told(returned.strip())
    call = Part("tool_call", result, None, name.strip(), given.strip(), failed)
    return Message(message.role, (Part("reasoning", thought), call))


def total(usage: Mapping[str, object], tasks: object, agents: object) -> LLMFields:
    """The tokens of a crew, given its tasks' outputs and the list of its agents; none where they are not its own."""
    answers = _answers(tasks)
    requests = first_int(usage, "successful_requests")
    known = answers is not None and requests is not None
    if answers != requests if known else len(items(agents) or ()) > 1:
        return LLMFields(whole=True, overcounted=True)
    return LLMFields(
        input_tokens=first_int(usage, "prompt_tokens"),
        output_tokens=first_int(usage, "completion_tokens"),
        cache_read_tokens=first_int(usage, "cached_prompt_tokens"),
        cache_write_tokens=first_int(usage, "cache_creation_tokens"),
        reasoning_tokens=first_int(usage, "reasoning_tokens"),
    )


def _answers(tasks: object) -> int | None:
    """How often a model answered in the conversations of the tasks; None where one of them is not recorded."""
    listed = items(tasks)
    if not listed:
        return None
    count = 0
    for task in listed:
        said = items((mapping_of(task) or {}).get("messages"))
        if said is None:
            return None
        roles = [(mapping_of(message) or {}).get("role") for message in said]
        # The answer of an agent without tools is left out.
        count += roles.count("assistant") + (roles[-1:] == ["user"])
    return count


_COWORKERS = ("delegate_work_to_coworker", "ask_question_to_coworker")


def coworker_tools(agents: object, tasks: object) -> tuple[str, ...]:
    """What CrewAI offers by itself: to agents that may delegate, and to a manager, where no task has an agent."""
    crew = [mapping_of(one) or {} for one in items(agents) or ()]
    may = any(True in (one.get("delegation_enabled"), one.get("allow_delegation")) for one in crew)
    known = [one for item in items(tasks) or () if (one := mapping_of(item)) is not None]
    owners = [one.get("agent_role", one.get("agent", "")) for one in known]
    managed = bool(owners) and all(owner in (None, "None") for owner in owners)
    return _COWORKERS if (may and len(crew) > 1) or (managed and crew) else ()
