"""Is the answer borne out by what the agent saw?"""

from __future__ import annotations

import json

import pytest

from spanwise.evaluators.grounding import Grounding, judged_of, messages_of
from spanwise.grounding.answers import Message
from spanwise.model.score import Evidence, Score
from spanwise.report.contract import to_contract
from spanwise.run import evaluate
from tests.evaluators.conformance import Case, cases_of, check, told
from tests.making import agent, chat, run_of, says, span_id, tool, user

RESULT = {"city": "Oslo", "degrees": 18}


def run_with(answer: str | None, *spans: object, failed: bool = False, query: str | None = "How warm?") -> object:
    """A run that answers, with tools below it."""
    more = {} if answer is None else {"gen_ai.output.messages": json.dumps([says(answer)])}
    asked = {} if query is None else {"gen_ai.input.messages": json.dumps([user(query)])}
    root = agent(1, **asked, **more)
    root.status_code = 2 if failed else 0
    return run_of(root, *spans)


@pytest.mark.parametrize("case", cases_of("grounding"), ids=told)
def test_conformance(case: Case) -> None:
    """The evaluator says of each case what the case expects."""
    check(case, Grounding)


def test_a_whole_result() -> None:
    """Supported, unsupported and contradicted claims side by side, each with its evidence, the worst first."""
    text = "The hall holds 900 people. The stage is 12 metres wide."
    answer = "The hall holds 400 people. The stage is 12 metres wide. Dogs are welcome in the foyer. Enjoy!"
    run = run_with(answer, tool(2, parent=1, name="venue", result=text))
    score = Grounding()(run)
    assert (
        Score(
            name="grounding",
            value=0.25,
            reason="3 claims: 1 supported, 1 unsupported, 1 contradicted. 1 sentence not checkable.",
            evidence=(
                Evidence(span_id=span_id(2), quote="The hall holds 900 people.", start=0, end=26),
                Evidence(span_id=span_id(2), quote="The stage is 12 metres wide.", start=27, end=55),
            ),
            issues=(
                (
                    "Contradicted: The hall holds 400 people. (the claim says 400, the evidence 900). "
                    f"Closest evidence in span {span_id(2)}: The hall holds 900 people."
                ),
                (
                    "Unsupported: Dogs are welcome in the foyer. (Dogs stands nowhere in the evidence). "
                    "Nothing in the evidence comes close."
                ),
            ),
            recommendations=(
                "Have the agent quote what it found, and compare numbers, dates and names before it answers.",
                "Tell the agent to answer from what its tools return, and to say where it does not know.",
            ),
        )
        == score
    )


def test_each_claim_has_its_span() -> None:
    """Every sentence of the answer is told with the span that bears it out, and where in its text."""
    run = run_with(
        "Oslo has 18 degrees. The train leaves at 7:45.",
        tool(2, parent=1, name="weather", result=RESULT),
        tool(3, parent=1, name="trains", result="The train leaves at 7:45 from platform 2."),
    )
    assert [
        ("Oslo has 18 degrees.", span_id(2), '{"city": "Oslo", "degrees": 18}', "tool"),
        ("The train leaves at 7:45.", span_id(3), "The train leaves at 7:45 from platform 2.", "tool"),
    ] == [(one.claim, one.span_id, one.quote, one.kind) for one in judged_of(run)]


@pytest.mark.parametrize("answer", [None, "[REDACTED]"])
def test_without_an_answer_there_are_no_claims(answer: str | None) -> None:
    """A run whose answer is not known has no judged claims."""
    assert () == judged_of(run_with(answer, tool(2, parent=1, result=RESULT)))


def test_a_removed_answer_is_not_measurable() -> None:
    """An answer that was removed on purpose is not one that claims nothing."""
    score = Grounding()(run_with("[REDACTED]", tool(2, parent=1, result=RESULT)))
    assert ("not_measurable", "The answer was removed from the spans.") == (score.status, score.reason)


def test_a_run_that_failed_answered_nothing() -> None:
    """A run that ended in a failure has no answer to judge."""
    score = Grounding()(run_with(None, tool(2, parent=1, result=RESULT), failed=True))
    assert ("not_applicable", "The run ended without an answer.") == (score.status, score.reason)


def test_it_works_in_steps() -> None:
    """Between its steps a worker can let others run, or stop it."""
    run = run_with("Oslo has 18 degrees.", tool(2, parent=1, result=RESULT))
    *steps, last = Grounding().steps(run)
    assert len(steps) >= 3
    assert set(steps) == {None}
    assert isinstance(last, Score)


def test_without_content_there_are_places_only() -> None:
    """Where content may not be told, the evidence is a span id with offsets."""
    run = run_with("Oslo has 18 degrees.", tool(2, parent=1, result=RESULT))
    result = evaluate(run, {"grounding": Grounding()})
    (score,) = to_contract(result, content=False)["scores"]
    assert [{"span_id": span_id(2), "quote": None, "start": 0, "end": 31}] == score["evidence"]
    assert (None, None) == (score["issues"], score["reason"])


def test_long_answers_say_so() -> None:
    """Of an answer with very many claims the first ones are judged, and the reason says so."""
    run = run_with("The lamp is red. " * 300, tool(2, parent=1, result="The lamp is red."))
    assert "200 claims: 200 supported. Only the first claims were judged." == Grounding()(run).reason
    assert "200 claims: 200 supported. Not all claims were judged." == Grounding(of="messages")(run).reason


def test_at_most_twenty_issues() -> None:
    """A long list of unsupported claims is cut, the value counts them all."""
    run = run_with("Zebras sleep well. " * 30, tool(2, parent=1, result="12:30"))
    score = Grounding()(run)
    assert (0.0, 20) == (score.value, len(score.issues))


def told_twice() -> object:
    """A run in which a model says something before its tool returns, and again afterwards."""
    return run_with(
        "The hall holds 900 people.",
        chat(2, parent=1, got=[says("The hall holds 900 people. Let me check.")]),
        tool(30, parent=1, name="venue", result="The hall holds 900 people."),
        chat(60, parent=1, got=[says("The hall holds 900 people.")]),
    )


def test_messages() -> None:
    """With messages, what was said before it was seen is unsupported, and the message is named by its span."""
    run = told_twice()
    assert [(span_id(2), "The hall holds 900 people. Let me check."), (span_id(60), "The hall holds 900 people.")] == [
        (one.span_id, one.text) for one in messages_of(run)
    ]
    score = Grounding(of="messages")(run)
    assert (0.5, 1.0) == (score.value, Grounding()(run).value)
    (issue,) = score.issues
    assert issue.startswith(f"Unsupported, said in span {span_id(2)}: The hall holds 900 people.")
    assert (
        Evidence(span_id=span_id(2), quote="The hall holds 900 people.", start=0, end=26),
        Evidence(span_id=span_id(60), quote="The hall holds 900 people.", start=0, end=26),
        Evidence(span_id=span_id(30), quote="The hall holds 900 people.", start=0, end=26),
    ) == score.evidence


def test_an_answer_that_no_model_is_seen_to_give() -> None:
    """The final answer is a message of the run's own span where no model call says it."""
    run = run_with("Oslo has 18 degrees.", tool(2, parent=1, result=RESULT))
    assert (Message("Oslo has 18 degrees.", span_id(1)),) == messages_of(run)


def test_nothing_said_at_all() -> None:
    """Without any message there is nothing to judge."""
    run = run_with(None, tool(2, parent=1, result=RESULT), failed=True)
    assert ("not_applicable", ()) == (Grounding(of="messages")(run).status, messages_of(run))
