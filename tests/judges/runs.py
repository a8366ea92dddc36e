"""Runs for judges."""

from __future__ import annotations

from spanwise.model.trace import Run
from tests.making import agent, asks, chat, returns, run_of, says, tool, user

QUERY = "What does a return cost?"
ANSWER = "A return costs 5 dollars."


def asked_and_answered(*, query: str = QUERY, answer: str = ANSWER, result: object = "Returns cost 5 dollars.") -> Run:
    """A run with a plan, one call of a tool, and an answer."""
    first = says("I will look it up in the policy, then answer.")
    first["parts"] += asks(("c1", "search", {"q": "returns"}))["parts"]
    return run_of(
        agent(1),
        chat(2, parent=1, sent=[user(query)], got=[first]),
        tool(20, parent=1, arguments={"q": "returns"}, result=result, call_id="c1"),
        chat(40, parent=1, sent=[user(query), first, returns(("c1", result))], got=[says(answer)]),
    )


def long_run(calls: int, *, failing: tuple[int, ...] = (), size: int = 400) -> Run:
    """A run with many calls, some of which fail."""
    tools = [
        tool(
            100 + 20 * number,
            parent=1,
            name="fetch",
            arguments={"page": number},
            result=f"page {number} " + "word " * (size // 5),
            call_id=f"c{number}",
            failed=number in failing,
        )
        for number in range(calls)
    ]
    last = 200 + 20 * calls
    return run_of(
        agent(1),
        chat(2, parent=1, sent=[user("Read all pages.")], got=[says("I will read them one by one.")]),
        *tools,
        chat(last, parent=1, sent=[user("Read all pages.")], got=[says("I read them all.")]),
    )


def failed_run() -> Run:
    """A run that chose no tool that there is: every call failed."""
    return run_of(
        agent(1),
        chat(2, parent=1, sent=[user("Do it.")], got=[asks(("c1", "search", {}))]),
        tool(20, parent=1, arguments={}, call_id="c1", failed=True),
        chat(40, parent=1, sent=[user("Do it.")], got=[says("I could not.")]),
    )
