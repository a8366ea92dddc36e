"""What work cost that led nowhere."""

from __future__ import annotations

import pytest

from spanwise.model.trace import Run
from spanwise.model.waste import Waste, Waster, dollars, duration, told, waste_of
from tests.making import agent, asks, chat, run_of, says, span, tool


def cost(usd: float, tokens: int = 100) -> dict[str, object]:
    """A model call's cost and tokens."""
    return {"operation.cost": usd, "gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": 10}


def wasted(run: Run, *places: int) -> Waste:
    """What the calls at these places cost."""
    return Waster(run).of([run.tool_calls[at] for at in places])


def test_nothing_wasted() -> None:
    """No calls cost nothing, and a run that repeats nothing wasted nothing."""
    run = run_of(agent(1), tool(10, parent=1, arguments={}, result=1))
    assert Waste(ms=0.0, tokens=0.0, usd=0.0) == waste_of(run) == Waster(run).of([])


def test_repeats_that_nobody_knows() -> None:
    """Where it cannot be told which calls are repeats nobody knows what they cost."""
    run = run_of(agent(1), *(tool(n, parent=1, result=1) for n in (10, 30)))
    assert Waste(ms=None, tokens=None, usd=None) == waste_of(run)


def test_the_last_model_call_before_it() -> None:
    """A call is charged with the model call of its agent that began last before it."""
    run = run_of(
        agent(1),
        chat(2, parent=1, **cost(0.25)),
        tool(20, parent=1, arguments={"q": 1}, result=1),
        agent(30, parent=1, name="other"),
        chat(31, parent=30, **cost(9.0, 900)),
        chat(50, parent=1, **cost(0.5, 200)),
        tool(70, parent=1, arguments={"q": 1}, result=1, end=70 + 3_000_000),
    )
    assert Waste(ms=3.0, tokens=210.0, usd=0.5) == waste_of(run) == wasted(run, 1)


def test_shared_among_all_requests() -> None:
    """What a model call used is shared equally among all the calls that it asked for, control tools among them."""
    names = ("search", "search", "lookup", "final_answer")
    calls = [tool(20 + n, parent=1, name=name, arguments={"q": n}, result=1) for n, name in enumerate(names)]
    run = run_of(agent(1), chat(2, parent=1, **cost(1.0, 90)), *calls)
    assert [(25.0, 0.25), (50.0, 0.5), (100.0, 1.0)] == [
        (waste.tokens, waste.usd) for waste in (wasted(run, 0), wasted(run, 0, 2), wasted(run, 0, 1, 2, 3))
    ]


def test_below_the_model_span() -> None:
    """A call whose span lies in a model's span was asked for by that one, also through another tool's span."""
    inside = tool(55, parent=50, name="search", arguments={}, result=1)
    deeper = tool(57, parent=55, name="lookup", arguments={}, result=1)
    outer = chat(50, parent=1, **cost(0.5))
    outer.end_ns = 90
    run = run_of(agent(1), chat(2, parent=1, **cost(0.25)), outer, inside, deeper)
    assert [0.25, 0.25] == [wasted(run, at).usd for at in (0, 1)]


def test_nobody_can_tell() -> None:
    """Without a model call before it, with one still at work, or after a failed one only, there is no number."""
    alone = run_of(agent(1), tool(20, parent=1, arguments={}, result=1), chat(40, parent=1, **cost(0.5)))
    busy = chat(10, parent=1, **cost(0.5))
    busy.end_ns = 90
    at_work = run_of(agent(1), chat(2, parent=1, **cost(0.5)), busy, tool(20, parent=1, arguments={}, result=1))
    broken = chat(2, parent=1, **cost(0.5))
    broken.status_code = 2
    failed = run_of(agent(1), broken, tool(20, parent=1, arguments={}, result=1))
    assert [(None, None)] * 3 == [
        (waste.tokens, waste.usd) for waste in (wasted(run, 0) for run in (alone, at_work, failed))
    ]


def test_wrappers_of_several_model_calls() -> None:
    """A model span around several others is no model call; the search goes on above it, and then before it."""
    around = chat(2, parent=1)
    around.end_ns = 90
    inner = [chat(n, parent=2, **cost(0.5)) for n in (3, 20)]
    run = run_of(agent(1), around, *inner, tool(40, parent=2, arguments={}, result=1))
    assert 0.5 == wasted(run, 0).usd


def test_what_is_not_recorded() -> None:
    """What is not known of every call that is meant is not known of them all together."""
    calls = [tool(n, parent=1, arguments={}, result=1, end=n) for n in (20, 60)]
    run = run_of(agent(1), chat(2, parent=1, model="nobody-knows"), calls[0], chat(40, parent=1, **cost(0.5)), calls[1])
    assert [Waste(ms=0.0, tokens=None, usd=None), Waste(ms=0.0, tokens=110.0, usd=0.5)] == [
        wasted(run, 0, 1),
        wasted(run, 1),
    ]
    one_side = run_of(agent(1), chat(2, parent=1, **{"gen_ai.usage.output_tokens": 7}), calls[0])
    assert 7.0 == wasted(one_side, 0).tokens


def test_no_times() -> None:
    """A call that left no span took nobody knows how long, and so did one of a transcript."""
    heard = run_of(agent(1), chat(2, parent=1, got=[asks(("c1", "search", {}))], **cost(0.5)))
    assert Waste(ms=None, tokens=110.0, usd=0.5) == wasted(heard, 0)
    root = agent(1)
    root.attributes = {**root.attributes, "spanwise.times": "none"}
    assert wasted(run_of(root, tool(20, parent=1, arguments={}, result=1)), 0).ms is None


def test_a_tool_deep_below() -> None:
    """Only so many spans are climbed; what lies deeper is charged by time."""
    links = [tool(100 + n, parent=99 + n if n else 50, name=f"t{n}", arguments={}, result=1) for n in range(30)]
    outer = chat(50, parent=1, **cost(0.5))
    outer.end_ns = 900
    run = run_of(agent(1), outer, *links, span(990, parent=1), chat(991, parent=1, got=[says("x")]))
    assert [0.5 / 16, None] == [wasted(run, 0).usd, wasted(run, 29).usd]


@pytest.mark.parametrize(
    ("waste", "words"),
    [
        (Waste(ms=1200.0, tokens=340.0, usd=0.0012), "1.2 s, 340 tokens and $0.0012"),
        (Waste(ms=None, tokens=1340.4, usd=0.5), "1,340 tokens and $0.50"),
        (Waste(ms=20.0, tokens=None, usd=None), "20 ms"),
        (Waste(ms=None, tokens=None, usd=None), ""),
    ],
)
def test_in_words(waste: Waste, words: str) -> None:
    """Only what is known is told."""
    assert words == told(waste)


def test_amounts_in_words() -> None:
    """Times and dollars stand in the unit and with the digits that people read."""
    assert ["under 1 ms", "22 ms", "1.2 s", "2.5 min"] == [duration(ms) for ms in (0.2, 22.4, 1234.0, 150_000.0)]
    assert ["$0.00", "$0.10", "$12.00", "$0.014", "$0.00020", "$0.000000000000"] == [
        dollars(usd) for usd in (0.0, 0.1, 12, 0.0137, 0.0002, 1e-15)
    ]
