"""What the SDK's limits took from a run."""

from __future__ import annotations

from spanwise.assembly import cuts
from spanwise.model.raw import RawSpan
from spanwise.model.trace import Run
from tests.making import agent, chat, run_of, says, span, tool, user
from tests.recordings_io import remade

LIMIT = 100


def cut(one: RawSpan, limit: int = LIMIT) -> RawSpan:
    """The span with its values cut, as the SDK does it."""
    return remade(one, attributes={k: v[:limit] if isinstance(v, str) else v for k, v in one.attributes.items()})


def played(limit: int) -> Run:
    """A run of which long values are cut."""
    long = tool(20, parent=1, name="read", arguments={"n": 1}, call_id="c1")
    long.attributes["gen_ai.tool.call.result"] = "line " * 50
    short = tool(30, parent=1, arguments={"q": "a"}, result="one")
    asked = chat(50, parent=1, sent=[user("Q" * 150)], got=[says("A" * 150)])
    return run_of(*(cut(one, limit) for one in (agent(1), long, short, asked)))


def test_values_of_one_length() -> None:
    """Where several values are as long as none is longer, and JSON is broken, that is where they were cut."""
    assert LIMIT == cuts.limit_of(played(LIMIT))
    assert 0 == cuts.limit_of(played(10_000))
    alike = [tool(n, parent=1, result="x" * (90 + n)) for n in (2, 2)]
    assert 0 == cuts.limit_of(run_of(agent(1), *alike))


def test_results_that_were_cut() -> None:
    """A result as long as the limit is not whole, and the setting that cut it is named; a shorter one is whole."""
    run = played(LIMIT)
    assert ["truncated", "present"] == [call.result_state for call in run.tool_calls]
    found = {item.field: item for item in run.missing}
    assert ("The results of 1 tool call (read) were cut.", cuts.LENGTH_SWITCH) == (
        found["results"].why,
        found["results"].switch,
    )
    assert cuts.LENGTH_SWITCH == found["query"].switch
    assert ["present", "present"] == [call.result_state for call in played(10_000).tool_calls]


def test_attributes_that_were_lost() -> None:
    """A span lost attributes where the SDK says so, or where it has as many as it may have."""
    full = span(1, attributes={str(n): n for n in range(128)})
    spans = run_of(full, span(2), remade(span(3), dropped=1)).spans
    assert [True, False, True] == [cuts.lost_attributes([one]) for one in spans]
