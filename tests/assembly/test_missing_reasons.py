"""Reasons why something is missing, of which content that is off is only one."""

from __future__ import annotations

from spanwise.model.calls import Missing
from tests.assembly.test_missing import GENAI
from tests.making import agent, chat, run_of, says, span, tool, user
from tests.recordings_io import remade


def test_nothing_was_asked() -> None:
    """A run that instructions alone began was asked nothing; where they are not recorded, that cannot be told."""
    system = {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]}
    (found,) = (one for one in run_of(agent(1), chat(2, parent=1, sent=[system])).missing if one.field == "query")
    assert Missing(field="query", why="The run was asked nothing: none of its messages is a user's.") == found
    bare = {"role": "system", "parts": [{"type": "text"}]}
    (found,) = (one for one in run_of(agent(1), chat(2, parent=1, sent=[bare])).missing if one.field == "query")
    assert GENAI in found.switch


def test_attributes_beyond_the_limit() -> None:
    """Where a model call lost its answer and its tokens to the limit of attributes, that limit is named."""
    told, lost = chat(2, parent=1, got=[says("A")], tokens=(1, 1)), chat(5, parent=1, sent=[user("Q")])
    run = run_of(agent(1), told, remade(lost, dropped=3))
    found = {one.field: one.switch for one in run.missing}
    assert {"answer", "tokens", "tool_calls"} == found.keys()
    assert all("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in switch for switch in found.values())


def test_one_result_among_others() -> None:
    """Where results are recorded of other calls of an instrumentation, the setting for them is on."""
    told = tool(20, parent=1, arguments={"q": 1}, result="r")
    silent = tool(40, parent=1, name="boom", arguments={"q": 2})
    (lacking,) = [one for one in run_of(agent(1), told, silent).missing if one.field == "results"]
    assert ("Results are not recorded for 1 tool call (boom).", "") == (lacking.why, lacking.switch)
    (lacking,) = [one for one in run_of(agent(1), silent).missing if one.field == "results"]
    assert lacking.switch


def test_the_switch_of_what_lacks_content() -> None:
    """Where several instrumentations take part, the setting that is named is that of the one that lacks the content."""
    workflow = {"openinference.span.kind": "CHAIN", "input.value": "Q", "output.value": "A"}
    run = run_of(span(1, attributes=workflow, end=99), tool(5, parent=1), tool(20, parent=1, arguments={"q": 1}))
    switches = {one.field: one.switch for one in run.missing if one.field in {"arguments", "results"}}
    assert {"arguments", "results"} == switches.keys()
    assert all(GENAI in switch for switch in switches.values())
